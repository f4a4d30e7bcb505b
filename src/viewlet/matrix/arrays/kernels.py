"""The two products that dominate a refresh, each in one pass over a large matrix, and solves of small systems.

For A·V with a thin V, NumPy makes a pass for each column, or copies A first; for A += U·Vᵀ it makes a temporary of A's
size. All large products use NumPy: SciPy has a BLAS of its own, whose threads would compete for cores with NumPy's,
which keep spinning for a while after each call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
FEW = 4
"""The most columns for which a product is computed column by column within blocks."""
LARGE = 1 << 16
"""The number of entries from which on that is faster."""
BLOCK = 1 << 20
"""Entries of a block of rows: eight megabytes, which stay in the cache for all columns."""
PIECE = 1 << 17
"""Entries of a product that are added at a time: a megabyte, which is still in the cache then."""


def times(matrix: Array, vectors: Array) -> Array:
    """matrix · vectors."""
    if not 1 < vectors.shape[1] <= FEW or matrix.size < LARGE or not isinstance(matrix, np.ndarray):
        return matrix @ vectors
    columns = np.asfortranarray(vectors)
    if matrix.strides[1] == matrix.itemsize:
        return _times(matrix, columns)
    return _turned_times(matrix.T, columns) if matrix.strides[0] == matrix.itemsize else matrix @ vectors


def _times(matrix: Array, columns: Array) -> Array:
    found = np.empty((len(matrix), columns.shape[1]), dtype=matrix.dtype, order="F")
    for rows in stretches(matrix.shape, BLOCK):
        for column in range(columns.shape[1]):
            np.matmul(matrix[rows], columns[:, column], out=found[rows, column])
    return found


def _turned_times(turned: Array, columns: Array) -> Array:
    """turnedᵀ · columns, summed over blocks of rows."""
    found = np.zeros((turned.shape[1], columns.shape[1]), dtype=turned.dtype, order="F")
    for rows in stretches(turned.shape, BLOCK):
        for column in range(columns.shape[1]):
            found[:, column] += turned[rows].T @ columns[rows, column]
    return found


def both_times(matrix: Array, vectors: Array, turned: Array) -> tuple[Array, Array]:
    """matrix · vectors and matrixᵀ · turned; for few vectors, in one pass."""
    if max(vectors.shape[1], turned.shape[1]) > FEW or matrix.size < LARGE or matrix.strides[1] != matrix.itemsize:
        return times(matrix, vectors), times(matrix.T, turned)
    down = np.empty((len(matrix), vectors.shape[1]), dtype=matrix.dtype, order="F")
    across = np.zeros((matrix.shape[1], turned.shape[1]), dtype=matrix.dtype, order="F")
    for rows in stretches(matrix.shape, BLOCK):
        down[rows] = _times(matrix[rows], np.asfortranarray(vectors))
        across += _turned_times(matrix[rows], np.asfortranarray(turned[rows]))
    return down, across


def add_product(target: Array, left: Array, right: Array) -> None:
    """target += left · rightᵀ, in place, in pieces of rows; for rank one, without BLAS."""
    if not target.size or not left.size:
        return
    multiply = np.multiply if left.shape[1] == 1 else np.matmul
    pieces = list(stretches(target.shape, PIECE))
    room = np.empty((len(target[pieces[0]]), target.shape[1]), dtype=target.dtype)
    for rows in pieces:
        piece = room[: len(target[rows])]
        multiply(left[rows], right.T, out=piece)
        target[rows] += piece


def solve_sides(matrix: Array, sides: Array) -> Array | None:
    """matrix⁻¹ · sides, overwriting `sides`; None if singular. LAPACK gets the transpose, without a copy."""
    factor, solve = _lu(matrix.dtype)
    turned, trans = (matrix.T, 1) if matrix.flags.c_contiguous else (matrix, 0)
    lu, pivots, singular = factor(turned)
    if singular:
        return None
    found: Array = solve(lu, pivots, sides, trans=trans, overwrite_b=True)[0]
    return found


@cache
def _lu(dtype: np.dtype[Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    from scipy.linalg import get_lapack_funcs

    factor, solve = get_lapack_funcs(("getrf", "getrs"), dtype=dtype)
    return factor, solve


def stretches(shape: tuple[int, ...], most: int) -> Iterator[slice]:
    """All rows in pieces of at most `most` entries."""
    step = max(1, most // max(1, shape[1]))
    for start in range(0, shape[0], step):
        yield slice(start, start + step)
