"""Numbered edges, looked up by source, by target or, for deletion, by ends and columns."""

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
from viewlet.loops.graph.adjacency import Adjacency, ByEnd, Numbers
from viewlet.loops.graph.change import Change
from viewlet.loops.graph.growing import Growing, Values
from viewlet.loops.graph.matching import NO_PLACE, Places, mixed, taken_away
from viewlet.loops.graph.vertex_values import different

_MANY = 16
"""If more than 1 / _MANY of the edges are looked up, scanning all is faster than finding those of their sources."""
_MANY_GONE, _PART = 1000, 4
"""If more edges are gone than _MANY_GONE plus 1 / _PART of all, the others are renumbered."""


@dataclass(frozen=True)
class Arrivals:
    """All edges sorted by target, for rounds that scan all of them."""

    edges: Numbers
    sources: Numbers
    vertices: Positions
    """The vertices with incoming edges."""
    starts: Positions
    """The position of the first edge of each of these vertices."""

    @staticmethod
    def of(found: ByEnd, counts: Weights | None) -> Arrivals:
        """Edges by target; given counts, without deleted ones."""
        order, sources, bounds = found.order, found.others, found.bounds
        if counts is not None:
            is_there = counts[order] > 0
            there = np.flatnonzero(is_there)
            order, sources = order[there], sources[there]
            bounds = np.concatenate([[0], np.cumsum(is_there)])[bounds]
        vertices = np.flatnonzero(np.diff(bounds))
        return Arrivals(order, sources, vertices, bounds[vertices])

    @cached_property
    def matrix(self) -> Any:
        """The adjacency matrix: a row for each of these vertices, with a one in the column of each edge's source."""
        ends = np.append(self.starts, len(self.edges))
        shape = (len(self.vertices), int(self.sources.max(initial=-1)) + 1)
        return sparse.csr_array((np.ones(len(self.edges)), self.sources, ends), shape=shape)

    def of_target(self, values: Values) -> Values:
        """The value of each edge's target."""
        return np.repeat(values[self.vertices], np.diff(self.starts, append=len(self.edges)))


class Edges:
    """The edges of a graph with their counts."""

    def __init__(self, kinds: Sequence[pa.DataType]) -> None:
        self._sources, self._targets, self._counts = Growing(np.int64), Growing(np.int64), Growing(np.int64)
        self._kinds = tuple(kinds)
        self._columns = [Growing(f"i{kind.bit_width // 8}") for kind in kinds]
        self._valid = [Growing(np.bool_) for _ in kinds]
        self._leaving = Adjacency(self._sources, self._targets)
        self._arriving = Adjacency(self._targets, self._sources)
        self._gone = 0
        self._are_single = True
        self._ends: dict[str, Mask] = {}
        self._arrivals: Arrivals | None = None

    def __len__(self) -> int:
        return len(self._sources)

    @property
    def are_single(self) -> bool:
        """Whether no edge has a count above one."""
        return self._are_single

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

    def columns(self, edges: Positions) -> list[pa.Array]:
        """All columns of some edges."""
        return [self.column(at, edges) for at in range(len(self._columns))]

    def change(self, rows: Change) -> tuple[Positions, Positions]:
        """Delete and insert edges; return the numbers of those that are gone and of new ones."""
        return self._take_away(rows.where(rows.weights < 0)), self._add(rows.where(rows.weights > 0))

    def _add(self, rows: Change) -> Positions:
        first = len(self)
        if not len(rows):
            return rows.sources
        self._sources.adopt(rows.sources)
        self._targets.adopt(rows.targets)
        self._counts.append(rows.weights)
        self._are_single &= bool((rows.weights == 1).all())
        self._changed()
        for array, values, valid in zip(rows.columns, self._columns, self._valid, strict=True):
            values.adopt(values_of(array, values.now.dtype.str))
            valid.adopt(valid_mask(array))
        return np.arange(first, len(self))

    def leaving(self, vertices: Positions) -> Positions:
        """The edges that start at some vertices."""
        return self._there(self._leaving.of(vertices))

    def count_leaving(self, vertices: Positions) -> int:
        """How many edges start at some vertices, counting deleted ones, too."""
        return self._leaving.count(vertices)

    def arriving(self, vertices: Positions) -> Positions:
        """The edges that end at some vertices."""
        return self._there(self._arriving.of(vertices))

    def _take_away(self, rows: Change) -> Positions:
        """Reduce the counts of edges; return those that are gone."""
        if not len(rows):
            return rows.sources
        edges, at = self._candidates(rows)
        taken = taken_away(self._rows(edges), rows, at)
        self._counts.now[edges] -= taken
        gone = edges[(taken > 0) & (self._counts.now[edges] == 0)]
        self._gone += len(gone)
        self._changed()
        return gone

    def _changed(self) -> None:
        self._ends, self._arrivals = {}, None

    def all(self) -> Positions:
        """All edges that are not deleted."""
        return self._there(np.arange(len(self)))

    def has_edge(self, end: Literal["source", "target"], count: int) -> Mask:
        """Which of the `count` vertices are the source, or the target, of an edge."""
        if end not in self._ends or len(self._ends[end]) != count:
            numbers = self.sources if end == "source" else self.targets
            self._ends[end] = np.bincount(numbers[self._counts.now > 0] if self._gone else numbers, minlength=count) > 0
        return self._ends[end]

    def arrivals(self) -> Arrivals:
        """All edges by target."""
        if self._arrivals is None:
            self._arrivals = Arrivals.of(self._arriving.sorted(), self.counts if self._gone else None)
        return self._arrivals

    def compacted(self) -> Positions | None:
        """Drop deleted edges if there are many; return the new number of each edge, or None."""
        if self._gone <= len(self) // _PART + _MANY_GONE:
            return None
        is_kept = self._counts.now > 0
        kept = np.flatnonzero(is_kept)
        for part in (self._sources, self._targets, self._counts, *self._columns, *self._valid):
            part.replace(part.now[kept])
        self._gone = 0
        self._changed()
        self._leaving.forget()
        self._arriving.forget()
        return np.cumsum(is_kept) - 1

    def _there(self, edges: Positions) -> Positions:
        return edges[np.flatnonzero(self._counts.now[edges] > 0)] if self._gone else edges

    def _candidates(self, rows: Change) -> tuple[Positions, Positions]:
        """The edges that may equal some rows, each with the row; for many rows, all edges are scanned."""
        places = Places(mixed(rows.sources, rows.targets))
        if _MANY * len(rows) > len(self):
            at = places.of(mixed(self.sources, self.targets))
            edges = np.flatnonzero((at != NO_PLACE) & (self.counts > 0))
            return edges, at[edges]
        edges = self.leaving(different(rows.sources, int(rows.sources.max()) + 1))
        at = places.of(mixed(self.sources[edges], self.targets[edges]))
        some = np.flatnonzero(at != NO_PLACE)
        return edges[some], at[some]

    def _rows(self, edges: Positions) -> Change:
        return Change(self.sources[edges], self.targets[edges], self.columns(edges), self._counts.now[edges])
