"""The NumPy functions that programs may use, with NumPy's arguments, and the statements that each emits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from viewlet.matrix.algebra.ops import (
    Broadcast,
    Diagonal,
    Full,
    Identity,
    Inner,
    Inverse,
    Leading,
    Power,
    Solve,
    Stack,
    Sum,
    Trace,
)
from viewlet.matrix.algebra.sizes import Dim, Shape, dim_of
from viewlet.matrix.algebra.trace import Traced, Tracer
from viewlet.matrix.arrays.subspace import leading as leading_of
from viewlet.matrix.errors import ShapeError, UntraceableError


def inv(t: Tracer, a: Any) -> Traced:
    return t.emit(Inverse(t.name(a)))


def solve(t: Tracer, a: Any, b: Any) -> Traced:
    return t.emit(Solve(t.name(a), t.name(b)))


def matrix_power(t: Tracer, a: Any, n: int) -> Traced:
    if not isinstance(n, int | np.integer):
        raise UntraceableError("matrix_power: exponent must be an integer")
    if n < 0:
        return matrix_power(t, inv(t, a), -n)
    name = t.name(a)
    power = t.emit(Power(name, max(int(n), 1)))
    return power if n else t.emit(Identity(t.shape(name)[0]))


def norm(t: Tracer, x: Any, ord: Any = None, axis: None = None, keepdims: bool = False) -> Traced:
    if ord not in (None, "fro") or axis is not None or keepdims:
        raise UntraceableError("norm: only the Frobenius norm (of a column, its length) can be traced")
    name = t.name(x)
    return t.elementwise("sqrt", t.emit(Inner(name, name)))


def total(t: Tracer, a: Any, axis: Any = None, **options: Any) -> Traced:
    keepdims = options.pop("keepdims", False)
    if options:
        raise UntraceableError(f"sum: {', '.join(options)} cannot be traced")
    if axis is None:
        summed = t.emit(Sum(t.name(a), None))
        return t.emit(Broadcast(t.name(summed), (1, 1))) if keepdims else summed
    if not keepdims:
        raise UntraceableError("sum over an axis gives a vector", hint="keepdims=True keeps it a matrix")
    return t.emit(Sum(t.name(a), _axis("sum", axis)))


def mean(t: Tracer, a: Any, axis: Any = None, **options: Any) -> Traced:
    rows, columns = t.shape(t.name(a))
    summed = total(t, a, axis, **options)
    if axis is None:
        return t.divide(t.divide(summed, rows), columns)
    return t.divide(summed, (rows, columns)[_axis("mean", axis)])


def _axis(said: str, axis: Any) -> int:
    if axis not in (0, 1, -1, -2):
        raise ShapeError(f"{said}: axis {axis} is out of bounds for a matrix")
    return int(axis) % 2


def trace(t: Tracer, a: Any) -> Traced:
    return t.emit(Trace(t.name(a)))


def transpose(t: Tracer, a: Any, axes: Any = None) -> Traced:
    if axes not in (None, (1, 0), [1, 0]):
        raise ShapeError(f"transpose: axes {axes} don't match a matrix")
    return a.T


def dot(t: Tracer, a: Any, b: Any) -> Traced:
    return t.ufunc("matmul", a, b)


def multi_dot(t: Tracer, arrays: Sequence[Any]) -> Traced:
    first, *rest = arrays
    for array in rest:
        first = t.ufunc("matmul", first, array)
    return first


def concatenate(t: Tracer, arrays: Sequence[Any], axis: int = 0) -> Traced:
    return t.emit(Stack(tuple(t.name(a) for a in arrays), _axis("concatenate", axis)))


def vstack(t: Tracer, tup: Sequence[Any]) -> Traced:
    return concatenate(t, tup, 0)


def hstack(t: Tracer, tup: Sequence[Any]) -> Traced:
    return concatenate(t, tup, 1)


def eye(t: Tracer, N: Dim, M: Dim | None = None, **options: Any) -> Traced:
    if M not in (None, N) or options.get("k", 0):
        raise UntraceableError("eye: only a square identity can be traced")
    return t.emit(Identity(dim_of(N)))


def full(t: Tracer, shape: Any, fill_value: Any, **options: Any) -> Traced:
    sizes = tuple(dim_of(s) for s in shape)
    if len(sizes) != 2:
        raise ShapeError(f"{shape} is not the shape of a matrix", hint="(rows, columns); a vector is (n, 1)")
    return t.emit(Full(sizes, float(fill_value)))


def zeros(t: Tracer, shape: Any, **options: Any) -> Traced:
    return full(t, shape, 0.0)


def ones(t: Tracer, shape: Any, **options: Any) -> Traced:
    return full(t, shape, 1.0)


def full_like(t: Tracer, a: Any, fill_value: Any, **options: Any) -> Traced:
    shape: Shape = t.shape(t.name(a))
    return t.emit(Full(shape, float(fill_value)))


def zeros_like(t: Tracer, a: Any, **options: Any) -> Traced:
    return full_like(t, a, 0.0)


def ones_like(t: Tracer, a: Any, **options: Any) -> Traced:
    return full_like(t, a, 1.0)


def refuse_vector(t: Tracer, *args: Any, **options: Any) -> Traced:
    raise UntraceableError("the diagonal is a vector", hint="viewlet.matrix.diagonal(A) gives it as a column")


def diagonal(matrix: Any) -> Any:
    """The diagonal of a square matrix as a column: np.diag(A)[:, None], also for traced matrices."""
    if isinstance(matrix, Traced):
        return matrix._emit(Diagonal(matrix._name))
    return np.diagonal(matrix)[:, None].copy()


def leading(matrix: Any, count: int) -> Any:
    """The leading eigenvectors of a symmetric matrix, as columns, largest first; the largest entry of each is positive.

    Maintained ones are updated by subspace iteration from the last ones.
    """
    if isinstance(matrix, Traced):
        return matrix._emit(Leading(matrix._name, count))
    return leading_of(np.asarray(matrix), count)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.linalg.inv: inv,
    np.linalg.solve: solve,
    np.linalg.matrix_power: matrix_power,
    np.linalg.multi_dot: multi_dot,
    np.linalg.norm: norm,
    np.sum: total,
    np.mean: mean,
    np.trace: trace,
    np.transpose: transpose,
    np.dot: dot,
    np.concatenate: concatenate,
    np.vstack: vstack,
    np.hstack: hstack,
    np.eye: eye,
    np.identity: eye,
    np.zeros: zeros,
    np.ones: ones,
    np.full: full,
    np.zeros_like: zeros_like,
    np.ones_like: ones_like,
    np.full_like: full_like,
    np.diag: refuse_vector,
    np.diagonal: refuse_vector,
}
