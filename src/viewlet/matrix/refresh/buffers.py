"""The storage of matrices: arrays with room to grow, changed in place without temporaries of their size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

import numpy as np

from viewlet.matrix.arrays.kernels import add_product
from viewlet.matrix.delta.changes import Change, Dense, Factored
from viewlet.matrix.delta.factors import Array, Indices
from viewlet.matrix.delta.resize import Resize

BLOCK = 1 << 16
"""Entries changed at a time: half a megabyte, which stays in the cache."""
ROOM = 1.25
"""The factor by which a growing array exceeds the needed size."""


class Buffer:
    """A matrix in the corner of an array that may be larger."""

    def __init__(self, array: Array) -> None:
        self._data = np.array(array, order="C")
        self._shape = (array.shape[0], array.shape[1])

    @property
    def array(self) -> Array:
        rows, columns = self._shape
        return self._data[:rows, :columns]

    def copy(self) -> Buffer:
        return Buffer(self.array)

    def extend(self, shape: tuple[int, int]) -> None:
        """Extend the matrix with zeros."""
        if any(wanted > there for wanted, there in zip(shape, self._data.shape, strict=True)):
            self._reserve(shape)
        rows, columns = self._shape
        self._data[rows : shape[0], : shape[1]] = 0
        self._data[:rows, columns : shape[1]] = 0
        self._shape = shape

    def truncate(self, shape: tuple[int, int]) -> None:
        """Drop the last rows and columns."""
        self._shape = shape

    def _reserve(self, shape: tuple[int, int]) -> None:
        room = [
            there if wanted <= there else int(wanted * ROOM) + 1
            for wanted, there in zip(shape, self._data.shape, strict=True)
        ]
        data = np.zeros(room, dtype=self._data.dtype)
        data[: self._shape[0], : self._shape[1]] = self.array
        self._data = data

    def replace(self, array: Array) -> None:
        """Replace the matrix."""
        fresh = array if array.flags.c_contiguous and array.flags.owndata else np.array(array, order="C")
        self._data, self._shape = fresh, (array.shape[0], array.shape[1])

    def contract(self, axis: int, resize: Resize) -> None:
        """Delete rows (axis 0) or columns (1): the last ones fill the gaps, or those after a gap move up."""
        view = self.array if axis == 0 else self.array.T
        if resize.fills:
            gaps, last = resize.moves
            view[gaps] = view[last]
        else:
            _move_up(view, resize.gone)
        rows, columns = self._shape
        self._shape = (resize.new, columns) if axis == 0 else (rows, resize.new)

    def add(self, change: Change) -> None:
        """A += Δ in place."""
        match change:
            case Dense(matrix):
                self.array[...] += matrix
            case Factored():
                self._add_factors(change)
            case _:
                assert_never(change)

    def _add_factors(self, change: Factored) -> None:
        left, right, target = change.left, change.right, self.array
        if left.at is None and right.at is None and target.flags.c_contiguous:
            return add_product(target, left.values, right.values)
        across = right.values.T
        for start, stop in _blocks(0, left.support, right.support):
            piece = left.values[start:stop] @ across
            rows = slice(start, stop) if left.at is None else left.at[start:stop]
            if right.at is None:
                target[rows] += piece
            else:
                target[np.ix_(np.arange(len(target))[rows], right.at)] += piece
        return None


def _move_up(view: Array, gone: Indices) -> None:
    """Move rows after a gap up, in pieces."""
    ends = [*gone[1:], len(view)]
    for shift, (start, stop) in enumerate(zip(gone, ends, strict=True), 1):
        for begin, end in _blocks(int(start) + 1, int(stop), view.shape[1]):
            view[begin - shift : end - shift] = view[begin:end]


def _blocks(start: int, stop: int, width: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows with at most a block of entries each."""
    step = max(1, BLOCK // max(1, width))
    for begin in range(start, stop, step):
        yield begin, min(stop, begin + step)
