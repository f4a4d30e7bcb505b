"""Epochs: applying the changes of tables, refreshing views, committing.

The law: an epoch commits as a whole or not at all. Changes are checked as they arrive; then the views that read a
changed table are refreshed in dependency order, each from the deltas of those before it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from viewlet.columns.rows import Rows
from viewlet.engine.choose import EngineName
from viewlet.engine.epoch import EpochDeltas, counts
from viewlet.intake.to_columns import to_columns
from viewlet.store import Snapshot, Transaction
from viewlet.warehouse.declare.catalog import Catalog
from viewlet.warehouse.declare.expectations import DROPPED_LAYOUT, evaluator
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.epoch.clocks import advance, mark_of
from viewlet.warehouse.epoch.table_changes import TableChanges
from viewlet.warehouse.maintained import Maintained
from viewlet.warehouse.refresh import Refresh

if TYPE_CHECKING:
    from viewlet.spark.sessions import Sessions
    from viewlet.warehouse.warehouse import Warehouse

log = logging.getLogger("viewlet")


def table_changes(table: Table, snapshot: Snapshot, sessions: Sessions) -> TableChanges:
    """An empty collection of changes to a table, which checks them against a snapshot."""
    index = None if table.index is None else snapshot.contents(table.index)
    return TableChanges(table, index, mark=mark_of(table, snapshot), breaks=evaluator(sessions, table.fields))


def deltas_of(changed: list[TableChanges]) -> list[tuple[TableChanges, Rows]]:
    """The net changes of tables and of their tables of late and rejected rows, without those that change nothing."""
    netted = [(changes, changes.delta()) for changes in changed]
    netted += [(TableChanges(aside, None), rows) for changes in changed for aside, rows in changes.take_asides()]
    return [(changes, delta) for changes, delta in netted if len(delta) or changes.dropped or changes.load]


def take_in(table: Table, rows: Any, columns: tuple[str, ...] | None = None) -> Rows:
    """Convert a user's rows to rows of a table."""
    return Rows.each_once(to_columns(table.name, table.fields, rows, columns=columns))


def commit_epoch(
    warehouse: Warehouse,
    changed: list[tuple[TableChanges, Rows]],
    also: Callable[[Transaction], Mapping[str, Any]] = lambda _: {},
    begun: Transaction | None = None,
) -> int:
    """Apply the tables' deltas, refresh the views and commit; return the epoch's number.

    `also` adds to the transaction, and returns what it adds to the record. `begun`: the transaction that holds rows
    written earlier.
    """
    with begun or warehouse.store.begin() as transaction:
        deltas = EpochDeltas(transaction)
        record = {**apply_epoch(warehouse, deltas, changed), **also(transaction)}
        number = transaction.commit(record)
    warehouse.memory.update(deltas.remembered)
    log.info("epoch %d: %s", number, _summary(record))
    if number % _LOOK == 0:
        for name in record["views"]:
            warehouse.catalog.views[name].follow_data(warehouse)
    return number


_LOOK = 8  # epochs between checks whether the programs of refreshed views still suit the data


def apply_epoch(
    warehouse: Warehouse,
    deltas: EpochDeltas,
    changed: list[tuple[TableChanges, Rows]],
    engine: EngineName | None = None,
) -> dict[str, Any]:
    """Append the tables' deltas and refresh the views, on the given engine or the warehouse's; return the record."""
    started = time.perf_counter()
    for changes, delta in changed:
        _append_table(deltas, changes, delta)
        append_dropped(deltas.transaction, changes)
    readers = _readers(warehouse.catalog, deltas.changes)
    if readers:
        deltas.transaction.write_ahead()
    rows = sum(deltas.changes.rows(c.table.name) for c, _ in changed if c.table.name in deltas.changes)
    runner, choice = warehouse.choose(rows, sum(v.steps for v in readers), engine, transaction=deltas.transaction)

    def begin(view: Maintained) -> Refresh | None:
        reached = any(bag in deltas.changes for bag in view.reads)
        return Refresh(warehouse, deltas, view, runner) if reached else None

    views: dict[str, Any] = {}
    for _, group in groupby(readers, type):
        things = list(group)
        views |= {run.thing.name: run.record(done) for run, done in things[0].refresh_all(things, begin)}
    for changes, delta in changed:
        advance(warehouse.catalog, deltas.transaction, changes.table, changes.latest(delta), runner.cluster)
    tables = {c.table.name: _table_record(c, d) for c, d in changed}
    spent = (time.perf_counter() - started) * 1e3
    return {
        "kind": "epoch",
        "engine": runner.name,
        "weighed": choice.record(),
        "tables": tables,
        "views": views,
        **({"jobs": deltas.jobs} if deltas.jobs else {}),
        "ms": round(spent, 3),
    }


def _summary(record: dict[str, Any]) -> str:
    """An epoch's record in one line."""
    tables = ", ".join(f"{t} +{n['inserted']} −{n['deleted']}" for t, n in record["tables"].items())
    return f"{tables}; {len(record['views'])} views in {record['ms']:.1f} ms on {record['engine']}"


def _readers(catalog: Catalog, changed: Iterable[str]) -> list[Maintained]:
    """The views that changes of these bags can reach, in dependency order."""
    reached, found = set(changed), []
    for view in catalog.views.values():
        if reached & set(view.reads):
            reached.add(view.name)
            found.append(view)
    return found


def _append_table(deltas: EpochDeltas, changes: TableChanges, delta: Rows) -> None:
    """Append a change to a table and its index, or adopt it if it is already written."""
    table, load = changes.table, changes.load
    if load is not None and load.transaction is deltas.transaction:
        load.hand_on(deltas, delta)
        return
    if not len(delta):
        return
    deltas.add(table.name, delta, table.layout)
    if table.index is not None:
        deltas.transaction.append_index(table.index, table.index_rows(delta), table.index_layout)


def _table_record(changes: TableChanges, delta: Rows) -> dict[str, Any]:
    """A table's entry in the epoch's record."""
    dropped = {"dropped": dict(changes.dropped)} if changes.dropped else {}
    return {**(counts(delta) if changes.load is None else changes.load.counts), **dropped}


def append_dropped(transaction: Transaction, changes: TableChanges) -> None:
    """Count the rows that constraints dropped."""
    if changes.dropped and changes.table.dropped is not None:
        names = {"constraint": pa.array(list(changes.dropped), pa.string())}
        rows = Rows(names, np.array(list(changes.dropped.values()), dtype=np.int64))
        transaction.append(changes.table.dropped, rows, DROPPED_LAYOUT)
