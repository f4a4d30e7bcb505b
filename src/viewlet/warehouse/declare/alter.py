"""ALTER TABLE: adding, dropping and renaming columns, and renaming tables. All of these rewrite the table's rows.

No view changes its meaning. When columns are added to a table, the views that read it keep the plan that Spark made of
their definitions, because their text (`SELECT *`, a NATURAL JOIN) could now mean something else.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from viewlet import arguments
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.rows import Rows
from viewlet.errors import InUse, SqlError, UnknownName
from viewlet.formatting import suggestion
from viewlet.plan.types import Field
from viewlet.store import Transaction
from viewlet.warehouse.declare.catalog import Catalog
from viewlet.warehouse.declare.ddl import append_rows, put_table, with_asides
from viewlet.warehouse.declare.schema import Schema, checked_schema
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.fill import drop_views, fill_views, put_view
from viewlet.warehouse.maintained import Maintained

log = logging.getLogger("viewlet")

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse


def add_columns(
    warehouse: Warehouse, transaction: Transaction, table: Table, new: Schema, values: Mapping[str, pa.Array]
) -> None:
    """Add columns to a table; in existing rows they hold the one value in `values`, or NULL."""
    if required := [f.name for f in new.fields if not f.nullable and f.name not in values]:
        raise SqlError(
            f"table {table.name}: column {required[0]} is NOT NULL, and existing rows have no value for it",
            hint="give it a DEFAULT, or add it without NOT NULL",
        )
    declared = Schema((*table.fields, *new.fields), table.primary_key)
    fields = checked_schema(table.name, declared).fields
    wider = replace(table, fields=fields, defaults=(*table.defaults, *(new.defaults if not table.aside_of else ())))
    widen(warehouse, transaction, table, wider, values)


def widen(
    warehouse: Warehouse, transaction: Transaction, table: Table, wider: Table, values: Mapping[str, pa.Array]
) -> None:
    """Replace a table by one with further columns at its end."""
    for view in warehouse.catalog.views.values():
        if table.name in view.mentions and (pinned := view.pinned(warehouse)) is not view:
            put_view(transaction, pinned)
    rows = _all_rows(transaction, table)
    more = {f.name: _column(f, values, len(rows)) for f in wider.fields[len(table.fields) :]}
    _rewrite(transaction, table, wider, rows.with_columns(more))


def _all_rows(transaction: Transaction, table: Table) -> Rows:
    return transaction.before(table.name).consolidated().select(table.names)


def _column(f: Field, values: Mapping[str, pa.Array], length: int) -> pa.Array:
    """A column that repeats its value in `values`, or NULL."""
    if f.name not in values:
        return pa.nulls(length, arrow_type(f.type))
    return values[f.name].take(pa.array(np.zeros(length, dtype=np.int64)))


def _rewrite(transaction: Transaction, old: Table, new: Table, rows: Rows) -> None:
    """Replace a table by another with the given rows, keeping its clock and its counts of dropped rows."""
    kept = [(bag, transaction.before(bag).consolidated()) for bag in (old.clock, old.dropped) if bag is not None]
    for bag, _, _ in old.bags():
        transaction.drop(bag)
    transaction.remove(f"table/{old.name}")
    put_table(transaction, new)
    append_rows(transaction, new, rows)
    for (_, counted), (bag, layout, _) in zip(kept, new.bags()[-len(kept) :] if kept else (), strict=True):
        transaction.append(bag, counted, layout)


def drop_columns(warehouse: Warehouse, transaction: Transaction, table: Table, names: Sequence[str]) -> None:
    """Drop columns of a table and refill the views that read its other columns."""
    for name in names:
        _refuse_needed(table, name)
    if len(names) == len(table.fields):
        raise SqlError(f"table {table.name} would have no columns", hint="DROP TABLE drops all of it")
    tables = [(wider, _without(wider, names)) for wider in with_asides(table)]
    views = _narrowed(warehouse, [narrow for _, narrow in tables], f"{', '.join(names)} of {table.name}")
    warehouse.catalog.refuse_followed([table.name, *(view.name for view in views)])
    drop_views(warehouse.catalog, transaction, views)
    for wider, narrow in tables:
        _rewrite(transaction, wider, narrow, _all_rows(transaction, wider).select(narrow.names))
    if views:
        fill_views(warehouse, transaction, views, {narrow.name: narrow for _, narrow in tables})


def _narrowed(warehouse: Warehouse, tables: Sequence[Table], columns: str) -> list[Maintained]:
    """The views that read some tables, in order, redefined over the narrower tables; refused if they read `columns`."""
    catalog = warehouse.catalog.with_tables(tables)
    names = {table.name for table in tables}
    readers = [v for v in catalog.views.values() if any(v.name in catalog.readers(name) for name in names)]
    direct = {v.name for v in readers if names & set(v.mentions)}
    return [v.narrowed(warehouse, catalog, direct, columns) if v.name in direct else v for v in readers]


def _without(table: Table, names: Sequence[str]) -> Table:
    """A table without some of its columns."""
    fields = tuple(f for f in table.fields if f.name not in names)
    return replace(table, fields=fields, defaults=tuple(d for d in table.defaults if d[0] not in names))


def _refuse_needed(table: Table, name: str) -> None:
    if name in table.primary_key:
        raise SqlError(f"table {table.name}: {name} is part of the primary key")
    if table.watermark is not None and name == table.watermark.column:
        raise SqlError(f"table {table.name}: {name} is the column of its watermark")
    _refuse_checked(table, name)


def _refuse_checked(table: Table, name: str) -> None:
    if checked := [c for c in table.constraints if c.reads(name)]:
        raise SqlError(f"table {table.name}: the constraint {checked[0].name} reads {name}")


def refuse_read(catalog: Catalog, found: Table | Maintained) -> None:
    """Refuse to alter a table or view that views or flows read."""
    catalog.refuse_followed([found.name])
    if readers := catalog.readers(found.name):
        raise InUse(f"{', '.join(readers)} read {found.name}", hint="drop them first, and create them again")


def rename_column(catalog: Catalog, transaction: Transaction, table: Table, name: str, to: str) -> None:
    """Rename a column of a table that nothing reads."""
    _refuse_checked(table, name)
    if not arguments.text("the new name of a column", to).strip():
        raise SqlError(f"table {table.name}: a column needs a name")
    if to.lower() in (n.lower() for n in table.names if n != name):
        raise SqlError(f"table {table.name} already has a column {to}")
    for old in with_asides(table):
        refuse_read(catalog, old)
        _rewrite(
            transaction,
            old,
            _with_names(old, {name: to}),
            _all_rows(transaction, old).rename([to if n == name else n for n in old.names]),
        )


def _with_names(table: Table, new: Mapping[str, str]) -> Table:
    """A table with some columns renamed."""
    mark = table.watermark
    return replace(
        table,
        fields=tuple(replace(f, name=new.get(f.name, f.name)) for f in table.fields),
        primary_key=tuple(new.get(k, k) for k in table.primary_key),
        defaults=tuple((new.get(c, c), text) for c, text in table.defaults),
        watermark=mark and replace(mark, column=new.get(mark.column, mark.column)),
    )


def rename_table(catalog: Catalog, transaction: Transaction, table: Table, to: str) -> None:
    """Rename a table that nothing reads, with its tables of late and rejected rows."""
    new = replace(table, name=to)
    for old, renamed in zip(with_asides(table), with_asides(new), strict=True):
        refuse_read(catalog, old)
        if catalog.known(renamed.name) != old.name:
            catalog.refuse_taken(renamed.name)
        _rewrite(transaction, old, renamed, _all_rows(transaction, old))


def rename_view(warehouse: Warehouse, transaction: Transaction, view: Maintained, to: str) -> None:
    """Define a view again under another name and fill it."""
    catalog = warehouse.catalog
    refuse_read(catalog, view)
    if catalog.known(to) != view.name:
        catalog.refuse_taken(to)
    renamed = view.renamed(warehouse, to)
    drop_views(catalog, transaction, [view])
    fill_views(warehouse, transaction, [renamed], {})


def column_named(table: Table, name: str) -> str:
    """A column's name as declared; lookup ignores case."""
    wanted = arguments.text(f"the name of a column of {table.name}", name).lower()
    found = next((n for n in table.names if n.lower() == wanted), None)
    if found is None:
        raise UnknownName(f"table {table.name} has no column {name}", hint=suggestion(name, table.names))
    return found
