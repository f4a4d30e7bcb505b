"""Recipes for the rows of matrices in blocks; a task evaluates one for the rows that it needs.

Recipes are sent to tasks, so they name stored blocks and contain only thin arrays. `read` evaluates some rows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, assert_never

import numpy as np

from viewlet.matrix.arrays.evaluate import apply_function
from viewlet.matrix.delta.factors import Array, Indices

Extent = tuple[int, int]
Piece = tuple[int, int]
"""The first row, and the one after the last."""
BLOCK = 1 << 22
"""Entries of a block of rows: 32 megabytes of float64."""


class Reader(Protocol):
    """Opens stored blocks in any process."""

    def block(self, name: str, number: int) -> Any: ...


@dataclass(frozen=True)
class Stored:
    """Stored blocks, with the first row of each."""

    reader: Reader
    name: str
    shape: Extent
    dtype: np.dtype[Any]
    starts: tuple[int, ...]


@dataclass(frozen=True)
class Given:
    """An array that is part of the recipe."""

    array: Array


@dataclass(frozen=True)
class Repeated:
    """A row, a column or a number, broadcast."""

    array: Array
    shape: Extent


@dataclass(frozen=True)
class Eye:
    """I"""

    size: int
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class Entrywise:
    """An entrywise NumPy function of matrices of one shape and numbers."""

    function: str
    parts: tuple[Node | float, ...]
    shape: Extent


@dataclass(frozen=True)
class Multiplied:
    """left @ right"""

    left: Node
    right: Node


@dataclass(frozen=True)
class Turned:
    """ofᵀ"""

    of: Node


@dataclass(frozen=True)
class Cut:
    """A range of rows and columns."""

    of: Node
    rows: Piece
    columns: Piece


@dataclass(frozen=True)
class Stacked:
    """Matrices stacked vertically (axis 0) or horizontally (axis 1)."""

    parts: tuple[Node, ...]
    axis: int


@dataclass(frozen=True)
class Moved:
    """A matrix with rows and columns rearranged: the old place of each new one; −1 for zeros."""

    of: Node
    rows: Indices | None
    columns: Indices | None


@dataclass(frozen=True)
class Shifted:
    """of + left · rightᵀ"""

    of: Node
    left: Array
    right: Array


@dataclass(frozen=True)
class Replaced:
    """A matrix with some rows replaced; `rows` is sorted."""

    of: Node
    rows: Indices
    values: Array


Node = Stored | Given | Repeated | Eye | Entrywise | Multiplied | Turned | Cut | Stacked | Moved | Shifted | Replaced


def extent(node: Node) -> Extent:
    """Rows and columns."""
    match node:
        case Stored() | Repeated() | Entrywise():
            return node.shape
        case Given(array):
            return array.shape[0], array.shape[1]
        case Eye(size):
            return size, size
        case Multiplied(left, right):
            return extent(left)[0], extent(right)[1]
        case Turned(of):
            return extent(of)[1], extent(of)[0]
        case Cut(_, (top, bottom), (first, last)):
            return bottom - top, last - first
        case Stacked(parts, axis):
            sizes = [extent(part) for part in parts]
            total = sum(size[axis] for size in sizes)
            return (total, sizes[0][1]) if axis == 0 else (sizes[0][0], total)
        case Moved(of, rows, columns):
            height, width = extent(of)
            return height if rows is None else len(rows), width if columns is None else len(columns)
        case Shifted(of) | Replaced(of):
            return extent(of)
        case _:
            assert_never(node)


def dtype_of(node: Node) -> np.dtype[Any]:
    """The dtype of a matrix, shared by all its parts."""
    match node:
        case Stored() | Eye():
            return node.dtype
        case Given(array) | Repeated(array):
            return array.dtype
        case Multiplied(of) | Turned(of) | Cut(of) | Moved(of) | Shifted(of) | Replaced(of):
            return dtype_of(of)
        case Entrywise(_, parts) | Stacked(parts):
            return next(dtype_of(part) for part in parts if not isinstance(part, float))
        case _:
            assert_never(node)


def pieces(node: Node) -> list[Piece]:
    """All rows in pieces of a block."""
    rows, columns = extent(node)
    step = max(1, BLOCK // max(1, columns))
    return [(start, min(rows, start + step)) for start in range(0, rows, step)]


def read(node: Node, start: int, stop: int) -> Array:
    """Evaluate some rows of a matrix, with at most one block of other matrices in memory."""
    match node:
        case Stored():
            return _joined(list(_stored(node, start, stop)))
        case Given(array):
            return array[start:stop]
        case Repeated(array, (_, width)):
            return np.broadcast_to(array if len(array) == 1 else array[start:stop], (stop - start, width))
        case Eye(size, dtype):
            return np.eye(stop - start, size, start, dtype=dtype)
        case Entrywise(function, parts):
            return apply_function(function, [p if isinstance(p, float) else read(p, start, stop) for p in parts])
        case Multiplied(left, right):  # (A·B)ᵢ = Σ Aᵢₖ·Bₖ
            return _product(read(left, start, stop), right)
        case Turned(of):
            return np.concatenate([read(of, *piece)[:, start:stop].T for piece in pieces(of)], axis=1)
        case Cut(of, (top, _), (first, last)):
            return read(of, top + start, top + stop)[:, first:last]
        case Stacked(parts, axis):
            return _below(parts, start, stop) if axis == 0 else np.hstack([read(p, start, stop) for p in parts])
        case Moved(of, rows, columns):
            wanted = np.arange(start, stop) if rows is None else rows[start:stop]
            return gathered(_rows(of, wanted).T, columns).T
        case Shifted(of, left, right):
            return read(of, start, stop) + left[start:stop] @ right.T
        case Replaced(of, rows, values):
            found = np.array(read(of, start, stop))
            first, last = np.searchsorted(rows, [start, stop])
            found[rows[first:last] - start] = values[first:last]
            return found
        case _:
            assert_never(node)


def gathered(matrix: Array, places: Indices | None) -> Array:
    """The rows at places, with zeros for −1."""
    if places is None:
        return matrix
    found = matrix[places]
    found[places < 0] = 0
    return found


def scattered(vectors: Array, places: Indices | None, size: int) -> Array:
    """The transpose of `gathered`: adds each row at its place."""
    if places is None:
        return vectors
    found = np.zeros((size, vectors.shape[1]), dtype=vectors.dtype)
    found[places[places >= 0]] = vectors[places >= 0]
    return found


def _stored(node: Stored, start: int, stop: int) -> Iterator[Array]:
    number = bisect_right(node.starts, start) - 1
    while number < len(node.starts) and node.starts[number] < stop:
        first = node.starts[number]
        number += 1
        if number < len(node.starts) and node.starts[number] == first:
            continue  # an empty block
        block = np.frombuffer(node.reader.block(node.name, number - 1), dtype=node.dtype).reshape(-1, node.shape[1])
        yield block[max(0, start - first) : stop - first]


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _product(rows: Array, right: Node) -> Array:
    if isinstance(right, Given):
        return rows @ right.array
    found = np.zeros((len(rows), extent(right)[1]), dtype=rows.dtype)
    for start, stop in pieces(right):
        found += rows[:, start:stop] @ read(right, start, stop)
    return found


def _below(parts: tuple[Node, ...], start: int, stop: int) -> Array:
    found, first = [], 0
    for part in parts:
        low, high = max(start - first, 0), min(stop - first, extent(part)[0])
        if low < high:
            found.append(read(part, low, high))
        first += extent(part)[0]
    return np.concatenate(found)


def _rows(of: Node, wanted: Indices) -> Array:
    """Rows at any places, with zeros for −1, reading only blocks that have some of them."""
    found = np.zeros((len(wanted), extent(of)[1]), dtype=dtype_of(of))
    for start, stop in pieces(of):
        inside = (wanted >= start) & (wanted < stop)
        if inside.any():
            low, high = int(wanted[inside].min()), int(wanted[inside].max()) + 1
            found[inside] = read(of, low, high)[wanted[inside] - low]
    return found
