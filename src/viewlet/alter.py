"""Adding columns to a table that is there: NULL in every row, and no view changes its meaning.

The rows are written anew, wider. A view that reads the table keeps the plan that Spark made of its definition, since
the text may come to mean something else: `SELECT *`, a NATURAL JOIN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from viewlet.catalog import View, table_document, view_document
from viewlet.columns.rows import Rows
from viewlet.columns.types import arrow_type
from viewlet.errors import SqlError
from viewlet.plan.types import Field
from viewlet.source.schema import read_schema
from viewlet.store import Transaction
from viewlet.tables import Table, TableChanges

if TYPE_CHECKING:
    from viewlet.database import Database


def add_columns(database: Database, transaction: Transaction, table: Table, new: Sequence[Field]) -> None:
    """Put a wider table in the place of one, with all its rows."""
    if required := [f.name for f in new if not f.nullable]:
        raise SqlError(
            f"table {table.name}: column {required[0]} is NOT NULL, and there is no value for the rows that are there",
            hint="add it without NOT NULL",
        )
    fields, _ = read_schema(table.name, (*table.fields, *new), table.primary_key)
    wider = replace(table, fields=fields)
    rows = _widened(transaction.before(table.name).consolidated().select(table.names), new)
    for view in database.catalog.views.values():
        if table.name in view.inputs and "whole" not in view.fragments:
            transaction.put(f"view/{view.name}", view_document(with_plan(database, view)))
    for bag, _, _ in table.bags():
        if bag != table.clock:
            transaction.drop(bag)
    for bag, layout, types in wider.bags():
        transaction.create(bag, layout, types)
    transaction.append(wider.name, rows, wider.layout)
    if wider.index is not None:
        transaction.append(wider.index, TableChanges(wider, None).index_delta(rows), wider.index_layout)
    transaction.put(f"table/{wider.name}", table_document(wider))


def _widened(rows: Rows, new: Sequence[Field]) -> Rows:
    nulls = {f.name: pa.nulls(len(rows), arrow_type(f.type)) for f in new}
    return rows.with_columns(nulls)


def with_plan(database: Database, view: View) -> View:
    """A view that holds Spark's plan of its definition, as the tables are now."""
    from viewlet.catalyst.analyse import analyse
    from viewlet.catalyst.fragments import make_whole, whole_inputs

    assert view.definition is not None, f"view {view.name} has neither a text nor a plan"
    analysis = analyse(database.session, view.definition, database.catalog.schemas())
    cuts, inputs = whole_inputs(analysis)
    return replace(view, fragments={**view.fragments, "whole": make_whole(analysis, 0, cuts)}, inputs=inputs)
