"""Rows by their rank: a few of each group that stand for all of it where only percentiles are asked for.

How many rows of a group are up to a value is a difference of prefix sums (ranges.py), so the row of a rank is found by
halving, in one run after the other: between two neighbours of the one the answer is among those of the next. What is
between the ranks that are asked for is then counted to the row after it, which changes no percentile:

    ranks 2 and 7 of  1 3 4 4 5 8 9 9 9    read    4 × 3, 9 × 6
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, Positions, from_numpy, values_of
from viewlet.columns.hash import Hashes
from viewlet.columns.order import ascending, sort
from viewlet.columns.rows import Rows, Weights
from viewlet.store.access.nearest import Places, mixed_groups, nearest
from viewlet.store.access.ranges import LEFT, RIGHT, Edge, Probes, RangeIndex, Values, add_ranges
from viewlet.store.runs.layout import Layout, Names

_AROUND = 3
"""Rows that are read after the one at a place, which is one before where a percentile is: some round up, some down."""

_PROBE = "_probe"

Ranked = tuple[Positions, Rows]
"""Rows, weighted to stand for groups, and which group each is of."""


def around_shares(
    indexes: Sequence[RangeIndex], key: Names, order: str, hashes: Hashes, shares: Sequence[float], layout: Layout
) -> Ranked | None:
    """Rows that stand for groups, by hash, where only what is at some shares of the way through them is asked for.

    NULL is no value. Groups without any have no rows here, and neither have those that share a hash.
    """
    counts = _up_to(indexes, hashes, None, layout)
    groups = np.setdiff1d(np.flatnonzero(counts > 0), _mixed(indexes, key, hashes))
    if not len(groups) or any(index.is_mixed for index in indexes):
        return None
    of = np.tile(groups, len(shares))
    places = np.concatenate([(counts[groups] - 1) * share for share in shares])
    ranks = np.maximum(np.floor(places).astype(np.int64) - 1, 0)
    values = _at_ranks(indexes, hashes[of], ranks, layout)
    found, rows = _rows_from(indexes, key, hashes[of], values, layout)
    below = _up_to(indexes, hashes[of], Edge(values, LEFT), layout)
    at, ends = _in_order(found, rows, order, below)
    return _standing(of[found[at]], rows.take(at), order, ends, counts)


def _up_to(indexes: Sequence[RangeIndex], hashes: Hashes, edge: Edge | None, layout: Layout) -> Weights:
    """How many rows of each group come before an edge; without one, how many there are."""
    return add_ranges(indexes, Probes(hashes, None, edge, None), (), layout).weights


def _mixed(indexes: Sequence[RangeIndex], key: Names, hashes: Hashes) -> Positions:
    """The groups that are several, which share a hash."""
    parts = [n for index in indexes if (n := index.without_value(hashes)) is not None]
    for index in indexes:
        if (hits := index.find(Probes(hashes, None, None, None))) is not None:
            parts.append((hits.which, index.rows(index.at[hits.start])))
    return mixed_groups(parts, key) if parts and key else np.zeros(0, dtype=np.int64)


def _at_ranks(indexes: Sequence[RangeIndex], hashes: Hashes, ranks: Weights, layout: Layout) -> Values:
    """The value of each group's row that has so many before it."""
    low, high = _ends(indexes, hashes)
    beyond = np.zeros(len(hashes), dtype=np.bool_)  # whether the answer is greater than `low`, which it may be at first
    for index in sorted(indexes, key=lambda index: len(index.at), reverse=True):
        start, stop = _between(index, hashes, low, high, beyond)
        while len(which := np.flatnonzero(start < stop)):
            middle = (start[which] + stop[which]) // 2
            value = index.ordered[middle]
            enough = _up_to(indexes, hashes[which], Edge(value, RIGHT), layout) > ranks[which]
            less, more = which[~enough], which[enough]
            high[more], stop[more] = value[enough], middle[enough]
            low[less], start[less], beyond[less] = value[~enough], middle[~enough] + 1, True
    return high


def _ends(indexes: Sequence[RangeIndex], hashes: Hashes) -> tuple[Values, Values]:
    """The least and the greatest value that runs have of each group."""
    dtype = next(index.ordered.dtype for index in indexes)
    low, high = np.zeros(len(hashes), dtype=dtype), np.zeros(len(hashes), dtype=dtype)
    seen = np.zeros(len(hashes), dtype=np.bool_)
    for index in indexes:
        if (hits := index.find(Probes(hashes, None, None, None))) is None:
            continue
        which, first, last = hits.which, index.ordered[hits.start], index.ordered[hits.stop - 1]
        low[which] = np.where(seen[which] & (low[which] < first), low[which], first)
        high[which] = np.where(seen[which] & (high[which] > last), high[which], last)
        seen[which] = True
    return low, high


def _between(index: RangeIndex, hashes: Hashes, low: Values, high: Values, beyond: Mask) -> tuple[Positions, Positions]:
    """From where to where a run's rows are that lie below `high` and not below `low`, or beyond it."""
    start, stop = np.zeros(len(hashes), dtype=np.int64), np.zeros(len(hashes), dtype=np.int64)
    for which, side in ((np.flatnonzero(~beyond), LEFT), (np.flatnonzero(beyond), RIGHT)):
        probes = Probes(hashes[which], Edge(low[which], side), Edge(high[which], LEFT), None)
        if (hits := index.find(probes)) is not None:
            start[which[hits.which]], stop[which[hits.which]] = hits.start, hits.stop
    return start, stop


def _rows_from(
    indexes: Sequence[RangeIndex], key: Names, hashes: Hashes, values: Values, layout: Layout
) -> tuple[Positions, Rows]:
    """The rows that have these values, and some that come next; and which of the values each is for."""
    parts = []
    for index in indexes:
        hits = index.find(Probes(hashes, Edge(values, LEFT), Edge(values, RIGHT), None))
        if (pairs := index.pairs(hits)) is not None:
            parts.append((pairs[0], index.rows(pairs[1])))
    after = nearest(indexes, key, Places(hashes, Edge(values, RIGHT), before=False), _AROUND)
    parts += [] if after is None else [(after.which, after.rows)]
    numbered = [rows.with_columns({_PROBE: from_numpy(which, pa.int64())}) for which, rows in parts]
    rows = Rows.concat(numbered).consolidate()
    return values_of(rows[_PROBE], "i8"), rows.select(layout.columns)


def _in_order(which: Positions, rows: Rows, order: str, below: Weights) -> tuple[Positions, Weights]:
    """The order of the rows by probe and value, and how many of the group are up to each."""
    at = sort([which, *ascending(rows[order], zeros_differ=True)], len(rows))
    so_far = np.cumsum(rows.weights[at])
    starts = np.flatnonzero(np.diff(which[at], prepend=-1))
    sizes = np.diff(starts, append=len(at))
    before = np.repeat(so_far[starts] - rows.weights[at][starts], sizes)
    return at, below[which[at]] + so_far - before


def _standing(of: Positions, rows: Rows, order: str, ends: Weights, counts: Weights) -> Ranked:
    """The rows once for each group, each counted for what comes before it too, and the last for what comes after."""
    at = sort([of, *ascending(rows[order], zeros_differ=True), ends], len(rows))
    of, ends = of[at], ends[at]
    is_last = np.append(of[1:] != of[:-1], True)
    ends = np.where(is_last, counts[of], ends)
    before = np.where(np.append(True, is_last[:-1]), 0, np.append(0, ends[:-1]))
    weights = ends - before
    there = weights > 0
    return of[there], rows.take(at[there]).weighted(weights[there])
