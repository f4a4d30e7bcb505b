"""The storage of a matrix in blocks: the blocks as written, and the thin changes since.

An update adds ranks, moves places and replaces rows, without touching blocks. Once changes take as much space as the
blocks, these are rewritten, each by a task.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from viewlet.matrix.blocks.large import Large, is_large
from viewlet.matrix.blocks.nodes import Extent, Moved, Node, Replaced, Shifted, Stored
from viewlet.matrix.delta.changes import Change, Dense, Factored
from viewlet.matrix.delta.factors import Array, Indices
from viewlet.matrix.delta.resize import Resize
from viewlet.matrix.refresh.buffers import Buffer


@dataclass(frozen=True)
class Since:
    """The changes since blocks were written: moved places, added ranks, replaced rows."""

    shape: Extent
    places: tuple[Indices | None, Indices | None] = (None, None)
    left: Array | None = None
    right: Array | None = None
    rows: dict[int, Array] = field(default_factory=dict)

    def over(self, base: Node) -> Node:
        """The current matrix."""
        rows, columns = self.places
        node = base if rows is None and columns is None else Moved(base, rows, columns)
        if self.left is not None and self.right is not None:
            node = Shifted(node, self.left, self.right)
        if not self.rows:
            return node
        at = sorted(self.rows)
        return Replaced(node, np.array(at, dtype=np.intp), np.stack([self.rows[row] for row in at]))


class LargeBuffer:
    """A matrix in blocks, with the methods of a `Buffer`."""

    def __init__(self, large: Large) -> None:
        self.replace(large)

    def replace(self, large: Large) -> None:
        """Replace the matrix."""
        assert isinstance(large.node, Stored), f"{large} is not written yet"
        self.base, self._run = large.node, large.run
        self.since = Since(large.shape)

    @property
    def array(self) -> Any:
        return Large(self.since.over(self.base), self._run)

    def copy(self) -> LargeBuffer:
        made = LargeBuffer(Large(self.base, self._run))
        made.since = replace(self.since, rows=dict(self.since.rows))
        return made

    def extend(self, shape: Extent) -> None:
        """Extend the matrix with zeros."""
        for axis in (0, 1):
            old, more = self.since.shape[axis], shape[axis] - self.since.shape[axis]
            if more:
                self._place(axis, np.concatenate([np.arange(old), np.full(more, -1)]))

    def truncate(self, shape: Extent) -> None:
        """Drop the last rows and columns."""
        for axis in (0, 1):
            if shape[axis] < self.since.shape[axis]:
                self._place(axis, np.arange(shape[axis]))

    def contract(self, axis: int, resize: Resize) -> None:
        """Delete rows (axis 0) or columns (1), closing the gaps."""
        self._place(axis, resize.staying)

    def _place(self, axis: int, staying: Indices) -> None:
        """Rearrange an axis: `staying` has the current place of each new one; −1 for zeros."""
        was = self.since
        known = was.places[axis]
        places = staying if known is None else np.where(staying < 0, -1, known[staying])
        if axis == 0:
            now = {old: new for new, old in enumerate(staying.tolist()) if old >= 0} if was.rows else {}
            rows = {now[row]: values for row, values in was.rows.items() if row in now}
            self.since = Since(
                (len(places), was.shape[1]), (places, was.places[1]), _at(was.left, staying), was.right, rows
            )
        else:
            rows = {row: _at(values, staying) for row, values in was.rows.items()}
            self.since = Since(
                (was.shape[0], len(places)), (was.places[0], places), was.left, _at(was.right, staying), rows
            )

    def add(self, change: Change) -> None:
        """A += Δ, as further ranks."""
        left, right = factors_of(change)
        was = self.since
        rows = {row: values + left[row] @ right.T for row, values in was.rows.items()}
        self.since = replace(was, left=_beside(was.left, left), right=_beside(was.right, right), rows=rows)

    def put(self, rows: Any, columns: Any, values: Any) -> None:
        """Set entries to exact values."""
        at = np.unique(rows)
        found = np.array(self.array[at])
        found[np.searchsorted(at, rows), columns] = values
        self.put_rows(at, found)

    def put_rows(self, at: Indices, values: Array) -> None:
        self.since = replace(self.since, rows={**self.since.rows, **dict(zip(at.tolist(), values, strict=True))})


def buffer_of(array: Any) -> Buffer | LargeBuffer:
    """The buffer of a matrix."""
    if isinstance(array, Buffer | LargeBuffer):
        return array
    return LargeBuffer(array) if is_large(array) else Buffer(array)


def _at(factor: Any, staying: Indices) -> Any:
    """The rows of a factor at places, with zeros for −1."""
    if factor is None:
        return None
    found = factor[staying]
    found[staying < 0] = 0
    return found


def factors_of(change: Change) -> tuple[Array, Array]:
    """Any change as a product of two matrices."""
    match change:
        case Factored(left, right):
            return left.dense(), right.dense()
        case Dense(matrix) if matrix.shape[0] < matrix.shape[1]:
            return np.eye(len(matrix), dtype=matrix.dtype), matrix.T
        case Dense(matrix):
            return matrix, np.eye(matrix.shape[1], dtype=matrix.dtype)


def _beside(there: Array | None, more: Array) -> Array:
    return more if there is None else np.hstack([there, more])
