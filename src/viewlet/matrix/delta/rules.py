"""The delta rules: the change of each operator's result from those of its operands (§6.3.1 of the thesis, in factors).

A, B are the old matrices, ΔA, ΔB their changes, A' = A + ΔA the new ones. If there is no rule for a change, the result
is `NoRule` with the reason, and the statement is re-evaluated.
"""

from __future__ import annotations

from itertools import chain
from typing import assert_never

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
    Span,
    Stack,
    Steps,
    Subtract,
    Sum,
    SumOfProducts,
    Trace,
    Transpose,
)
from viewlet.matrix.algebra.sizes import Dim, Shape, measure, measured
from viewlet.matrix.delta.changes import (
    Change,
    Dense,
    Factored,
    against,
    carried,
    diagonal_of,
    entries,
    multiplied,
    product_of,
    scaled,
    squared,
    total,
    transposed,
)
from viewlet.matrix.delta.compress import compress
from viewlet.matrix.delta.entrywise import entrywise
from viewlet.matrix.delta.factors import Array, Factor, cut, place
from viewlet.matrix.delta.inverse import woodbury
from viewlet.matrix.delta.krylov import krylov
from viewlet.matrix.delta.protocol import Delta, Epoch, NoRule


def delta(name: str, op: Op, epoch: Epoch) -> Delta:
    """The change of a statement's result; None if it does not change."""
    old, change = epoch.old, epoch.change
    match op:
        case Add(a, b):  # Δ(A + B) = ΔA + ΔB
            return _sum(change(a), change(b))
        case Subtract(a, b):  # Δ(A − B) = ΔA − ΔB
            return _sum(change(a), _scaled(change(b), -1.0))
        case Scale(str() as factor, a) if change(factor) is not None:
            return NoRule(f"the number {factor} that all entries are scaled by changed")
        case Scale(factor, a):  # Δ(λA) = λ·ΔA
            return _scaled(change(a), old(factor)[0, 0] if isinstance(factor, str) else factor)
        case Product(a, b) if a == b and isinstance(da := change(a), Factored):  # Δ(A²) = ΔA·A' + A·ΔA
            return _sum(*squared(old(a), da))
        case SumOfProducts(products, addends):  # Δ(A·B + C) = ΔA·B' + A·ΔB + ΔC
            terms = (_terms(old(a), change(a), old(b), change(b)) for a, b in products)
            return _sum(*chain(*terms), *map(change, addends))
        case Steps():  # ΔT = Σ Aʲ·(ΔA·T'ₖ₋₁₋ⱼ + ΔB) + Aᵏ·ΔT₀
            return krylov(name, op, epoch)
        case Product(a, b):  # Δ(AB) = ΔA·B' + A·ΔB
            return _product(old(a), change(a), old(b), change(b))
        case Transpose(a):  # Δ(Aᵀ) = (ΔA)ᵀ
            return None if (da := change(a)) is None else transposed(da)
        case Inverse(a):  # Δ(A⁻¹) = −A⁻¹U (I + VᵀA⁻¹U)⁻¹ VᵀA⁻¹, Sherman–Morrison–Woodbury
            return woodbury(old(name), change(a), epoch.frame.resize(epoch.shape(a)[0]))
        case Solve():
            return NoRule("a solve keeps no inverse; under strategy 'incremental' it is a product with one")
        case Leading():
            return NoRule("directions turn with every change; the iteration resumes from the last ones")
        case Elementwise():  # ΔF(A) = E·(F(A') − F(A))[rows], if few rows or columns change
            return entrywise(name, op, epoch)
        case Slice(a, rows, columns):  # Δ(A[I, J]) = U[I]·(V[J])ᵀ
            return _sliced(epoch, a, rows, columns)
        case Stack(parts, axis):  # Δ[A B] = [ΔA 0] + [0 ΔB]
            return _stacked(epoch, parts, axis, measured(epoch.shape(name), epoch.frame.common)[axis])
        case Broadcast(a, shape):  # Δ(1·a) = Δ1·a + 1'·Δa, and so for columns
            return _broadcast(epoch, old(a), change(a), epoch.shape(a) or (1, 1), shape)
        case Sum(a, axis):  # Δ(1ᵀA) = (1ᵀU)·Vᵀ
            return _summed(change(a), axis)
        case Trace(a):  # Δtr(A) = tr(ΔA)
            return None if (da := change(a)) is None else _number(epoch, entries(diagonal_of(da)))
        case Diagonal(a):  # Δdiag(A) = diag(ΔA)
            return None if (da := change(a)) is None else diagonal_of(da)
        case Inner(a, b):  # Δ⟨A, B⟩ = ⟨ΔA, B⟩ + ⟨A, ΔB⟩ + ⟨ΔA, ΔB⟩
            return _inner(epoch, a, b)
        case Identity(size):  # ΔI = E·Eᵀ for added rows, −E·Eᵀ for deleted ones
            return _identity(epoch, size)
        case Full(shape, value):
            one = np.full((1, 1), value, dtype=epoch.dtype)
            return _broadcast(epoch, one, None, (1, 1), shape or (1, 1))
        case SizeOf(size):
            step = measure(size, epoch.frame.after) - measure(size, epoch.frame.before)
            return _number(epoch, float(step)) if step else None
        case Constant():
            return None
        case _:
            assert_never(op)


def _sum(*changes: Change | None) -> Change | None:
    there = [c for c in changes if c is not None]
    if len(there) < 2:
        return there[0] if there else None
    return _compressed(total(there))


def _compressed(change: Change) -> Change:
    return compress(change) if isinstance(change, Factored) else change


def _scaled(change: Change | None, factor: float) -> Change | None:
    return None if change is None else scaled(change, factor)


def _product(a: Array, da: Change | None, b: Array, db: Change | None) -> Change | None:
    return _sum(*_terms(a, da, b, db))


def _terms(a: Array, da: Change | None, b: Array, db: Change | None) -> tuple[Change | None, Change | None]:
    """ΔA·B' and A·ΔB; using the new B in the first term avoids a third."""
    return None if da is None else carried(da, b, db), None if db is None else multiplied(a, db)


def _number(epoch: Epoch, value: float) -> Dense:
    return Dense(np.full((1, 1), value, dtype=epoch.dtype))


def _sliced(epoch: Epoch, of: str, rows: Span, columns: Span) -> Delta:
    shape = epoch.shape(of)
    for dim, span in zip(shape, (rows, columns), strict=True):
        if epoch.frame.resize(dim) is not None and span != (None, None):
            return NoRule(f"{of} is a slice of rows or columns that are added or deleted")
    change = epoch.change(of)
    height, width = measured(shape, epoch.frame.common)
    (top, bottom, _), (first, last, _) = slice(*rows).indices(height), slice(*columns).indices(width)
    match change:
        case None:
            return None
        case Dense(matrix):
            return Dense(matrix[top:bottom, first:last])
        case Factored(left, right):
            return compress(Factored(cut(left, top, max(top, bottom)), cut(right, first, max(first, last))))
        case _:
            assert_never(change)


def _stacked(epoch: Epoch, parts: tuple[str, ...], axis: int, size: int) -> Change | None:
    offset, moved = 0, []
    for part in parts:
        change = epoch.change(part)
        if change is not None:
            moved.append(_placed(change, axis, size, offset))
        offset += measured(epoch.shape(part), epoch.frame.common)[axis]
    return _sum(*moved)


def _placed(change: Change, axis: int, size: int, offset: int) -> Change:
    if axis == 1:
        return transposed(_placed(transposed(change), 0, size, offset))
    match change:
        case Factored(left, right):
            return Factored(place(left, size, offset), right)
        case Dense(matrix):
            whole = np.zeros((size, matrix.shape[1]), dtype=matrix.dtype)
            whole[offset : offset + len(matrix)] = matrix
            return Dense(whole)
        case _:
            assert_never(change)


def _broadcast(epoch: Epoch, a: Array, da: Change | None, shape: Shape, wanted: Shape) -> Change | None:
    """A row, column or number times ones, whose number changes with the size."""
    if shape[1] != wanted[1]:
        ones, moved = epoch.frame.ones(wanted[1], epoch.dtype)
        row = ones.values.T
        da = _product(a, da, row, None if moved is None else transposed(_column(moved)))
        a = a @ row
    if shape[0] != wanted[0]:
        ones, moved = epoch.frame.ones(wanted[0], epoch.dtype)
        da = _product(ones.values, None if moved is None else _column(moved), a, da)
    return da


def _column(factor: Factor) -> Factored:
    return Factored(factor, Factor(1, np.ones((1, 1), dtype=factor.values.dtype)))


def _summed(change: Change | None, axis: int | None) -> Change | None:
    match change, axis:
        case None, _:
            return None
        case _, None:
            value = entries(change)
            kind = change.matrix if isinstance(change, Dense) else change.left.values
            return Dense(np.full((1, 1), value, dtype=kind.dtype))
        case Dense(matrix), _:
            return Dense(matrix.sum(axis=axis, keepdims=True))
        case Factored(left, right), 0:
            return compress(Factored(Factor(1, left.values.sum(axis=0, keepdims=True)), right))
        case Factored(left, right), _:
            return compress(Factored(left, Factor(1, right.values.sum(axis=0, keepdims=True))))
        case _:
            raise AssertionError


def _inner(epoch: Epoch, a: str, b: str) -> Change | None:
    da, db = epoch.change(a), epoch.change(b)
    if da is None and db is None:
        return None
    value = 0.0 if da is None else against(epoch.old(b), da)
    value += 0.0 if db is None else against(epoch.old(a), db)
    value += 0.0 if da is None or db is None else product_of(da, db)
    return _number(epoch, value)


def _identity(epoch: Epoch, size: Dim) -> Change | None:
    resize = epoch.frame.resize(size)
    if resize is None:
        return None
    signs = np.where(resize.moving < resize.old, -1.0, 1.0)
    left = Factor(resize.common, np.diag(signs).astype(epoch.dtype), resize.moving)
    return Factored(left, Factor(resize.common, np.eye(len(signs), dtype=epoch.dtype), resize.moving))
