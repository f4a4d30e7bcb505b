"""Statements, carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from viewlet.catalyst.frames import to_arrow
from viewlet.errors import EvaluationError, SqlError, UnknownName
from viewlet.plan.types import Field, parse_type
from viewlet.sql.literals import literal_rows
from viewlet.sql.parse import parse
from viewlet.sql.statements import (
    AddColumns,
    CreateTable,
    CreateView,
    DeleteFrom,
    DescribeHistory,
    Drop,
    Explain,
    InsertInto,
    Refresh,
    Select,
    Show,
    Update,
)
from viewlet.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from viewlet.database import Database


def execute(db: Database, text: str) -> Any:
    """Run one statement: a query gives an Arrow table, EXPLAIN a text, a change the epoch's number."""
    match statement := parse(text):
        case CreateTable():
            return _create_table(db, statement)
        case AddColumns(table, fields):
            return db.add_columns(table, fields)
        case CreateView():
            return _create_view(db, statement)
        case Drop(kind, name, if_exists, cascade):
            return _drop(db, kind, name, if_exists, cascade)
        case Refresh(name, full):
            return db.rebuild(name) if full else next(iter(reversed(db.history(name))), None)
        case Explain(target):
            return db.explain(target) if isinstance(target, str) else _explain_only(db, target)
        case DescribeHistory(name):
            return history_table(db.history(name))
        case Show(kind):
            return _show(db, kind)
        case InsertInto(table, columns, query):
            return _insert(db, table, columns, query)
        case DeleteFrom(table, where):
            return _delete(db, table, where)
        case Update():
            return _update(db, statement)
        case Select(query):
            return _arrow(_query(db, query))


def _create_table(db: Database, s: CreateTable) -> None:
    if s.if_not_exists and db.catalog.known(s.name) is not None:
        return
    db.create_table(
        s.name,
        s.fields,
        primary_key=s.primary_key,
        append_only=s.append_only,
        trusted=s.trusted,
        static=s.static,
        watermark=s.watermark,
    )


def _create_view(db: Database, s: CreateView) -> None:
    if s.if_not_exists and db.catalog.known(s.name) is not None:
        return
    db.create_view(s.name, s.query, policy=s.policy, replace=s.or_replace)


def _drop(db: Database, kind: str, name: str, if_exists: bool, cascade: bool) -> None:
    if if_exists and db.catalog.known(name) is None:
        return
    found = db.catalog.find(name)
    if isinstance(found, Table) != (kind == "table"):
        other = "table" if isinstance(found, Table) else "view"
        raise UnknownName(
            f"{name} is a {other}", hint=f"DROP {'TABLE' if other == 'table' else 'MATERIALIZED VIEW'} {name}"
        )
    db.drop(name, cascade=cascade)


def _explain_only(db: Database, s: CreateView) -> str:
    from viewlet.explain import explain_program

    return explain_program(db.define(s.name, s.query, policy=s.policy).program)


def history_table(records: list[dict[str, Any]]) -> pa.Table:
    """Epoch records as a table, newest first."""
    import json

    columns: dict[str, list[Any]] = {"epoch": [], "timestamp": [], "kind": [], "engine": [], "ms": [], "details": []}
    for record in reversed(records):
        rest = {k: v for k, v in record.items() if k not in columns}
        for name in ("epoch", "timestamp", "kind", "engine", "ms"):
            columns[name].append(record.get(name))
        columns["details"].append(json.dumps(rest, default=str))
    return pa.table(columns)


def _show(db: Database, kind: str) -> pa.Table:
    found = db.catalog.tables if kind == "tables" else db.catalog.views
    rows = [(name, ", ".join(str(f) for f in item.fields)) for name, item in found.items()]
    return pa.table({"name": [r[0] for r in rows], "columns": [r[1] for r in rows]})


def _insert(db: Database, name: str, columns: tuple[str, ...] | None, query: str) -> int:
    table = db.catalog.table(name)
    wanted = _wanted(table, columns)
    rows: Any = literal_rows(query, wanted)
    if rows is None:
        frame = _query(db, query)
        rows = _rows(_as(frame, wanted, name), wanted)
    else:
        rows = [dict(zip((f.name for f in wanted), row, strict=True)) for row in rows]
    return db.insert(name, _complete(rows, table, wanted))


def _wanted(table: Table, columns: tuple[str, ...] | None) -> tuple[Field, ...]:
    if columns is None:
        return table.fields
    known = {f.name.lower(): f for f in table.fields}
    if len({column.lower() for column in columns}) < len(columns):
        raise SqlError(f"table {table.name}: a column is named twice in ({', '.join(columns)})")
    for column in columns:
        if column.lower() not in known:
            raise SqlError(f"table {table.name} has no column {column}", hint=f"there are: {', '.join(table.names)}")
    return tuple(known[c.lower()] for c in columns)


def _complete(rows: Any, table: Table, given: tuple[Field, ...]) -> Any:
    """Columns that an INSERT does not name are NULL."""
    missing = [f for f in table.fields if f not in given]
    if not missing:
        return rows
    if isinstance(rows, list):
        return [{**row, **{f.name: None for f in missing}} for row in rows]
    for f in missing:
        rows = rows.append_column(f.name, pa.nulls(rows.num_rows))
    return rows


def _as(frame: DataFrame, fields: tuple[Field, ...], table: str) -> DataFrame:
    """A query's columns as a table's, by position, with the casts of Spark's INSERT."""
    from pyspark.sql import functions as F

    if len(frame.columns) != len(fields):
        raise SqlError(f"table {table}: the query gives {len(frame.columns)} columns for {len(fields)}")
    renamed = frame.toDF(*[f"c{i}" for i in range(len(fields))])
    return renamed.select(*[F.col(f"c{i}").cast(str(f.type)).alias(f.name) for i, f in enumerate(fields)])


def _delete(db: Database, name: str, where: str | None) -> int:
    table = db.catalog.table(name)
    with db.writing():  # what is read is what is deleted
        return db.delete(name, _matching(db, table, where))


def _matching(db: Database, table: Table, where: str | None) -> pa.Table:
    gone = _query(db, f"SELECT * FROM {table.name}" + (f" WHERE {where}" if where else ""))
    return _rows(gone, table.fields)


def _update(db: Database, s: Update) -> int:
    """The old rows go, the new ones come, in one epoch."""
    table = db.catalog.table(s.table)
    _wanted(table, tuple(column for column, _ in s.assignments))
    text, width = _both_rows(table, s), len(table.fields)
    fields = (*table.fields, *(Field(f"n{i}", f.type) for i, f in enumerate(table.fields)))
    with db.writing():
        both = _rows(_as(_query(db, text), fields, s.table), (*table.fields, *table.fields))
        with db.epoch() as e:
            e.delete(s.table, both.select(range(width)))
            e.insert(s.table, both.select(range(width, 2 * width)))
    return e.number


def _both_rows(table: Table, s: Update) -> str:
    """A query for the rows that change: as they are, and as they will be."""
    new = {column.lower(): expr for column, expr in s.assignments}
    values = [f"({new[f.name.lower()]})" if f.name.lower() in new else f"`{f.name}`" for f in table.fields]
    picked = ", ".join(f"{value} AS n{i}" for i, value in enumerate(values))
    return f"SELECT *, {picked} FROM {table.name}" + (f" WHERE {s.where}" if s.where else "")


def _query(db: Database, text: str) -> DataFrame:
    """A query over the current rows; what Spark does not understand is the user's error."""
    from pyspark.errors import AnalysisException, ParseException

    try:
        return db.reading.query(text)
    except (AnalysisException, ParseException) as error:
        raise SqlError(" ".join(str(error).split("\n")[0].split())) from None


def _rows(frame: DataFrame, fields: tuple[Field, ...]) -> pa.Table:
    """A query's rows; where it fails on the data, that is the query's fault."""
    from pyspark.errors import PySparkException

    try:
        return to_arrow(frame, fields)
    except PySparkException as error:
        raise EvaluationError(" ".join(str(error).split("\n")[0].split())) from None


def _arrow(frame: DataFrame) -> pa.Table:
    """A query's result in Viewlet's types."""
    try:
        fields = tuple(Field(f.name, parse_type(f.dataType.simpleString())) for f in frame.schema.fields)
    except ValueError as error:
        raise SqlError(str(error)) from None
    return _rows(frame, fields)
