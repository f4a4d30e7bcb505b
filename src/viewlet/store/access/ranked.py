"""Rows by rank: for percentiles, a few rows of each group stand for all of it.

Prefix sums (ranges.py) count the rows of a group up to a value, so the row at a rank is found by binary search, in one
run after the other: a run narrows the search to the gap between two of its rows, and the next run searches that gap.
Rows between the requested ranks are counted to the row after them, which changes no percentile:

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
"""Rows read after each place. The place is one row before the percentile's: some percentiles round up, some down."""

_PROBE = "_probe"

Ranked = tuple[Positions, Rows]
"""Rows, weighted to stand for groups, and the group of each."""


def around_shares(
    indexes: Sequence[RangeIndex], key: Names, order: str, hashes: Hashes, shares: Sequence[float], layout: Layout
) -> Ranked | None:
    """Weighted rows that stand for groups, given by hash, where only percentiles at `shares` are asked for.

    Rows with NULL are left out. Groups without values or with a shared hash return no rows.
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
    """How many rows of each group come before an edge, or in all if there is no edge."""
    return add_ranges(indexes, Probes(hashes, None, edge, None), (), layout).weights


def _mixed(indexes: Sequence[RangeIndex], key: Names, hashes: Hashes) -> Positions:
    """The groups of which several share a hash."""
    parts = [n for index in indexes if (n := index.without_value(hashes)) is not None]
    for index in indexes:
        if (hits := index.find(Probes(hashes, None, None, None))) is not None:
            parts.append((hits.which, index.rows(index.at[hits.start])))
    return mixed_groups(parts, key) if parts and key else np.zeros(0, dtype=np.int64)


def _at_ranks(indexes: Sequence[RangeIndex], hashes: Hashes, ranks: Weights, layout: Layout) -> Values:
    """The value of each group's row at the given rank, counted from 0."""
    low, high = _ends(indexes, hashes)
    beyond = np.zeros(len(hashes), dtype=np.bool_)  # whether the answer is known to exceed `low`
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
    """The least and greatest value of each group in any run."""
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
    """The positions of a run's rows with `low` ≤ value < `high`, or `low` < value where `beyond`."""
    start, stop = np.zeros(len(hashes), dtype=np.int64), np.zeros(len(hashes), dtype=np.int64)
    for which, side in ((np.flatnonzero(~beyond), LEFT), (np.flatnonzero(beyond), RIGHT)):
        probes = Probes(hashes[which], Edge(low[which], side), Edge(high[which], LEFT), None)
        if (hits := index.find(probes)) is not None:
            start[which[hits.which]], stop[which[hits.which]] = hits.start, hits.stop
    return start, stop


def _rows_from(
    indexes: Sequence[RangeIndex], key: Names, hashes: Hashes, values: Values, layout: Layout
) -> tuple[Positions, Rows]:
    """The rows with these values and the next few after them, and which of the values each is for."""
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
    """The rows' order by probe and value, and how many rows of the group are up to each."""
    at = sort([which, *ascending(rows[order], zeros_differ=True)], len(rows))
    so_far = np.cumsum(rows.weights[at])
    starts = np.flatnonzero(np.diff(which[at], prepend=-1))
    sizes = np.diff(starts, append=len(at))
    before = np.repeat(so_far[starts] - rows.weights[at][starts], sizes)
    return at, below[which[at]] + so_far - before


def _standing(of: Positions, rows: Rows, order: str, ends: Weights, counts: Weights) -> Ranked:
    """Each row once per group, weighted with the rows before it; the last row also with those after it."""
    at = sort([of, *ascending(rows[order], zeros_differ=True), ends], len(rows))
    of, ends = of[at], ends[at]
    is_last = np.append(of[1:] != of[:-1], True)
    ends = np.where(is_last, counts[of], ends)
    before = np.where(np.append(True, is_last[:-1]), 0, np.append(0, ends[:-1]))
    weights = ends - before
    there = weights > 0
    return of[there], rows.take(at[there]).weighted(weights[there])
