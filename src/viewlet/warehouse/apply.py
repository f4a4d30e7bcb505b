"""Epochs: from what a user changes to what is committed.

The law: all of an epoch lands in one commit, or nothing does. Changes are checked as they come; then the
views that read a changed table run in the order of their dependencies, each on the deltas of those before.
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
from viewlet.errors import RejectedEpoch
from viewlet.source.intake import to_arrow
from viewlet.store import Snapshot, Transaction
from viewlet.warehouse.catalog import Catalog
from viewlet.warehouse.clocks import advance, mark_of
from viewlet.warehouse.expectations import DROPPED_LAYOUT, evaluator
from viewlet.warehouse.maintained import Maintained
from viewlet.warehouse.refresh import Refresh
from viewlet.warehouse.tables import Table, TableChanges

if TYPE_CHECKING:
    from viewlet.spark.sessions import Sessions
    from viewlet.warehouse.warehouse import Warehouse

log = logging.getLogger("viewlet")


class Epoch:
    """The changes that a user collects; nothing happens before the block ends."""

    def __init__(self, catalog: Catalog, snapshot: Snapshot, sessions: Sessions) -> None:
        self._catalog = catalog
        self._snapshot = snapshot
        self._sessions = sessions
        self._changes: dict[str, TableChanges] = {}
        self._is_open = True
        self.number = 0
        """The epoch's number, once it is committed."""
        self.late: dict[str, int] = {}
        """How many rows of each table came too late and were kept aside, once the block has ended."""
        self.rejected: dict[str, int] = {}
        """How many rows of each table broke a constraint and were kept aside, once the block has ended."""
        self.dropped: dict[str, dict[str, int]] = {}
        """How many rows of each table each constraint dropped, once the block has ended."""

    def __repr__(self) -> str:
        if self._is_open:
            return f"<open epoch: changes of {', '.join(self._changes) or 'nothing'}>"
        return f"<epoch {self.number}>" if self.number else "<epoch, ended without a commit>"

    def insert(self, table: str, rows: Any) -> None:
        """Put rows in: a PySpark or pandas DataFrame, a pyarrow Table, a list of dicts or tuples."""
        changes = self._of(table)
        changes.insert(take_in(changes.table, rows))

    def delete(self, table: str, rows: Any) -> None:
        """Take whole rows away, one copy for each row given; or, where there is a primary key, just by keys."""
        changes = self._of(table)
        if changes.table.primary_key and _has_keys_only(rows, changes.table):
            changes.delete_keys(take_in(changes.table, rows, changes.table.primary_key))
        else:
            changes.delete(take_in(changes.table, rows))

    def upsert(self, table: str, rows: Any) -> None:
        """Put rows in, each instead of the one with its key."""
        changes = self._of(table)
        changes.upsert(take_in(changes.table, rows))

    def replace(self, table: str, old: Any, new: Any) -> None:
        """Put rows in, each instead of the old one in its place, which stays where the new one is not taken in."""
        changes = self._of(table)
        changes.replace(take_in(changes.table, old), take_in(changes.table, new))

    def deltas(self) -> list[tuple[TableChanges, Rows]]:
        """The net changes of the tables that change at all."""
        changed = list(self._changes.values())
        self.late = {c.table.name: sum(map(len, c.late)) for c in changed if c.late}
        self.rejected = {c.table.name: sum(map(len, c.rejected)) for c in changed if c.rejected}
        self.dropped = {c.table.name: dict(c.dropped) for c in changed if c.dropped}
        return deltas_of(changed)

    def close(self) -> None:
        """No more changes."""
        self._is_open = False

    def _of(self, name: str) -> TableChanges:
        if not self._is_open:
            raise RejectedEpoch("the epoch has ended", hint="make changes inside of its block")
        table = self._catalog.table(name)
        if table.aside_of:
            raise RejectedEpoch(
                f"table {table.name} holds rows that {table.aside_of} did not take in, and nothing else changes it",
                hint=f"change {table.aside_of}",
            )
        if table.static and (readers := self._catalog.readers(table.name)):
            raise RejectedEpoch(
                f"table {table.name} is STATIC, and {', '.join(readers)} read it",
                hint="drop them, change it, create them",
            )
        if table.source is not None:
            raise RejectedEpoch(
                f"table {table.name} is fed by a {table.source.kind}, and nothing else changes it",
                hint=f"change what it reads, then db.read_sources({table.name!r})",
            )
        if table.name not in self._changes:
            self._changes[table.name] = table_changes(table, self._snapshot, self._sessions)
        return self._changes[table.name]


def table_changes(table: Table, snapshot: Snapshot, sessions: Sessions) -> TableChanges:
    """Changes of a table to be collected, checked against what it holds."""
    index = None if table.index is None else snapshot.contents(table.index)
    return TableChanges(table, index, mark=mark_of(table, snapshot), breaks=evaluator(sessions, table.fields))


def deltas_of(changed: list[TableChanges]) -> list[tuple[TableChanges, Rows]]:
    """The net changes of tables, those of the tables of what they do not take in, and tables that only dropped rows."""
    netted = [(changes, changes.delta()) for changes in changed]
    for changes in changed:
        for aside, rows in ((changes.table.late, changes.late), (changes.table.rejected, changes.rejected)):
            if aside is not None and rows:
                netted.append((TableChanges(aside, None), Rows.concat(rows).select(aside.names)))
    return [(changes, delta) for changes, delta in netted if len(delta) or changes.dropped]


def take_in(table: Table, rows: Any, columns: tuple[str, ...] | None = None) -> Rows:
    """What a user gives as rows of a table."""
    return Rows.of(to_arrow(table.name, table.fields, rows, columns=columns))


def _has_keys_only(rows: Any, table: Table) -> bool:
    """Whether what is to be deleted is given by keys alone."""
    width = len(table.primary_key)
    if width == len(table.fields):
        return False
    names = getattr(getattr(rows, "schema", None), "names", None) or getattr(rows, "columns", None)
    if names is not None:
        return len(names) == width
    first = next(iter(rows), None) if isinstance(rows, list | tuple) else None
    return isinstance(first, dict | tuple | list) and len(first) == width


def commit_epoch(
    warehouse: Warehouse,
    changed: list[tuple[TableChanges, Rows]],
    also: Callable[[Transaction], Mapping[str, Any]] = lambda _: {},
) -> int:
    """Apply the tables' deltas with all that follows from them, and commit; the epoch's number.

    `also` adds something of its own to the transaction, and to the record.
    """
    with warehouse.store.begin() as transaction:
        deltas = EpochDeltas(transaction)
        record = {**apply_epoch(warehouse, deltas, changed), **also(transaction)}
        number = transaction.commit(record)
    warehouse.memory.update(deltas.remembered)
    log.info("epoch %d: %s", number, _summary(record))
    return number


def apply_epoch(
    warehouse: Warehouse,
    deltas: EpochDeltas,
    changed: list[tuple[TableChanges, Rows]],
    engine: EngineName | None = None,
) -> dict[str, Any]:
    """Append the tables' deltas and refresh the views, on the warehouse's engine or another; the epoch's record."""
    started = time.perf_counter()
    for changes, delta in changed:
        if len(delta):
            _append_table(deltas, changes.table, delta)
        append_dropped(deltas.transaction, changes)
    readers = _readers(warehouse.catalog, deltas.changes)
    if readers:
        deltas.transaction.write_ahead()
    runner, choice = warehouse.choose(sum(len(d) for _, d in changed), sum(v.steps for v in readers), engine)

    def begin(view: Maintained) -> Refresh | None:
        reached = any(bag in deltas.changes for bag in view.reads)
        return Refresh(warehouse, deltas, view, runner, log.info) if reached else None

    views: dict[str, Any] = {}
    for _, group in groupby(readers, type):
        things = list(group)
        views |= {run.thing.name: run.record(done) for run, done in things[0].refresh_all(things, begin)}
    for changes, delta in changed:
        advance(warehouse.catalog, deltas.transaction, changes.table, delta)
    tables = {c.table.name: {**counts(d), **({"dropped": dict(c.dropped)} if c.dropped else {})} for c, d in changed}
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
    """An epoch's record in a line."""
    tables = ", ".join(f"{t} +{n['inserted']} −{n['deleted']}" for t, n in record["tables"].items())
    return f"{tables}; {len(record['views'])} views in {record['ms']:.1f} ms on {record['engine']}"


def _readers(catalog: Catalog, changed: Iterable[str]) -> list[Maintained]:
    """The views that some changes can reach, in the order of their dependencies."""
    reached, found = set(changed), []
    for view in catalog.views.values():
        if reached & set(view.reads):
            reached.add(view.name)
            found.append(view)
    return found


def _append_table(deltas: EpochDeltas, table: Table, delta: Rows) -> None:
    deltas.add(table.name, delta, table.layout)
    if table.index is not None:
        deltas.transaction.append(table.index, table.index_rows(delta), table.index_layout)


def append_dropped(transaction: Transaction, changes: TableChanges) -> None:
    """Count the rows that constraints dropped."""
    if changes.dropped and changes.table.dropped is not None:
        names = {"constraint": pa.array(list(changes.dropped), pa.string())}
        rows = Rows(names, np.array(list(changes.dropped.values()), dtype=np.int64))
        transaction.append(changes.table.dropped, rows, DROPPED_LAYOUT)
