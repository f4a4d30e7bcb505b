"""Random rows for the tables that a plan reads: few keys, and the values that its conditions ask for."""

from __future__ import annotations

import dataclasses
import datetime as dt
import random
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.rows import Rows
from viewlet.plan.expr import Literal
from viewlet.plan.nodes import Plan, Scan
from viewlet.plan.types import Field, Type

Row = tuple[Any, ...]


def nodes(value: Any) -> Iterator[Any]:
    """Everything that a plan consists of."""
    yield value
    if isinstance(value, tuple):
        parts = value
    elif dataclasses.is_dataclass(value):
        parts = tuple(getattr(value, f.name) for f in dataclasses.fields(value))
    else:
        parts = ()
    for part in parts:
        yield from nodes(part)


class Tables:
    """The rows of some tables, and changes of them."""

    def __init__(self, plans: list[Plan], seed: int, growing: frozenset[str] = frozenset()) -> None:
        self._random = random.Random(seed)
        self._growing = growing
        found = [node for plan in plans for node in nodes(plan)]
        self.columns: dict[str, tuple[Field, ...]] = {n.name: n.columns for n in found if isinstance(n, Scan)}
        self._words = sorted({n.value for n in found if isinstance(n, Literal) and isinstance(n.value, str)}) or ["a"]
        self._days = sorted({n.value for n in found if isinstance(n, Literal) and type(n.value) is dt.date})
        self._rows: dict[str, list[Row]] = {name: [] for name in self.columns}

    def change(self, inserted: int, deleted: int) -> dict[str, Rows]:
        """Some rows of every table in, and some out."""
        return {name: self._change(name, inserted, deleted) for name in self.columns}

    def _change(self, name: str, inserted: int, deleted: int) -> Rows:
        held = self._rows[name]
        self._random.shuffle(held)
        gone = [] if name in self._growing else [held.pop() for _ in range(min(deleted, len(held)))]
        new = [tuple(self._value(f.type) for f in self.columns[name]) for _ in range(inserted)]
        held += new
        values = [*gone, *new]
        arrays = {
            f.name: pa.array([row[i] for row in values], arrow_type(f.type)) for i, f in enumerate(self.columns[name])
        }
        return Rows(arrays, np.array([-1] * len(gone) + [1] * len(new), dtype=np.int64))

    def _value(self, kind: Type) -> Any:
        pick = self._random
        match kind.name:
            case "tinyint" | "smallint" | "int" | "bigint":
                return pick.randrange(1, 7)
            case "float" | "double":
                return pick.choice([0.5, 1.0, 2.25])
            case "decimal":
                return Decimal(pick.randrange(0, 400 * 10 ** kind.args[1], 7)).scaleb(-kind.args[1])
            case "string" | "char" | "varchar":
                return pick.choice(self._words)
            case "boolean":
                return pick.random() < 0.5
            case "date":
                near = pick.choice(self._days) if self._days else dt.date(2024, 1, 1)
                return near + dt.timedelta(days=pick.randrange(-40, 40))
            case "timestamp" | "timestamp_ntz":
                return dt.datetime(2024, 1, 1, tzinfo=dt.UTC if kind.name == "timestamp" else None) + dt.timedelta(
                    minutes=pick.randrange(240)
                )
        return None


def rows_of(changes: Mapping[str, Rows]) -> int:
    """How many rows change."""
    return sum(map(len, changes.values()))
