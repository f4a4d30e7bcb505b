"""Parses the statements that change rows: INSERT, DELETE, UPDATE, MERGE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from viewlet.sql.create import QUERY_STARTS, read_query
from viewlet.sql.reader import Reader
from viewlet.sql.statements import Assignments, DeleteFrom, InsertInto, Merge, MergeClause, Update


def read_insert(reader: Reader) -> InsertInto:
    """`INSERT {INTO [TABLE] | OVERWRITE [TABLE]} t [(columns) | BY NAME] query`"""
    reader.expect("INSERT")
    overwrite = reader.accept("OVERWRITE")
    if not overwrite:
        reader.expect("INTO")
    reader.accept("TABLE")
    table = reader.name("the table")
    if reader.sees("PARTITION"):
        reader.refuse("tables have no partitions", hint="leave PARTITION out")
    by_name = reader.accept("BY", "NAME")
    listed = reader.sees("(") and not _starts_query(reader)
    if by_name and listed:
        reader.refuse("BY NAME takes the columns from the query", hint="leave the list of columns out")
    columns = reader.names("a column") if listed else None
    return InsertInto(table, columns, read_query(reader), by_name, overwrite)


def _starts_query(reader: Reader) -> bool:
    """Whether the next parenthesis opens a query rather than a list of columns."""
    return reader.words[reader.at + 1].key in QUERY_STARTS


def read_delete(reader: Reader) -> DeleteFrom:
    """`DELETE FROM t [[AS] alias] [WHERE condition]`"""
    reader.expect("DELETE", "FROM")
    table, alias = reader.name("the table"), reader.alias("WHERE")
    return DeleteFrom(table, _where(reader), alias)


def _where(reader: Reader) -> str | None:
    """The optional WHERE at the end of a statement."""
    if not reader.accept("WHERE"):
        reader.end()
        return None
    if reader.word.kind == "end" or reader.sees(";"):
        reader.fail("a condition after WHERE")
    return reader.rest()


def read_update(reader: Reader) -> Update:
    """`UPDATE t [[AS] alias] SET column = expression, … [WHERE condition]`"""
    reader.expect("UPDATE")
    table, alias = reader.name("the table"), reader.alias("SET")
    reader.expect("SET")
    assignments = _assignments(reader, (table, alias), ("WHERE",))
    return Update(table, assignments, _where(reader), alias)


def _assignments(reader: Reader, owners: tuple[str | None, ...], stops: tuple[str, ...]) -> Assignments:
    """`[t.]column = expression, …`"""
    found = [_assignment(reader, owners, stops)]
    while reader.accept(","):
        found.append(_assignment(reader, owners, stops))
    return tuple(found)


def _assignment(reader: Reader, owners: tuple[str | None, ...], stops: tuple[str, ...]) -> tuple[str, str]:
    column = reader.column_of(*owners)
    reader.expect("=")
    return column, _expression(reader, f"the value of `{column}`", ",", *stops, ";")


def _expression(reader: Reader, what: str, *stops: str) -> str:
    text = reader.until(*stops)
    if not text:
        reader.fail(what)
    return text


def read_merge(reader: Reader) -> Merge:
    """`MERGE INTO t [[AS] a] USING source [[AS] b] ON condition WHEN …`"""
    reader.expect("MERGE")
    if reader.accept("WITH", "SCHEMA", "EVOLUTION"):
        reader.refuse("MERGE cannot add columns", hint="ALTER TABLE … ADD COLUMN first")
    reader.expect("INTO")
    table, alias = reader.name("the table"), reader.alias("USING")
    reader.expect("USING")
    source, source_alias = _source(reader)
    reader.expect("ON")
    on = _expression(reader, "a condition after ON", "WHEN", ";")
    clauses = []
    while reader.accept("WHEN"):
        clauses.append(_clause(reader, (table, alias)))
    reader.end()
    if not clauses:
        reader.fail("WHEN MATCHED or WHEN NOT MATCHED")
    return Merge(table, alias, source, source_alias, on, tuple(clauses))


def _source(reader: Reader) -> tuple[str, str | None]:
    """The source of a MERGE with its alias and column aliases, as text, and the name by which it is referred to."""
    start, own = reader.word.start, None
    if reader.sees("("):
        reader.skip()
    else:
        own = reader.name("the source")
    alias = reader.alias("ON")
    if alias is not None and reader.sees("("):
        reader.names("a column")
    return reader.text[start : reader.words[reader.at - 1].end], alias or own


def _clause(reader: Reader, owners: tuple[str | None, ...]) -> MergeClause:
    """`[NOT] MATCHED [BY {SOURCE | TARGET}] [AND condition] THEN action`"""
    is_matched = not reader.accept("NOT")
    reader.expect("MATCHED")
    by_source = not is_matched and reader.accept("BY", "SOURCE")
    if not is_matched and not by_source:
        reader.accept("BY", "TARGET")
    condition = _expression(reader, "a condition after AND", "THEN", ";") if reader.accept("AND") else None
    reader.expect("THEN")
    if not is_matched and not by_source:
        return MergeClause("not matched", condition, "insert", _insertion(reader, owners))
    rows: Literal["matched", "not matched by source"] = "matched" if is_matched else "not matched by source"
    if reader.accept("DELETE"):
        return MergeClause(rows, condition, "delete")
    reader.expect("UPDATE", "SET")
    if is_matched and reader.accept("*"):
        return MergeClause(rows, condition, "update", None)
    return MergeClause(rows, condition, "update", _assignments(reader, owners, ("WHEN",)))


def _insertion(reader: Reader, owners: tuple[str | None, ...]) -> Assignments | None:
    """`INSERT *`, or `INSERT (columns) VALUES (expressions)`"""
    reader.expect("INSERT")
    if reader.accept("*"):
        return None
    columns = _listed(reader, lambda: reader.column_of(*owners))
    reader.expect("VALUES")
    values = _listed(reader, lambda: _expression(reader, "a value", ",", ")"))
    if len(values) != len(columns):
        reader.refuse(f"{len(values)} values for {len(columns)} columns ({', '.join(columns)})")
    return tuple(zip(columns, values, strict=True))


def _listed(reader: Reader, read: Callable[[], str]) -> list[str]:
    """A list in parentheses, separated by commas."""
    reader.expect("(")
    found = [read()]
    while reader.accept(","):
        found.append(read())
    reader.expect(")")
    return found
