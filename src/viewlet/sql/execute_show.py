"""Executes SHOW and DESCRIBE, whose results are tables."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from viewlet.errors import SqlError, UnknownName
from viewlet.plan.types import Field
from viewlet.plan.words import identifier
from viewlet.sql.statements import Describe, Show, ShowCreate
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.maintained import Maintained

if TYPE_CHECKING:
    from viewlet.database import Database


def show(db: Database, s: Show) -> pa.Table:
    """The names and columns of all tables or views, or of those that match a pattern."""
    found = db._warehouse.catalog.tables if s.kind == "tables" else db._warehouse.catalog.views
    shown = {name: item for name, item in found.items() if s.like is None or _is_like(name, s.like)}
    columns = [", ".join(map(str, item.fields)) for item in shown.values()]
    return _strings({"name": list(shown), "columns": columns})


def _is_like(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern of Spark's SHOW, ignoring case: `*` is anything, `|` separates alternatives."""
    return any(fnmatch.fnmatchcase(name.lower(), part.strip().lower()) for part in pattern.split("|"))


def show_columns(db: Database, name: str) -> pa.Table:
    return _strings({"col_name": [f.name for f in db._warehouse.catalog.find(name).fields]})


def show_create(db: Database, s: ShowCreate) -> pa.Table:
    """The statement that would create a table or view, without its rows."""
    found = of_kind(db, s.kind, s.name)
    text = table_text(found) if isinstance(found, Table) else _view_text(found)
    return _strings({"createtab_stmt": [text]})


def of_kind(db: Database, kind: str, name: str) -> Table | Maintained:
    """The table or view of that name; raise if it is of the other kind."""
    found = db._warehouse.catalog.find(name)
    if isinstance(found, Table) != (kind == "table"):
        other = "TABLE" if isinstance(found, Table) else "MATERIALIZED VIEW"
        raise UnknownName(f"{name} is a {other.split()[-1].lower()}", hint=f"write {other} {name}")
    return found


def table_text(table: Table) -> str:
    """The CREATE TABLE statement of a table."""
    lines = [_column_text(f, table) for f in table.fields]
    if table.primary_key:
        lines.append(f"PRIMARY KEY ({', '.join(map(identifier, table.primary_key))})")
    lines += [f"CONSTRAINT {identifier(c.name)} CHECK ({c.text}) ON VIOLATION {c.action}" for c in table.constraints]
    options = [
        word for word, is_so in {
            "APPEND ONLY": table.append_only, "TRUSTED": table.trusted, "STATIC": table.static,
        }.items() if is_so
    ]  # fmt: skip
    if table.watermark is not None:
        options.append(f"WATERMARK {identifier(table.watermark.column)} DELAY {table.watermark.delay} MICROSECONDS")
    if table.source is not None and table.source.statement is not None:
        options.append(table.source.statement)
    return "\n".join(
        [f"CREATE TABLE {identifier(table.name)} (", ",\n".join(f"  {line}" for line in lines) + ")", *options]
    )


def _column_text(f: Field, table: Table) -> str:
    required = "" if f.nullable else " NOT NULL"
    default = f" DEFAULT {text}" if (text := dict(table.defaults).get(f.name)) else ""
    return f"{identifier(f.name)} {str(f.type).upper() if not f.type.args else f.type}{required}{default}"


def _view_text(view: Maintained) -> str:
    if view.statement is None:
        raise SqlError(
            f"{view.kind} {view.name} was not defined by a statement", hint="EXPLAIN shows how it is maintained"
        )
    return view.statement


def describe(db: Database, s: Describe) -> pa.Table:
    """The columns of a table or view, in Spark's form; with `extended`, its other properties, too."""
    found = db._warehouse.catalog.find(s.name)
    rows = [(f.name, str(f.type)) for f in found.fields]
    if s.extended:
        rows += [("", ""), ("# Detailed Table Information", ""), *_details(db, found)]
    return described(rows)


def described(rows: Iterable[tuple[str, str]]) -> pa.Table:
    """Names and types under the headings of Spark's DESCRIBE."""
    names, types = zip(*rows, strict=True)
    return _strings({"col_name": names, "data_type": types, "comment": [None] * len(names)})


def _details(db: Database, found: Table | Maintained) -> list[tuple[str, str]]:
    catalog = db._warehouse.catalog
    details = {"Name": found.name, "Type": "TABLE" if isinstance(found, Table) else "MATERIALIZED VIEW"}
    details["Rows"] = f"{len(db.table(found.name)):,}"
    if isinstance(found, Maintained):
        details |= {"Kind": found.kind, **found.properties, "Reads": ", ".join(found.reads)}
    details["Read By"] = ", ".join(catalog.readers(found.name))
    details["Statement"] = table_text(found) if isinstance(found, Table) else found.statement or ""
    return [(name, value) for name, value in details.items() if value]


def history_table(records: list[dict[str, Any]]) -> pa.Table:
    """Epoch records as a table, newest first."""
    columns: dict[str, list[Any]] = {"epoch": [], "timestamp": [], "kind": [], "engine": [], "ms": [], "details": []}
    for record in reversed(records):
        rest = {k: v for k, v in record.items() if k not in columns}
        for name in ("epoch", "timestamp", "kind", "engine", "ms"):
            columns[name].append(record.get(name))
        columns["details"].append(json.dumps(rest, default=str))
    return pa.table(columns)


def _strings(columns: dict[str, Any]) -> pa.Table:
    return pa.table({name: pa.array(list(values), pa.string()) for name, values in columns.items()})
