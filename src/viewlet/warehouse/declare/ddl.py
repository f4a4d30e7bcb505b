"""Creating and dropping tables and views, with their documents and bags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from viewlet.columns.rows import Rows
from viewlet.engine.epoch import counts
from viewlet.errors import InUse
from viewlet.store import Transaction
from viewlet.warehouse.declare.catalog import Catalog, table_document
from viewlet.warehouse.declare.expectations import Evaluate
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.epoch.apply import append_dropped, deltas_of, take_in
from viewlet.warehouse.epoch.clocks import advance
from viewlet.warehouse.epoch.table_changes import TableChanges
from viewlet.warehouse.fill import drop_views
from viewlet.warehouse.maintained import Maintained

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse


def with_asides(table: Table) -> list[Table]:
    """A table and its tables of late and rejected rows, which are created and dropped with it."""
    if table.aside_of:
        raise InUse(
            f"{table.name} holds rows that {table.aside_of} did not accept, and is created and dropped with it",
            hint=f"drop or change {table.aside_of}",
        )
    return [table, *table.asides]


def make_table(catalog: Catalog, transaction: Transaction, table: Table) -> None:
    """Create an empty table under a free name."""
    if table.source is not None:
        table.source.check(table)
    for made in with_asides(table):
        catalog.refuse_taken(made.name)
        put_table(transaction, made)


def put_table(transaction: Transaction, table: Table) -> None:
    """Write the document and create the empty bags of a table."""
    transaction.put(f"table/{table.name}", table_document(table))
    for bag, layout, types in table.bags():
        transaction.create(bag, layout, types)


def append_rows(transaction: Transaction, table: Table, rows: Rows) -> None:
    """Add rows to a table and its index."""
    transaction.append(table.name, rows, table.layout)
    if table.index is not None:
        transaction.append(table.index, table.index_rows(rows), table.index_layout)


def fill_table(catalog: Catalog, transaction: Transaction, table: Table, rows: Any, breaks: Evaluate) -> dict[str, int]:
    """Insert the first rows of a new table; return their counts."""
    changes = TableChanges(table, None if table.index is None else transaction.before(table.index), breaks=breaks)
    changes.insert(take_in(table, rows))
    netted = deltas_of([changes])
    for changed, delta in netted:
        append_rows(transaction, changed.table, delta)
    append_dropped(transaction, changes)
    for changed, delta in netted:
        advance(catalog, transaction, changed.table, changed.latest(delta))
    return counts(netted[0][1]) if netted else {}


def drop(warehouse: Warehouse, found: Table | Maintained, *, cascade: bool) -> None:
    """Drop a table or view; with `cascade`, also the views that read it."""
    catalog, tables = warehouse.catalog, with_asides(found) if isinstance(found, Table) else []
    for table in tables:
        catalog.refuse_written(table)
    names = [table.name for table in tables] or [found.name]
    readers = list(dict.fromkeys(reader for name in names for reader in catalog.readers(name)))
    if readers and not cascade:
        raise InUse(f"{', '.join(readers)} read {found.name}", hint="drop them first, or DROP … CASCADE")
    catalog.refuse_used([*names, *readers])
    views = [*map(catalog.view, readers), *([found] if isinstance(found, Maintained) else [])]
    with warehouse.store.begin() as transaction:
        for table in tables:
            transaction.remove(f"table/{table.name}")
            for bag, _, _ in table.bags():
                transaction.drop(bag)
        drop_views(catalog, transaction, views)
        transaction.commit({"kind": "drop", "name": found.name})
    for table in tables:
        if table.source is not None:
            table.source.release(table)
