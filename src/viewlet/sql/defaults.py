"""Defaults: constant expressions for columns that a statement omits.

They are stored as text and evaluated on each use, so that `current_timestamp()` is the time of the insertion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from viewlet.errors import SqlError, ViewletError
from viewlet.intake.to_columns import to_arrow
from viewlet.plan.types import Field, ddl
from viewlet.plan.words import read_words
from viewlet.sql.literals import depends_on_settings, literal_rows
from viewlet.sql.queries import collect, run_query
from viewlet.warehouse.declare.schema import Schema

if TYPE_CHECKING:
    from viewlet.database import Database


def default_values(db: Database, table: str, declared: Schema) -> dict[str, pa.Array]:
    """Evaluate the defaults of new columns, as arrays of one value; raise if one is not a constant expression."""
    fields = {f.name: f for f in declared.fields}
    try:
        return {name: _value(db, table, fields[name], text) for name, text in declared.defaults}
    except ViewletError as error:
        raise SqlError(f"table {table}: invalid default: {error.args[0]}", hint=error.hint) from None


def _value(db: Database, table: str, field: Field, text: str) -> pa.Array:
    if any(word.key == "SELECT" for word in read_words(text)):
        raise SqlError(f"DEFAULT {text} is a query", hint="a default is a constant expression")
    values = f"VALUES ({text})"
    rows = literal_rows(values, (field,))
    if rows is not None and (db._warehouse.sessions.are_plain or not depends_on_settings(values, (field,))):
        return to_arrow(table, (field,), rows)[field.name].combine_chunks()
    found = collect(run_query(db, f"SELECT CAST({text} AS {ddl(field.type)})", {}), (field,))
    return to_arrow(table, (field,), found)[field.name].combine_chunks()
