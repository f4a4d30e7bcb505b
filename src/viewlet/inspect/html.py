"""A warehouse and its epochs as HTML, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from viewlet.formatting import ago, duration, html_rows, plural, size
from viewlet.inspect.graph import graph

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse


def warehouse_html(warehouse: Warehouse) -> str:
    """The tables and views of a warehouse, with rows, size, freshness and tier."""
    found = graph(warehouse)
    rows = [_row(node) for node in found["nodes"]]
    headings = [("name", ""), ("kind", ""), ("rows", ""), ("size", ""), ("changed", ""), ("tier", "")]
    caption = f"warehouse {warehouse.store.address}, epoch {found['epoch']:,}, {plural(len(rows), 'node')}"
    return html_rows(headings, rows, caption, right=(2, 3))


def _row(node: dict[str, Any]) -> list[str]:
    has_rows = "rows" in node
    return [
        node["name"],
        node["kind"],
        f"{node['rows']:,}" if has_rows else "",
        size(node["bytes"] + node.get("map_bytes", 0)) if has_rows else "",
        ago(node["timestamp"]) if has_rows else "",
        node.get("tier") or "",
    ]


def epoch_html(warehouse: Warehouse, number: int) -> str:
    """The changes of an epoch by table and view, and the time of each view."""
    record = warehouse.history(since=number - 1)[0]
    parts = [(name, "table", part, "") for name, part in record.get("tables", {}).items()]
    parts += [
        (name, part.get("technique", ""), part, duration(part["ms"])) for name, part in record.get("views", {}).items()
    ]
    rows = [[name, how, f"+{p['inserted']:,}", f"−{p['deleted']:,}", took] for name, how, p, took in parts]
    headings = [("name", ""), ("how", ""), ("in", ""), ("out", ""), ("time", "")]
    caption = f"epoch {record['epoch']:,}: {duration(record['ms'])} on {record['engine']}"
    return html_rows(headings, rows, caption, right=(2, 3, 4))
