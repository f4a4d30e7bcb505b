"""Changes of edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, Positions, from_numpy, valid_mask, values_of
from viewlet.columns.rows import Weights

_FEW = 16
"""If at most 1 / _FEW of the vertices are affected, loops are not netted, because that scans all vertices."""


@dataclass(frozen=True)
class Change:
    """Inserted and deleted edges: their ends, columns and weights."""

    sources: Positions
    targets: Positions
    columns: Sequence[pa.Array]
    weights: Weights

    def __len__(self) -> int:
        return len(self.sources)

    def where(self, keep: Mask) -> Change:
        if keep.all():
            return self
        at = np.flatnonzero(keep)
        columns = [c.take(from_numpy(at, pa.int64())) for c in self.columns]
        return Change(self.sources[at], self.targets[at], columns, self.weights[at])

    def netted(self, vertices: int) -> Change:
        """Loops with the equal ones of each vertex netted into one; returned as they are if some of a vertex differ."""
        if _FEW * len(self) <= vertices or ((self.weights < 0).any() and (self.weights > 0).any()):
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
    """Whether all values of each group equal the one at the group's position in `one`."""
    values, valid = values_of(array, f"i{array.type.bit_width // 8}"), valid_mask(array)
    is_same = values == values[one][groups]
    if array.null_count:
        is_same = (valid == valid[one][groups]) & (is_same | ~valid)
    return bool(is_same.all())
