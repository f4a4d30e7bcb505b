"""Prefix sums in lanes: only rows with the same values in some integer columns are added up.

Sums of doubles have one lane per window (columns/exact/double_windows.py); everyday numbers share a single lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, Positions, from_numpy
from viewlet.columns.rows import Rows

Lane = tuple[int, ...]
Totals = np.ndarray[Any, np.dtype[np.int64]]
"""One row per probe or place: the weight, then the sums."""
Ints = np.ndarray[Any, np.dtype[np.int32]]


class Lanes:
    """The rows of an index split by lane, in index order."""

    def __init__(self, columns: Sequence[Ints], counted: Totals) -> None:
        found, self._which = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
        self._which = self._which.reshape(-1)
        self.found: list[Lane] = [tuple(lane) for lane in found.tolist()]
        self._counted = counted
        self._prefixes: dict[int, tuple[Positions, Totals]] = {}

    def between(self, lane: int, start: Positions, stop: Positions) -> Totals:
        """The totals of a lane's rows between two places."""
        if lane not in self._prefixes:
            own = self._which == lane
            prefix = np.zeros((np.count_nonzero(own) + 1, self._counted.shape[1]), dtype=np.int64)
            np.cumsum(self._counted[own], axis=0, out=prefix[1:])
            self._prefixes[lane] = np.concatenate([[0], np.cumsum(own)]), prefix
        before, prefix = self._prefixes[lane]
        return prefix[before[stop]] - prefix[before[start]]

    def rows_of(self, lane: int, at: Positions, count: int) -> Mask:
        """Which of the `count` rows are in a lane, as a mask; `at` are the rows in index order."""
        mask = np.zeros(count, dtype=np.bool_)
        mask[at[self._which == lane]] = True
        return mask


class LaneTotals:
    """Totals per probe and lane."""

    def __init__(self, count: int, lanes: Sequence[str], sums: Sequence[str]) -> None:
        self._count, self._lanes, self._sums = count, lanes, sums
        self._totals: dict[Lane, Totals] = {}

    def of(self, lane: Lane) -> Totals:
        """The totals of a lane, for the caller to add to."""
        if lane not in self._totals:
            self._totals[lane] = np.zeros((self._count, 1 + len(self._sums)), dtype=np.int64)
        return self._totals[lane]

    def rows(self) -> tuple[Positions, Rows]:
        """One row per probe and lane with a nonzero total, and which probe it belongs to."""
        held = [(np.flatnonzero(total.any(axis=1)), lane, total) for lane, total in sorted(self._totals.items())]
        which = np.concatenate([np.zeros(0, dtype=np.int64), *(at for at, _, _ in held)])
        values, table = (
            np.zeros((len(which), len(self._lanes)), "i4"),
            np.zeros((len(which), 1 + len(self._sums)), "i8"),
        )
        stop = 0
        for at, lane, total in held:
            start, stop = stop, stop + len(at)
            values[start:stop], table[start:stop] = lane, total[at]
        columns = {name: _column(values[:, i], pa.int32()) for i, name in enumerate(self._lanes)}
        columns |= {name: _column(table[:, i + 1], pa.int64()) for i, name in enumerate(self._sums)}
        return which, Rows(columns, np.ascontiguousarray(table[:, 0]))


def _column(values: np.ndarray[Any, Any], kind: pa.DataType) -> pa.Array:
    return from_numpy(np.ascontiguousarray(values), kind)
