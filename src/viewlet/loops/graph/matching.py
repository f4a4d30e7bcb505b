"""Finds the edges that deleted rows stand for, by ends and columns.

Most rows match one edge each. A hash table with a slot for each row, by a hash of its ends, finds that edge without
sorting. Rows that share a slot, match several edges, or exceed an edge's count are matched by grouping equal ones.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, Positions, from_numpy, valid_mask, values_of
from viewlet.columns.rows import Weights, group
from viewlet.loops.graph.change import Change
from viewlet.loops.graph.growing import Values

NO_PLACE = -1
_ODD = np.uint64(0x9E3779B97F4A7C15)
_ROOM, _LEAST_BITS = 8, 10
"""Slots for each wanted hash, and the least number of slots as a power of two."""
_WHOLE = {1: pa.int8(), 2: pa.int16(), 4: pa.int32(), 8: pa.int64()}


def mixed(sources: Positions, targets: Positions) -> Values:
    """A hash of each pair of vertices."""
    numbers: Values = sources.astype(np.uint64)
    numbers *= _ODD
    numbers += targets.astype(np.uint64, copy=False)
    numbers *= _ODD
    return numbers


class Places:
    """A hash table of wanted hashes, by their leading bits; of those that share a slot, the last one takes it."""

    def __init__(self, wanted: Values) -> None:
        bits = max(_LEAST_BITS, (_ROOM * len(wanted)).bit_length())
        self._shift = np.uint64(64 - bits)
        self._taken_by = np.full(
            1 << bits, NO_PLACE, dtype=np.int32 if len(wanted) <= np.iinfo(np.int32).max else np.int64
        )
        self._taken_by[wanted >> self._shift] = np.arange(len(wanted))

    def of(self, numbers: Values) -> Positions:
        """The position of the wanted hash in each one's slot; it may be a different hash."""
        return self._taken_by[numbers >> self._shift]


def found_among(wanted: Values, numbers: Values) -> tuple[Positions, Mask]:
    """The positions of wanted hashes among `numbers`, and a mask of those found."""
    some = np.flatnonzero(Places(wanted).of(numbers) != NO_PLACE)
    order = some[np.argsort(numbers[some])]
    at = np.searchsorted(numbers[order], wanted)
    is_there = at < len(order)
    at[~is_there] = 0
    places = order[at] if len(order) else at
    is_there &= len(order) > 0
    is_there[is_there] = numbers[places[is_there]] == wanted[is_there]
    return places, is_there


def taken_away(edges: Change, rows: Change, at: Positions) -> Weights:
    """How many of each edge are deleted, given the row that each may equal; `edges` has all that may match a row."""
    same = np.flatnonzero(_are_same(edges, rows, at))
    only = same[np.bincount(at[same], minlength=len(rows))[at[same]] == 1]
    only = only[edges.weights[only] + rows.weights[at[only]] >= 0]
    taken = np.zeros_like(edges.weights)
    taken[only] = -rows.weights[at[only]]
    is_left = np.ones(len(rows), dtype=np.bool_)
    is_left[at[only]] = False
    if is_left.any():
        is_over = edges.weights > taken
        over = np.flatnonzero(is_over)
        taken[over] += _taken_of_kinds(edges.where(is_over), (edges.weights - taken)[over], rows.where(is_left))
    return taken


def _are_same(edges: Change, rows: Change, at: Positions) -> Mask:
    """Which edges equal the rows that they may equal; columns are compared by their bits."""
    is_same: Mask = (edges.sources == rows.sources[at]) & (edges.targets == rows.targets[at])
    for own, theirs in zip(edges.columns, rows.columns, strict=True):
        kind = f"i{own.type.bit_width // 8}"
        is_equal = values_of(own, kind) == values_of(theirs, kind)[at]
        if own.null_count or theirs.null_count:
            own_valid, valid = valid_mask(own), valid_mask(theirs)[at]
            is_equal = (own_valid == valid) & (is_equal | ~valid)
        is_same &= is_equal
    return is_same


def _taken_of_kinds(edges: Change, counts: Weights, rows: Change) -> Weights:
    """How many of each edge are deleted if rows and edges may repeat; `counts` are how many there are."""
    is_near = Places(mixed(rows.sources, rows.targets)).of(mixed(edges.sources, edges.targets)) != NO_PLACE
    near = np.flatnonzero(is_near)
    wanted, found = _codes(rows, edges.where(is_near))
    taken = np.zeros_like(counts)
    taken[near] = _shared_out(-rows.weights, wanted, counts[near], found)
    return taken


def _codes(*parts: Change) -> list[Positions]:
    """Codes that identify edges by ends and columns; columns are compared by their bits."""
    sources = np.concatenate([part.sources for part in parts])
    targets = np.concatenate([part.targets for part in parts])
    pairs = from_numpy(sources * (int(targets.max(initial=0)) + 1) + targets, pa.int64())
    columns = [pa.concat_arrays(map(_bits, arrays)) for arrays in zip(*(part.columns for part in parts), strict=True)]
    codes = group([pairs, *columns], len(pairs))[1]
    return np.split(codes, np.cumsum([len(part.sources) for part in parts])[:-1])


def _bits(array: pa.Array) -> pa.Array:
    """Numbers reinterpreted as integers of the same bits."""
    width = array.type.bit_width // 8
    return from_numpy(values_of(array, f"i{width}"), _WHOLE[width], valid_mask(array))


def _shared_out(wanted: Weights, kinds: Positions, counts: Weights, found: Positions) -> Weights:
    """Distribute the deletions of each kind of edge over the edges of that kind, lowest numbers first."""
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
