"""Text to statement: one function for each kind, and one table that lists them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from viewlet.sql.create import QUERY_STARTS, read_alter, read_create, read_query
from viewlet.sql.reader import Reader
from viewlet.sql.statements import (
    CreateView,
    DeleteFrom,
    DescribeHistory,
    Drop,
    Explain,
    InsertInto,
    Refresh,
    Select,
    Show,
    Statement,
    Update,
)


def parse(text: str) -> Statement:
    """The statement that a text says; `SqlError` where it says none."""
    reader = Reader(text)
    if reader.word.kind == "end":
        reader.fail("a statement")
    if reader.word.key in QUERY_STARTS:
        return Select(reader.rest())
    read = _STATEMENTS.get(reader.word.key)
    if read is None:
        hint = _ELSEWHERE.get(reader.word.key, "see the README for the statements that Viewlet knows")
        reader.fail("a statement such as CREATE, INSERT or SELECT", hint=hint)
    return read(reader)


def _drop(reader: Reader) -> Drop:
    """`DROP {TABLE | [MATERIALIZED] VIEW} [IF EXISTS] name [CASCADE]`"""
    reader.expect("DROP")
    kind: Literal["table", "view"] = "table" if reader.accept("TABLE") else "view"
    if kind == "view" and not (reader.accept("MATERIALIZED", "VIEW") or reader.accept("VIEW")):
        reader.fail("TABLE or MATERIALIZED VIEW")
    if_exists = reader.accept("IF")
    if if_exists:
        reader.expect("EXISTS")
    name = reader.name(f"the {kind}")
    cascade = reader.accept("CASCADE")
    if not cascade:
        reader.accept("RESTRICT")
    reader.end()
    return Drop(kind, name, if_exists, cascade)


def _refresh(reader: Reader) -> Refresh:
    """`REFRESH [MATERIALIZED VIEW] name [FULL]`"""
    reader.expect("REFRESH")
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
            reader.refuse("only a view has something to explain")
        return Explain(statement)
    is_view = _accept_view(reader)
    if not is_view and reader.word.key in QUERY_STARTS:
        reader.refuse("a query that is not kept has nothing to explain", hint="EXPLAIN CREATE MATERIALIZED VIEW v AS …")
    name = reader.name("the view")
    reader.end()
    return Explain(name)


def _describe(reader: Reader) -> DescribeHistory:
    """`DESCRIBE HISTORY name`"""
    if not reader.accept("DESCRIBE"):
        reader.expect("DESC")
    if not reader.accept("HISTORY"):
        reader.fail("HISTORY", hint="to see what a view does: EXPLAIN v")
    name = reader.name("a table or view")
    reader.end()
    return DescribeHistory(name)


def _show(reader: Reader) -> Show:
    """`SHOW TABLES`, `SHOW [MATERIALIZED] VIEWS`"""
    reader.expect("SHOW")
    kind: Literal["tables", "views"] = "tables" if reader.accept("TABLES") else "views"
    if kind == "views":
        reader.accept("MATERIALIZED")
        if not reader.accept("VIEWS"):
            reader.fail("TABLES or VIEWS")
    reader.end()
    return Show(kind)


def _insert(reader: Reader) -> InsertInto:
    """`INSERT INTO [TABLE] t [(columns)] query`"""
    reader.expect("INSERT")
    if reader.sees("OVERWRITE"):
        reader.refuse("tables are not overwritten", hint="DELETE FROM the table, then INSERT INTO it, in one epoch")
    reader.expect("INTO")
    reader.accept("TABLE")
    table = reader.name("the table")
    columns = None if _starts_query(reader) or not reader.sees("(") else reader.names("a column")
    return InsertInto(table, columns, read_query(reader))


def _starts_query(reader: Reader) -> bool:
    """Whether a parenthesis here opens a query, not a list of columns."""
    return reader.sees("(") and reader.words[reader.at + 1].key in QUERY_STARTS


def _delete(reader: Reader) -> DeleteFrom:
    """`DELETE FROM t [WHERE condition]`"""
    reader.expect("DELETE", "FROM")
    return DeleteFrom(reader.name("the table"), _where(reader))


def _where(reader: Reader) -> str | None:
    """The condition at the end of a statement."""
    if not reader.accept("WHERE"):
        reader.end()
        return None
    if reader.word.kind == "end" or reader.sees(";"):
        reader.fail("a condition after WHERE")
    return reader.rest()


def _update(reader: Reader) -> Update:
    """`UPDATE t SET column = expression, … [WHERE condition]`"""
    reader.expect("UPDATE")
    table = reader.name("the table")
    reader.expect("SET")
    assignments = [_assignment(reader)]
    while reader.accept(","):
        assignments.append(_assignment(reader))
    return Update(table, tuple(assignments), _where(reader))


def _assignment(reader: Reader) -> tuple[str, str]:
    column = reader.name("a column")
    reader.expect("=")
    value = reader.until(",", "WHERE", ";")
    if not value:
        reader.fail(f"the value of `{column}`")
    return column, value


_STATEMENTS: dict[str, Callable[[Reader], Statement]] = {
    "CREATE": read_create,
    "ALTER": read_alter,
    "DROP": _drop,
    "REFRESH": _refresh,
    "EXPLAIN": _explain,
    "DESCRIBE": _describe,
    "DESC": _describe,
    "SHOW": _show,
    "INSERT": _insert,
    "DELETE": _delete,
    "UPDATE": _update,
}
_ELSEWHERE = {
    "MERGE": "use db.upsert(table, rows), or DELETE and INSERT in one epoch",
    "TRUNCATE": "write DELETE FROM the table, without WHERE",
    "SET": "settings are given to viewlet.connect(...)",
    "USE": "a warehouse has one set of names; open another with viewlet.connect(path)",
}
