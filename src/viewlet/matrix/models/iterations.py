"""Iterations: powers, sums of powers, T ← A·T + B, gradient descent and PageRank, as functions of matrices.

Each takes a number of steps and returns a function for `matrix.program`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from viewlet.matrix.algebra.trace import iterate


def power(k: int) -> Callable[..., Any]:
    """A (n × n) to the k-th power."""

    def power(A: Any) -> Any:
        return np.linalg.matrix_power(A, k)

    return power


def sum_of_powers(k: int) -> Callable[..., Any]:
    """I + A + A² + … + Aᵏ⁻¹."""

    def sum_of_powers(A: Any) -> Any:
        identity = np.eye(A.shape[0], like=A)
        return iterate(k, lambda S: A @ S + identity, np.zeros_like(A))

    return sum_of_powers


def general(k: int) -> Callable[..., Any]:
    """T after k steps of T ← A·T + B from T0."""

    def general(A: Any, B: Any, T0: Any) -> Any:
        return iterate(k, lambda T: A @ T + B, T0)

    return general


def gradient_descent(k: int, rate: float) -> Callable[..., Any]:
    """The coefficients of Y on X after k steps of Θ ← Θ − rate · Xᵀ(X·Θ − Y) from T0 (§6.6.4 of the thesis)."""

    def gradient_descent(X: Any, Y: Any, T0: Any) -> Any:
        return iterate(k, lambda T: T - rate * (X.T @ (X @ T - Y)), T0)

    return gradient_descent


def pagerank(k: int, damping: float = 0.85) -> Callable[..., Any]:
    """The ranks after k steps over M (n × n), whose column j has the transition probabilities from j."""

    def pagerank(M: Any) -> Any:
        uniform = np.ones((M.shape[0], 1), like=M) / M.shape[0]
        return iterate(k, lambda T: damping * (M @ T) + (1 - damping) * uniform, uniform)

    return pagerank
