"""The delta rule of inverses: Sherman–Morrison–Woodbury, also for added and deleted rows and columns.

In the common frame a matrix is zero in added rows before the change, and in deleted ones after it, so it is singular.
Ones on that part of the diagonal make it invertible: W + E·Eᵀ before, for added rows, W' + G·Gᵀ after, for deleted
ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from viewlet.matrix.delta.changes import Change, Dense, Factored, total
from viewlet.matrix.delta.compress import compress
from viewlet.matrix.delta.factors import Array, Factor, inner, multiply, plus, unit
from viewlet.matrix.delta.protocol import Delta, NoRule
from viewlet.matrix.delta.resize import Resize

WORST = 1e8
"""The condition number of the small matrix beyond which the update would lose too many digits."""


def woodbury(inverse: Array, change: Change | None, resize: Resize | None) -> Delta:
    """ΔW for W = A⁻¹ and ΔA = U·Vᵀ: −W U (I + Vᵀ W U)⁻¹ Vᵀ W, solving only a k × k system."""
    if change is None and resize is None:
        return None
    if isinstance(change, Dense):
        return NoRule("the change of its operand is not of low rank")
    bordered = _bordered(change, resize, inverse.dtype)
    if bordered.rank == 0:
        return compress(_unbordered(bordered, resize, inverse.dtype))
    left, right = _meet(inverse, bordered.left, resize), _meet(inverse.T, bordered.right, resize)
    small = np.eye(bordered.rank, dtype=inverse.dtype) + inner(bordered.right, left)
    if not np.isfinite(small).all() or np.linalg.cond(small) > WORST:
        return NoRule("the change is close to one that has no inverse")
    middle = np.linalg.solve(small, np.eye(len(small), dtype=small.dtype))
    update = Factored(left.times(-middle), right)
    return update if resize is None else compress(_unbordered(update, resize, inverse.dtype))


def _bordered(change: Factored | None, resize: Resize | None, dtype: Any) -> Factored:
    """ΔA + G·Gᵀ − E·Eᵀ: the change between the two invertible matrices."""
    parts: list[Change] = [] if change is None else [change]
    if resize is not None:
        signs = np.where(resize.moving < resize.old, 1.0, -1.0)
        parts.append(_diagonal(resize, signs, dtype))
    summed = total(parts)
    assert isinstance(summed, Factored)
    return compress(summed) if resize is not None else summed


def _unbordered(update: Factored, resize: Resize | None, dtype: Any) -> Factored:
    """ΔW from the change of the bordered inverses: + E·Eᵀ − G·Gᵀ."""
    if resize is None:
        return update
    signs = np.where(resize.moving < resize.old, -1.0, 1.0)
    summed = total([update, _diagonal(resize, signs, dtype)])
    assert isinstance(summed, Factored)
    return summed


def _diagonal(resize: Resize, signs: Array, dtype: Any) -> Factored:
    left = Factor(resize.common, np.diag(signs).astype(dtype), resize.moving)
    return Factored(left, unit(resize.common, resize.moving, dtype))


def _meet(inverse: Array, factor: Factor, resize: Resize | None) -> Factor:
    """(W + E·Eᵀ) · factor."""
    met = multiply(inverse, factor)
    if resize is None or not resize.added:
        return met
    return plus(met, Factor(factor.size, factor.rows(resize.coming), resize.coming))
