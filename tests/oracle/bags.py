"""Bags of rows, compared: exactly, and doubles to nine digits, of the result or of what went into it."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from typing import Any

import pyarrow as pa
from pyspark.sql.types import VariantVal

TOLERANCE = 1e-9
ORDERING = re.compile(r"\b(ORDER BY|min|max|min_by|max_by|mode|percentile\w*|median|first|last|array_\w+)\b", re.IGNORECASE)  # fmt: skip
"""What compares 0.0 and −0.0 alike, and so leaves open which of them it gives."""

Bag = Counter[tuple[Any, ...]]


def difference(found: pa.Table, expected: pa.Table, texts: str = "") -> str:
    """What one bag has too much and lacks; nothing if they are the same. `texts` are the queries that made them."""
    assert found.column_names == expected.column_names, f"columns {found.column_names}, not {expected.column_names}"
    expected = expected.cast(found.schema)
    signed = not ORDERING.search(texts)
    more, less = bag(found, signed), bag(expected, signed)
    more, less = more - less, less - more
    _pair_close(more, less)
    return f"too many {_shown(more)}, missing {_shown(less)}" if more or less else ""


def bag(table: pa.Table, signed: bool = True) -> Bag:
    """The rows as values that can be counted."""
    columns = [[_plain(v, f.type, signed) for v in c.to_pylist()] for c, f in zip(table.columns, table.schema, strict=True)]  # fmt: skip
    return Counter(zip(*columns, strict=True)) if columns else Counter({(): table.num_rows})


def _plain(value: Any, kind: pa.DataType, signed: bool) -> Any:
    """A value that equals exactly those that Spark calls the same."""
    if value is None:
        return None
    if pa.types.is_floating(kind):
        return Real(value if signed or value else 0.0)
    if pa.types.is_map(kind):
        pairs = [(_plain(k, kind.key_type, signed), _plain(v, kind.item_type, signed)) for k, v in value]
        return tuple(sorted(pairs, key=repr))
    if pa.types.is_struct(kind):
        if [f.name for f in kind] == ["value", "metadata"]:
            return VariantVal(value["value"], value["metadata"]).toJson()
        return tuple(_plain(value[f.name], f.type, signed) for f in kind)
    if pa.types.is_list(kind):
        return tuple(_plain(v, kind.value_type, signed) for v in value)
    return value


class Real(float):
    """A double that equals itself, NaN or not, and tells −0.0 from 0.0."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Real) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


def _pair_close(more: Bag, less: Bag) -> None:
    """Take away rows that differ only by rounding."""
    candidates: dict[Any, list[Any]] = defaultdict(list)
    for row in less:
        candidates[_without_reals(row)].append(row)
    for row in sorted(more, key=repr):
        for other in sorted(candidates[_without_reals(row)], key=repr):
            if (pairs := min(more[row], less[other])) and _is_close(row, other):
                more[row], less[other] = more[row] - pairs, less[other] - pairs
    for rest in (more, less):
        for row in [row for row, count in rest.items() if not count]:
            del rest[row]


def _without_reals(value: Any) -> Any:
    if isinstance(value, Real):
        return "a double" if math.isfinite(value) else repr(value)
    return tuple(map(_without_reals, value)) if isinstance(value, tuple) else value


def _is_close(a: Any, b: Any) -> bool:
    if isinstance(a, Real) and math.isfinite(a):
        return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE) and (bool(a or b) or a == b)
    return all(map(_is_close, a, b)) if isinstance(a, tuple) else True


def _shown(rows: Bag) -> str:
    return ", ".join(f"{n} × {row}" for row, n in list(rows.items())[:8]) or "nothing"
