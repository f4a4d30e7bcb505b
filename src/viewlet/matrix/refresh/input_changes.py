"""Converts updates of inputs to changes of matrices in the common frame: factored and recompressed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

import numpy as np
from numpy.typing import ArrayLike

from viewlet.matrix.algebra.ops import Declared
from viewlet.matrix.algebra.sizes import measured
from viewlet.matrix.delta.changes import Change, Dense, Factored, is_finite, total, transposed, zero
from viewlet.matrix.delta.compress import compress
from viewlet.matrix.delta.factors import Array, Factor, Indices, unit
from viewlet.matrix.delta.resize import Frame, Resize
from viewlet.matrix.errors import RejectedEpoch
from viewlet.matrix.refresh.updates import Border, ColumnChange, Entries, LowRank, Replace, RowChange, Update

NONE: Indices = np.zeros(0, dtype=np.intp)


def change_of(name: str, update: Update, old: Array, frame: Frame, declared: Declared) -> Change:
    """The change of an input; `old` is the old matrix in the common frame."""
    change = _change_of(name, update, old, frame, declared)
    if not is_finite(change):
        raise RejectedEpoch(f"{name} changes by more than a {old.dtype} can hold; nothing was changed")
    return change


def _change_of(name: str, update: Update, old: Array, frame: Frame, declared: Declared) -> Change:
    match update:
        case RowChange(changed, new, _):
            return _rows(name, old, dict(changed), new, frame.resize(declared.shape[0]))
        case ColumnChange(changed, new, _):
            columns = None if new is None else np.asarray(new).T
            return transposed(
                _rows(name, old.T, dict(changed), columns, frame.resize(declared.shape[1]), "{}[:, {}].T")
            )
        case Border(rows, columns, _):
            return _border(name, old, rows, columns, frame.resize(declared.shape[0]))
        case Entries():
            return _entries(name, old, update)
        case LowRank(u, v):
            return _low_rank(name, old, u, v)
        case Replace(matrix):
            return _replaced(old, checked(name, matrix, measured(declared.shape, frame.before), old.dtype))
        case _:
            assert_never(update)


def checked(name: str, value: ArrayLike, shape: tuple[int, int], dtype: Any) -> Array:
    """Convert to an array of that shape; raise naming the place of an entry that is not finite."""
    try:
        array = np.asarray(value, dtype=dtype)
    except (TypeError, ValueError) as problem:
        raise RejectedEpoch(f"{name}: {problem}", hint="a matrix is an array of numbers") from None
    if array.ndim < 2 and 1 in shape and array.size == shape[0] * shape[1]:
        array = array.reshape(shape)
    if array.shape != shape:
        raise RejectedEpoch(f"{name}: shape {array.shape} instead of {shape}")
    finite = np.isfinite(array)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise RejectedEpoch(f"{name} is {array[row, column]} in row {row}, column {column}; nothing was changed")
    return array


def _rows(
    name: str,
    old: Array,
    changed: dict[int, ArrayLike],
    new: ArrayLike | None,
    resize: Resize | None,
    called: str = "{}[{}]",
) -> Change:
    """E·D, where E selects the rows and D has their differences; `called` formats a row for errors."""
    width, there = old.shape[1], len(old) if resize is None else resize.old
    gone = resize.gone if resize is not None else NONE
    for row in changed:
        if not 0 <= row < there or (len(gone) and row in gone):
            raise RejectedEpoch(f"{name}: {row} cannot change: it is deleted, or is not one of {there}, counted from 0")
    at = np.asarray(sorted(changed), dtype=np.intp)
    after = np.zeros((len(at), width), dtype=old.dtype)
    for place, row in enumerate(at):
        after[place] = checked(called.format(name, row), changed[int(row)], (1, width), old.dtype)
    if resize is None and new is None:
        return compress(Factored(unit(len(old), at, old.dtype), Factor(width, (after - old[at]).T)))
    coming = resize.coming if resize is not None else NONE
    added = checked(name, new, (len(coming), width), old.dtype) if new is not None else after[:0]
    places = np.concatenate([at, gone, coming])
    steps = np.vstack([after - old[at], -old[gone], added])
    order = np.argsort(places)
    return compress(Factored(unit(len(old), places[order], old.dtype), Factor(width, steps[order].T)))


def _border(name: str, old: Array, rows: ArrayLike | None, columns: ArrayLike | None, resize: Resize | None) -> Change:
    """The change of added rows, added columns above them, and deleted ones."""
    if resize is None:
        return zero((len(old), len(old)), old.dtype)
    added, size = resize.added, resize.common
    bottom = np.zeros((added, size), dtype=old.dtype)
    side = np.zeros((size, added), dtype=old.dtype)
    if added:
        bottom[:] = checked(f"{name}, rows", [] if rows is None else rows, (added, size), old.dtype)
        above = checked(f"{name}, columns", [] if columns is None else columns, (resize.old, added), old.dtype)
        side[: resize.old] = above
    bottom[:, resize.gone] = 0
    side[resize.gone] = 0
    left = old[:, resize.gone].copy()
    left[resize.gone] = 0
    e, g = unit(size, resize.coming, old.dtype), unit(size, resize.gone, old.dtype)
    parts = [
        (e, Factor(size, bottom.T)),
        (Factor(size, side), e),
        (g, Factor(size, -old[resize.gone].T)),
        (Factor(size, -left), g),
    ]
    dense = [(u.dense(), v.dense()) for u, v in parts]
    return compress(Factored(_sparse(np.hstack([u for u, _ in dense])), _sparse(np.hstack([v for _, v in dense]))))


def _entries(name: str, old: Array, update: Entries) -> Change:
    """E·D + C·Fᵀ, where E selects rows and F columns: an entry joins its row or column, whichever has more entries."""
    values = checked(name, np.reshape(update.values, (1, -1)), (1, len(update.rows)), old.dtype)[0]
    gone = _places_of(update.gone, old)
    rows, columns = (np.concatenate(pair) for pair in zip((update.rows, update.columns), gone, strict=True))
    steps = np.concatenate([values, np.zeros(len(gone[0]), dtype=old.dtype)]) - old[rows, columns]
    by_row = np.bincount(rows)[rows] >= np.bincount(columns)[columns] if len(rows) else np.zeros(0, dtype=np.bool_)
    parts: list[Change] = []
    if by_row.any() or by_row.all():
        parts.append(_grouped(rows[by_row], columns[by_row], steps[by_row], old.shape))
    if not by_row.all():
        rest = ~by_row
        parts.append(transposed(_grouped(columns[rest], rows[rest], steps[rest], old.shape[::-1])))
    found = total(parts)
    assert isinstance(found, Factored)
    return compress(found)


def _places_of(gone: tuple[Sequence[int], Sequence[int]], old: Array) -> tuple[Indices, Indices]:
    """The nonzero entries of deleted rows and columns, which become zero first."""
    rows, columns = (np.asarray(g, dtype=np.intp) for g in gone)
    in_rows, in_columns = np.nonzero(old[rows]), np.nonzero(old[:, columns])
    return (
        np.concatenate([rows[in_rows[0]], in_columns[0]]),
        np.concatenate([in_rows[1], columns[in_columns[1]]]),
    )


def _grouped(rows: Indices, columns: Indices, steps: Array, shape: tuple[int, ...]) -> Factored:
    """Entries as one rank for each row."""
    (at, places), (across, spread) = (np.unique(side, return_inverse=True) for side in (rows, columns))
    values = np.zeros((len(across), len(at)), dtype=steps.dtype)
    values[spread, places] = steps
    right = Factor(shape[1], values, across)
    wide = 2 * len(across) >= shape[1]
    return Factored(unit(shape[0], at, steps.dtype), Factor(shape[1], right.dense()) if wide else right)


def _low_rank(name: str, old: Array, u: ArrayLike, v: ArrayLike) -> Change:
    rank = np.asarray(u).shape[1] if np.asarray(u).ndim == 2 else 1
    left = checked(f"{name}, u", u, (old.shape[0], rank), old.dtype)
    right = checked(f"{name}, v", v, (old.shape[1], rank), old.dtype)
    return compress(Factored(_sparse(left), _sparse(right)))


def _replaced(old: Array, new: Array) -> Change:
    """The difference of two matrices: by rows if few differ, else as one matrix."""
    step = new - (old if isinstance(old, np.ndarray) else old.gathered())
    touched: Indices = np.flatnonzero(step.any(axis=1))
    if 2 * len(touched) > len(old):
        return Dense(step)
    return compress(Factored(unit(len(old), touched, old.dtype), Factor(old.shape[1], step[touched].T)))


def _sparse(values: Array) -> Factor:
    """A factor without its zero rows, if these are most, or fewer rows than ranks are left."""
    at: Indices = np.flatnonzero(values.any(axis=1))
    is_sparse = len(at) < max(len(values) / 2, values.shape[1])
    return Factor(len(values), values[at], at) if is_sparse else Factor(len(values), values)
