"""Parses statements: one function for each kind, and one table that lists them."""

from __future__ import annotations

from collections.abc import Callable

from viewlet.sql.alter import read_alter
from viewlet.sql.create import QUERY_STARTS, read_create, read_query
from viewlet.sql.dml import read_delete, read_insert, read_merge, read_update
from viewlet.sql.reader import Reader
from viewlet.sql.statements import (
    BackUp,
    CreateView,
    Describe,
    DescribeHistory,
    DescribeQuery,
    Drop,
    DropSink,
    Explain,
    Kind,
    Refresh,
    RefreshTable,
    Restore,
    Select,
    Show,
    ShowColumns,
    ShowCreate,
    Statement,
)


def parse(text: str) -> Statement:
    """Parse a statement; raise `SqlError` if it is none."""
    reader = Reader(text)
    if reader.word.kind == "end":
        reader.fail("a statement")
    if reader.word.key in QUERY_STARTS:
        return Select(reader.rest())
    read = _STATEMENTS.get(reader.word.key)
    if read is None:
        hint = _ELSEWHERE.get(reader.word.key, "docs/statements.md lists the statements that Viewlet knows")
        reader.fail("a statement such as CREATE, INSERT or SELECT", hint=hint)
    return read(reader)


def _drop(reader: Reader) -> Drop | DropSink:
    """`DROP {TABLE | [MATERIALIZED] VIEW | SINK} [IF EXISTS] name [CASCADE]`"""
    reader.expect("DROP")
    if reader.accept("SINK"):
        if_exists = reader.accept("IF", "EXISTS")
        return DropSink(_last_name(reader, "the sink"), if_exists)
    kind: Kind = "table" if reader.accept("TABLE") else "view"
    if kind == "view" and not (reader.accept("MATERIALIZED", "VIEW") or reader.accept("VIEW")):
        reader.fail("TABLE, MATERIALIZED VIEW or SINK")
    if_exists = reader.accept("IF")
    if if_exists:
        reader.expect("EXISTS")
    name = reader.name(f"the {kind}")
    cascade = reader.accept("CASCADE")
    if not cascade:
        reader.accept("RESTRICT")
    reader.end()
    return Drop(kind, name, if_exists, cascade)


def _refresh(reader: Reader) -> Refresh | RefreshTable:
    """`REFRESH [MATERIALIZED VIEW] name [FULL]`, `REFRESH TABLE name`"""
    reader.expect("REFRESH")
    if reader.accept("TABLE"):
        return RefreshTable(_last_name(reader, "the table"))
    _accept_view(reader)
    name = reader.name("the view")
    full = reader.accept("FULL")
    reader.end()
    return Refresh(name, full)


def _accept_view(reader: Reader) -> bool:
    return reader.accept("MATERIALIZED", "VIEW") or reader.accept("VIEW")


def _explain(reader: Reader) -> Explain:
    """`EXPLAIN name`, `EXPLAIN MATERIALIZED VIEW name`, `EXPLAIN CREATE MATERIALIZED VIEW …`"""
    reader.expect("EXPLAIN")
    if reader.sees("CREATE"):
        statement = read_create(reader)
        if not isinstance(statement, CreateView):
            reader.refuse("only views can be explained")
        return Explain(statement)
    is_view = _accept_view(reader)
    if not is_view and reader.word.key in QUERY_STARTS:
        reader.refuse("only views can be explained, not queries", hint="EXPLAIN CREATE MATERIALIZED VIEW v AS …")
    name = reader.name("the view")
    reader.end()
    return Explain(name)


def _describe(reader: Reader) -> Describe | DescribeQuery | DescribeHistory:
    """`DESCRIBE HISTORY name`, `DESCRIBE [TABLE] [EXTENDED] name`, `DESCRIBE [QUERY] query`"""
    if not reader.accept("DESCRIBE"):
        reader.expect("DESC")
    if reader.accept("HISTORY"):
        return DescribeHistory(_last_name(reader))
    if reader.accept("QUERY") or (reader.word.key in QUERY_STARTS and not reader.sees("TABLE")):
        return DescribeQuery(read_query(reader))
    reader.accept("TABLE")
    extended = reader.accept("EXTENDED") or reader.accept("FORMATTED")
    return Describe(_last_name(reader), extended)


def _backup(reader: Reader) -> BackUp:
    """`BACKUP TO 'place'`"""
    reader.expect("BACKUP", "TO")
    place = reader.string("a folder or URL")
    reader.end()
    return BackUp(place)


def _restore(reader: Reader) -> Restore:
    """`RESTORE FROM 'place' [EPOCH n] TO 'path'`"""
    reader.expect("RESTORE", "FROM")
    place, epoch = reader.string("a folder or URL"), None
    if reader.accept("EPOCH"):
        if not reader.word.text.isdecimal():
            reader.fail("the number of an epoch")
        epoch = int(reader.word.text)
        reader.at += 1
    reader.expect("TO")
    path = reader.string("the place of the new warehouse")
    reader.end()
    return Restore(place, path, epoch)


def _last_name(reader: Reader, what: str = "a table or view") -> str:
    """A name at the end of the statement."""
    name = reader.name(what)
    reader.end()
    return name


def _show(reader: Reader) -> Show | ShowColumns | ShowCreate:
    """`SHOW {TABLES | [MATERIALIZED] VIEWS} [[LIKE] 'pattern']`, `SHOW COLUMNS IN name`, `SHOW CREATE TABLE name`"""
    reader.expect("SHOW")
    if reader.accept("COLUMNS"):
        if not reader.accept("IN"):
            reader.expect("FROM")
        return ShowColumns(_last_name(reader))
    if reader.accept("CREATE"):
        kind: Kind = "view" if _accept_view(reader) else "table"
        if kind == "table":
            reader.expect("TABLE")
        return ShowCreate(kind, _last_name(reader, f"the {kind}"))
    if reader.accept("TABLES"):
        return Show("tables", _like(reader))
    reader.accept("MATERIALIZED")
    if not reader.accept("VIEWS"):
        reader.fail("TABLES, VIEWS, COLUMNS IN or CREATE TABLE")
    return Show("views", _like(reader))


def _like(reader: Reader) -> str | None:
    """`[LIKE] 'a*|b*'`: a pattern, as in Spark's SHOW."""
    is_like = reader.accept("LIKE")
    pattern = reader.string("a pattern") if is_like or reader.word.kind == "string" else None
    reader.end()
    return pattern


_STATEMENTS: dict[str, Callable[[Reader], Statement]] = {
    "CREATE": read_create,
    "ALTER": read_alter,
    "DROP": _drop,
    "REFRESH": _refresh,
    "EXPLAIN": _explain,
    "DESCRIBE": _describe,
    "DESC": _describe,
    "SHOW": _show,
    "INSERT": read_insert,
    "DELETE": read_delete,
    "UPDATE": read_update,
    "MERGE": read_merge,
    "BACKUP": _backup,
    "RESTORE": _restore,
}
_ELSEWHERE = {
    "TRUNCATE": "write DELETE FROM the table, without WHERE",
    "SET": "settings are given to viewlet.connect(...)",
    "USE": "a warehouse has one set of names; open another with viewlet.connect(path)",
}
