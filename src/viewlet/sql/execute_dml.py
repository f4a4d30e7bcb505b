"""Executes INSERT, DELETE and UPDATE: each is one epoch, on the rows of the last committed one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from viewlet.errors import SqlError
from viewlet.formatting import suggestion
from viewlet.plan.types import Field, computed, ddl
from viewlet.plan.words import quoted
from viewlet.sql.insert_values import complete_values, written
from viewlet.sql.literals import depends_on_settings, literal_rows
from viewlet.sql.parameters import Parameters
from viewlet.sql.queries import collect, run_query
from viewlet.sql.statements import DeleteFrom, InsertInto, Update
from viewlet.warehouse.declare.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from viewlet.database import Database


def insert(db: Database, s: InsertInto, parameters: Parameters) -> int:
    """Insert the rows of a query; with `overwrite`, they replace all rows."""
    table = db._warehouse.catalog.table(s.table)
    with db._warehouse.writing():  # so that the rows replaced are those read
        rows = _new_rows(db, table, s, parameters)
        return overwrite(db, s.table, rows) if s.overwrite else db.insert(s.table, rows)


def overwrite(db: Database, table: str, rows: Any) -> int:
    """Replace all rows of a table; the change is only the difference."""
    with db.epoch() as e:
        if len(db.table(table)):
            e.delete(table, db.table(table).arrow())
        e.insert(table, rows)
    return e.number


def _new_rows(db: Database, table: Table, s: InsertInto, parameters: Parameters) -> Any:
    if s.by_name:
        frame = run_query(db, s.query, parameters)
        return collect(as_rows_of(table, frame, columns_named(table, frame.columns)), table.fields)
    query, given = complete_values(s.query, columns_named(table, s.columns), table)
    rows = literal_rows(query, given, parameters)
    if rows is None or (depends_on_settings(query, given) and not db._warehouse.sessions.are_plain):
        return collect(as_rows_of(table, run_query(db, query, parameters), given), table.fields)
    return [dict(zip(table.names, row, strict=True)) for row in rows]


def columns_named(table: Table, names: Any) -> tuple[Field, ...]:
    """The columns of a table by name, in the given order; all columns if `names` is None."""
    if names is None:
        return table.fields
    known = {f.name.lower(): f for f in table.fields}
    if len({name.lower() for name in names}) < len(names):
        raise SqlError(f"table {table.name}: a column is named twice in ({', '.join(names)})")
    for name in names:
        if name.lower() not in known:
            raise SqlError(f"table {table.name} has no column {name}", hint=suggestion(name, table.names))
    return tuple(known[name.lower()] for name in names)


def as_rows_of(table: Table, frame: DataFrame, given: tuple[Field, ...]) -> DataFrame:
    """A query's columns, by position, as columns of a table; the other columns get their defaults."""
    from pyspark.sql import functions as F

    from viewlet.spark.session.children import active

    if len(frame.columns) != len(given):
        raise SqlError(f"table {table.name}: the query gives {len(frame.columns)} columns for {len(given)}")
    values = {f.name: F.col(f"c{i}") for i, f in enumerate(given)}
    with active(frame.sparkSession):  # the session in which defaults are evaluated
        renamed = frame.toDF(*[f"c{i}" for i in range(len(given))])
        missing = {f.name: F.expr(table.default(f.name)) for f in table.fields if f not in given}
        return renamed.select(*[{**values, **missing}[f.name].cast(ddl(computed(f.type))) for f in table.fields])


def delete(db: Database, s: DeleteFrom, parameters: Parameters) -> int:
    """Delete the rows that meet a condition."""
    table = db._warehouse.catalog.table(s.table)
    text = f"SELECT * FROM {named(table, s.alias)}" + (f" WHERE {s.where}" if s.where else "")
    with db._warehouse.writing():  # so that the rows deleted are those read
        return db.delete(s.table, collect(run_query(db, text, parameters), table.fields))


def named(table: Table, alias: str | None) -> str:
    """A table with its alias, as in FROM."""
    return quoted(table.name) + (f" AS {quoted(alias)}" if alias else "")


def update(db: Database, s: Update, parameters: Parameters) -> int:
    """Replace old rows by new ones in one epoch."""
    table = db._warehouse.catalog.table(s.table)
    columns_named(table, [column for column, _ in s.assignments])
    with db._warehouse.writing():
        frame = run_query(db, _both_rows(table, s), parameters)
        both = collect(frame, (*table.fields, *table.fields))
        width = len(table.fields)
        with db.epoch() as e:
            e.replace(s.table, both.select(range(width)), both.select(range(width, 2 * width)))
    return e.number


def _both_rows(table: Table, s: Update) -> str:
    """A query for the changed rows, with their old and new values."""
    new = {column.lower(): written(value, table, column) for column, value in s.assignments}
    owner = quoted(s.alias or table.name)
    old = [f"{owner}.{quoted(f.name)}" for f in table.fields]
    values = [new.get(f.name.lower(), column) for f, column in zip(table.fields, old, strict=True)]
    cast = [f"CAST({value} AS {ddl(f.type)})" for f, value in zip(table.fields, values, strict=True)]
    return f"SELECT {', '.join([*old, *cast])} FROM {named(table, s.alias)}" + (f" WHERE {s.where}" if s.where else "")
