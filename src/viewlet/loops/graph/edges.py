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
from viewlet.loops.graph.adjacency import Adjacency, ByEnd, Numbers
from viewlet.loops.graph.change import Change
from viewlet.loops.graph.growing import Growing, Values
from viewlet.loops.graph.matching import NO_PLACE, Places, mixed, taken_away
from viewlet.loops.graph.vertex_values import different

_MANY = 16
"""Where more than one in so many edges are looked for, going through all takes less time than finding their sources'."""
_MANY_GONE, _PART = 1000, 4
"""If more than these and one in so many edges are gone, the others get new numbers."""


@dataclass(frozen=True)
class Arrivals:
    """All edges in the order of the vertices that they end at, for rounds that go through all of them."""

    edges: Numbers
    sources: Numbers
    vertices: Positions
    """Those at which edges arrive."""
    starts: Positions
    """From where on the edges of each of these are."""

    @staticmethod
    def of(found: ByEnd, counts: Weights | None) -> Arrivals:
        """Those of edges by their targets; given counts, without those that are gone."""
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
        """Whether each that is there is there once."""
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
        """Take edges away and put others in; those that are gone, and those that are new."""
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
        """How many edges start at some vertices, those that are gone among them."""
        return self._leaving.count(vertices)

    def arriving(self, vertices: Positions) -> Positions:
        """The edges that end at some vertices."""
        return self._there(self._arriving.of(vertices))

    def _take_away(self, rows: Change) -> Positions:
        """Take edges away, each as often as its weight says; those that are then gone."""
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
        """All edges."""
        return self._there(np.arange(len(self)))

    def has_edge(self, end: Literal["source", "target"], count: int) -> Mask:
        """Which of so many vertices are an end of edges."""
        if end not in self._ends or len(self._ends[end]) != count:
            numbers = self.sources if end == "source" else self.targets
            self._ends[end] = np.bincount(numbers[self._counts.now > 0] if self._gone else numbers, minlength=count) > 0
        return self._ends[end]

    def arrivals(self) -> Arrivals:
        """All edges by where they end."""
        if self._arrivals is None:
            self._arrivals = Arrivals.of(self._arriving.sorted(), self.counts if self._gone else None)
        return self._arrivals

    def compacted(self) -> Positions | None:
        """Drop what is gone, if that is much; then the new number of each edge."""
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
        """The edges that some rows may be, and which row each may be: for many rows, by going through all edges."""
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
