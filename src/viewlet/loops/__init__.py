"""Recursive and iterative queries, kept fresh, and a library of common ones."""

from viewlet.loops.handlers.deltas import Adjust, Delete, Insert, Replace, over_row
from viewlet.loops.handlers.handlers import AggregateHandler, JoinHandler, StateHandler
from viewlet.loops.inspection.history import history
from viewlet.loops.inspection.plot import plot
from viewlet.loops.language.library import (
    adsorption,
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
from viewlet.loops.language.python_form import (
    Iterated,
    PythonLoop,
    Recursive,
    fixpoint,
    iteration,
    recursion,
    repetition,
)

__all__ = [
    "Adjust",
    "AggregateHandler",
    "Delete",
    "Insert",
    "Iterated",
    "JoinHandler",
    "PythonLoop",
    "Recursive",
    "Replace",
    "StateHandler",
    "adsorption",
    "bill_of_materials",
    "connected_components",
    "factorize",
    "fixpoint",
    "history",
    "iteration",
    "k_core",
    "k_means",
    "label_propagation",
    "over_row",
    "pagerank",
    "plot",
    "reachable",
    "recursion",
    "repetition",
    "shortest_paths",
    "transitive_closure",
]
