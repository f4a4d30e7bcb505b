"""Open windows: the rows of groups that a flow's watermark has not closed yet.

The law: a group gives its result once, when the watermark has reached its end, and its rows are gone with the commit
that appends it. A row whose group has closed when it comes is late, and left out. The watermark of a flow is the latest
time of the rows that it has read, less its delay, in milliseconds; it starts at 1970 and never goes back, all as in Spark.

Rows wait as they would enter the aggregate, each run's in a piece of its own, by when the first of its groups closes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import valid_mask, values_of
from viewlet.columns.intervals import join_up
from viewlet.columns.rows import Rows
from viewlet.engine.groups.keys import normalized, number_groups
from viewlet.errors import ProjectError
from viewlet.project.definitions import Query
from viewlet.sql.queries import collect, fields_of
from viewlet.store import Layout, Snapshot, Transaction
from viewlet.warehouse.declare.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from viewlet.spark.watermarked_flow import WatermarkedFlow

Micros = np.ndarray[Any, np.dtype[np.int64]]
TYPES: dict[str, pa.DataType] = {
    "flow": pa.string(),
    "watermark": pa.int64(),
    "closes": pa.int64(),
    "rows": pa.binary(),
}
"""A piece: its rows as Arrow's messages, and when the first of them leaves. One without rows holds the watermark."""
LAYOUT = Layout(columns=tuple(TYPES), key=("flow", "closes"))
_NEVER = -(2**62)


def windows_bag(table: Table) -> str:
    return f"{table.name}.windows"


@dataclass(frozen=True)
class WaitingRows:
    """Rows that wait."""

    closes: int
    rows: bytes

    @staticmethod
    def of(rows: pa.Table, closes: Micros) -> WaitingRows:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_table(rows)
        return WaitingRows(int(closes.min()), sink.getvalue().to_pybytes())

    def table(self) -> pa.Table:
        return pa.ipc.open_stream(self.rows).read_all()


@dataclass(frozen=True)
class OpenWindows:
    """What a flow keeps from one run to the next."""

    table: Table
    query: Query
    watermark: int = 0
    pieces: tuple[WaitingRows, ...] = ()

    def rows(self, weight: int) -> Iterator[tuple[str, int, int, bytes, int]]:
        """As they are stored, to be put in or taken out; the watermark too, once there is one."""
        flow = self.query.name
        if self.watermark:
            yield flow, self.watermark, 0, b"", weight
        yield from ((flow, 0, piece.closes, piece.rows, weight) for piece in self.pieces)


def _stored(snapshot: Snapshot, table: Table) -> Iterator[tuple[str, int, int, bytes]]:
    rows = snapshot.contents(windows_bag(table)).consolidated()
    return zip(*(rows[name].to_pylist() for name in TYPES), strict=True)


def watermarks(snapshot: Snapshot, table: Table) -> dict[str, int]:
    """How far the time of each flow has come, in milliseconds."""
    return {flow: mark for flow, mark, _, body in _stored(snapshot, table) if not body}


def open_windows(snapshot: Snapshot, table: Table, query: Query) -> OpenWindows:
    """What a flow has kept."""
    mine = [row for row in _stored(snapshot, table) if row[0] == query.name]
    pieces = tuple(WaitingRows(closes, body) for _, _, closes, body in mine if body)
    return OpenWindows(table, query, watermarks(snapshot, table).get(query.name, 0), pieces)


@dataclass(frozen=True)
class Windows:
    """What a run made of the windows that were open."""

    before: OpenWindows
    after: OpenWindows
    late: int
    results: DataFrame
    """What follows from those that have closed."""

    def keep(self, transaction: Transaction) -> dict[str, Any]:
        """Store what stays open."""
        rows = [*self.before.rows(-1), *self.after.rows(1)]
        *columns, weights = zip(*rows, strict=True) if rows else [()] * (len(TYPES) + 1)
        arrays = {name: pa.array(c, kind) for (name, kind), c in zip(TYPES.items(), columns, strict=True)}
        delta = Rows(arrays, np.array(weights, dtype=np.int64)).consolidate()
        transaction.append(windows_bag(self.after.table), delta, LAYOUT)
        return {"watermark": self.after.watermark, "late": self.late}


def close_windows(flow: WatermarkedFlow, before: OpenWindows) -> Windows:
    """Take in what is new, and close what the watermark has reached."""
    from viewlet.spark.session.arrow_frames import from_arrow

    arriving = flow.arriving()
    fields = fields_of(arriving)
    rows, late = _in_time(collect(arriving, fields), before.watermark)
    watermark = max(before.watermark, _latest(flow) - flow.delay)
    due = [
        p for p in before.pieces if flow.is_session or p.closes <= watermark * 1000
    ]  # a session may join with any row
    waiting = _together(before, [piece.table() for piece in due], rows)
    closes = _closing(flow, waiting)
    closed = closes <= watermark * 1000
    stays = [] if closed.all() else [WaitingRows.of(waiting.filter(pa.array(~closed)), closes[~closed])]
    kept = tuple(piece for piece in before.pieces if piece not in due)
    results = flow.results(from_arrow(arriving.sparkSession, waiting.filter(pa.array(closed)), fields))
    return Windows(before, OpenWindows(before.table, before.query, watermark, (*kept, *stays)), late, results)


def _in_time(rows: pa.Table, watermark: int) -> tuple[pa.Table, int]:
    """The rows whose groups are open, and how many others are late; a group without a time never closes, and is none."""
    there = valid_mask(_first(rows))
    late = there & (_ends(rows) <= watermark * 1000)
    return rows.filter(pa.array(there & ~late)), int(late.sum())


def _together(before: OpenWindows, waiting: list[pa.Table], rows: pa.Table) -> pa.Table:
    """Rows that wait and rows that came."""
    if any(table.schema != rows.schema for table in waiting):
        raise ProjectError(
            f"{before.query.where}: flow {before.query.name} reads other columns than its open windows hold",
            hint=f"viewlet run --full-refresh {before.table.name}",
        )
    return pa.concat_tables([*waiting, rows]).combine_chunks()


def _closing(flow: WatermarkedFlow, rows: pa.Table) -> Micros:
    """When the group of each row closes; a session goes on as long as rows meet it."""
    ends = _ends(rows)
    if not flow.is_session or not len(ends):
        return ends
    keys = [normalized(column.combine_chunks()) for column in rows.columns[len(flow.columns) :]]
    _, groups = number_groups(keys, len(ends))
    joined = join_up(groups, _micros(_first(rows).field(0)), ends)
    return joined.high[joined.of]


def _ends(rows: pa.Table) -> Micros:
    """When each row's own window ends, or the row happened; anything where that is NULL."""
    column = _first(rows)
    return _micros(column.field(1) if pa.types.is_struct(column.type) else column)


def _first(rows: pa.Table) -> pa.Array:
    return rows["c0"].combine_chunks()


def _micros(times: pa.Array) -> Micros:
    return values_of(times, "i8").astype(np.int64)


def _latest(flow: WatermarkedFlow) -> int:
    """The latest time among the new rows, in milliseconds; the start of all time if none has one."""
    from pyspark.sql import functions as sf

    found = collect(flow.times().agg(sf.max("time").alias("time")))["time"].combine_chunks()
    return int(_micros(found)[0]) // 1000 if found.null_count == 0 else _NEVER
