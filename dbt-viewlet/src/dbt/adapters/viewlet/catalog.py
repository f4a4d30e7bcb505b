"""What `dbt docs` and `dbt source freshness` show of a warehouse."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from dbt.adapters.viewlet.relation import split_name

if TYPE_CHECKING:
    import agate

    import viewlet

_STATISTICS = {"rows": ("Rows", "how many rows there are"), "bytes": ("Bytes", "what they take on disk")}


def catalog_table(db: viewlet.Database, database: str, schemas: Collection[str]) -> agate.Table:
    """A row for each column of each table and view of some schemas."""
    from dbt_common.clients.agate_helper import table_from_data

    nodes = [node for node in db.graph()["nodes"] if node["id"] in (*db.tables, *db.views)]
    rows = [
        row for node in nodes if split_name(node["id"])[0].lower() in schemas for row in _columns(db, node, database)
    ]
    return table_from_data(rows, list(rows[0]) if rows else _HEADINGS)


_HEADINGS = [
    "table_database", "table_schema", "table_name", "table_type", "table_comment", "table_owner",
    "column_name", "column_index", "column_type", "column_comment",
]  # fmt: skip


def _columns(db: viewlet.Database, node: dict[str, Any], database: str) -> Iterator[dict[str, Any]]:
    schema, identifier = split_name(node["id"])
    kind = "table" if node["id"] in db.tables else "materialized view"
    for at, f in enumerate(db.table(node["id"]).fields):
        values = (database, schema, identifier, kind, None, None, f.name, at, str(f.type), None)
        yield {**dict(zip(_HEADINGS, values, strict=True)), **_statistics(node)}


def _statistics(node: dict[str, Any]) -> dict[str, Any]:
    """The sizes of a table or view, in the columns in which dbt looks for them."""
    found: dict[str, Any] = {}
    for key, (label, description) in _STATISTICS.items():
        value = node.get(key)
        parts = {"label": label, "value": value, "description": description, "include": value is not None}
        found |= {f"stats:{key}:{part}": content for part, content in parts.items()}
    return found


def last_modified(db: viewlet.Database, name: str) -> tuple[dt.datetime | None, dt.datetime]:
    """When a table or view last changed, and what time it is."""
    known = db.table(name).name
    at = next(node["timestamp"] for node in db.graph()["nodes"] if node["id"] == known)
    return at if at is None else dt.datetime.fromtimestamp(at, dt.UTC), dt.datetime.now(dt.UTC)
