"""Putting a view in the place of another while views read it, and views over a table that loses columns.

Whatever reads what is replaced is filled again, in the same commit, in the order of dependencies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from viewlet.errors import InUse, UnsupportedQuery, ViewletError
from viewlet.store import Transaction
from viewlet.warehouse.apply import backfill
from viewlet.warehouse.catalog import Catalog, View, view_document
from viewlet.warehouse.tables import Table

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse


def readers_after(catalog: Catalog, old: View, new: View) -> list[View]:
    """The views that read a view which gets another definition; they find the same columns, and come after it."""
    readers = [catalog.view(name) for name in catalog.readers(old.name)]
    _refuse_other_columns(old, new, readers)
    return [replace(reader, position=new.position + 1 + at) for at, reader in enumerate(readers)]


def _refuse_other_columns(old: View, new: View, readers: Sequence[View]) -> None:
    names = [reader.name for reader in readers]
    if through := [name for name in names if name in {*new.reads, *new.inputs}]:
        raise UnsupportedQuery(f"view {new.name} would read itself, through {through[0]}")
    if not readers:
        return
    hint = "drop them first, or give the definition the same columns"
    if [(f.name, f.type) for f in new.fields] != [(f.name, f.type) for f in old.fields]:
        raise InUse(f"{', '.join(names)} read {old.name}, and its columns would change", hint=hint)
    if wider := [n.name for n, o in zip(new.fields, old.fields, strict=True) if n.nullable and not o.nullable]:
        raise InUse(f"{', '.join(names)} read {old.name}, and {wider[0]} could be NULL, which it never was", hint=hint)


def drop_maps(catalog: Catalog, transaction: Transaction, views: Sequence[View]) -> None:
    """Clear the way for views that are filled again, or for others in their place: maps that no other view shares go."""
    there = [catalog.views[view.name] for view in views]
    for bag in catalog.own_maps(*there):
        transaction.drop(bag)


def fill_views(
    warehouse: Warehouse,
    transaction: Transaction,
    views: Sequence[View],
    changed: Mapping[str, Table],
    progress: Callable[[str], None],
    **trial: Any,
) -> dict[str, Any]:
    """Fill views one after the other, over tables that changed and those before them; the record of all.

    `trial`: from which rows and on which engine the first one is filled, where it is only a trial.
    """
    made: dict[str, Table | View] = dict(changed)
    records: list[dict[str, Any]] = []
    for view in views:
        records.append(backfill(warehouse, transaction, view, progress, made=made, **(trial if not records else {})))
        transaction.put(f"view/{view.name}", view_document(view))
        made[view.name] = view
    return {**records[0], "views": {name: done for record in records for name, done in record["views"].items()}}


def narrowed(warehouse: Warehouse, tables: Sequence[Table], columns: str) -> list[View]:
    """The views that read some tables, in their order, over tables that lose columns which no view may read."""
    catalog = warehouse.catalog.with_tables(tables)
    names = {table.name for table in tables}
    readers = [v for v in catalog.views.values() if any(v.name in catalog.readers(name) for name in names)]
    direct = {v.name for v in readers if names & {*v.reads, *v.inputs}}
    return [_over(warehouse, view, catalog, direct, columns) if view.name in direct else view for view in readers]


def _over(warehouse: Warehouse, view: View, catalog: Catalog, redefined: set[str], columns: str) -> View:
    """A view over other tables than it was made for, which must not make a difference."""
    error = InUse(f"view {view.name} reads {columns}", hint="drop it first")
    if view.definition is None or "whole" in view.fragments:  # its text is not all that it means
        raise InUse(f"view {view.name} reads the table, and its definition is kept as a plan", hint="drop it first")
    try:
        made = warehouse.define(
            view.name, view.definition, policy=view.policy, replaced=redefined, settings=view.settings, catalog=catalog
        )
    except ViewletError:
        raise error from None
    if made.fields != view.fields:
        raise error
    return replace(made, position=view.position, created=view.created)
