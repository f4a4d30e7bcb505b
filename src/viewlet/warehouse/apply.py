"""Epochs: from what a user changes to what is committed.

The law: all of an epoch lands in one commit, or nothing does. Changes are checked as they come; then the
views that read a changed table run in the order of their dependencies, each on the deltas of those before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from viewlet.columns.rows import Rows
from viewlet.engine.choose import EngineName
from viewlet.engine.epoch import OpenEpoch
from viewlet.errors import EvaluationError, RejectedEpoch, StoreError
from viewlet.program.program import Program, operators
from viewlet.source.intake import to_arrow
from viewlet.spark.fragments.spark_operators import OnSparkSession
from viewlet.spark.session.versions import changed_between
from viewlet.store import Snapshot, Transaction
from viewlet.warehouse.catalog import Catalog, View
from viewlet.warehouse.clocks import advance, mark_of
from viewlet.warehouse.expectations import DROPPED_LAYOUT, evaluator
from viewlet.warehouse.tables import Table, TableChanges

if TYPE_CHECKING:
    from viewlet.spark.sessions import Sessions
    from viewlet.warehouse.warehouse import Warehouse


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
        if table.name not in self._changes:
            index = None if table.index is None else self._snapshot.contents(table.index)
            self._changes[table.name] = TableChanges(
                table, index, mark=mark_of(table, self._snapshot), breaks=evaluator(self._sessions, table.fields)
            )
        return self._changes[table.name]


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


def apply_epoch(
    warehouse: Warehouse,
    transaction: Transaction,
    changed: list[tuple[TableChanges, Rows]],
    engine: EngineName | None = None,
) -> dict[str, Any]:
    """Append the tables' deltas and run the programs, on the warehouse's engine or another; the epoch's record."""
    started = time.perf_counter()
    epoch = OpenEpoch(transaction, warehouse.on_spark)
    for changes, delta in changed:
        if len(delta):
            _append_table(epoch, changes.table, delta)
        append_dropped(transaction, changes)
    readers = _readers(warehouse.catalog, epoch.changes)
    _refuse_other_spark(warehouse, readers)
    if readers:
        transaction.write_ahead()
    runner, choice = warehouse.choose(
        sum(len(d) for _, d in changed), sum(len(v.program.steps) for v in readers), engine
    )
    views = {}
    for view in readers:
        if any(bag in epoch.changes for bag in view.reads):
            weighed = estimate_refresh(warehouse, view, epoch)
            run = _run_anew if weighed.recompute else _run_view
            views[view.name] = {**run(runner, view, epoch), "weighed": weighed.record()}
    for changes, delta in changed:
        advance(warehouse.catalog, epoch.transaction, changes.table, delta)
    tables = {c.table.name: {**counts(d), **({"dropped": dict(c.dropped)} if c.dropped else {})} for c, d in changed}
    spent = (time.perf_counter() - started) * 1e3
    return {
        "kind": "epoch",
        "engine": runner.name,
        "weighed": choice.record(),
        "tables": tables,
        "views": views,
        "ms": round(spent, 3),
    }


def summary(record: dict[str, Any]) -> str:
    """An epoch's record in a line."""
    tables = ", ".join(f"{t} +{n['inserted']} −{n['deleted']}" for t, n in record["tables"].items())
    return f"{tables}; {len(record['views'])} views in {record['ms']:.1f} ms on {record['engine']}"


def _readers(catalog: Catalog, changed: Iterable[str]) -> list[View]:
    """The views that some changes can reach, in the order of their dependencies."""
    reached, found = set(changed), []
    for view in catalog.views.values():
        if reached & set(view.reads):
            reached.add(view.name)
            found.append(view)
    return found


def _refuse_other_spark(warehouse: Warehouse, views: list[View]) -> None:
    """Raise if a view calls a function that meant something else in the Spark that the view was made with."""
    for view in views:
        if view.changing and (changed := changed_between(view.changing, view.spark, now := warehouse.sessions.version)):
            raise StoreError(
                f"view {view.name} was made with Spark {view.spark}, and this is Spark {now}, "
                f"where {', '.join(changed)} means something else",
                hint="create it again: CREATE OR REPLACE MATERIALIZED VIEW …",
            )


def _append_table(epoch: OpenEpoch, table: Table, delta: Rows) -> None:
    epoch.add(table.name, delta, table.layout)
    if table.index is not None:
        epoch.transaction.append(table.index, table.index_rows(delta), table.index_layout)


def append_dropped(transaction: Transaction, changes: TableChanges) -> None:
    """Count the rows that constraints dropped."""
    if changes.dropped and changes.table.dropped is not None:
        names = {"constraint": pa.array(list(changes.dropped), pa.string())}
        rows = Rows(names, np.array(list(changes.dropped.values()), dtype=np.int64))
        transaction.append(changes.table.dropped, rows, DROPPED_LAYOUT)


@dataclass(frozen=True, slots=True)
class RefreshEstimate:
    """Whether a view is brought up to date or computed anew, by the rows that either handles."""

    changed: int
    there: int
    is_shared: bool

    @property
    def recompute(self) -> bool:
        return _UPDATE * self.changed > self.there + _FEW and not self.is_shared

    def record(self) -> dict[str, int]:
        return {"increment": _UPDATE * self.changed, "recompute": self.there}


_UPDATE, _FEW = 2, 1000
"""A changed row costs about as much as two that are read anew; small epochs are not worth weighing."""


def estimate_refresh(warehouse: Warehouse, view: View, epoch: OpenEpoch) -> RefreshEstimate:
    """What an epoch changes of what a view reads, beside all that it reads then."""
    deltas = [epoch.changes[bag] for bag in view.reads if bag in epoch.changes]
    changed = sum(map(len, deltas))
    read = [epoch.transaction.before(bag) for bag in view.reads]
    there = changed + sum(contents.rows for contents in read)  # those that were taken away again included
    if _UPDATE * changed > _FEW + there - 2 * changed:
        there = sum(contents.total() for contents in read) + sum(int(delta.weights.sum()) for delta in deltas)
    if _UPDATE * changed <= there + _FEW:
        return RefreshEstimate(changed, there, is_shared=False)
    own = warehouse.catalog.own_maps(view)
    return RefreshEstimate(changed, there, is_shared=len(own) < sum(m.stored for m in view.program.maps))


def _run_anew(engine: Any, view: View, epoch: OpenEpoch) -> dict[str, Any]:
    """Compute a view from nothing, where an epoch changes most of what it reads; the difference is what goes on."""
    started = time.perf_counter()
    anew = OpenEpoch(epoch.transaction, epoch.spark)
    for bag in view.reads:
        rows = epoch.transaction.contents(bag).consolidated()
        if len(rows):
            anew.changes[bag] = rows
    anew.begin_anew(view.ready)
    _run(engine, view, anew)
    before = epoch.transaction.before(view.name).consolidated().negated()
    now = anew.changes.get(view.name)
    delta = (before if now is None else Rows.concat([before, now.select(before.names)])).consolidate()
    if len(delta):
        epoch.add(view.name, delta, view.ready.steps[-1].layout)
    return refresh_record(view, epoch, started, "recompute: the epoch changes most of what it reads")


def _run(engine: Any, view: View, epoch: OpenEpoch) -> None:
    try:
        engine.run(view.ready, epoch)
    except EvaluationError as error:
        error.view = view.name
        raise


def refresh_record(view: View, epoch: OpenEpoch, started: float, how: str) -> dict[str, Any]:
    rows_in = {bag: len(epoch.changes[bag]) for bag in view.reads if bag in epoch.changes}
    delta = epoch.changes.get(view.name)
    out = counts(delta) if delta is not None else {"inserted": 0, "deleted": 0}
    spent = (time.perf_counter() - started) * 1e3
    return {"technique": how, "rows_in": rows_in, **out, "ms": round(spent, 3)}


def _run_view(engine: Any, view: View, epoch: OpenEpoch, *, initial: bool = False) -> dict[str, Any]:
    """Bring one view up to date; what it took."""
    started = time.perf_counter()
    epoch.begin(view.ready, initial=initial)
    _run(engine, view, epoch)
    return refresh_record(view, epoch, started, technique(view.program))


def technique(program: Program) -> str:
    """The costliest tier among a program's operators."""
    tiers = {note.tier for _, note in operators(program.notes)}
    return next((t for t in ("recompute", "keyed", "monoid", "ring") if t in tiers), "ring")


def counts(delta: Rows) -> dict[str, int]:
    """How many rows a change puts in and takes away."""
    positive = np.maximum(delta.weights, 0)
    return {"inserted": int(positive.sum()), "deleted": int((positive - delta.weights).sum())}


def backfill(
    warehouse: Warehouse,
    transaction: Transaction,
    view: View,
    progress: Callable[[str], None],
    inputs: Mapping[str, Rows] | None = None,
    engine: EngineName | None = None,
    made: Mapping[str, Table | View] | None = None,
) -> dict[str, Any]:
    """Fill a new view from what its inputs hold, or from some rows of them, as one big change; the epoch's record.

    `made` are the tables and views that the transaction puts in the place of those of the catalog.
    """
    _refuse_other_spark(warehouse, [view])
    epoch = OpenEpoch(transaction, OnSparkSession(warehouse.sessions, lambda _: view))
    for bag in view.reads:
        found = (made or {}).get(bag) or warehouse.catalog.find(bag)
        rows = contents_of(transaction, found) if inputs is None else inputs.get(bag)
        progress(f"view {view.name}: reading {bag}, {len(rows or ()):,} rows")
        if rows is not None and len(rows):
            epoch.changes[bag] = rows
    total = sum(len(rows) for rows in epoch.changes.values())
    progress(f"view {view.name}: computing from {total:,} rows")
    runner, choice = warehouse.choose(total, len(view.program.steps), engine)
    made = _run_view(runner, view, epoch, initial=True)
    return {
        "kind": "create view",
        "name": view.name,
        "engine": runner.name,
        "weighed": choice.record(),
        "tables": {},
        "views": {view.name: made},
    }


def contents_of(transaction: Transaction, found: Table | View) -> Rows:
    """All rows of a table or view as the transaction leaves it, as columns in its order."""
    stored = found.names if isinstance(found, Table) else found.program.stored
    return transaction.contents(found.name).consolidated().select(stored)
