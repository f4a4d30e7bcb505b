"""Executing statements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from viewlet import arguments
from viewlet.errors import SqlError
from viewlet.sink.declared import declare_sink
from viewlet.source.declare import declare_source
from viewlet.sql.execute_dml import delete, insert, update
from viewlet.sql.execute_merge import merge
from viewlet.sql.execute_show import describe, described, history_table, of_kind, show, show_columns, show_create
from viewlet.sql.parameters import Parameters
from viewlet.sql.parse import parse
from viewlet.sql.queries import collect, fields_of, run_query
from viewlet.sql.replace_table import replace_rows
from viewlet.sql.statements import (
    AddColumns,
    BackUp,
    CreateSink,
    CreateTable,
    CreateView,
    DeleteFrom,
    Describe,
    DescribeHistory,
    DescribeQuery,
    Drop,
    DropColumns,
    DropSink,
    Explain,
    FromSource,
    InsertInto,
    Merge,
    Refresh,
    RefreshTable,
    Rename,
    RenameColumn,
    Restore,
    Select,
    Show,
    ShowColumns,
    ShowCreate,
    Statement,
    Update,
)
from viewlet.warehouse.read.backup_methods import restore_elsewhere
from viewlet.warehouse.source import Source

if TYPE_CHECKING:
    from viewlet.database import Database

_PARAMETRIZED = (CreateTable, DeleteFrom, DescribeQuery, InsertInto, Merge, Select, Update)


def execute(db: Database, text: str, parameters: Parameters) -> Any:
    """Run one statement: a query returns an Arrow table, EXPLAIN text, a change the epoch's number."""
    statement = parse(arguments.text("the statement", text))
    if parameters and not isinstance(statement, _PARAMETRIZED):
        raise SqlError(
            f"{text.split()[0].upper()} takes no parameters",
            hint="only queries, and the queries and expressions of INSERT, UPDATE, DELETE and MERGE do",
        )
    match statement:
        case InsertInto():
            return insert(db, statement, parameters)
        case DeleteFrom():
            return delete(db, statement, parameters)
        case Update():
            return update(db, statement, parameters)
        case Merge():
            return merge(db, statement, parameters)
        case Select(query):
            return collect(run_query(db, query, parameters))
        case DescribeQuery(query):
            return described((f.name, str(f.type)) for f in fields_of(run_query(db, query, parameters)))
        case CreateTable():
            return create_table(db, statement, parameters)
        case _:
            return _define_or_show(db, statement)


def _define_or_show(db: Database, statement: Statement) -> Any:
    """Run a statement that does not change rows."""
    match statement:
        case AddColumns(table, fields, defaults):
            return db.add_columns(table, fields, defaults=dict(defaults))
        case DropColumns(table, columns, if_exists):
            return db.drop_columns(table, columns, if_exists=if_exists)
        case RenameColumn(table, column, to):
            return db.rename_column(table, column, to)
        case Rename(kind, name, to):
            return db.rename(of_kind(db, kind, name).name, to)
        case CreateView():
            return _create_view(db, statement)
        case Drop(kind, name, if_exists, cascade):
            return _drop(db, kind, name, if_exists, cascade)
        case CreateSink(name, of, to):
            return db.create_sink(name, of, declare_sink(to.kind, to.place, to.name, dict(to.options)))
        case DropSink(name, if_exists):
            return _drop_sink(db, name, if_exists)
        case RefreshTable(name):
            return db.read_sources(name)
        case Refresh(name, full):
            return db.rebuild(name) if full else next(iter(reversed(db.history(name))), None)
        case BackUp(place):
            return str(db.backup(place))
        case Restore(place, path, epoch):
            return str(restore_elsewhere(place, path, epoch))
        case Explain(target):
            return db.explain(target) if isinstance(target, str) else _explain_only(db, target)
        case DescribeHistory(name):
            return history_table(db.history(name))
        case Describe():
            return describe(db, statement)
        case Show():
            return show(db, statement)
        case ShowColumns(name):
            return show_columns(db, name)
        case ShowCreate():
            return show_create(db, statement)
    raise AssertionError(f"{statement} is carried out nowhere")


def create_table(db: Database, s: CreateTable, parameters: Parameters, *, read: bool = True) -> None:
    """Create a table; `read`: read its source at once."""
    there = db._warehouse.catalog.known(s.name) is not None
    if s.if_not_exists and there:
        return
    fields, rows = s.fields, None
    if s.query is not None:
        frame = run_query(db, s.query, parameters)
        fields = fields_of(frame)
        rows = collect(frame, fields)
    if s.or_replace and there and replace_rows(db, s, fields, rows):
        return
    db.create_table(
        s.name,
        fields,
        primary_key=s.primary_key,
        append_only=s.append_only,
        trusted=s.trusted,
        static=s.static,
        watermark=s.watermark,
        defaults=dict(s.defaults),
        constraints=dict(s.constraints),
        rows=rows,
        source=None if s.source is None else source_of(s.source),
        read=read,
    )


def source_of(s: FromSource) -> Source:
    """Make the source that a statement declares."""
    return declare_source(s.kind, s.place, s.name, s.format, dict(s.options), s.on_bad)


def _create_view(db: Database, s: CreateView) -> None:
    if s.if_not_exists and db._warehouse.catalog.known(s.name) is not None:
        return
    db.create_view(s.name, s.query, policy=s.policy, replace=s.or_replace)


def _drop_sink(db: Database, name: str, if_exists: bool) -> bool:
    if if_exists and name.lower() not in map(str.lower, db._warehouse.catalog.sinks):
        return False
    db.drop_sink(name)
    return True


def _drop(db: Database, kind: str, name: str, if_exists: bool, cascade: bool) -> bool:
    if if_exists and db._warehouse.catalog.known(name) is None:
        return False
    return db.drop(of_kind(db, kind, name).name, cascade=cascade)


def _explain_only(db: Database, s: CreateView) -> str:
    return db._define(s.name, s.query, s.policy).outline()
