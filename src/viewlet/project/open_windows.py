"""Open windows: the rows of groups that a flow's watermark has not closed yet.

The law: a group emits its result once, when the watermark has reached its end, and the commit that appends the result
deletes its rows. A row that arrives after its group has closed is late, and dropped. The watermark of a flow is the
latest time of the rows that it has read, minus its delay, in milliseconds; it starts at 1970 and never goes back. All
this is as in Spark.

Rows wait in the form in which they enter the aggregate, in pieces by run, ordered by when the first group closes.
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
"""A piece: its rows as an Arrow stream, and when the first of them closes. A piece without rows holds the watermark."""
LAYOUT = Layout(columns=tuple(TYPES), key=("flow", "closes"))
_NEVER = -(2**62)


def windows_bag(table: Table) -> str:
    return f"{table.name}.windows"


@dataclass(frozen=True)
class WaitingRows:
    """A piece of waiting rows."""

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
    """The state of a flow between runs."""

    table: Table
    query: Query
    watermark: int = 0
    pieces: tuple[WaitingRows, ...] = ()

    def rows(self, weight: int) -> Iterator[tuple[str, int, int, bytes, int]]:
        """The state as stored rows with a weight, including the watermark, once there is one."""
        flow = self.query.name
        if self.watermark:
            yield flow, self.watermark, 0, b"", weight
        yield from ((flow, 0, piece.closes, piece.rows, weight) for piece in self.pieces)


def _stored(snapshot: Snapshot, table: Table) -> Iterator[tuple[str, int, int, bytes]]:
    rows = snapshot.contents(windows_bag(table)).consolidated()
    return zip(*(rows[name].to_pylist() for name in TYPES), strict=True)


def watermarks(snapshot: Snapshot, table: Table) -> dict[str, int]:
    """The watermark of each flow, in milliseconds."""
    return {flow: mark for flow, mark, _, body in _stored(snapshot, table) if not body}


def open_windows(snapshot: Snapshot, table: Table, query: Query) -> OpenWindows:
    """The stored state of a flow."""
    mine = [row for row in _stored(snapshot, table) if row[0] == query.name]
    pieces = tuple(WaitingRows(closes, body) for _, _, closes, body in mine if body)
    return OpenWindows(table, query, watermarks(snapshot, table).get(query.name, 0), pieces)


@dataclass(frozen=True)
class Windows:
    """The effect of a run on open windows."""

    before: OpenWindows
    after: OpenWindows
    late: int
    results: DataFrame
    """The results of the groups that have closed."""

    def keep(self, transaction: Transaction) -> dict[str, Any]:
        """Store the windows that stay open; return fields for the record."""
        rows = [*self.before.rows(-1), *self.after.rows(1)]
        *columns, weights = zip(*rows, strict=True) if rows else [()] * (len(TYPES) + 1)
        arrays = {name: pa.array(c, kind) for (name, kind), c in zip(TYPES.items(), columns, strict=True)}
        delta = Rows(arrays, np.array(weights, dtype=np.int64)).consolidate()
        transaction.append(windows_bag(self.after.table), delta, LAYOUT)
        return {"watermark": self.after.watermark, "late": self.late}


def close_windows(flow: WatermarkedFlow, before: OpenWindows) -> Windows:
    """Add new rows and close the groups that the watermark has reached."""
    from viewlet.spark.session.arrow_frames import from_arrow

    arriving = flow.arriving()
    fields = fields_of(arriving)
    rows, late = _in_time(collect(arriving, fields), before.watermark)
    watermark = max(before.watermark, _latest(flow) - flow.delay)
    due = [
        p for p in before.pieces if flow.is_session or p.closes <= watermark * 1000
    ]  # new rows may extend any session
    waiting = _together(before, [piece.table() for piece in due], rows)
    closes = _closing(flow, waiting)
    closed = closes <= watermark * 1000
    stays = [] if closed.all() else [WaitingRows.of(waiting.filter(pa.array(~closed)), closes[~closed])]
    kept = tuple(piece for piece in before.pieces if piece not in due)
    results = flow.results(from_arrow(arriving.sparkSession, waiting.filter(pa.array(closed)), fields))
    return Windows(before, OpenWindows(before.table, before.query, watermark, (*kept, *stays)), late, results)


def _in_time(rows: pa.Table, watermark: int) -> tuple[pa.Table, int]:
    """The rows whose groups are open, and the number of late ones; rows without a time belong to no group."""
    there = valid_mask(_first(rows))
    late = there & (_ends(rows) <= watermark * 1000)
    return rows.filter(pa.array(there & ~late)), int(late.sum())


def _together(before: OpenWindows, waiting: list[pa.Table], rows: pa.Table) -> pa.Table:
    """Waiting and new rows."""
    if any(table.schema != rows.schema for table in waiting):
        raise ProjectError(
            f"{before.query.where}: flow {before.query.name} reads other columns than its open windows hold",
            hint=f"viewlet run --full-refresh {before.table.name}",
        )
    return pa.concat_tables([*waiting, rows]).combine_chunks()


def _closing(flow: WatermarkedFlow, rows: pa.Table) -> Micros:
    """When the group of each row closes; sessions extend as long as rows touch them."""
    ends = _ends(rows)
    if not flow.is_session or not len(ends):
        return ends
    keys = [normalized(column.combine_chunks()) for column in rows.columns[len(flow.columns) :]]
    _, groups = number_groups(keys, len(ends))
    joined = join_up(groups, _micros(_first(rows).field(0)), ends)
    return joined.high[joined.of]


def _ends(rows: pa.Table) -> Micros:
    """The end of each row's window, or its time; undefined if NULL."""
    column = _first(rows)
    return _micros(column.field(1) if pa.types.is_struct(column.type) else column)


def _first(rows: pa.Table) -> pa.Array:
    return rows["c0"].combine_chunks()


def _micros(times: pa.Array) -> Micros:
    return values_of(times, "i8").astype(np.int64)


def _latest(flow: WatermarkedFlow) -> int:
    """The latest time of the new rows in milliseconds; the earliest possible one if none has a time."""
    from pyspark.sql import functions as sf

    found = collect(flow.times().agg(sf.max("time").alias("time")))["time"].combine_chunks()
    return int(_micros(found)[0]) // 1000 if found.null_count == 0 else _NEVER
