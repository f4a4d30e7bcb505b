"""Watermarks: which rows are late, and which groups can be evicted.

A table with a watermark has a column of event times and a delay. The watermark is the latest time of all rows ever
committed, minus the delay, so it never goes back. Rows older than it are final: new ones go into the table of late
rows, and existing ones can be neither deleted nor replaced. An epoch is checked against the watermark before it. A row
without a time is never late.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from viewlet import arguments
from viewlet.columns.arrays import Mask, valid_mask, values_of
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.evaluate import compile_expr
from viewlet.columns.rows import Rows
from viewlet.errors import SqlError, WrongArgument, shortened
from viewlet.plan.types import Field, Type
from viewlet.store import Contents, Layout

if TYPE_CHECKING:
    from viewlet.program.program import Eviction

LATE = "_late"
"""The suffix of the name of a table of late rows."""
LAYOUT = Layout(columns=("latest", "swept"), key=("latest",))
TYPES = {"latest": pa.int64(), "swept": pa.int64()}
_TIMES = {"timestamp": 1, "timestamp_ntz": 1, "date": 86_400_000_000}
"""The types of event times, and the microseconds in their units."""
_UNITS = {
    "microsecond": 1, "millisecond": 1_000, "second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000, "day": 86_400_000_000,
    "week": 7 * 86_400_000_000,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Watermark:
    """The column of event times, and the delay in microseconds."""

    column: str
    delay: int


@dataclass(frozen=True, slots=True)
class Clock:
    """A table's latest event time, and the watermark at which state was last evicted, in microseconds since 1970."""

    latest: int
    swept: int

    @staticmethod
    def read(contents: Contents) -> Clock | None:
        """The stored clock; None before the first row."""
        rows = contents.consolidated()
        if not len(rows):
            return None
        assert len(rows) == 1 and rows.weights[0] == 1, f"a table has one clock, not {rows}"
        return Clock(rows["latest"][0].as_py(), rows["swept"][0].as_py())

    def rows(self, weight: int) -> Rows:
        columns = {"latest": pa.array([self.latest]), "swept": pa.array([self.swept])}
        return Rows(columns, np.array([weight], dtype=np.int64))


def read_watermark(table: str, fields: tuple[Field, ...], given: tuple[str, Any] | None) -> Watermark | None:
    """Parse a declared watermark: a column, and a delay as a timedelta or as text such as '10 minutes'."""
    if given is None:
        return None
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise WrongArgument(f"the watermark of table {table} is {shortened(given)}", hint="give a column and a delay")
    column, delay = arguments.text(f"the watermark's column of table {table}", given[0]), given[1]
    found = next((f for f in fields if f.name.lower() == column.lower()), None)
    if found is None or found.type.name not in _TIMES:
        named = ", ".join(f.name for f in fields if f.type.name in _TIMES) or "none"
        raise SqlError(
            f"table {table}: the watermark needs a TIMESTAMP or DATE column, and {column} is neither",
            hint=f"there are: {named}",
        )
    return Watermark(found.name, read_delay(table, delay))


def read_delay(table: str, delay: Any) -> int:
    """A delay in microseconds."""
    if isinstance(delay, dt.timedelta):
        micros = delay // dt.timedelta(microseconds=1)
    else:
        micros = _parsed(table, arguments.text(f"the watermark's delay of table {table}", delay))
    if micros < 0:
        raise SqlError(f"table {table}: the delay of a watermark cannot be negative")
    return micros


def _parsed(table: str, text: str) -> int:
    """A delay such as `10 minutes` or `1 day 12 hours`."""
    pairs = [(int(n), unit.rstrip("s")) for n, unit in re.findall(r"(\d+)\s*([a-z]+)", text.lower())]
    is_whole = re.fullmatch(r"(\s*\d+\s*[a-z]+\b)+\s*", text.lower()) is not None
    if not is_whole or any(unit not in _UNITS for _, unit in pairs):
        raise SqlError(f"table {table}: {text!r} is not a delay", hint="such as 10 minutes, or 1 day 12 hours")
    return sum(n * _UNITS[unit] for n, unit in pairs)


def micros_of(column: pa.Array, kind: Type) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Times as microseconds since 1970; undefined where NULL."""
    unit = _TIMES[kind.name]
    return values_of(column, "i4" if unit > 1 else "i8").astype(np.int64) * unit


def is_older(column: pa.Array, kind: Type, watermark: int) -> Mask:
    """A mask of the times before a watermark."""
    return valid_mask(column) & (micros_of(column, kind) < watermark)


def latest_of(rows: Rows, column: str, kind: Type) -> int | None:
    """The latest time of the inserted rows."""
    there = valid_mask(rows[column]) & (rows.weights > 0)
    return int(micros_of(rows[column], kind)[there].max()) if there.any() else None


def latest_in(watermark: Watermark | None, fields: tuple[Field, ...], rows: Rows) -> int | None:
    """The latest time of the inserted rows of a table; None if it has no watermark."""
    if watermark is None:
        return None
    kind = next(f.type for f in fields if f.name == watermark.column)
    return latest_of(rows, watermark.column, kind)


def shown_time(micros: int) -> str:
    """A time as text, for messages."""
    return str(np.datetime64(micros, "us")).replace("T", " ").removesuffix(".000000")


def closed_rows(contents: Contents, closing: Eviction, watermark: int) -> Rows | None:
    """A delta that deletes the groups of a map that no row from the watermark on can reach; None if there are none."""
    rows = contents.consolidated()
    at = Rows({closing.time.name: _time(watermark, closing.time.type)}, np.ones(1, dtype=np.int64))
    bound = min(int(_moment(compile_expr(e)(at))[0]) for e in closing.keys)
    column = rows[closing.column]
    gone = rows.filter(valid_mask(column) & (_moment(column, at_end=closing.at_end) < bound))
    if not len(gone):
        return None
    sums = {name: pa.array(-values_of(gone[name], "i8")) for name in contents.layout.sums}
    return gone.negated().with_columns(sums)


def _time(micros: int, kind: Type) -> pa.Array:
    """A time as a column of one row."""
    unit = _TIMES[kind.name]
    return pa.array([micros // unit], pa.int64() if unit == 1 else pa.int32()).cast(arrow_type(kind))


def _moment(keys: pa.Array, *, at_end: bool = False) -> np.ndarray[Any, Any]:
    """Times in keys as numbers; for windows, their start or end."""
    while pa.types.is_struct(keys.type):
        keys = keys.flatten()[-1 if at_end else 0]
    return values_of(keys, f"i{keys.type.bit_width // 8}")
