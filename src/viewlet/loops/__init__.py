"""Recursive and iterative queries that are kept fresh; and some that are ready to use."""

from viewlet.loops.history import history
from viewlet.loops.library import (
    bill_of_materials,
    connected_components,
    factorize,
    k_core,
    k_means,
    label_propagation,
    pagerank,
    reachable,
    shortest_paths,
    transitive_closure,
)
from viewlet.loops.plot import plot

__all__ = [
    "bill_of_materials",
    "connected_components",
    "factorize",
    "history",
    "k_core",
    "k_means",
    "label_propagation",
    "pagerank",
    "plot",
    "reachable",
    "shortest_paths",
    "transitive_closure",
]
