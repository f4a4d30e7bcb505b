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
from viewlet.columns.rows import Weights, group
from viewlet.loops.graph.adjacency import Adjacency, ByEnd, Numbers
from viewlet.loops.graph.growing import Growing, Values
from viewlet.loops.graph.vertex_values import different

_ODD = np.uint64(0x9E3779B97F4A7C15)
_ROOM, _LEAST_BITS = 8, 10
"""So many places for each number that is looked for, and at least two to this power."""
_WHOLE = {1: pa.int8(), 2: pa.int16(), 4: pa.int32(), 8: pa.int64()}
_MANY_GONE, _PART = 1000, 4
"""If more than these and one in so many edges are gone, the others get new numbers."""


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

    def netted(self, vertices: int) -> Change:
        """Loops at so many vertices, each once and as often as it comes, where those of a vertex are all alike."""
        if len(self.targets) <= vertices or (self.weights < 0).any():
            return self
        one = np.zeros(vertices, dtype=np.int64)
        one[self.targets] = np.arange(len(self.targets))
        if not all(_are_alike(array, one, self.targets) for array in self.columns):
            return self
        counts = np.bincount(self.targets, self.weights, vertices).astype(np.int64)
        there = np.flatnonzero(counts)
        columns = [array.take(from_numpy(one[there], pa.int64())) for array in self.columns]
        return Change(there, there, columns, counts[there])


def _are_alike(array: pa.Array, one: Positions, groups: Positions) -> bool:
    """Whether all values of each group are the same as one of them."""
    values, valid = values_of(array, f"i{array.type.bit_width // 8}"), valid_mask(array)
    is_same = values == values[one][groups]
    if array.null_count:
        is_same = (valid == valid[one][groups]) & (is_same | ~valid)
    return bool(is_same.all())


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
            order, sources = order[is_there], sources[is_there]
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
        if not len(rows.sources):
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

    def arriving(self, vertices: Positions) -> Positions:
        """The edges that end at some vertices."""
        return self._there(self._arriving.of(vertices))

    def _take_away(self, rows: Change) -> Positions:
        """Take edges away, each as often as its weight says; those that are then gone."""
        if not len(rows.sources):
            return rows.sources
        edges = self._candidates(rows)
        wanted, found = _codes(rows, self._rows(edges))
        taken = _shared_out(-rows.weights, wanted, self._counts.now[edges], found)
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
        kept = self._counts.now > 0
        for part in (self._sources, self._targets, self._counts, *self._columns, *self._valid):
            part.replace(part.now[kept])
        self._gone = 0
        self._changed()
        self._leaving.forget()
        self._arriving.forget()
        return np.cumsum(kept) - 1

    def _there(self, edges: Positions) -> Positions:
        return edges[self._counts.now[edges] > 0] if self._gone else edges

    def _candidates(self, rows: Change) -> Positions:
        """The edges between the same vertices as some rows, and perhaps others."""
        edges = self.leaving(different(rows.sources, int(rows.sources.max()) + 1))
        return edges[
            _may_be_among(_pairs(self.sources[edges], self.targets[edges]), _pairs(rows.sources, rows.targets))
        ]

    def _rows(self, edges: Positions) -> Change:
        return Change(self.sources[edges], self.targets[edges], self.columns(edges), self._counts.now[edges])


def _pairs(sources: Positions, targets: Positions) -> Values:
    """A number for each pair of vertices, which few others have."""
    mixed: Values = (sources.astype(np.uint64) * _ODD + targets.astype(np.uint64)) * _ODD
    return mixed


def _may_be_among(numbers: Values, wanted: Values) -> Mask:
    """Which mixed numbers are among others; a few that are not pass, too."""
    shift = np.uint64(64 - max(_LEAST_BITS, (_ROOM * len(wanted)).bit_length()))
    is_wanted = np.zeros(1 << (64 - int(shift)), dtype=np.bool_)
    is_wanted[wanted >> shift] = True
    found: Mask = is_wanted[numbers >> shift]
    return found


def found_among(wanted: Values, numbers: Values) -> tuple[Positions, Mask]:
    """Where mixed numbers are among others, and which of them are."""
    some = np.flatnonzero(_may_be_among(numbers, wanted))
    order = some[np.argsort(numbers[some])]
    at = np.searchsorted(numbers[order], wanted)
    is_there = at < len(order)
    at[~is_there] = 0
    places = order[at] if len(order) else at
    is_there &= len(order) > 0
    is_there[is_there] = numbers[places[is_there]] == wanted[is_there]
    return places, is_there


def _codes(*parts: Change) -> list[Positions]:
    """Numbers that tell edges apart by their ends and columns; those of columns by their bits."""
    sources = np.concatenate([part.sources for part in parts])
    targets = np.concatenate([part.targets for part in parts])
    pairs = from_numpy(sources * (int(targets.max(initial=0)) + 1) + targets, pa.int64())
    columns = [pa.concat_arrays(map(_bits, arrays)) for arrays in zip(*(part.columns for part in parts), strict=True)]
    codes = group([pairs, *columns], len(pairs))[1]
    return np.split(codes, np.cumsum([len(part.sources) for part in parts])[:-1])


def _bits(array: pa.Array) -> pa.Array:
    """Numbers as whole ones of the same bits."""
    width = array.type.bit_width // 8
    return from_numpy(values_of(array, f"i{width}"), _WHOLE[width], valid_mask(array))


def _shared_out(wanted: Weights, kinds: Positions, counts: Weights, found: Positions) -> Weights:
    """How many of each edge are taken away where so many of its kind are to go: those with low numbers first."""
    total = np.zeros(1 + max(int(kinds.max()), int(found.max(initial=0))), dtype=np.int64)
    np.add.at(total, kinds, wanted)
    order = np.argsort(found, kind="stable")
    ahead = np.cumsum(counts[order]) - counts[order]
    is_first = np.diff(found[order], prepend=-1) != 0
    ahead -= ahead[is_first][np.cumsum(is_first) - 1]
    taken = np.empty_like(counts)
    taken[order] = np.clip(total[found[order]] - ahead, 0, counts[order])
    assert taken.sum() == total.sum(), "edges are taken away that are not there"
    return taken
