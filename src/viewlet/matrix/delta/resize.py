"""Frames: common indices for matrices before and after a change of size.

During an epoch, sizes count old rows and added ones: old matrices are zero in added rows, new ones in deleted rows. In
this common frame every linear rule holds unchanged; afterwards the deleted rows are removed. Sizes that are not a
single symbol (`n + 1`) have no such frame: matrices with such a size are re-evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from viewlet.matrix.algebra.sizes import Dim, Shape, measured, symbol_of, symbols_of
from viewlet.matrix.delta.factors import Array, Factor, Indices


@dataclass(frozen=True)
class Resize:
    """A change of a size: `added` rows at the end, and deleted rows."""

    old: int
    added: int
    gone: Indices
    fills: bool = False
    """Whether the last rows move into the gaps of deleted ones; otherwise rows after a gap move up."""

    @property
    def common(self) -> int:
        return self.old + self.added

    @property
    def new(self) -> int:
        return self.common - len(self.gone)

    @cached_property
    def coming(self) -> Indices:
        return np.arange(self.old, self.common)

    @cached_property
    def staying(self) -> Indices:
        """The place, in the common frame, of each row after the change."""
        if not self.fills:
            return np.delete(np.arange(self.common), self.gone)
        staying = np.arange(self.new)
        gaps, last = self.moves
        staying[gaps] = last
        return staying

    @cached_property
    def moves(self) -> tuple[Indices, Indices]:
        """The gaps that are filled, and the places of the rows that fill them."""
        last = np.setdiff1d(np.arange(self.new, self.common), self.gone)
        return self.gone[self.gone < self.new], last

    @cached_property
    def moving(self) -> Indices:
        """The places of deleted rows, then of added ones."""
        return np.concatenate([self.gone, self.coming])


class Frame:
    """The sizes before, after and in common."""

    def __init__(self, sizes: Mapping[str, int], resizes: Mapping[str, Resize]) -> None:
        self.resizes = dict(resizes)
        self.before = dict(sizes)
        self.common = {**sizes, **{name: r.common for name, r in resizes.items()}}
        self.after = {**sizes, **{name: r.new for name, r in resizes.items()}}

    def resize(self, dim: Dim) -> Resize | None:
        """The change of a size, or None."""
        if not self.resizes:
            return None
        symbol = symbol_of(dim)
        return self.resizes.get(symbol) if symbol else None

    def is_reshaped(self, shape: Shape) -> bool:
        """Whether a shape changes without having a common frame."""
        return self.touches(shape) and any(
            self.resize(dim) is None and symbols_of(dim) & self.resizes.keys() for dim in shape
        )

    def touches(self, shape: Shape) -> bool:
        """Whether any size of a shape changes."""
        return bool(self.resizes) and any(symbols_of(dim) & self.resizes.keys() for dim in shape)

    def contract(self, array: Array, shape: Shape) -> Array:
        """From the common frame to the frame after the epoch."""
        for axis, dim in enumerate(shape):
            if (resize := self.resize(dim)) is not None and len(resize.gone):
                array = array.take(resize.staying, axis=axis)
        return array

    def expand(self, array: Array, shape: Shape) -> Array:
        """From the frame after the epoch to the common frame."""
        staying = [
            _all(n) if (r := self.resize(d)) is None else r.staying for d, n in zip(shape, array.shape, strict=True)
        ]
        expanded = np.zeros(measured(shape, self.common), dtype=array.dtype)
        expanded[np.ix_(*staying)] = array
        return expanded

    def hide_coming(self, array: Array, shape: Shape) -> Array:
        """A matrix evaluated in the common frame as an old one: zero in added rows and columns."""
        for axis, dim in enumerate(shape):
            if (resize := self.resize(dim)) is not None and resize.added:
                there = np.ones(array.shape[axis], dtype=array.dtype)
                there[resize.coming] = 0
                array = array * (there[:, None] if axis == 0 else there[None, :])
        return array

    def ones(self, dim: Dim, dtype: Any) -> tuple[Factor, Factor | None]:
        """The old column of ones, and its change."""
        size = measured((dim, 1), self.common)[0]
        before, resize = np.ones((size, 1), dtype=dtype), self.resize(dim)
        if resize is None:
            return Factor(size, before), None
        before[resize.coming] = 0
        change = np.ones((len(resize.moving), 1), dtype=dtype)
        change[: len(resize.gone)] = -1
        return Factor(size, before), Factor(size, change, resize.moving)


def _all(size: int) -> Indices:
    return np.arange(size)
