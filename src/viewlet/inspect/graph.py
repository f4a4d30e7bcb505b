"""`graph`: the parts of a warehouse, their freshness and dependencies. `describe` has the details of each node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from viewlet.inspect.status import table_size, view_size
from viewlet.program.program import costliest_tier
from viewlet.sink.declared import receiver_of, sinks_status
from viewlet.sink.deliver import positions
from viewlet.warehouse.declare.tables import Table

if TYPE_CHECKING:
    from viewlet.warehouse.maintained import Maintained
    from viewlet.warehouse.warehouse import Warehouse

Node = dict[str, Any]
Edge = tuple[str, str]


def graph(warehouse: Warehouse) -> dict[str, Any]:
    """Nodes in the order in which changes pass through them, and edges from inputs to readers.

    Tables and views have their names; the others are `source:TABLE`, `flow:NAME` and `sink:NAME:TABLE`.
    """
    catalog = warehouse.catalog
    nodes = [
        *(_source(table) for table in catalog.tables.values() if table.source is not None),
        *(_table(warehouse, table) for table in catalog.tables.values()),
        *(_view(warehouse, view) for view in catalog.views.values()),
        *({"id": f"flow:{name}", "name": name, "kind": "flow"} for name in catalog.flows),
        *_sinks(warehouse),
    ]
    return {"epoch": warehouse.store.epoch, "nodes": nodes, "edges": list(_edges(warehouse))}


def _source(table: Table) -> Node:
    assert table.source is not None
    document = table.source.document()
    where = str(document.get("path") or document.get("topic") or table.name)
    name = where.rstrip("/").rpartition("/")[2]
    return {"id": f"source:{table.name}", "name": name, "kind": "source", "type": table.source.kind, "where": where}


def _table(warehouse: Warehouse, table: Table) -> Node:
    sizes = table_size(table, warehouse.store.snapshot())
    kind = "aside" if table.aside_of else "table"
    node = {"id": table.name, "name": table.name, "kind": kind, **sizes, **_changed(warehouse, table.name)}
    return {**node, "static": True} if table.static else node


def _view(warehouse: Warehouse, view: Maintained) -> Node:
    sizes = view_size(view, warehouse.store.snapshot())
    return {
        "id": view.name,
        "name": view.name,
        **sizes,
        **_changed(warehouse, view.name),
        "tier": costliest_tier(view.notes),
    }


def _sinks(warehouse: Warehouse) -> Iterator[Node]:
    """The sinks of tables and views, with their positions."""
    for sink in _passed_on(warehouse):
        last = warehouse.store.last_change(sink.of)
        state = {"delivered": sink.epoch, "waiting": last is not None and last[0] > (sink.epoch or 0)}
        yield {"id": sink.id, "name": sink.name, "kind": "sink", "type": sink.kind, **state}


@dataclass(frozen=True, slots=True)
class _Sink:
    """A declared sink, or a receiver of `deliver`."""

    name: str
    kind: str
    of: str
    epoch: int | None
    """The last epoch that it received."""

    @property
    def id(self) -> str:
        return f"sink:{self.name}:{self.of}"


def _passed_on(warehouse: Warehouse) -> list[_Sink]:
    snapshot, catalog = warehouse.store.snapshot(), warehouse.catalog
    declared = [_Sink(name, s["kind"], s["of"], s["epoch"]) for name, s in sinks_status(catalog, snapshot).items()]
    own = {receiver_of(sink.name) for sink in declared}
    called = [_Sink(*found) for found in _receivers(warehouse) if found[0] not in own]
    return [*declared, *called]


def _receivers(warehouse: Warehouse) -> list[tuple[str, str, str, int]]:
    """The receivers of existing tables and views."""
    found = positions(warehouse.store.snapshot())
    return [(receiver, "function", name, epoch) for receiver, name, epoch in found if warehouse.catalog.known(name)]


def _changed(warehouse: Warehouse, name: str) -> Node:
    """The last change of a table or view."""
    last = warehouse.store.last_change(name)
    return {"changed": None, "timestamp": None} if last is None else {"changed": last[0], "timestamp": last[1]}


def _edges(warehouse: Warehouse) -> Iterator[Edge]:
    catalog = warehouse.catalog
    for table in catalog.tables.values():
        if table.source is not None:
            yield f"source:{table.name}", table.name
        if table.aside_of:
            yield table.aside_of, table.name
    for view in catalog.views.values():
        yield from ((name, view.name) for name in view.mentions)
    for name, flow in catalog.flows.items():
        yield from ((table, f"flow:{name}") for table in flow["sources"].values() if table)
        yield from ((f"flow:{name}", table) for table in flow["writes"])
    yield from ((sink.of, sink.id) for sink in _passed_on(warehouse))
