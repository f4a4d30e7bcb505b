"""Changes of inputs, as users say them, and as changes of matrices in a common frame.

RowChange(changed={3: row}, new=rows, gone=[7])       rows; new ones come after the last
ColumnChange(changed={0: column}, new=…, gone=…)      columns
Border(rows, columns, gone=…)                         rows and columns of a square matrix together
LowRank(u, v)                                         + u @ v.T
Replace(matrix)                                       another matrix of that size
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

import numpy as np
from numpy.typing import ArrayLike

from viewlet.matrix.changes import Change, Dense, Factored, is_finite, transposed
from viewlet.matrix.compress import compress
from viewlet.matrix.errors import RejectedEpoch, UnknownName
from viewlet.matrix.factors import Array, Factor, Indices, unit
from viewlet.matrix.frames import Frame, Resize
from viewlet.matrix.ops import Declared
from viewlet.matrix.sizes import measured, symbol_of


@dataclass(frozen=True, slots=True)
class RowChange:
    """Rows that have other entries, come (after the last) or go."""

    changed: Mapping[int, ArrayLike] = field(default_factory=dict)
    new: ArrayLike | None = None
    gone: Iterable[int] = ()


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """Columns that have other entries, come (after the last) or go."""

    changed: Mapping[int, ArrayLike] = field(default_factory=dict)
    new: ArrayLike | None = None
    gone: Iterable[int] = ()


@dataclass(frozen=True, slots=True)
class Border:
    """Rows and columns of a square matrix that come together, after the last, or go.

    With r of them, `rows` is r × (n + r), and `columns`, which is above the new rows, n × r.
    """

    rows: ArrayLike | None = None
    columns: ArrayLike | None = None
    gone: Iterable[int] = ()


@dataclass(frozen=True, slots=True)
class LowRank:
    """u @ v.T is added."""

    u: ArrayLike
    v: ArrayLike


@dataclass(frozen=True, slots=True)
class Replace:
    """Another matrix of the same size."""

    matrix: ArrayLike


Update = RowChange | ColumnChange | Border | LowRank | Replace
Wanted = tuple[int, tuple[int, ...]]
"""How many rows or columns come, and which go."""
SAME: Wanted = (0, ())


def frame_of(updates: Mapping[str, Update], inputs: tuple[Declared, ...], sizes: Mapping[str, int]) -> Frame:
    """The common frame of an epoch; every matrix of a size must change it in the same way."""
    known = {i.name: i for i in inputs}
    for name in updates:
        if name not in known:
            raise UnknownName(f"the program has no input {name}", hint=f"its inputs are {', '.join(known)}")
    said: dict[str, tuple[str, Wanted]] = {}
    for name, declared in known.items():
        for axis, dim in enumerate(declared.shape):
            wanted = _wanted(updates.get(name), axis, declared.shape[1 - axis] == 1)
            symbol = symbol_of(dim)
            if symbol is None and wanted != SAME:
                raise _fixed(name, axis, str(dim))
            if symbol is not None:
                _agree(said, symbol, name, wanted)
    return Frame(sizes, {s: _resize(name, sizes[s], w) for s, (name, w) in said.items() if w != SAME})


def _wanted(update: Update | None, axis: int, is_vector: bool) -> Wanted:
    match update, axis:
        case (RowChange(_, new, gone), 0) | (ColumnChange(_, new, gone), 1) | (Border(new, _, gone), 0):
            return _count(new, axis, is_vector), tuple(sorted(gone))
        case Border(new, _, gone), _:
            return _count(new, 0, is_vector), tuple(sorted(gone))
        case _:
            return SAME


def _count(new: ArrayLike | None, axis: int, is_vector: bool) -> int:
    """How many rows or columns are new; a plain list is one of them, or as many entries of a vector."""
    if new is None:
        return 0
    array = np.asarray(new)
    if array.ndim == 2:
        return int(array.shape[axis])
    return array.size if is_vector else 1


def _fixed(name: str, axis: int, dim: str) -> RejectedEpoch:
    what = "columns" if axis else "rows"
    return RejectedEpoch(
        f"{name} has {dim} {what}, and none may come or go",
        hint=f"declare the size by a name, such as 'n', to let {what} come and go",
    )


def _agree(said: dict[str, tuple[str, Wanted]], symbol: str, name: str, wanted: Wanted) -> None:
    first, before = said.setdefault(symbol, (name, wanted))
    if before != wanted:
        raise RejectedEpoch(
            f"{first} and {name} both have {symbol} rows or columns, but {first} gets {_told(before)} and {name} {_told(wanted)}",
            hint="change them in the same update; of a square matrix, rows and columns with Border",
        )


def _told(wanted: Wanted) -> str:
    added, gone = wanted
    return f"{added} new and loses {list(gone)}"


def _resize(name: str, size: int, wanted: Wanted) -> Resize:
    added, gone = wanted
    if len(set(gone)) < len(gone) or (gone and not 0 <= gone[0] <= gone[-1] < size):
        raise RejectedEpoch(f"{name}: {list(gone)} cannot go; there are {size}, counted from 0, each may go once")
    return Resize(size, added, np.asarray(gone, dtype=np.intp))


def change_of(name: str, update: Update, old: Array, frame: Frame, declared: Declared) -> Change:
    """The change of an input; `old` is what it was, in the common frame."""
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
        case LowRank(u, v):
            return _low_rank(name, old, u, v)
        case Replace(matrix):
            return _replaced(old, checked(name, matrix, measured(declared.shape, frame.before), old.dtype))
        case _:
            assert_never(update)


def settle(update: Update | None, array: Array) -> None:
    """Entries that a user gave are kept to the last digit, where old + (new − old) would be rounded."""
    match update:
        case RowChange(changed):
            for row, entries in changed.items():
                array[row] = np.ravel(entries)
        case ColumnChange(changed):
            for column, entries in changed.items():
                array[:, column] = np.ravel(entries)
        case Replace(matrix):
            array[...] = np.reshape(matrix, array.shape)
        case Border() | LowRank() | None:
            pass
        case _:
            assert_never(update)


def checked(name: str, value: ArrayLike, shape: tuple[int, int], dtype: Any) -> Array:
    """An array of that shape with finite numbers, or the place that is not right."""
    try:
        array = np.asarray(value, dtype=dtype)
    except (TypeError, ValueError) as problem:
        raise RejectedEpoch(f"{name}: {problem}", hint="a matrix is an array of numbers") from None
    if array.ndim < 2 and 1 in shape and array.size == shape[0] * shape[1]:
        array = array.reshape(shape)
    if array.shape != shape:
        raise RejectedEpoch(f"{name}: shape {array.shape} where {shape} is due")
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        row, column = bad[0]
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
    """E·D, where E names the rows and D says what each changes by; a row is `called` so in errors."""
    width, there = old.shape[1], len(old) if resize is None else resize.old
    gone = resize.gone if resize is not None else np.zeros(0, dtype=np.intp)
    for row in changed:
        if not 0 <= row < there or row in gone:
            raise RejectedEpoch(f"{name}: {row} cannot change; it goes, or is not one of {there}, counted from 0")
    at = np.asarray(sorted(changed), dtype=np.intp)
    after = np.zeros((len(at), width), dtype=old.dtype)
    for place, row in enumerate(at):
        after[place] = checked(called.format(name, row), changed[int(row)], (1, width), old.dtype)
    coming = resize.coming if resize is not None else np.zeros(0, dtype=np.intp)
    added = checked(name, new, (len(coming), width), old.dtype) if new is not None else after[:0]
    places = np.concatenate([at, gone, coming])
    steps = np.vstack([after - old[at], -old[gone], added])
    order = np.argsort(places)
    return compress(Factored(unit(len(old), places[order], old.dtype), Factor(width, steps[order].T)))


def _border(name: str, old: Array, rows: ArrayLike | None, columns: ArrayLike | None, resize: Resize | None) -> Change:
    """New rows, new columns above them, and minus what goes."""
    if resize is None:
        return Dense(np.zeros_like(old))
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


def _low_rank(name: str, old: Array, u: ArrayLike, v: ArrayLike) -> Change:
    rank = np.asarray(u).shape[1] if np.asarray(u).ndim == 2 else 1
    left = checked(f"{name}, u", u, (old.shape[0], rank), old.dtype)
    right = checked(f"{name}, v", v, (old.shape[1], rank), old.dtype)
    return compress(Factored(_sparse(left), _sparse(right)))


def _replaced(old: Array, new: Array) -> Change:
    """The difference: by rows where few of them differ, else as one matrix."""
    step = new - old
    touched: Indices = np.flatnonzero(step.any(axis=1))
    if 2 * len(touched) > len(old):
        return Dense(step)
    return compress(Factored(unit(len(old), touched, old.dtype), Factor(old.shape[1], step[touched].T)))


def _sparse(values: Array) -> Factor:
    """A factor without its zero rows, where that is most of them."""
    at: Indices = np.flatnonzero(values.any(axis=1))
    return Factor(len(values), values[at], at) if 2 * len(at) < len(values) else Factor(len(values), values)
