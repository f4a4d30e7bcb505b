"""The first rows of groups in the order of a column, whatever else a group holds.

A run is sorted by (group, value) in memory (ranges.py). What one run puts in a later one may take away again, so from
each the first few rows of a group are taken and added up. The first that is left is the answer, unless a run has
further rows that may sort before it, or cancel it; then more are taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, Positions, from_numpy
from viewlet.columns.hash import Hashes
from viewlet.columns.rows import Rows, add_up, group, same
from viewlet.store.layout import Layout, Names
from viewlet.store.maprun import spread, to_rows
from viewlet.store.ranges import Probes, RangeIndex, Values

_AT_FIRST, _MORE = 4, 8
"""How many rows of a group are taken from each run, and how many times as many when these do not do."""


@dataclass(frozen=True, slots=True)
class _Taken:
    """Some rows of each group, from all runs: the group, the row and its value; and what the runs have left."""

    which: Positions
    rows: Rows
    values: Values
    next_of: Positions
    next_value: Values


def first_rows(
    indexes: Sequence[RangeIndex], key: Names, hashes: Hashes, layout: Layout, descending: bool
) -> tuple[Positions, Rows] | None:
    """The rows with the least value of each group, or with the greatest, and of which group each is; by the key's hash.

    NULL is no value. Groups without any have no rows here, and neither have those that share a hash.
    """
    wanted, depth = np.arange(len(hashes)), _AT_FIRST
    found: list[tuple[Positions, Rows]] = []
    nulls = [n for index in indexes if (n := index.without_value(hashes)) is not None]
    while len(wanted) and not any(index.is_mixed for index in indexes):
        taken = _take(indexes, hashes, wanted, depth, layout, descending)
        if taken is None:
            break
        which, rows = _settled(taken, descending)
        mixed = _mixed([(taken.which, taken.rows), *nulls], key)
        alone = np.isin(which, mixed, invert=True)
        found.append((which[alone], rows.filter(alone)))
        wanted = np.setdiff1d(taken.next_of, np.concatenate([which, mixed]))
        depth *= _MORE
    return (np.concatenate([w for w, _ in found]), Rows.concat([r for _, r in found])) if found else None


def _take(
    indexes: Sequence[RangeIndex], hashes: Hashes, which: Positions, depth: int, layout: Layout, descending: bool
) -> _Taken | None:
    """The first rows of some groups in each run; None if there are none at all."""
    parts, nexts = [], []
    for index in indexes:
        hits = index.find(Probes(hashes[which], None, None, None))
        if hits is None:
            continue
        counts = np.minimum(hits.stop - hits.start, depth)
        at = spread(hits.stop - counts if descending else hits.start, counts)
        rows = to_rows(index.batch.take(from_numpy(index.at[at], pa.int64())), layout)
        parts.append((np.repeat(which[hits.which], counts), rows, index.ordered[at]))
        more = hits.stop - hits.start > counts
        place = (hits.stop - counts - 1 if descending else hits.start + counts)[more]
        nexts.append((which[hits.which[more]], index.ordered[place]))
    if not parts:
        return None
    groups, found, values = (list(part) for part in zip(*parts, strict=True))
    return _Taken(
        np.concatenate(groups),
        Rows.concat(found),
        np.concatenate(values),
        *map(np.concatenate, zip(*nexts, strict=True)),
    )


def _mixed(parts: Sequence[tuple[Positions, Rows]], key: Names) -> Positions:
    """The groups that are several, which share a hash: their keys are not all the same."""
    which = np.concatenate([w for w, _ in parts])
    keys = [pa.concat_arrays([rows[name] for _, rows in parts]) for name in key]
    _, first, numbers = np.unique(which, return_index=True, return_inverse=True)
    return np.unique(which[~same(keys, first[numbers], keys, np.arange(len(which)))])


def _settled(taken: _Taken, descending: bool) -> tuple[Positions, Rows]:
    """The rows that come first of the groups of which that is certain, and which groups these are."""
    first, numbers = group([from_numpy(taken.which, pa.int64()), *taken.rows.columns.values()], len(taken.which))
    weights = add_up(taken.rows.weights, numbers, len(first))
    at = first[weights > 0]
    which, values = taken.which[at], taken.values[at]
    order = np.lexsort((values, which))
    at, which, values = at[order], which[order], values[order]
    groups, starts, sizes = np.unique(which, return_index=True, return_counts=True)
    best = values[starts + sizes - 1 if descending else starts]
    certain = _is_certain(groups, best, taken, descending)
    kept = np.repeat(certain, sizes) & (values == np.repeat(best, sizes))
    return which[kept], taken.rows.take(at[kept]).weighted(weights[weights > 0][order][kept])


def _is_certain(groups: Positions, best: Values, taken: _Taken, descending: bool) -> Mask:
    """Whether no run has a row left that sorts before a group's first one, or with it."""
    result = np.ones(len(groups), dtype=np.bool_)
    place = groups.searchsorted(taken.next_of)
    there = np.flatnonzero(np.isin(taken.next_of, groups))
    place, rest = place[there], taken.next_value[there]
    after = rest < best[place] if descending else rest > best[place]
    result[place[~after]] = False
    return result
