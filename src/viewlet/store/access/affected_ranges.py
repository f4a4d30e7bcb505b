"""Affected ranges: how far changes reach within their groups, in the order of a column.

A change at v affects a given number of rows before and after it, or all of them. Overlapping ranges are merged, so no
row is in two of them, and nothing has changed between the last change below a range and the range itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, Positions
from viewlet.columns.hash import Hashes
from viewlet.columns.intervals import join_up
from viewlet.columns.order import place_of
from viewlet.columns.rows import Rows, add_up, same
from viewlet.store.access.nearest import Places, nearest
from viewlet.store.access.ranges import Edge, Probes, RangeIndex, Values
from viewlet.store.runs.layout import Names


@dataclass(frozen=True, slots=True)
class AffectedRanges:
    """The rows of one group from `low` to `high`, both inclusive."""

    hashes: Hashes
    low: Values
    high: Values
    example: Positions
    """For each range, the position of a change inside it."""

    def __len__(self) -> int:
        return len(self.hashes)

    @property
    def probes(self) -> Probes:
        return Probes(self.hashes, Edge(self.low, "left"), Edge(self.high, "right"), None)

    def outside(self, *, before: bool) -> Places:
        """The places where the ranges begin (`before`) or end."""
        edge = Edge(self.low, "left") if before else Edge(self.high, "right")
        return Places(self.hashes, edge, before)

    def hold(self, which: Positions, values: Values) -> Mask:
        """Whether each value lies in the range with the given number."""
        return (values >= self.low[which]) & (values <= self.high[which])

    def of(self, hashes: Hashes) -> AffectedRanges:
        """The same ranges under other hashes, for a map whose groups are hashed differently."""
        return replace(self, hashes=hashes)


def around(
    indexes: Sequence[RangeIndex],
    columns: Names,
    order: str,
    changes: Rows,
    before: int | None,
    after: int | None,
) -> AffectedRanges | None:
    """The ranges that changes affect; None if groups share a hash, which makes the ranges unknown."""
    hashes, values = changes.hashes(columns), place_of(changes[order])
    if share_hashes(indexes, hashes, [changes[name] for name in columns]):
        return None
    low = _reach(indexes, columns, Places(hashes, Edge(values, "left"), before=True), before)
    high = _reach(indexes, columns, Places(hashes, Edge(values, "right"), before=False), after)
    return merged(hashes, low, high)


def share_hashes(indexes: Sequence[RangeIndex], hashes: Hashes, keys: Sequence[pa.Array]) -> bool:
    """Whether a run holds different groups with one hash, or a group that shares a hash with another of `keys`."""
    return any(index.is_mixed or not _are_own(index, hashes, keys) for index in indexes)


def _are_own(index: RangeIndex, hashes: Hashes, keys: Sequence[pa.Array]) -> bool:
    """Whether the groups found in a run by hash also have the given keys."""
    hits = index.find(Probes(hashes, None, None, None))
    if hits is None or not keys:
        return True
    return bool(same(keys, hits.which, index.keys_of(hits), np.arange(len(hits.which))).all())


def _reach(indexes: Sequence[RangeIndex], columns: Names, places: Places, count: int | None) -> Values:
    """The value of the `count`-th row from each place, or the end of the value range where there are fewer rows."""
    assert places.edge is not None
    values = places.edge.values
    if count == 0:
        return values
    result = np.full(len(values), _end(values.dtype, least=places.before), dtype=values.dtype)
    found = None if count is None else nearest(indexes, columns, places, count)
    if found is not None and count is not None:
        reached = add_up(found.rows.weights, found.which, len(values)) >= count
        last = np.zeros(len(values), dtype=np.int64)
        np.maximum.at(last, found.which, np.arange(len(found.which)))
        result[reached] = found.values[last[reached]]
    return result


def _end(dtype: np.dtype[Any], *, least: bool) -> Any:
    """The least or the greatest value of the type."""
    if dtype.kind == "S":
        return b"" if least else b"\xff" * dtype.itemsize
    return np.iinfo(dtype).min if least else np.iinfo(dtype).max


def merged(hashes: Hashes, low: Values, high: Values) -> AffectedRanges:
    """The ranges with overlaps merged."""
    _, groups = np.unique(hashes, return_inverse=True)
    joined = join_up(groups, low, high)
    return AffectedRanges(hashes[joined.part], joined.low, joined.high, joined.part)
