"""The leading eigenvectors of a symmetric matrix, by subspace iteration from the last basis.

After a small change the last basis is almost right, and few steps of V ← orth(C·V) bring it within the tolerance; if
the spectrum has no gap, the matrix is decomposed instead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viewlet.matrix.delta.factors import Array

GUARD = 4
"""Additional directions that are iterated, so that the wanted ones converge sooner."""
MOST = 100
"""The number of steps after which the matrix is decomposed instead."""
TOLERANCE = 1e-9


class Leading(NamedTuple):
    """A basis, largest eigenvalue first, the eigenvalues, and the number of steps."""

    basis: Array
    values: Array
    steps: int


def follow(matrix: Array, count: int, basis: Array, tolerance: float = TOLERANCE) -> Leading:
    """Iterate from a basis until its first `count` directions converge; the others are guards."""
    for steps in range(MOST + 1):
        image = matrix @ basis
        values, turn = np.linalg.eigh(basis.T @ image)
        values, turn = values[::-1], turn[:, ::-1]
        basis, image = basis @ turn, image @ turn
        off = (image - basis * values)[:, :count]
        if np.linalg.norm(off) <= tolerance * abs(values[0]):  # ‖C·v − λ·v‖ relative to the largest λ
            return Leading(basis, values, steps)
        basis = np.linalg.qr(image)[0]
    values, vectors = np.linalg.eigh(matrix)
    size = basis.shape[1]
    return Leading(vectors[:, ::-1][:, :size], values[::-1][:size], MOST)


def guarded(basis: Array, count: int) -> Array:
    """An orthonormal basis that starts with the known one, extended by random directions."""
    size = len(basis)
    more = min(size, count + GUARD) - basis.shape[1]
    others = np.random.default_rng(0).normal(size=(size, more)).astype(basis.dtype)
    found: Array = np.linalg.qr(np.hstack([basis, others]))[0]
    return found


def leading(matrix: Array, count: int, last: Array | None = None) -> Array:
    """The leading eigenvectors as columns, the largest entry of each positive; starting from `last`, if given."""
    start = np.zeros((len(matrix), 0), dtype=matrix.dtype) if last is None else last
    tolerance = max(TOLERANCE, 100 * float(np.finfo(matrix.dtype).eps))
    return upright(follow(matrix, count, guarded(start, count), tolerance).basis[:, :count])


def upright(directions: Array) -> Array:
    """Columns with signs chosen so that the largest entry of each is positive."""
    largest = np.abs(directions).argmax(axis=0)
    return directions * np.sign(directions[largest, np.arange(directions.shape[1])])
