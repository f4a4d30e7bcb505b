"""One run of a flow: evaluates its query over new rows of its streams, and commits the result with the positions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from viewlet.errors import ProjectError
from viewlet.formatting import plural
from viewlet.project.definitions import Query
from viewlet.project.open_windows import Windows, close_windows, open_windows
from viewlet.project.reads import ProjectReads
from viewlet.project.streaming_tables import move, read_positions
from viewlet.sql.queries import collect, fields_of
from viewlet.store import Transaction
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.epoch.apply import commit_epoch, deltas_of, table_changes, take_in
from viewlet.warehouse.epoch.blame import blaming_changes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from viewlet.database import Database
    from viewlet.spark.watermarked_flow import WatermarkedFlow


@dataclass(frozen=True)
class Appended:
    """The outcome of a run of a flow; false if it is not worth showing."""

    rows: int = 0
    late: int = 0

    def __bool__(self) -> bool:
        return self.rows > 0 or self.late > 0

    def __str__(self) -> str:
        late = f"; {plural(self.late, 'row')} came too late for their windows" if self.late else ""
        return f"appended {plural(self.rows, 'row')}{late}"


def run_flow(db: Database, reads: ProjectReads, target: str, query: Query, frame: Callable[[], DataFrame]) -> Appended:
    """Append the result of a flow's query over new rows."""
    warehouse = db._warehouse
    table, snapshot = warehouse.catalog.table(target), warehouse.store.snapshot()
    before = read_positions(snapshot, table)
    mine = {stream: epoch for (flow, stream), epoch in before.items() if flow == query.name}
    with warehouse.writing():
        with reads.evaluating(mine) as evaluation:
            found = frame()
            if not any(evaluation.streams.values()):
                return Appended()
            cut, windows = cut_at_windows(found, reads, query), None
            if cut is not None:
                windows = close_windows(cut, open_windows(snapshot, table, query))
                found = windows.results
            rows = _fitted(table, query, collect(found, fields_of(found)))
        done = Appended(rows.num_rows, 0 if windows is None else windows.late)

        def advance(transaction: Transaction) -> dict[str, Any]:
            move(transaction, table, before, query.name, evaluation.epochs)
            return {"flow": {"name": query.name, "streams": dict(evaluation.streams), **_keep(transaction, windows)}}

        changes = table_changes(table, snapshot, warehouse.sessions)
        changes.insert(take_in(table, rows))
        deltas = deltas_of([changes])
        with blaming_changes(warehouse, deltas):
            commit_epoch(warehouse, deltas, advance)
    return done


def _keep(transaction: Transaction, windows: Windows | None) -> dict[str, Any]:
    """Store open windows, if there are any; return fields for the record."""
    return {} if windows is None else windows.keep(transaction)


def cut_at_windows(frame: DataFrame, reads: ProjectReads, query: Query) -> WatermarkedFlow | None:
    """A flow cut at the aggregate whose groups a watermark closes; None if it works row by row.

    Raises for other flows that would need to remember rows of a stream.
    """
    from viewlet.spark.project_session import stateful_over
    from viewlet.spark.watermarked_flow import watermarked

    found = stateful_over(frame, reads.marks)
    if not found:
        return None
    (name, operator), *more = found
    cut = watermarked(frame, operator) if name == "Aggregate" and not more else None
    if cut is None:
        windows = "give the stream a watermark, and group by its time or a window of it; or "
        raise ProjectError(
            f"{query.where}: flow {query.name}: {(more or found)[0][0]} over a stream would have to remember its rows",
            hint=f"{windows if name == 'Aggregate' else ''}define it as a materialized view, which is kept fresh incrementally",
        )
    return cut


def _fitted(table: Table, query: Query, rows: pa.Table) -> pa.Table:
    """Rows with all columns of the table, by name; missing ones are NULL."""
    given = {name.lower(): name for name in rows.column_names}
    if more := given.keys() - {name.lower() for name in table.names}:
        raise ProjectError(f"{query.where}: flow {query.name} returns {min(more)}, which {table.name} does not have")
    columns = [
        rows[given[f.name.lower()]] if f.name.lower() in given else pa.nulls(rows.num_rows, table.types[f.name])
        for f in table.fields
    ]
    return pa.table(columns, names=list(table.names))
