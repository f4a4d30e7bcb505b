"""The delta rule of iterations without stored steps: the change of T after k steps of T ← A·T + B, from vectors only.

    ΔTₖ = Σ Aʲ·(ΔA·T'ₖ₋₁₋ⱼ + ΔB) + Aᵏ·ΔT₀        for j from 0 to k − 1

With ΔA = U·Vᵀ the left factors are the vectors Aʲ·U. The right ones are T'ₘᵀ·V, which do not need T'ₘ:

    T'ₘᵀ·V = T'₀ᵀ·Wₘ + B'ᵀ·(W₀ + … + Wₘ₋₁)       where Wⱼ = (A'ᵀ)ʲ·V

So each step reads A once, with vectors on both sides (which span Krylov spaces of A); T₀ and B are read once. If T is
as thin as these vectors, the steps are repeated on T itself, with A' = A + U·Vᵀ.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from viewlet.matrix.algebra.ops import Steps
from viewlet.matrix.algebra.sizes import measured
from viewlet.matrix.blocks.large import is_large
from viewlet.matrix.delta.changes import Change, Dense, Factored, around, total
from viewlet.matrix.delta.compress import compress
from viewlet.matrix.delta.factors import Array, Factor, beside, multiply, plus
from viewlet.matrix.delta.protocol import Delta, Epoch, NoRule


def krylov(name: str, op: Steps, epoch: Epoch) -> Delta:
    """The change of the last T."""
    read = (op.matrix, op.start, op.added)
    a, start, added = (None if n is None else epoch.change(n) for n in read)
    columns = measured(epoch.shape(name), epoch.frame.common)[1]
    if isinstance(a, Factored) and is_stepped(columns, a.rank) and not is_large(epoch.old(name)):
        return _stepped(name, op, epoch, columns)
    if isinstance(a, Dense) or isinstance(start, Dense) or isinstance(added, Dense):
        return NoRule("the change of its start, its factor or its addend is not of low rank")
    matrix, terms = epoch.old(op.matrix), list[Change]()
    if a is not None:  # Σ Aʲ·ΔA·T'ₖ₋₁₋ⱼ
        terms.append(_through(op, epoch, matrix, a))
    if start is not None:  # Aᵏ·ΔT₀
        terms.append(Factored(_powers(matrix, start.left, op.times)[-1], start.right))
    if added is not None:  # (I + A + … + Aᵏ⁻¹)·ΔB
        terms.append(Factored(reduce(plus, _powers(matrix, added.left, op.times - 1)), added.right))
    found = total(terms) if terms else None
    return compress(found) if isinstance(found, Factored) else None


def is_stepped(columns: int, rank: int) -> bool:
    """Whether T is no wider than the vectors on both sides, so that repeating the steps on T is cheaper."""
    return columns <= 2 * rank


def _stepped(name: str, op: Steps, epoch: Epoch, columns: int) -> Dense:
    """T' − T: repeats all steps, with a new A that is never formed."""
    each = np.eye(columns, dtype=epoch.dtype)
    found = epoch.times(op.start, each)
    added = None if op.added is None else epoch.times(op.added, each)
    for _ in range(op.times):
        found = epoch.times(op.matrix, found)
        found = found if added is None else found + added
    return Dense(found - epoch.old(name))


def _powers(matrix: Array, vectors: Factor, times: int) -> list[Factor]:
    """vectors, A·vectors, …, Aᵏ·vectors"""
    found = [vectors]
    for _ in range(times):
        found.append(multiply(matrix, found[-1]))
    return found


def _through(op: Steps, epoch: Epoch, matrix: Array, change: Factored) -> Factored:
    """Σ Aʲ·U·(T'ₖ₋₁₋ⱼᵀ·V)ᵀ"""
    lefts, rights = [change.left], [change.right]
    for _ in range(op.times - 1):
        left, right = around(matrix, change, lefts[-1], rights[-1])
        lefts.append(left)
        rights.append(right)
    vectors = beside(rights)
    first = epoch.meet(op.start, vectors)
    by_step = (first.size, op.times, change.rank)
    met = np.array(first.dense()).reshape(by_step)
    if op.added is not None:  # nothing is added before the first step
        met[:, 1:] += np.cumsum(epoch.meet(op.added, vectors).dense().reshape(by_step), axis=1)[:, :-1]
    return Factored(beside(lefts), Factor(first.size, met[:, ::-1].reshape(first.size, -1)))
