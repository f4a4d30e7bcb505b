"""Evaluates each operator on whole matrices, with NumPy. Numbers are 1 × 1 arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, reduce
from itertools import chain
from operator import add
from typing import Any, assert_never

import numpy as np

from viewlet.matrix.algebra.ops import (
    Add,
    Broadcast,
    Constant,
    Diagonal,
    Elementwise,
    Full,
    Identity,
    Inner,
    Inverse,
    Leading,
    Op,
    Product,
    Scale,
    SizeOf,
    Slice,
    Solve,
    Stack,
    Steps,
    Subtract,
    Sum,
    SumOfProducts,
    Trace,
    Transpose,
)
from viewlet.matrix.algebra.sizes import measure, measured
from viewlet.matrix.arrays.kernels import Array, solve_sides
from viewlet.matrix.arrays.subspace import leading
from viewlet.matrix.errors import EvaluationError, SingularMatrix


def evaluate(name: str, op: Op, value: Callable[[str], Array], sizes: Mapping[str, int], dtype: Any) -> Array:
    """The result of a statement; raise if it has none."""
    with np.errstate(all="ignore"):
        result = _result(name, op, value, sizes, dtype)
    if isinstance(result, np.ndarray) and not is_view(op) and not np.isfinite(result).all():
        row, column = np.argwhere(~np.isfinite(result))[0]
        raise EvaluationError(
            f"{name} is {result[row, column]} in row {row}, column {column}",
            hint="a division by zero, a logarithm of zero, or an overflow in the statement that makes it",
        )
    return result


def is_view(op: Op) -> bool:
    """Whether a result is a view of other matrices, so that it is not stored."""
    return isinstance(op, Transpose | Slice | Broadcast | Identity | Full | Constant | SizeOf)


def _result(name: str, op: Op, value: Callable[[str], Array], sizes: Mapping[str, int], dtype: Any) -> Array:
    match op:
        case Add(a, b):
            return value(a) + value(b)
        case Subtract(a, b):
            return value(a) - value(b)
        case Scale(factor, a):
            return value(a) * (value(factor)[0, 0] if isinstance(factor, str) else dtype.type(factor))
        case Product(a, b):
            return value(a) @ value(b)
        case SumOfProducts(products, addends):
            return reduce(add, chain((value(a) @ value(b) for a, b in products), map(value, addends)))
        case Steps(a, start, added, times):
            return steps(value(a), value(start), None if added is None else value(added), times)
        case Transpose(a):
            return value(a).T
        case Inverse(a):
            return inverse(name, value(a))
        case Solve(a, b):
            return solve(name, value(a), value(b))
        case Elementwise(function, parts):
            return apply_function(function, [value(p) if isinstance(p, str) else p for p in parts], dtype)
        case Slice(a, rows, columns):
            return value(a)[slice(*rows), slice(*columns)]
        case Stack(parts, axis):
            return np.concatenate([value(p) for p in parts], axis=axis)
        case Broadcast(a, shape):
            return np.broadcast_to(value(a), measured(shape, sizes))
        case Sum(a, None):
            return value(a).sum().reshape(1, 1)
        case Sum(a, axis):
            return value(a).sum(axis=axis, keepdims=True)
        case Trace(a):
            return np.trace(value(a)).reshape(1, 1)
        case Leading(a, count):
            return leading(value(a), count)
        case Diagonal(a):
            return np.diagonal(value(a))[:, None].copy()
        case Inner(a, b):
            return np.einsum("ij,ij->", value(a), value(b)).reshape(1, 1)
        case Identity(size):
            return np.eye(measure(size, sizes), dtype=dtype)
        case Full(shape, number):
            return np.broadcast_to(np.full((1, 1), number, dtype=dtype), measured(shape, sizes))
        case Constant(rows):
            return np.asarray(rows, dtype=dtype).reshape(len(rows), -1)
        case SizeOf(size):
            return np.full((1, 1), measure(size, sizes), dtype=dtype)
        case _:
            assert_never(op)


def apply_function(function: str, inputs: Sequence[Array | float], dtype: Any = None) -> Array:
    """Apply an entrywise NumPy function."""
    with np.errstate(all="ignore"):
        result: Array = np.atleast_2d(getattr(np, function)(*inputs))
    return result if dtype is None else result.astype(dtype, copy=False)


def steps(matrix: Array, start: Array, added: Array | None, times: int) -> Array:
    """T after `times` steps of T ← matrix · T + added."""
    for _ in range(times):
        start = matrix @ start
        if added is not None:
            start = start + added
    return start


def inverse(name: str, matrix: Array) -> Array:
    """The inverse; raise if the matrix is numerically singular: ‖A‖·‖A⁻¹‖ beyond 1 / (n·ε)."""
    try:
        found = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        raise singular(name, len(matrix)) from None
    if not len(matrix):
        return found
    condition = np.linalg.norm(matrix, 1) * np.linalg.norm(found, 1)
    if not condition < most_condition(matrix):
        raise singular(name, len(matrix))
    return found


def solve(name: str, matrix: Array, right: Array) -> Array:
    """The solution; raise if the matrix is singular. A right side of signs is added to estimate its inverse's norm."""
    size = len(matrix)
    if not size:
        return np.zeros(right.shape, dtype=right.dtype)
    sides = np.empty((size, right.shape[1] + 1), dtype=matrix.dtype, order="F")
    sides[:, :-1], sides[:, -1] = right, 1
    sides[::3, -1] = -1
    found = solve_sides(matrix, sides)
    if found is None or not np.abs(matrix).sum(axis=1).max() * np.abs(found[:, -1]).max() < most_condition(matrix):
        raise singular(name, size)
    return found[:, :-1]


def most_condition(matrix: Array) -> float:
    """The condition number beyond which a matrix counts as singular."""
    return 1.0 / (len(matrix) * _precision(matrix.dtype))


@cache
def _precision(dtype: np.dtype[Any]) -> float:
    return float(np.finfo(dtype).eps)


def singular(name: str, size: int) -> SingularMatrix:
    return SingularMatrix(
        f"Singular matrix: what {name} inverts ({size} × {size}) has no inverse",
        hint="rows or columns that depend on each other, or fewer rows than columns; a ridge (A + λI) always has one",
    )
