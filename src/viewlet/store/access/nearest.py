"""The rows nearest to a place in the order of a column, without reading the rest of the group.

Each run is sorted by (group, value) in memory (ranges.py). Later runs may delete rows of earlier ones, so the nearest
rows of every run are read and netted. A row is certain if it is nearer than every row still unread; where too few rows
are certain, more are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Positions, from_numpy
from viewlet.columns.hash import Hashes
from viewlet.columns.rows import Rows, Weights, add_up, group, same
from viewlet.store.access.ranges import Edge, Probes, RangeIndex, Values
from viewlet.store.runs.layout import Names
from viewlet.store.runs.map_run import spread

_AT_FIRST, _MORE = 4, 8
"""Rows first read from each run per row wanted, and the factor by which to read more if they are too few."""


@dataclass(frozen=True, slots=True)
class Places:
    """One place per probe: a group, given by its hash, and an edge within it; without an edge, the group's own end.

    `before` selects the rows before the place, whose nearest have the greatest values; otherwise the rows after it.
    """

    hashes: Hashes
    edge: Edge | None
    before: bool

    def probes(self, which: Positions) -> Probes:
        edge = None if self.edge is None else Edge(self.edge.values[which], self.edge.side)
        low, high = (None, edge) if self.before else (edge, None)
        return Probes(self.hashes[which], low, high, None)


@dataclass(frozen=True, slots=True)
class Found:
    """Rows, nearest first for each probe, with their probes and values."""

    which: Positions
    rows: Rows
    values: Values


@dataclass(frozen=True, slots=True)
class _Taken:
    """Some rows of each group from all runs, and the nearest row that each run still has unread."""

    found: Found
    next_of: Positions
    next_value: Values


def nearest(indexes: Sequence[RangeIndex], key: Names, places: Places, count: int) -> Found | None:
    """The rows nearest to each place, at least `count` of them with multiplicity, including ties with the last.

    Rows with NULL are left out. Groups without values or with a shared hash return no rows; other groups return fewer
    rows only if there are no more on this side.
    """
    wanted, depth = np.arange(len(places.hashes)), _AT_FIRST * count
    found: list[Found] = []
    nulls = [n for index in indexes if (n := index.without_value(places.hashes)) is not None]
    while len(wanted) and not any(index.is_mixed for index in indexes):
        taken = _take(indexes, places, wanted, depth)
        if taken is None:
            break
        settled, unsettled = _settled(taken, count, places.before)
        mixed = mixed_groups([(taken.found.which, taken.found.rows), *nulls], key)
        alone = np.isin(settled.which, mixed, invert=True)
        found.append(Found(settled.which[alone], settled.rows.filter(alone), settled.values[alone]))
        wanted = np.setdiff1d(unsettled, mixed)
        depth *= _MORE
    if not found:
        return None
    return Found(
        np.concatenate([f.which for f in found]),
        Rows.concat([f.rows for f in found]),
        np.concatenate([f.values for f in found]),
    )


def _take(indexes: Sequence[RangeIndex], places: Places, which: Positions, depth: int) -> _Taken | None:
    """The `depth` nearest rows of some groups in each run; None if no run has any."""
    parts, nexts = [], []
    for index in indexes:
        hits = index.find(places.probes(which))
        if hits is None:
            continue
        counts = np.minimum(hits.stop - hits.start, depth)
        at = spread(hits.stop - counts if places.before else hits.start, counts) if counts.any() else counts[:0]
        parts.append((np.repeat(which[hits.which], counts), index.rows(index.at[at]), index.ordered[at]))
        more = hits.stop - hits.start > counts
        place = (hits.stop - counts - 1 if places.before else hits.start + counts)[more]
        nexts.append((which[hits.which[more]], index.ordered[place]))
    if not parts:
        return None
    groups, found, values = (list(part) for part in zip(*parts, strict=True))
    return _Taken(
        Found(np.concatenate(groups), Rows.concat(found), np.concatenate(values)),
        *map(np.concatenate, zip(*nexts, strict=True)),
    )


def mixed_groups(parts: Sequence[tuple[Positions, Rows]], key: Names) -> Positions:
    """The groups whose rows have different keys: several groups that share a hash."""
    which = np.concatenate([w for w, _ in parts])
    keys = [pa.concat_arrays([rows[name] for _, rows in parts]) for name in key]
    _, first, numbers = np.unique(which, return_index=True, return_inverse=True)
    return np.unique(which[~same(keys, first[numbers], keys, np.arange(len(which)))])


def _settled(taken: _Taken, count: int, before: bool) -> tuple[Found, Positions]:
    """The nearest rows of the groups for which they are certain, and the groups that need more rows."""
    there, weights = _netted(taken.found, before)
    left, bounds = _nearest_left(taken, before)
    starts, sizes = _pieces(there.which)
    groups = there.which[starts]
    certain = np.ones(len(there.which), dtype=np.bool_)
    bounded = np.isin(groups, left)
    inside = np.repeat(bounded, sizes)
    bound = np.repeat(bounds[left.searchsorted(groups[bounded])], sizes[bounded])
    certain[inside] = there.values[inside] > bound if before else there.values[inside] < bound
    certain_weight = np.add.reduceat(weights * certain, starts) if len(starts) else weights
    enough = certain_weight >= count
    settled = enough | ~bounded
    kept = np.repeat(settled, sizes) & (_before_ties(there, weights, starts, sizes) < count)
    found = Found(there.which[kept], there.rows.filter(kept), there.values[kept])
    return found, np.setdiff1d(left, groups[settled])


def _netted(found: Found, before: bool) -> tuple[Found, Weights]:
    """The rows left after netting, by group and nearest first, and their weights."""
    first, numbers = group([from_numpy(found.which, pa.int64()), *found.rows.columns.values()], len(found.which))
    weights = add_up(found.rows.weights, numbers, len(first))
    at, weights = first[weights > 0], weights[weights > 0]
    order = np.lexsort((found.values[at], found.which[at]))
    if before:
        order = order[::-1]
    at, weights = at[order], weights[order]
    return Found(found.which[at], found.rows.take(at).weighted(weights), found.values[at]), weights


def _nearest_left(taken: _Taken, before: bool) -> tuple[Positions, Values]:
    """The groups with unread rows, and the nearest value among those rows."""
    order = np.lexsort((taken.next_value, taken.next_of))
    which, values = taken.next_of[order], taken.next_value[order]
    starts, sizes = _pieces(which)
    return which[starts], values[starts + sizes - 1 if before else starts]


def _pieces(which: Positions) -> tuple[Positions, Positions]:
    """The starts and lengths of stretches of equal numbers."""
    starts = np.flatnonzero(np.diff(which, prepend=-1)) if len(which) else which
    return starts, np.diff(starts, append=len(which))


def _before_ties(there: Found, weights: Weights, starts: Positions, sizes: Positions) -> Weights:
    """How many rows of the group are strictly nearer than each row."""
    nearer = np.cumsum(weights) - weights
    nearer -= np.repeat(nearer[starts], sizes)
    new = np.ones(len(weights), dtype=np.bool_)
    new[1:] = there.values[1:] != there.values[:-1]
    new[starts] = True
    first = np.maximum.accumulate(np.where(new, np.arange(len(weights)), 0))
    return nearer[first]
