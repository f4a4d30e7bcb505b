"""Numerical health: estimates the drift of maintained results on a few random vectors.

For C = A·B the residual is ‖C'z − A'(B'z)‖, relative to the size of either, for random z: a few matrix-vector products.
It also finds results that cancelled down to rounding errors. Large matrices are checked only after enough refreshes
(`Costs.credit`), so that checking costs a fraction of refreshing.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from viewlet.matrix.algebra.ops import (
    Add,
    Diagonal,
    Elementwise,
    Inner,
    Inverse,
    Op,
    Product,
    Scale,
    Stack,
    Steps,
    Subtract,
    Sum,
    SumOfProducts,
    Trace,
)
from viewlet.matrix.algebra.sizes import Shape, measured
from viewlet.matrix.compile.cost import Costs, Kind
from viewlet.matrix.delta.changes import Change, against, diagonal_of, matrix_of, product_of
from viewlet.matrix.delta.factors import Array
from viewlet.matrix.delta.resize import Frame

BLOCKS = 8
"""The number of refreshes between checks of a matrix in blocks: a check reads all blocks, an update writes none."""


class Multipliable(Protocol):
    """Products of new matrices with vectors."""

    frame: Frame
    dtype: np.dtype[np.floating[Any]]

    def shape(self, name: str) -> Shape: ...

    def old(self, name: str) -> Array: ...

    def change(self, name: str) -> Change | None: ...

    def times(self, name: str, vectors: Array) -> Array: ...


class Health:
    """The residual checks of one maintained program."""

    def __init__(self, tolerance: float, probes: int = 2, seed: int = 0) -> None:
        self.tolerance = tolerance
        self.probes = probes
        self._random = np.random.default_rng(seed)
        self._credit: dict[str, float] = {}

    def is_due(self, name: str, op: Op, costs: Costs, kind: Kind, in_blocks: bool = False) -> bool:
        """Whether the credit of refreshes since the last check pays for another; in blocks, their number decides."""
        due_at = costs.checking(name, op, self.probes)
        credit = self._credit.get(name, 0.0) + (due_at / BLOCKS if in_blocks else costs.credit(name, op, kind))
        due = self.probes > 0 and credit >= due_at
        self._credit[name] = 0.0 if due else credit
        return due

    def residual(self, name: str, op: Op, tried: Multipliable) -> float | None:
        """The distance of a new result from its definition, relative to its size; None if it cannot drift."""
        if isinstance(op, Elementwise):
            return None
        columns = measured(tried.shape(name), tried.frame.common)[1]
        vectors = self._random.standard_normal((columns, self.probes)).astype(tried.dtype)
        with np.errstate(all="ignore"):
            if isinstance(op, Inverse):
                return self._inverse(name, op, vectors, tried)
            wanted, scale = self._defined(op, vectors, tried)
            found = tried.times(name, vectors)
            size = max(scale, float(np.linalg.norm(wanted)), float(np.linalg.norm(found)))
            return float(np.linalg.norm(found - wanted)) / size if size else 0.0

    def _inverse(self, name: str, op: Inverse, vectors: Array, tried: Multipliable) -> float:
        """‖A'(W'z) − z‖ / ‖z‖, for z that are zero in deleted rows."""
        resize = tried.frame.resize(tried.shape(name)[0])
        if resize is not None:
            vectors[resize.gone] = 0
        found = tried.times(op.of, tried.times(name, vectors))
        return float(np.linalg.norm(found - vectors)) / max(1.0, float(np.linalg.norm(vectors)))

    def _defined(self, op: Op, z: Array, tried: Multipliable) -> tuple[Array, float]:
        """The definition's value of result · z, and the size of its terms."""
        match op:
            case Product(a, b):
                return _sized(tried.times(a, tried.times(b, z)))
            case SumOfProducts(products, addends):
                terms = [tried.times(a, tried.times(b, z)) for a, b in products] + [tried.times(c, z) for c in addends]
                return np.add.reduce(terms), sum(float(np.linalg.norm(term)) for term in terms)
            case Steps(a, start, added, times):
                found, constant = tried.times(start, z), None if added is None else tried.times(added, z)
                for _ in range(times):
                    found = tried.times(a, found) if constant is None else tried.times(a, found) + constant
                return _sized(found)
            case Add(a, b) | Subtract(a, b):
                left, right = tried.times(a, z), tried.times(b, z)
                size = float(np.linalg.norm(left) + np.linalg.norm(right))
                return (left + right if isinstance(op, Add) else left - right), size
            case Scale(factor, a):
                number = tried.old(factor)[0, 0] if isinstance(factor, str) else factor
                return _sized(tried.times(a, z) * tried.dtype.type(number))
            case Stack(parts, 0):
                return _sized(np.vstack([tried.times(p, z) for p in parts]))
            case Stack(parts, _):
                widths = [measured(tried.shape(p), tried.frame.common)[1] for p in parts]
                pieces = np.split(z, np.cumsum(widths)[:-1])
                return _sized(np.add.reduce([tried.times(p, v) for p, v in zip(parts, pieces, strict=True)]))
            case Sum(a, axis):
                return self._summed(a, axis, z, tried)
            case Trace(a) | Diagonal(a):
                column = np.diagonal(tried.old(a))[:, None]
                change = tried.change(a)
                now = column if change is None else column + matrix_of(diagonal_of(change))
                return (now if isinstance(op, Diagonal) else now.sum(keepdims=True)) @ z, float(np.abs(now).sum())
            case Inner(a, b):
                return self._inner(a, b, z, tried)
            case _:
                raise AssertionError(f"{op} is a view, or has no delta rule")

    def _summed(self, of: str, axis: int | None, z: Array, tried: Multipliable) -> tuple[Array, float]:
        columns = measured(tried.shape(of), tried.frame.common)[1]
        rows = tried.times(of, z if axis == 0 else np.ones((columns, 1), dtype=tried.dtype))
        total = rows if axis == 1 else rows.sum(axis=0, keepdims=True)
        return (total if axis == 0 else total @ z), float(np.abs(rows).sum())

    def _inner(self, a: str, b: str, z: Array, tried: Multipliable) -> tuple[Array, float]:
        """⟨A', B'⟩ cannot be estimated from vectors: it reads all entries, without forming either new matrix."""
        da, db = tried.change(a), tried.change(b)
        size = float(np.vdot(tried.old(a), tried.old(b)))
        size += against(tried.old(b), da) if da is not None else 0.0
        size += against(tried.old(a), db) if db is not None else 0.0
        size += product_of(da, db) if da is not None and db is not None else 0.0
        return np.full((1, 1), size, dtype=tried.dtype) @ z, abs(size)


def _sized(value: Array) -> tuple[Array, float]:
    return value, 0.0
