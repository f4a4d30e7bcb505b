"""Changes of matrices, in factors, Δ = U·Vᵀ, or as one matrix, and their algebra.

No operation on changes in factors forms a matrix of Δ's size, which keeps a refresh in O(n²·rank).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np

from viewlet.matrix.arrays.kernels import both_times
from viewlet.matrix.blocks.large import is_large
from viewlet.matrix.delta.factors import Array, Factor, Indices, beside, inner, multiply, plus


@dataclass(frozen=True, slots=True)
class Factored:
    """left · rightᵀ"""

    left: Factor
    right: Factor

    @property
    def rank(self) -> int:
        return self.left.rank

    @property
    def shape(self) -> tuple[int, int]:
        return self.left.size, self.right.size


@dataclass(frozen=True, slots=True)
class Dense:
    """A change as one matrix."""

    matrix: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape[0], self.matrix.shape[1]


Change = Factored | Dense


def zero(shape: tuple[int, int], dtype: Any) -> Factored:
    """No change: factors of rank 0."""
    none = np.zeros(0, dtype=np.intp)
    return Factored(*(Factor(size, np.zeros((0, 0), dtype=dtype), none) for size in shape))


def matrix_of(change: Change) -> Array:
    """A change as one matrix; factors are multiplied out, so only use it where the result is small or needed."""
    match change:
        case Dense(matrix):
            return matrix
        case Factored(left, right):
            return left.dense() @ right.dense().T
        case _:
            assert_never(change)


def rows_of(change: Change, wanted: Indices) -> Array:
    """Some rows of a change."""
    match change:
        case Dense(matrix):
            return matrix[wanted]
        case Factored(left, right):
            return left.rows(wanted) @ right.dense().T
        case _:
            assert_never(change)


def total(changes: list[Change]) -> Change:
    """The sum of changes: joined factors, unless one of them is a whole matrix."""
    factored = [c for c in changes if isinstance(c, Factored)]
    if len(factored) == len(changes):
        return Factored(beside([c.left for c in factored]), beside([c.right for c in factored]))
    whole = np.add.reduce([matrix_of(c) for c in changes])
    return Dense(np.asarray(whole))


def scaled(change: Change, factor: float) -> Change:
    match change:
        case Dense(matrix):
            return Dense(matrix * matrix.dtype.type(factor))
        case Factored(left, right):
            return Factored(Factor(left.size, left.values * left.values.dtype.type(factor), left.at), right)
        case _:
            assert_never(change)


def transposed(change: Change) -> Change:
    match change:
        case Dense(matrix):
            return Dense(matrix.T)
        case Factored(left, right):
            return Factored(right, left)
        case _:
            assert_never(change)


def multiplied(matrix: Array, change: Change) -> Change:
    """matrix · Δ: only the left factor is multiplied."""
    match change:
        case Dense(whole):
            return Dense(matrix @ whole)
        case Factored(left, right):
            return Factored(multiply(matrix, left), right)
        case _:
            assert_never(change)


def carried(change: Change, matrix: Array, also: Change | None) -> Change:
    """Δ · (matrix + also): the right factor is multiplied by the new matrix, which is never formed."""
    match change:
        case Dense(whole):
            product = whole @ matrix
            return Dense(product if also is None else product + _applied(whole, also))
        case Factored(left, right):
            return Factored(left, meet(matrix, also, right))
        case _:
            assert_never(change)


def meet(matrix: Array, also: Change | None, factor: Factor) -> Factor:
    """(matrix + also)ᵀ · factor."""
    met = multiply(matrix.T, factor)
    return met if also is None else plus(met, _met(also, factor))


def squared(matrix: Array, change: Factored) -> tuple[Factored, Factored]:
    """Δ·(A + Δ) and A·Δ, the change of A·A, reading A once for both."""
    left, right = change.left, change.right
    down, met = around(matrix, change, left, right)
    return Factored(left, met), Factored(down, right)


def around(matrix: Array, change: Factored, left: Factor, right: Factor) -> tuple[Factor, Factor]:
    """A · left and (A + Δ)ᵀ · right, reading A once for both."""
    if is_large(matrix):
        down, across = matrix.both_times(left.dense(), right.dense())
    elif left.at is None and right.at is None:
        down, across = both_times(matrix, left.values, right.values)
    else:
        down, across = multiply(matrix, left).values, multiply(matrix.T, right).values
    return Factor(len(matrix), down), plus(Factor(matrix.shape[1], across), _met(change, right))


def _applied(whole: Array, change: Change) -> Array:
    """whole · Δ as one matrix."""
    match change:
        case Dense(matrix):
            return whole @ matrix
        case Factored(left, right):
            return multiply(whole, left).values @ right.dense().T
        case _:
            assert_never(change)


def _met(change: Change, factor: Factor) -> Factor:
    """Δᵀ · factor."""
    match change:
        case Dense(matrix):
            return multiply(matrix.T, factor)
        case Factored(left, right):
            return right.times(inner(left, factor))
        case _:
            assert_never(change)


def entries(change: Change) -> float:
    """The sum of all entries: (1ᵀU)(Vᵀ1)."""
    match change:
        case Dense(matrix):
            return float(matrix.sum())
        case Factored(left, right):
            return float(left.values.sum(axis=0) @ right.values.sum(axis=0))
        case _:
            assert_never(change)


def against(matrix: Array, change: Change) -> float:
    """⟨matrix, Δ⟩ = Σ (matrixᵀ·U) ∘ V."""
    match change:
        case Dense(whole):
            return float(np.vdot(matrix, whole))
        case Factored(left, right):
            met = multiply(matrix.T, left).values
            return float(np.vdot(met if right.at is None else met[right.at], right.values))
        case _:
            assert_never(change)


def product_of(left: Change, right: Change) -> float:
    """⟨Δ, Δ'⟩ = Σ (UᵀU') ∘ (VᵀV')."""
    match left, right:
        case Factored(), Factored():
            return float(np.vdot(inner(left.left, right.left), inner(left.right, right.right)))
        case Dense(matrix), _:
            return against(matrix, right)
        case _, Dense(matrix):
            return against(matrix, left)
        case _:
            raise AssertionError


def diagonal_of(change: Change) -> Change:
    """The diagonal as a column: Σ of U ∘ V over the ranks."""
    match change:
        case Dense(matrix):
            return Dense(np.diagonal(matrix)[:, None])
        case Factored(left, right):
            at = left.at if left.at is not None else np.arange(left.size)
            column = np.einsum("ij,ij->i", left.values, right.rows(at))[:, None]
            return Factored(Factor(left.size, column, left.at), Factor(1, np.ones((1, 1), dtype=column.dtype)))
        case _:
            assert_never(change)


def is_finite(change: Change) -> bool:
    parts = (change.matrix,) if isinstance(change, Dense) else (change.left.values, change.right.values)
    return all(bool(np.isfinite(part).all()) for part in parts)
