"""Flows as documents of the catalog: what they read and write as JSON, their functions pickled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from viewlet.errors import StoreError, UnknownName
from viewlet.flow.define.graph import Graph
from viewlet.formatting import suggestion
from viewlet.warehouse.declare.users_code import from_text, refuse_untrusted, to_text

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse

VERSION = 1


def flow_document(graph: Graph) -> dict[str, Any]:
    """Everything needed to run the flow. Code of modules is stored by name, other code by value."""
    return {
        "version": VERSION,
        "sources": {name: source.table for name, source in graph.sources.items()},
        "writes": [t.name for t in graph.tables],
        "views": list(graph.views),
        "stages": list(graph.stages),
        "code": to_text(f"flow {graph.name}", graph),
    }


def find_document(warehouse: Warehouse, name: str) -> tuple[str, Mapping[str, Any]]:
    """The document of a flow, and its name as declared."""
    flows = warehouse.catalog.flows
    known = next((flow for flow in flows if flow.lower() == str(name).lower()), None)
    if known is None:
        raise UnknownName(f"there is no flow named {name}", hint=suggestion(str(name), flows))
    return known, flows[known]


def load_graph(warehouse: Warehouse, name: str) -> Graph:
    """A flow, ready to run."""
    known, document = find_document(warehouse, name)
    if document["version"] != VERSION:
        raise StoreError(
            f"flow {known} was made by another version of Viewlet", hint="open the warehouse with that version"
        )
    if not warehouse.trusts_code:
        refuse_untrusted(f"flow {known}")
    graph = from_text(f"flow {known}", document["code"])
    assert isinstance(graph, Graph)
    return graph
