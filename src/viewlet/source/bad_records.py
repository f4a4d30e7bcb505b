"""Bad records, which cannot be converted to rows: the actions for them, and the table that keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pyarrow as pa

from viewlet.columns.rows import Rows
from viewlet.errors import RejectedEpoch, SqlError
from viewlet.plan.types import BIGINT, STRING, Field
from viewlet.warehouse.declare.tables import Table

OnBad = Literal["FAIL EPOCH", "DROP ROW", "KEEP ASIDE", "READ NULLS"]
"""The actions for bad records; the last is Spark's PERMISSIVE mode: values that cannot be read become NULL."""
BAD = "_bad"
"""The suffix of the name of a table of bad records."""
BAD_FIELDS = (
    Field("file", STRING, False),
    Field("line", BIGINT),
    Field("reason", STRING, False),
    Field("record", STRING),
)


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that cannot be converted to a row."""

    line: int | None
    """Its line in a file, or position in a log, if known."""
    reason: str
    text: str | None


Placed = tuple[str, BadRecord]
"""A bad record, and its file or log."""


def read_on_bad(given: str, *others: str) -> OnBad:
    """Validate the action for bad records; `others`: actions that the source does not support."""
    ways = [way for way in get_args(OnBad) if way not in others]
    found: OnBad | None = next((way for way in ways if way == given.upper()), None)
    if found is None:
        raise SqlError(f"{given!r} is not a way to treat bad records", hint=", ".join(ways))
    return found


def bad_table(table: Table, *, by_file: bool) -> Table:
    """The table of a table's bad records; `by_file`: records of a file are deleted when the file changes."""
    name = f"{table.name}{BAD}"
    if by_file:
        return Table(name, BAD_FIELDS, clustered=("file",), aside_of=table.name)
    return Table(name, BAD_FIELDS, append_only=True, aside_of=table.name)


def bad_rows(aside: Table, records: Sequence[Placed]) -> Rows:
    """Bad records as rows of their table."""
    rows = [(file, bad.line, bad.reason, bad.text) for file, bad in records]
    columns = list(zip(*rows, strict=True)) or [()] * len(BAD_FIELDS)
    arrays = {f.name: pa.array(c, aside.types[f.name]) for f, c in zip(BAD_FIELDS, columns, strict=True)}
    return Rows(arrays, np.ones(len(rows), dtype=np.int64))


def refuse_bad(table: Table, records: Sequence[Placed]) -> None:
    """Reject the epoch, naming the first bad record, if there is one."""
    for file, bad in records:
        line = "" if bad.line is None else f", line {bad.line}"
        raise RejectedEpoch(
            f"table {table.name}: {file}{line}: {bad.reason}",
            hint="correct it at its source, or have bad records dropped or kept aside: ON BAD RECORD KEEP ASIDE",
        )
