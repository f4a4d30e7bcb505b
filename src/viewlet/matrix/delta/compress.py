"""Recompression: reduces the rank of a change by grouping rows, then QR of both factors and an SVD between them.

The thesis (§6.3.3) considers finding the exact rank too expensive. For factors of n × k it takes O(n·k²), little beside
the O(n²·k) of the ranks in every later statement.
"""

from __future__ import annotations

import numpy as np

from viewlet.matrix.delta.changes import Factored, zero
from viewlet.matrix.delta.factors import Array, Factor

APART = 100
"""The margin, in square roots of the precision, by which columns must be independent to be sure of full rank."""


def compress(change: Factored) -> Factored:
    """The change with its numerical rank."""
    change = _drop_zeros(change)
    if change.rank == 0:
        return zero(change.shape, change.left.values.dtype)
    change = _group(change)
    if change.rank <= 1 or _is_unit(change.left) or _is_unit(change.right):
        return change
    if _is_full(change.left.values) and _is_full(change.right.values):
        return change
    return _truncate(change)


def _is_full(columns: Array) -> bool:
    """Whether columns are certainly independent, judged by their angles, several times faster than by QR."""
    gram = columns.T @ columns
    lengths = np.sqrt(np.diagonal(gram))
    angles = gram / (lengths[:, None] * lengths)
    apart = APART * np.sqrt(np.finfo(gram.dtype).eps)
    if np.abs(angles).sum(axis=0).max() < 2 - apart:  # Gershgorin: no eigenvalue is that far from 1
        return True
    return bool(np.isfinite(angles).all()) and _is_positive(angles - apart * np.eye(len(angles), dtype=angles.dtype))


def _is_positive(matrix: Array) -> bool:
    """Whether a symmetric matrix is positive definite, by a Cholesky factorization."""
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def _drop_zeros(change: Factored) -> Factored:
    """The change without zero ranks and zero rows."""
    kept = change.left.values.any(axis=0) & change.right.values.any(axis=0)
    if kept.all():
        return change
    return Factored(*(Factor(f.size, f.values[:, kept], f.at) for f in (change.left, change.right)))


def _group(change: Factored) -> Factored:
    """For a change of fewer rows (or columns) than ranks: one rank for each row, with the row's change."""
    left, right = change.left, change.right
    if min(left.support, right.support) >= change.rank:
        return change
    if left.support <= right.support:
        return Factored(_unit(left), right.times(left.values.T))
    return Factored(left.times(right.values.T), _unit(right))


def _unit(factor: Factor) -> Factor:
    return Factor(factor.size, np.eye(factor.support, dtype=factor.values.dtype), factor.at)


def _is_unit(factor: Factor) -> bool:
    """Whether a factor consists of unit vectors, so that ranks already correspond to rows."""
    values = factor.values
    return values.shape[0] == values.shape[1] and bool((values == np.eye(len(values))).all())


def _truncate(change: Factored) -> Factored:
    """U·Vᵀ = Q·(R·Sᵀ)·Pᵀ with U = Q·R and V = P·S; keeps the singular values of R·Sᵀ beyond rounding."""
    (q, r), (p, s) = np.linalg.qr(change.left.values), np.linalg.qr(change.right.values)
    a, sigma, b = np.linalg.svd(r @ s.T)
    rank = int((sigma > sigma[0] * np.finfo(sigma.dtype).eps * 4).sum())
    if rank == change.rank:
        return change
    left = Factor(change.left.size, q @ (a[:, :rank] * sigma[:rank]), change.left.at)
    return Factored(left, Factor(change.right.size, p @ b[:rank].T, change.right.at))
