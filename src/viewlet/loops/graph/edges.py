"""Edges by number: found by where they start, by where they end, and, to be taken away, by all that they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from scipy import sparse

from viewlet.columns.arrays import Mask, Positions, from_numpy, valid_mask, values_of
from viewlet.columns.rows import Weights
from viewlet.loops.graph.growing import Growing, Values

_RECENT = 1000
"""Beside so many edges, and a part of those that are sorted, new ones are kept by vertex, one by one."""


class Adjacency:
    """The edges of each vertex, by the vertex at one of their ends."""

    def __init__(self, ends: Growing) -> None:
        self._ends = ends
        self._sorted = 0
        """So many edges are sorted by their ends."""
        self._known = 0
        """So many are found: sorted, or one by one."""
        self._order: Positions = np.empty(0, dtype=np.int64)
        self._bounds: Positions = np.zeros(1, dtype=np.int64)
        self._recent: dict[int, list[int]] = {}

    def of(self, vertices: Positions) -> Positions:
        """The edges of some vertices."""
        if not len(vertices):
            return vertices
        self._learn()
        inside = vertices[vertices < len(self._bounds) - 1]
        starts = self._bounds[inside]
        counts = self._bounds[inside + 1] - starts
        ends = np.cumsum(counts)
        total = int(ends[-1]) if len(ends) else 0
        found = self._order[np.repeat(starts - ends + counts, counts) + np.arange(total)]
        if not self._recent:
            return found
        more = [edge for vertex in vertices.tolist() for edge in self._recent.get(vertex, ())]
        return np.concatenate([found, np.array(more, dtype=np.int64)])

    def sorted(self) -> tuple[Positions, Positions] | None:
        """All edges by their end, and from where to where those of each vertex are; None where some are known one by one."""
        self._learn()
        return None if self._recent else (self._order, self._bounds)

    def forget(self) -> None:
        """Edges have other numbers."""
        self._sorted = self._known = 0
        self._recent = {}

    def _learn(self) -> None:
        """Find edges that are new since the last time."""
        length = len(self._ends)
        if length - self._sorted > self._sorted // 4 + _RECENT or not self._sorted:
            self._sort()
        for edge, end in enumerate(self._ends.now[self._known :].tolist(), self._known):
            self._recent.setdefault(end, []).append(edge)
        self._known = length

    def _sort(self) -> None:
        self._order, self._bounds = by_end(self._ends.now)
        self._sorted = self._known = len(self._order)
        self._recent = {}


def by_end(ends: Positions) -> tuple[Positions, Positions]:
    """Edges in the order of their ends, and from where to where those of each vertex are, in linear time.

    The incidence matrix has a column for each edge, with a one in the row of its end: by rows, it lists each one's edges.
    """
    shape = (int(ends.max(initial=-1)) + 1, len(ends))
    kind = np.int32 if len(ends) <= np.iinfo(np.int32).max else np.int64
    each_once = np.ones(len(ends), np.int8), ends.astype(kind), np.arange(len(ends) + 1, dtype=kind)
    by_vertex = sparse.csc_array(each_once, shape=shape).tocsr()
    return by_vertex.indices.astype(np.int64), by_vertex.indptr.astype(np.int64)


@dataclass(frozen=True)
class Change:
    """Edges that come and go: the vertices at their ends, their own columns, and how often each comes."""

    sources: Positions
    targets: Positions
    columns: Sequence[pa.Array]
    weights: Weights

    def where(self, keep: Mask) -> Change:
        if keep.all():
            return self
        columns = [c.filter(pa.array(keep)) for c in self.columns]
        return Change(self.sources[keep], self.targets[keep], columns, self.weights[keep])


@dataclass(frozen=True)
class Arrivals:
    """All edges in the order of the vertices that they end at, for rounds that go through all of them."""

    edges: Positions
    sources: Positions
    vertices: Positions
    """Those at which edges arrive."""
    starts: Positions
    """From where on the edges of each of these are."""

    @cached_property
    def matrix(self) -> Any:
        """A row for each of these vertices, with a one for each edge, in the column of its source."""
        ends = np.append(self.starts, len(self.edges))
        shape = (len(self.vertices), int(self.sources.max(initial=-1)) + 1)
        return sparse.csr_array((np.ones(len(self.edges)), self.sources, ends), shape=shape)

    def of_target(self, values: Values) -> Values:
        """For each edge, what its target has."""
        return np.repeat(values[self.vertices], np.diff(self.starts, append=len(self.edges)))


class Edges:
    """The edges of a graph, each with how often it is there."""

    def __init__(self, kinds: Sequence[pa.DataType]) -> None:
        self._sources, self._targets, self._counts = Growing(np.int64), Growing(np.int64), Growing(np.int64)
        self._kinds = tuple(kinds)
        self._columns = [Growing(f"i{kind.bit_width // 8}") for kind in kinds]
        self._valid = [Growing(np.bool_) for _ in kinds]
        self._leaving, self._arriving = Adjacency(self._sources), Adjacency(self._targets)
        self._gone = 0
        self._are_single = True
        self._ends: dict[str, Mask] = {}
        self._arrivals: Arrivals | None = None

    def __len__(self) -> int:
        return len(self._sources)

    @property
    def are_all_there(self) -> bool:
        """Whether none of those that have a number is gone."""
        return not self._gone

    @property
    def are_single(self) -> bool:
        """Whether each is there once."""
        return self._are_single and not self._gone

    @property
    def sources(self) -> Positions:
        return self._sources.now

    @property
    def targets(self) -> Positions:
        return self._targets.now

    @property
    def counts(self) -> Weights:
        return self._counts.now

    def column(self, at: int, edges: Positions) -> pa.Array:
        """A column of some edges."""
        return from_numpy(self._columns[at].now[edges], self._kinds[at], self._valid[at].now[edges])

    def change(self, rows: Change) -> tuple[Positions, Positions]:
        """Take edges away and put others in; those that are gone, and those that are new."""
        return self._take_away(rows.where(rows.weights < 0)), self._add(rows.where(rows.weights > 0))

    def _add(self, rows: Change) -> Positions:
        first = len(self)
        if not len(rows.sources):
            return rows.sources
        self._sources.adopt(rows.sources)
        self._targets.adopt(rows.targets)
        self._counts.append(rows.weights)
        self._are_single &= bool((rows.weights == 1).all())
        self._ends, self._arrivals = {}, None
        for array, values, valid in zip(rows.columns, self._columns, self._valid, strict=True):
            values.adopt(values_of(array, values.now.dtype.str))
            valid.adopt(valid_mask(array))
        return np.arange(first, len(self))

    def leaving(self, vertices: Positions) -> Positions:
        """The edges that start at some vertices."""
        return self._there(self._leaving.of(vertices))

    def arriving(self, vertices: Positions) -> Positions:
        """The edges that end at some vertices."""
        return self._there(self._arriving.of(vertices))

    def _take_away(self, rows: Change) -> Positions:
        """Take edges away, each as often as its weight says; those that are then gone."""
        if not len(rows.sources):
            return rows.sources
        wanted: dict[tuple[object, ...], int] = {}
        for key, weight in zip(_keys(rows), rows.weights.tolist(), strict=True):
            wanted[key] = wanted.get(key, 0) - weight
        edges = self._candidates(rows)
        gone: list[int] = []
        for edge, key in zip(edges.tolist(), _keys(self._rows(edges)), strict=True):
            taken = min(wanted.get(key, 0), int(self._counts.now[edge]))
            if taken:
                wanted[key] -= taken
                self._counts.now[edge] -= taken
                gone += [] if self._counts.now[edge] else [edge]
        assert not any(wanted.values()), "edges are taken away that are not there"
        self._gone += len(gone)
        return np.array(gone, dtype=np.int64)

    def all(self) -> Positions:
        """All edges."""
        return self._there(np.arange(len(self)))

    def has_edge(self, end: Literal["source", "target"], count: int) -> Mask:
        """Which of so many vertices are an end of edges, where none of these is gone."""
        if end not in self._ends or len(self._ends[end]) != count:
            numbers = self.sources if end == "source" else self.targets
            self._ends[end] = np.bincount(numbers, minlength=count) > 0
        return self._ends[end]

    def arrivals(self) -> Arrivals | None:
        """All edges by where they end; None where finding that would take longer than it saves, or where some are gone."""
        if self._gone:
            return None
        if self._arrivals is None and (found := self._arriving.sorted()) is not None:
            order, bounds = found
            vertices = np.flatnonzero(np.diff(bounds))
            self._arrivals = Arrivals(order, self.sources[order], vertices, bounds[vertices])
        return self._arrivals

    def compacted(self) -> Positions | None:
        """Drop what is gone, if that is much; then the new number of each edge."""
        if self._gone <= len(self) // 4 + _RECENT:
            return None
        kept = self._counts.now > 0
        for part in (self._sources, self._targets, self._counts, *self._columns, *self._valid):
            part.replace(part.now[kept])
        self._gone, self._ends, self._arrivals = 0, {}, None
        self._leaving.forget()
        self._arriving.forget()
        return np.cumsum(kept) - 1

    def _there(self, edges: Positions) -> Positions:
        return edges[self._counts.now[edges] > 0] if self._gone else edges

    def _candidates(self, rows: Change) -> Positions:
        """The edges between the same vertices as some rows, and perhaps others."""
        edges = self.leaving(np.unique(rows.sources))
        wanted, pairs = (s * 0x9E3779B97F4A7C15 + t for s, t in (_unsigned(rows), _unsigned(self._rows(edges))))
        return edges[np.isin(pairs, wanted)]

    def _rows(self, edges: Positions) -> Change:
        columns = [self.column(at, edges) for at in range(len(self._columns))]
        return Change(self.sources[edges], self.targets[edges], columns, self._counts.now[edges])


def _unsigned(rows: Change) -> tuple[Values, Values]:
    return rows.sources.astype(np.uint64), rows.targets.astype(np.uint64)


def _keys(rows: Change) -> list[tuple[object, ...]]:
    """What tells edges apart: numbers by their bits."""
    columns = [_bits(array) for array in rows.columns]
    return list(zip(rows.sources.tolist(), rows.targets.tolist(), *columns, strict=True))


def _bits(array: pa.Array) -> list[object]:
    values = values_of(array, f"i{array.type.bit_width // 8}").tolist()
    return [v if is_there else None for v, is_there in zip(values, valid_mask(array).tolist(), strict=True)]
