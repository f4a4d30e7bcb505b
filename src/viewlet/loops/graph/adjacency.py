"""Adjacency lists: the edges of each vertex, by one of their ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from viewlet.columns.arrays import Positions
from viewlet.loops.graph.growing import Growing

Numbers = np.ndarray[Any, np.dtype[np.int32]] | Positions
"""Numbers of edges and vertices, in 32 bits if there are not too many."""
_RECENT = 1000
"""The most new edges that are kept in lists by vertex; more are sorted."""
_PART = 4
"""If new edges are more than 1 / _PART of the sorted ones, all are sorted together."""


@dataclass(frozen=True)
class ByEnd:
    """Edges sorted by one of their ends."""

    order: Numbers
    others: Numbers
    """The vertices at their other ends."""
    bounds: Positions
    """The edges of vertex v are at the positions from bounds[v] to bounds[v + 1]."""

    def of(self, vertices: Positions) -> Positions:
        """The edges of some vertices."""
        inside = vertices[vertices < len(self.bounds) - 1]
        starts = self.bounds[inside]
        counts = self.bounds[inside + 1] - starts
        ends = np.cumsum(counts)
        total = int(ends[-1]) if len(ends) else 0
        return self.order[np.repeat(starts - ends + counts, counts) + np.arange(total)].astype(np.int64)

    def count(self, vertices: Positions) -> int:
        """How many edges some vertices have."""
        inside = vertices[vertices < len(self.bounds) - 1]
        return int((self.bounds[inside + 1] - self.bounds[inside]).sum())


def by_end(ends: Positions, others: Positions, first: int = 0) -> ByEnd:
    """Sort edges by their ends in linear time; `first` is the number of the first edge.

    The incidence matrix has a column for each edge, with its other end in the row of its end. Converted to rows, it
    lists the edges of each vertex and where they lead.
    """
    shape = (int(ends.max(initial=-1)) + 1, len(ends))
    kind = np.int32 if len(ends) <= np.iinfo(np.int32).max else np.int64
    columns = others.astype(kind), ends.astype(kind), np.arange(len(ends) + 1, dtype=kind)
    by_vertex = sparse.csc_array(columns, shape=shape).tocsr()
    order = by_vertex.indices + kind(first) if first else by_vertex.indices
    return ByEnd(order, by_vertex.data, by_vertex.indptr.astype(np.int64))


_NONE = by_end(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


class Adjacency:
    """The edges of each vertex: old ones sorted, newer ones sorted separately, the most recent ones in lists."""

    def __init__(self, ends: Growing, others: Growing) -> None:
        self._ends, self._others = ends, others
        self._old, self._new = _NONE, _NONE
        self._recent: dict[int, list[int]] = {}
        self._known = 0
        """How many edges the three hold."""

    def of(self, vertices: Positions) -> Positions:
        """The edges of some vertices."""
        if not len(vertices):
            return vertices
        self._learn()
        parts = [some.of(vertices) for some in (self._old, self._new) if len(some.order)]
        if self._recent:
            recent = [edge for vertex in vertices.tolist() for edge in self._recent.get(vertex, ())]
            parts.append(np.array(recent, dtype=np.int64))
        return parts[0] if len(parts) == 1 else np.concatenate([vertices[:0], *parts])

    def count(self, vertices: Positions) -> int:
        """How many edges some vertices have."""
        self._learn()
        recent = sum(len(self._recent.get(vertex, ())) for vertex in vertices.tolist()) if self._recent else 0
        return self._old.count(vertices) + self._new.count(vertices) + recent

    def sorted(self) -> ByEnd:
        """All edges in the order of their ends."""
        if len(self._old.order) < len(self._ends):
            self._sort()
        return self._old

    def forget(self) -> None:
        """Start over, because edges were renumbered."""
        self._old, self._new, self._recent, self._known = _NONE, _NONE, {}, 0

    def _learn(self) -> None:
        """Add the edges that are new since the last call."""
        length, old = len(self._ends), len(self._old.order)
        if length - old > old // _PART + _RECENT or not old:
            self._sort()
        elif length - old - len(self._new.order) > _RECENT:
            self._new, self._recent = by_end(self._ends.now[old:], self._others.now[old:], old), {}
        else:
            for edge, end in enumerate(self._ends.now[self._known :].tolist(), self._known):
                self._recent.setdefault(end, []).append(edge)
        self._known = length

    def _sort(self) -> None:
        self._old, self._new, self._recent = by_end(self._ends.now, self._others.now), _NONE, {}
        self._known = len(self._ends)
