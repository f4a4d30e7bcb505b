"""Completes the VALUES of an INSERT to all columns, with DEFAULT and omitted values written out."""

from __future__ import annotations

import re

from viewlet.plan.types import Field
from viewlet.sql.literals import refuse_count
from viewlet.sql.reader import Reader
from viewlet.warehouse.declare.tables import Table


def complete_values(query: str, given: tuple[Field, ...], table: Table) -> tuple[str, tuple[Field, ...]]:
    """A query and its columns; plain VALUES are completed to all columns of the table, with defaults filled in."""
    has_all = len(given) == len(table.fields)
    if has_all and not re.search(r"\bdefault\b", query, re.IGNORECASE):
        return query, given
    reader = Reader(query)
    rows = _rows(reader, given)
    if rows is None:
        return query, given
    written = [", ".join(_complete(row, table)) for row in rows]
    return "VALUES " + ", ".join(f"({row})" for row in written), table.fields


def _rows(reader: Reader, given: tuple[Field, ...]) -> list[dict[str, str]] | None:
    """The texts of all values, by column; None if the query is more than VALUES."""
    if not reader.accept("VALUES"):
        return None
    rows: list[dict[str, str]] = []
    while not rows or reader.accept(","):
        line, values = reader.word.line, _row(reader)
        refuse_count(len(values), given, len(rows) + 1, line)
        rows.append({f.name: value for f, value in zip(given, values, strict=True)})
    return rows if reader.word.kind == "end" else None


def _row(reader: Reader) -> list[str]:
    """The texts of one row; the row of a single column may omit parentheses."""
    if not reader.accept("("):
        return [reader.until(",")]
    values = [reader.until(",", ")")]
    while reader.accept(","):
        values.append(reader.until(",", ")"))
    reader.expect(")")
    return values


def _complete(row: dict[str, str], table: Table) -> list[str]:
    return [written(row.get(f.name, "DEFAULT"), table, f.name) for f in table.fields]


def written(value: str, table: Table, column: str) -> str:
    """An expression for a column, with DEFAULT replaced by the table's default, or NULL."""
    return table.default(column) if value.upper() == "DEFAULT" else value
