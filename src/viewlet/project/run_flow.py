"""One run of a flow: its query over what is new in its streams, appended in one commit with how far it has read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from viewlet.errors import ProjectError
from viewlet.project.definitions import Query
from viewlet.project.flows import Positions, move, read_positions
from viewlet.project.reads import Evaluation, ProjectReads
from viewlet.sql.queries import collect, fields_of
from viewlet.store import Transaction
from viewlet.warehouse.apply import commit_epoch, deltas_of, table_changes, take_in
from viewlet.warehouse.blame import blaming_changes
from viewlet.warehouse.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from viewlet.database import Database


def run_flow(db: Database, reads: ProjectReads, target: str, query: Query, frame: Callable[[], DataFrame]) -> int:
    """Append what follows from new rows; how many rows that is."""
    warehouse = db._warehouse
    table, snapshot = warehouse.catalog.table(target), warehouse.store.snapshot()
    before = read_positions(snapshot, table)
    mine = {stream: epoch for (flow, stream), epoch in before.items() if flow == query.name}
    with warehouse.writing():
        with reads.evaluating(mine) as evaluation:
            found = frame()
            if not any(evaluation.streams.values()):
                return 0
            rows = _fitted(table, query, collect(found, fields_of(found)))
        changes = table_changes(table, snapshot, warehouse.sessions)
        changes.insert(take_in(table, rows))
        deltas = deltas_of([changes])
        with blaming_changes(warehouse, deltas):
            commit_epoch(warehouse, deltas, partial(_advance, table, before, query, evaluation))
    return rows.num_rows


def _advance(
    table: Table, before: Positions, query: Query, read: Evaluation, transaction: Transaction
) -> dict[str, Any]:
    move(transaction, table, before, query.name, read.epochs)
    return {"flow": {"name": query.name, "streams": dict(read.streams)}}


def _fitted(table: Table, query: Query, rows: pa.Table) -> pa.Table:
    """Rows with all columns of the table, by name; those that the flow does not give are NULL."""
    given = {name.lower(): name for name in rows.column_names}
    if more := given.keys() - {name.lower() for name in table.names}:
        raise ProjectError(f"{query.where}: flow {query.name} gives {min(more)}, which {table.name} does not have")
    columns = [
        rows[given[f.name.lower()]] if f.name.lower() in given else pa.nulls(rows.num_rows, table.types[f.name])
        for f in table.fields
    ]
    return pa.table(columns, names=list(table.names))
