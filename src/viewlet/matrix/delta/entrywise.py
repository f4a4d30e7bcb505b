"""The delta rule of elementwise functions: if few rows (or columns) change, only those are recomputed."""

from __future__ import annotations

import numpy as np

from viewlet.matrix.algebra.ops import Elementwise
from viewlet.matrix.arrays.evaluate import apply_function
from viewlet.matrix.delta.changes import Change, Factored, rows_of, transposed
from viewlet.matrix.delta.factors import Array, Factor, Indices, unit
from viewlet.matrix.delta.protocol import Delta, Epoch, NoRule

MOST = 0.5
"""The fraction of rows beyond which evaluating all of them is as cheap."""


def entrywise(name: str, op: Elementwise, epoch: Epoch) -> Delta:
    """The change of the changed rows or columns; no rule if the change is spread over the matrix."""
    shape = epoch.shape(name)
    names = [p for p in op.operands if isinstance(p, str)]
    if all(epoch.change(n) is None for n in names) and not epoch.frame.touches(shape):
        return None
    if not shape:
        return NoRule("it is a number")
    if any(epoch.change(n) is not None for n in names if not epoch.shape(n)):
        return NoRule(f"{op.function} of all entries with a number that changed")
    for axis in (0, 1):
        touched = _touched(names, epoch, axis, name)
        if touched is not None:
            return _difference(name, op, epoch, axis, touched)
    return NoRule(f"{op.function} of entries has no factors, and more than a few rows or columns change")


def _touched(names: list[str], epoch: Epoch, axis: int, result: str) -> Indices | None:
    """The rows (axis 0) or columns (1) that change, if they are few."""
    shape = epoch.shape(result)
    if epoch.frame.resize(shape[1 - axis]) is not None:
        return None
    resize = epoch.frame.resize(shape[axis])
    found = [resize.moving] if resize is not None else []
    for change in (c for n in names if (c := epoch.change(n)) is not None):
        at = (change.left, change.right)[axis].at if isinstance(change, Factored) else None
        if at is None:
            return None
        found.append(at)
    touched = np.unique(np.concatenate(found))
    return touched if len(touched) <= MOST * epoch.old(result).shape[axis] else None


def _difference(name: str, op: Elementwise, epoch: Epoch, axis: int, touched: Indices) -> Change:
    """E·(F(A') − F(A)), where E selects the rows; deleted rows become zero."""
    was = _along(epoch.old(name), axis)[touched]
    resize = epoch.frame.resize(epoch.shape(name)[axis])
    stays = np.ones(len(touched), dtype=bool) if resize is None else ~np.isin(touched, resize.gone)
    step = -was
    step[stays] += apply_function(op.function, [_new_rows(p, epoch, axis, touched[stays]) for p in op.operands])
    size = _along(epoch.old(name), axis).shape[0]
    change = Factored(unit(size, touched, step.dtype), Factor(step.shape[1], step.T))
    return change if axis == 0 else transposed(change)


def _new_rows(operand: str | float, epoch: Epoch, axis: int, wanted: Indices) -> Array | float:
    if isinstance(operand, float):
        return operand
    if not epoch.shape(operand):
        return epoch.old(operand)
    rows, change = _along(epoch.old(operand), axis)[wanted], epoch.change(operand)
    return rows if change is None else rows + rows_of(change if axis == 0 else transposed(change), wanted)


def _along(matrix: Array, axis: int) -> Array:
    return matrix if axis == 0 else matrix.T
