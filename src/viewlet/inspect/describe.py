"""`describe`: details of one table, view, flow, source or sink, as plain values."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from viewlet.errors import UnknownName
from viewlet.inspect.graph import graph
from viewlet.program.program import operators
from viewlet.warehouse.declare.tables import Table

if TYPE_CHECKING:
    from viewlet.warehouse.maintained import Maintained
    from viewlet.warehouse.warehouse import Warehouse

_LAST = 30
"""How many of the last epochs the cost of an epoch is taken from."""


def describe(warehouse: Warehouse, name: str) -> dict[str, Any]:
    """A node of `graph` with its inputs and readers, columns, definition, operators, maps and costs."""
    whole, known = graph(warehouse), warehouse.catalog.known(name) or name
    node = next((node for node in whole["nodes"] if node["id"] == known), None)
    if node is None:
        raise UnknownName(f"there is nothing named {name}", hint="db.graph() has all names")
    found = {
        **node,
        "reads": [a for a, b in whole["edges"] if b == known],
        "readers": [b for a, b in whole["edges"] if a == known],
    }
    if known in warehouse.catalog.tables:
        found |= _of_table(warehouse.catalog.tables[known])
    elif known in warehouse.catalog.views:
        found |= _of_view(warehouse, warehouse.catalog.views[known])
    return found


def _of_table(table: Table) -> dict[str, Any]:
    traits = {"append only": table.append_only, "trusted": table.trusted, "static": table.static}
    return {
        "columns": [(f.name, str(f.type)) for f in table.fields],
        "primary_key": list(table.primary_key),
        "traits": [trait for trait, is_so in traits.items() if is_so],
        "constraints": [(c.name, c.text, c.action) for c in table.constraints],
    }


def _of_view(warehouse: Warehouse, view: Maintained) -> dict[str, Any]:
    return {
        "columns": [(f.name, str(f.type)) for f in view.fields],
        "statement": view.statement,
        "operators": [
            {"depth": depth, "label": n.label, "tier": n.tier, "reason": n.reason} for depth, n in operators(view.notes)
        ],
        "maps_kept": _maps(warehouse, view),
        "explain": view.explain(warehouse, verbose=True),
        **_costs(warehouse, view),
    }


def _maps(warehouse: Warehouse, view: Maintained) -> list[dict[str, Any]]:
    """The state of a view: the contents and size of each map, and the other views that use it."""
    snapshot, meanings = warehouse.store.snapshot(), view.meanings
    others = [v for v in warehouse.catalog.views.values() if v.name != view.name]
    return [
        {
            "name": bag,
            "holds": meanings.get(bag, ""),
            "rows": snapshot.contents(bag).rows,
            "bytes": snapshot.contents(bag).bytes,
            "shared": [other.name for other in others if bag in other.bags],
        }
        for bag in view.bags
        if bag != view.name and snapshot.has(bag)
    ]


def _costs(warehouse: Warehouse, view: Maintained) -> dict[str, Any]:
    """The milliseconds of an epoch and of computing from scratch; for a loop, the rounds of its last epoch."""
    records = [r for r in warehouse.history(view.name) if view.name in r.get("views", {})]
    epochs = [r["views"][view.name] for r in records if r["kind"] == "epoch"]
    fills = [r["views"][view.name]["ms"] for r in records if r["kind"] != "epoch"]
    rounds = next(
        (r["views"][view.name]["rounds"] for r in reversed(records) if "rounds" in r["views"][view.name]), None
    )
    return {
        "epoch_ms": statistics.median(e["ms"] for e in epochs[-_LAST:]) if epochs else None,
        "fill_ms": fills[-1] if fills else None,
        "last": epochs[-1] if epochs else None,
        "rounds": rounds,
    }
