"""Factors: the tall, thin matrices whose product is a low-rank change. Zero rows are not stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewlet.matrix.arrays.kernels import Array as Array
from viewlet.matrix.arrays.kernels import times

Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Factor:
    """A matrix of size × rank, zero outside of its rows `at`; None for all rows."""

    size: int
    values: Array
    at: Indices | None = None

    @property
    def rank(self) -> int:
        return int(self.values.shape[1])

    @property
    def support(self) -> int:
        """How many rows may be nonzero."""
        return len(self.values)

    def dense(self) -> Array:
        if self.at is None:
            return self.values
        full = np.zeros((self.size, self.rank), dtype=self.values.dtype)
        full[self.at] = self.values
        return full

    def rows(self, wanted: Indices) -> Array:
        """Some of its rows, in the given order."""
        if self.at is None:
            return self.values[wanted]
        place = np.minimum(np.searchsorted(self.at, wanted), len(self.at) - 1)
        return (
            np.where((self.at[place] == wanted)[:, None], self.values[place], 0)
            if len(self.at)
            else _zeros(self, wanted)
        )

    def times(self, matrix: Array) -> Factor:
        """This factor · matrix."""
        return Factor(self.size, self.values @ matrix, self.at)


def _zeros(factor: Factor, wanted: Indices) -> Array:
    return np.zeros((len(wanted), factor.rank), dtype=factor.values.dtype)


def unit(size: int, at: Indices, dtype: Any) -> Factor:
    """The columns of the identity at sorted places."""
    return Factor(size, np.eye(len(at), dtype=dtype), at)


def multiply(matrix: Array, factor: Factor) -> Factor:
    """matrix · factor, reading only the columns of the matrix that correspond to stored rows."""
    if factor.at is None or not isinstance(matrix, np.ndarray):
        return Factor(len(matrix), times(matrix, factor.dense()))
    return Factor(len(matrix), times(matrix[:, factor.at], factor.values))


def inner(left: Factor, right: Factor) -> Array:
    """leftᵀ · right, a small matrix."""
    if left.at is None:
        return (left.values if right.at is None else left.values[right.at]).T @ right.values
    return left.values.T @ right.rows(left.at)


def beside(parts: list[Factor]) -> Factor:
    """Factors side by side: their ranks add up."""
    first = parts[0]
    if all(p.at is not None for p in parts):
        at = np.unique(np.concatenate([p.at for p in parts if p.at is not None]))
        return Factor(first.size, np.hstack([p.rows(at) for p in parts]), at)
    return Factor(first.size, np.hstack([p.dense() for p in parts]))


def plus(left: Factor, right: Factor) -> Factor:
    """The sum of two factors of equal rank."""
    if left.at is None or right.at is None:
        return Factor(left.size, left.dense() + right.dense())
    at = np.union1d(left.at, right.at)
    return Factor(left.size, left.rows(at) + right.rows(at), at)


def place(factor: Factor, size: int, offset: int) -> Factor:
    """The factor placed at an offset in a larger one."""
    at = np.arange(factor.size) if factor.at is None else factor.at
    return Factor(size, factor.values, at + offset)


def cut(factor: Factor, start: int, stop: int) -> Factor:
    """A range of rows of a factor."""
    if factor.at is None:
        return Factor(stop - start, factor.values[start:stop])
    inside = (factor.at >= start) & (factor.at < stop)
    return Factor(stop - start, factor.values[inside], factor.at[inside] - start)
