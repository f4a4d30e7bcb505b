"""Groups of rows: the group of each row and the row's weight; and functions that pick rows from groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, Positions, valid_mask
from viewlet.columns.order import ascending, sort
from viewlet.columns.rows import Weights, add_up, group
from viewlet.engine.groups.keys import normalized, number_groups


@dataclass(frozen=True, slots=True)
class Groups:
    """The number of each row's group, below `count`, and each row's weight."""

    of: Positions
    weights: Weights
    count: int

    def __len__(self) -> int:
        return len(self.of)

    def sizes(self) -> Weights:
        """The number of rows in each group."""
        return add_up(self.weights, self.of, self.count)

    def take(self, at: Positions) -> Groups:
        return Groups(self.of[at], self.weights[at], self.count)

    def once(self) -> Groups:
        """The same rows, each of weight one."""
        return Groups(self.of, np.ones(len(self.of), dtype=np.int64), self.count)


def without_nulls(arrays: Sequence[pa.Array], groups: Groups) -> tuple[list[pa.Array], Groups]:
    """The rows in which no argument is NULL."""
    keep: Mask | None = None
    for array in arrays:
        if array.null_count:
            keep = valid_mask(array) if keep is None else keep & valid_mask(array)
    return (list(arrays), groups) if keep is None else taken(arrays, groups, np.flatnonzero(keep))


def taken(arrays: Sequence[pa.Array], groups: Groups, at: Positions) -> tuple[list[pa.Array], Groups]:
    indices = pa.array(at, type=pa.int64())
    return [array.take(indices) for array in arrays], groups.take(at)


def distinct(arrays: Sequence[pa.Array], groups: Groups) -> tuple[list[pa.Array], Groups]:
    """Each distinct combination of arguments once per group."""
    keys = [normalized(array) for array in arrays]
    first, _ = number_groups([pa.array(groups.of), *keys], len(groups))
    picked, kept = taken(keys, groups, first)
    return picked, kept.once()


def count_each(arrays: Sequence[pa.Array], groups: Groups) -> tuple[list[pa.Array], Groups]:
    """Each distinct row of a group once, with the total weight of its copies; 0.0 and −0.0 differ."""
    first, numbers = group([pa.array(groups.of), *arrays], len(groups))
    picked, kept = taken(arrays, groups, first)
    return picked, Groups(kept.of, add_up(groups.weights, numbers, len(first)), groups.count)


def repeated(arrays: Sequence[pa.Array], groups: Groups) -> tuple[list[pa.Array], Groups]:
    """Each row repeated by its weight."""
    if (groups.weights == 1).all():
        return list(arrays), groups
    picked, kept = taken(arrays, groups, np.repeat(np.arange(len(groups)), groups.weights))
    return picked, kept.once()


def take_or_null(array: pa.Array, at: Positions) -> pa.Array:
    """The values at some positions; NULL where the position is negative."""
    missing = at < 0
    if not missing.any():
        return array.take(pa.array(at, type=pa.int64()))
    return array.take(pa.array(at, type=pa.int64(), mask=missing))


def extreme_positions(array: pa.Array, groups: Groups, largest: bool) -> Positions:
    """The position of each group's least or greatest value; −1 for a group without rows."""
    keys = ascending(array, zeros_differ=True)
    if largest:
        keys = [~key for key in keys]
    at = np.full(groups.count, -1, dtype=np.int64)
    if len(keys) == 1:
        best = np.full(groups.count, np.iinfo(keys[0].dtype).max, dtype=keys[0].dtype)
        np.minimum.at(best, groups.of, keys[0])
        hits = np.flatnonzero(keys[0] == best[groups.of])
    else:
        hits = sort([groups.of, *keys], len(groups))[::-1]  # the last write, that of the least, wins
    at[groups.of[hits]] = hits
    return at


def lists_of(values: pa.Array, groups: Groups, at: Positions, kind: pa.DataType) -> pa.Array:
    """The values at some positions, ordered by group, as one list per group."""
    offsets = pa.array(np.concatenate([[0], np.cumsum(groups.sizes())]), type=pa.int32())
    return pa.ListArray.from_arrays(offsets, values.take(pa.array(at, type=pa.int64())), type=kind)
