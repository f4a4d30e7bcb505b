"""A matrix in blocks that delta rules and operators use like an array, through NumPy's protocols.

Thin results are arrays: a product with an array, some rows, a sum. Other results are lazy recipes, evaluated when they
are written (`evaluate.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from viewlet.matrix.blocks.nodes import (
    Cut,
    Entrywise,
    Extent,
    Given,
    Moved,
    Multiplied,
    Node,
    Repeated,
    Stacked,
    Turned,
    dtype_of,
    extent,
    pieces,
    read,
)
from viewlet.matrix.blocks.times import Run, both_times, diagonal, inner, times
from viewlet.matrix.delta.factors import Array, Indices


class Large(NDArrayOperatorsMixin):
    """A recipe for the rows of a matrix, and the runner that evaluates it."""

    ndim = 2

    def __init__(self, node: Node, run: Run) -> None:
        self.node, self.run = node, run
        self.shape, self.dtype = extent(node), dtype_of(node)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<{self.shape[0]} × {self.shape[1]} of {self.dtype} in blocks>"

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    @property
    def T(self) -> Large:
        return self._as(self.node.of if isinstance(self.node, Turned) else Turned(self.node))

    def times(self, vectors: Array) -> Array:
        """matrix · vectors."""
        return times(self.node, vectors, self.run)

    def both_times(self, vectors: Array, turned: Array) -> tuple[Array, Array]:
        """matrix · vectors and matrixᵀ · turned, in one job."""
        return both_times(self.node, vectors, turned, self.run)

    def gathered(self) -> Array:
        """The whole matrix in memory."""
        return np.concatenate([np.array(read(self.node, *piece)) for piece in pieces(self.node)])

    def take(self, places: Indices, axis: int) -> Large:
        return self._as(Moved(self.node, places, None) if axis == 0 else Moved(self.node, None, places))

    def astype(self, dtype: Any, copy: bool = True) -> Large:
        assert dtype == self.dtype, f"{self} cannot become {dtype}"
        return self

    def sum(self, axis: int | None = None, keepdims: bool = False) -> Any:
        if axis is None:
            return self.sum(1).sum()
        along = self if axis == 1 else self.T
        found = along.times(np.ones((along.shape[1], 1), dtype=self.dtype))
        return found if axis == 1 else found.T

    def __getitem__(self, at: Any) -> Any:
        match at:
            case (slice() as rows, slice() as columns):
                (top, bottom, _), (first, last, _) = rows.indices(self.shape[0]), columns.indices(self.shape[1])
                return self._as(Cut(self.node, (top, max(top, bottom)), (first, max(first, last))))
            case (slice(), places):
                return self.T[places].T
            case (rows, columns):
                return self._entries(rows, columns)
            case slice() | (slice(),):
                return self[at if isinstance(at, slice) else at[0], :]
            case _:
                return self._rows(at)

    def _rows(self, places: Indices) -> Array:
        """Some rows, read in this process, since they are in one or a few blocks."""
        if isinstance(self.node, Turned):  # stored columns: from all blocks
            picked = np.zeros((self.shape[0], len(places)), dtype=self.dtype)
            picked[places, np.arange(len(places))] = 1
            return self.T.times(picked).T if len(places) else np.zeros((0, self.shape[1]), dtype=self.dtype)
        rows = [read(self.node, int(place), int(place) + 1) for place in places]
        return np.concatenate(rows) if rows else np.zeros((0, self.shape[1]), dtype=self.dtype)

    def _entries(self, rows: Indices, columns: Indices) -> Array:
        """Single entries, read by rows or by columns, whichever are fewer."""
        down, across = np.unique(rows), np.unique(columns)
        if len(down) <= len(across):
            return np.asarray(self[down][np.searchsorted(down, rows), columns])
        return np.asarray(self.T[across][np.searchsorted(across, columns), rows])

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        if ufunc is np.matmul:
            return self._matmul(*inputs)
        shape = np.broadcast_shapes(*(getattr(i, "shape", ()) for i in inputs))
        parts = tuple(part_of(i, (shape[0], shape[1])) for i in inputs)
        return self._as(Entrywise(ufunc.__name__, parts, (shape[0], shape[1])))

    def _matmul(self, left: Any, right: Any) -> Any:
        if isinstance(left, Large):
            return self._as(Multiplied(left.node, right.node)) if isinstance(right, Large) else left.times(right)
        return right.T.times(left.T).T

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        found = _FUNCTIONS.get(function)
        return NotImplemented if found is None else found(*args, **options)

    def _as(self, node: Node) -> Large:
        return Large(node, self.run)


def is_large(value: object) -> TypeGuard[Large]:
    """Whether a matrix is in blocks."""
    return isinstance(value, Large)


def part_of(value: Any, shape: Extent) -> Node | float:
    """An operand of an entrywise function as a node of the result's shape."""
    if getattr(value, "ndim", 0) == 0:
        return float(value)
    node = node_of(value)
    return node if extent(node) == shape else Repeated(value, shape)


def node_of(value: Any) -> Node:
    return value.node if isinstance(value, Large) else Given(value)


def _concatenated(parts: Any, axis: int = 0) -> Large:
    run = next(part.run for part in parts if isinstance(part, Large))
    return Large(Stacked(tuple(map(node_of, parts)), axis), run)


def _inner(a: Any, b: Any) -> Any:
    run = (a if isinstance(a, Large) else b).run
    return np.asarray(inner(node_of(a), node_of(b), run))


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.atleast_2d: lambda a: a,
    np.concatenate: _concatenated,
    np.diagonal: lambda a: diagonal(a.node, a.run),
    np.trace: lambda a: diagonal(a.node, a.run).sum(),
    np.vdot: _inner,
    np.einsum: lambda _, a, b: _inner(a, b),  # only used as "ij,ij->"
    np.linalg.norm: lambda a: np.sqrt(inner(a.node, a.node, a.run)),
}
