"""Replacing the rows of a table: only the differences are deleted and inserted."""

from __future__ import annotations

from viewlet.columns.rows import Rows
from viewlet.warehouse.epoch.table_changes import TableChanges


def exchange_rows(changes: TableChanges, gone: Rows, come: Rows) -> tuple[Rows, Rows]:
    """Delete rows and insert others, except those in both; return the rows deleted and inserted.

    The rows may have further columns than the table, which also distinguish them.
    """
    names = changes.table.names
    net = Rows.concat([gone.negated(), come.select(gone.names)]).consolidate()
    went, new = net.filter(net.weights < 0).negated().expanded(), net.filter(net.weights > 0).expanded()
    if len(went):
        changes.delete(went.select(names))
    new = new.filter(changes.admit(new.select(names)))
    if len(new):
        changes.put(new.select(names))
    return went, new
