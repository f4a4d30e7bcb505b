"""Records that cannot become rows: what is done with them, and the table that keeps them."""

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
"""What becomes of a bad record; the last is Spark's own way with files: a row with NULL for what cannot be read."""
BAD = "_bad"
"""What is added to a table's name for the table of the records that could not be read."""
BAD_FIELDS = (
    Field("file", STRING, False),
    Field("line", BIGINT),
    Field("reason", STRING, False),
    Field("record", STRING),
)


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that no row can be made of."""

    line: int | None
    """Where it is in its file or log."""
    reason: str
    text: str | None


Placed = tuple[str, BadRecord]
"""A bad record, and the file or log that it is in."""


def read_on_bad(given: str, *others: str) -> OnBad:
    """What a user says is to become of bad records; `others` are ways that a source does not have."""
    ways = [way for way in get_args(OnBad) if way not in others]
    found: OnBad | None = next((way for way in ways if way == given.upper()), None)
    if found is None:
        raise SqlError(f"{given!r} is not a way to treat bad records", hint=", ".join(ways))
    return found


def bad_table(table: Table, *, by_file: bool) -> Table:
    """The table that keeps the bad records of another; `by_file`: those of a file leave when it changes."""
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
    """Reject the epoch for the first of some bad records."""
    for file, bad in records:
        line = "" if bad.line is None else f", line {bad.line}"
        raise RejectedEpoch(
            f"table {table.name}: {file}{line}: {bad.reason}",
            hint="correct it at its source, or have bad records dropped or kept aside: ON BAD RECORD KEEP ASIDE",
        )
