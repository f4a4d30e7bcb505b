"""Creating, replacing and rebuilding views: each fills them from their inputs, in one commit.

The readers of a replaced view are refilled, in dependency order. As long as a view keeps its columns, its change feed
continues with the difference between its old and new contents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from viewlet.columns.rows import Rows
from viewlet.engine.choose import EngineName
from viewlet.engine.epoch import EpochDeltas, counts
from viewlet.errors import InUse, UnsupportedQuery
from viewlet.store import Transaction
from viewlet.warehouse.declare.catalog import Catalog
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.epoch.blame import blaming_contents
from viewlet.warehouse.maintained import Maintained
from viewlet.warehouse.refresh import Refresh, visible

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse


def create(
    warehouse: Warehouse,
    view: Maintained,
    *,
    replace: bool = False,
    first: Sequence[Maintained] = (),
) -> int:
    """Create a view, or with `replace` replace the one of its name; return the epoch.

    A view with the same meaning is kept. `first`: views that it reads, created in the same commit.
    """
    catalog = warehouse.catalog
    old = catalog.views.get(catalog.known(view.name) or "") if replace else None
    if old is not None and not first and view.is_same(old):
        return warehouse.store.epoch
    readers = [] if old is None else _readers_after(catalog, old, view)
    gone = [*readers, *([old] if old else [])]
    gone += [_replaced_with(catalog, made, gone) for made in first if replace and catalog.known(made.name)]
    for made in (*first, view):
        if catalog.known(made.name) not in {v.name for v in gone}:
            catalog.refuse_taken(made.name)
    catalog.refuse_followed([v.name for v in gone])
    remembered: dict[str, Any] = {}

    def fill(transaction: Transaction, **trial: Any) -> dict[str, Any]:
        drop_views(catalog, transaction, gone)
        record = fill_views(warehouse, transaction, [*first, view, *readers], {}, remembered, **trial)
        return {**record, "kind": f"create {view.kind}", "name": view.name}

    with nullcontext() if first else blaming_contents(warehouse, view, fill):
        return _committed(warehouse, fill, remembered)


def _replaced_with(catalog: Catalog, made: Maintained, gone: Sequence[Maintained]) -> Maintained:
    """The existing view that one of `first` replaces; refused if views that stay read it."""
    there = catalog.view(made.name)
    names = {view.name for view in gone}
    if others := [name for name in catalog.readers(there.name) if name not in names]:
        raise InUse(f"{', '.join(others)} read {there.name}, which would become another view", hint="drop them first")
    return there


def rebuild(warehouse: Warehouse, view: Maintained) -> int:
    """Recompute a view from its inputs; return the epoch."""
    warehouse.catalog.refuse_followed([view.name])
    remembered: dict[str, Any] = {}

    def fill(transaction: Transaction, **trial: Any) -> dict[str, Any]:
        drop_views(warehouse.catalog, transaction, [view])
        return {**fill_views(warehouse, transaction, [view], {}, remembered, **trial), "kind": "rebuild"}

    with blaming_contents(warehouse, view, fill):
        return _committed(warehouse, fill, remembered)


def _committed(
    warehouse: Warehouse, fill: Callable[[Transaction], dict[str, Any]], remembered: Mapping[str, Any]
) -> int:
    with warehouse.store.begin() as transaction:
        number = transaction.commit(fill(transaction))
    warehouse.remember(remembered)
    return number


def _readers_after(catalog: Catalog, old: Maintained, new: Maintained) -> list[Maintained]:
    """The readers of a view that is redefined, moved after it; refused if its columns would change."""
    readers = [catalog.view(name) for name in catalog.readers(old.name)]
    _refuse_other_columns(old, new, [reader.name for reader in readers])
    return [reader.at(new.position + 1 + place) for place, reader in enumerate(readers)]


def _refuse_other_columns(old: Maintained, new: Maintained, readers: Sequence[str]) -> None:
    if through := [name for name in readers if name in new.mentions]:
        raise UnsupportedQuery(f"view {new.name} would read itself, through {through[0]}")
    if not readers:
        return
    hint = "drop them first, or give the definition the same columns"
    if [(f.name, f.type) for f in new.fields] != [(f.name, f.type) for f in old.fields]:
        raise InUse(f"{', '.join(readers)} read {old.name}, and its columns would change", hint=hint)
    if wider := [n.name for n, o in zip(new.fields, old.fields, strict=True) if n.nullable and not o.nullable]:
        raise InUse(f"{', '.join(readers)} read {old.name}, and {wider[0]} could become NULL", hint=hint)


def drop_views(catalog: Catalog, transaction: Transaction, views: Sequence[Maintained]) -> None:
    """Drop views and the bags that no other view shares."""
    there = [catalog.views[view.name] for view in views]
    for bag in catalog.own_bags(*there):
        transaction.drop(bag)
    for view in there:
        transaction.remove(view.key)


def fill_views(
    warehouse: Warehouse,
    transaction: Transaction,
    views: Sequence[Maintained],
    replaced: Mapping[str, Table | Maintained],
    remembered: dict[str, Any] | None = None,
    **trial: Any,
) -> dict[str, Any]:
    """Fill views one after the other, over replaced tables and the views before them; return the record.

    `remembered` receives the state that they hold in memory after the commit. `trial`: the input rows and the engine,
    if this is a trial fill of the first view.
    """
    replaced = dict(replaced)
    records: list[dict[str, Any]] = []
    for view in views:
        deltas = EpochDeltas(transaction)
        records.append(_fill(warehouse, deltas, view, replaced, **(trial if not records else {})))
        if not trial and (passed_on := _pass_on_difference(warehouse, transaction, view)):
            records[-1]["views"][view.name] |= passed_on
        if remembered is not None:
            remembered.update(deltas.remembered)
        put_view(transaction, view)
        replaced[view.name] = view
    return {**records[0], "views": {name: done for record in records for name, done in record["views"].items()}}


def _pass_on_difference(warehouse: Warehouse, transaction: Transaction, view: Maintained) -> dict[str, int]:
    """Continue the change feed of a replaced view with the difference of its contents; return its counts."""
    old = warehouse.catalog.views.get(view.name)
    if old is None or [(f.name, f.type) for f in old.fields] != [(f.name, f.type) for f in view.fields]:
        return {}
    before, now = transaction.before(view.name), transaction.contents(view.name)
    there = visible(old, before.consolidated()).rename(view.stored).negated()
    difference = Rows.concat([there, now.consolidated().select(view.stored)]).consolidate()
    hidden = {name: pa.nulls(len(difference), kind) for name, kind in now.types.items() if name not in view.stored}
    transaction.resume_feed(view.name, difference.with_columns(hidden))
    return counts(difference)


def put_view(transaction: Transaction, view: Maintained) -> None:
    """Write the document of a view."""
    transaction.put(view.key, {"position": view.position, **view.document()})


def _fill(
    warehouse: Warehouse,
    deltas: EpochDeltas,
    view: Maintained,
    replaced: Mapping[str, Table | Maintained],
    inputs: Mapping[str, Rows] | None = None,
    engine: EngineName | None = None,
) -> dict[str, Any]:
    """Fill a view from its inputs, or from some of their rows; return the epoch's record."""
    there = (
        [deltas.transaction.contents(bag).rows for bag in view.reads] if inputs is None else map(len, inputs.values())
    )
    runner, choice = warehouse.choose(sum(there), view.steps, engine, work="fill", transaction=deltas.transaction)
    run = Refresh(warehouse, deltas, view, runner, replaced, inputs)
    done = view.fill(run)
    return {
        "kind": f"create {view.kind}",
        "name": view.name,
        "engine": runner.name,
        "weighed": choice.record(),
        "tables": {},
        "views": {view.name: run.record(done)},
        **({"jobs": deltas.jobs} if deltas.jobs else {}),
    }
