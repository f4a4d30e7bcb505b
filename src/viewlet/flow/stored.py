"""A flow as a document of the catalog: what it reads and writes as JSON, its functions pickled."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from viewlet.errors import FlowError, StoreError, UnknownName, UntrustedCode
from viewlet.flow.graph import Graph

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse

VERSION = 1


def flow_document(graph: Graph) -> dict[str, Any]:
    """Everything that running the flow needs. Code of a module is kept by its name, everything else by value."""
    from pyspark import cloudpickle

    dumps: Callable[[Graph], bytes] = cloudpickle.dumps
    try:
        code = dumps(graph)
    except (pickle.PicklingError, TypeError, AttributeError, ValueError) as error:
        raise FlowError(
            f"flow {graph.name} cannot be stored: {error}",
            hint="functions of stages must not hold connections, files, locks or their like",
        ) from error
    return {
        "version": VERSION,
        "sources": {name: source.table for name, source in graph.sources.items()},
        "writes": [t.name for t in graph.tables],
        "views": list(graph.views),
        "stages": list(graph.stages),
        "code": base64.b64encode(code).decode(),
    }


def find_document(warehouse: Warehouse, name: str) -> tuple[str, Mapping[str, Any]]:
    """The document of a flow, with the flow's own spelling of its name."""
    flows = warehouse.catalog.flows
    known = next((flow for flow in flows if flow.lower() == str(name).lower()), None)
    if known is None:
        raise UnknownName(f"there is no flow named {name}", hint=f"there are: {', '.join(flows) or 'none yet'}")
    return known, flows[known]


def load_graph(warehouse: Warehouse, name: str) -> Graph:
    """A flow, ready to run."""
    known, document = find_document(warehouse, name)
    if document["version"] != VERSION:
        raise StoreError(
            f"flow {known} was made by another version of Viewlet", hint="open the warehouse with that version"
        )
    if not warehouse.trusts_code:
        raise UntrustedCode(
            f"flow {known} runs code that is stored in the warehouse, which was opened with trust=False",
            hint="open it with trust=True if you trust whoever wrote it",
        )
    return _unpickled(known, document["code"])


@lru_cache(maxsize=64)
def _unpickled(name: str, code: str) -> Graph:
    try:
        graph = pickle.loads(base64.b64decode(code))
    except (ImportError, AttributeError, TypeError, ValueError, pickle.UnpicklingError) as error:
        raise FlowError(
            f"the functions of flow {name} cannot be loaded: {error}",
            hint="have the modules that they come from on the path, or create the flow again",
        ) from error
    assert isinstance(graph, Graph)
    return graph
