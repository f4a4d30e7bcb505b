"""Updates of inputs, as given by users, and the common frame of an epoch.

RowChange(changed={3: row}, new=rows, gone=[7])       rows; new ones are appended
ColumnChange(changed={0: column}, new=…, gone=…)      columns
Border(rows, columns, gone=…)                         rows and columns of a square matrix together
Entries(rows, columns, values, added=…, gone=…)       single entries, and added and deleted rows and columns
LowRank(u, v)                                         + u @ v.T
Replace(matrix)                                       another matrix of the same size
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import NamedTuple, assert_never

import numpy as np
from numpy.typing import ArrayLike

from viewlet.matrix.algebra.ops import Declared
from viewlet.matrix.algebra.sizes import symbol_of
from viewlet.matrix.blocks.buffer import LargeBuffer
from viewlet.matrix.delta.changes import Change
from viewlet.matrix.delta.factors import Array, Indices
from viewlet.matrix.delta.resize import Frame, Resize
from viewlet.matrix.errors import RejectedEpoch, UnknownName
from viewlet.matrix.refresh.buffers import Buffer


@dataclass(frozen=True, slots=True)
class RowChange:
    """Changed, new (appended) and deleted rows."""

    changed: Mapping[int, ArrayLike] = field(default_factory=dict)
    new: ArrayLike | None = None
    gone: Iterable[int] = ()


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """Changed, new (appended) and deleted columns."""

    changed: Mapping[int, ArrayLike] = field(default_factory=dict)
    new: ArrayLike | None = None
    gone: Iterable[int] = ()


@dataclass(frozen=True, slots=True)
class Border:
    """Rows and columns of a square matrix, appended or deleted together.

    With r of them, `rows` is r × (n + r), and `columns`, which is above the new rows, n × r.
    """

    rows: ArrayLike | None = None
    columns: ArrayLike | None = None
    gone: Iterable[int] = ()


@dataclass(frozen=True, slots=True)
class Entries:
    """New values of some entries; rows and columns, added as zeros or deleted.

    Positions count added ones, after the last, and deleted ones. The last rows move into the gaps of deleted ones.
    """

    rows: Indices
    columns: Indices
    values: Array
    added: tuple[int, int] = (0, 0)
    gone: tuple[Sequence[int], Sequence[int]] = ((), ())


@dataclass(frozen=True, slots=True)
class LowRank:
    """u @ v.T is added."""

    u: ArrayLike
    v: ArrayLike


@dataclass(frozen=True, slots=True)
class Replace:
    """Another matrix of the same size."""

    matrix: ArrayLike


Update = RowChange | ColumnChange | Border | Entries | LowRank | Replace


class SizeChange(NamedTuple):
    """The number of added rows or columns, the deleted ones, and whether the last ones fill the gaps."""

    added: int
    gone: tuple[int, ...]
    fills: bool = False


SAME = SizeChange(0, ())


def frame_of(updates: Mapping[str, Update], inputs: tuple[Declared, ...], sizes: Mapping[str, int]) -> Frame:
    """The common frame of an epoch; all matrices with a size must change it in the same way."""
    known = {i.name: i for i in inputs}
    for name in updates:
        if name not in known:
            raise UnknownName(f"the program has no input {name}", hint=f"its inputs are {', '.join(known)}")
    if not any(map(_may_resize, updates.values())):
        return Frame(sizes, {})
    said: dict[str, tuple[str, SizeChange]] = {}
    for name, declared in known.items():
        for axis, dim in enumerate(declared.shape):
            wanted = _wanted(updates.get(name), axis, declared.shape[1 - axis] == 1)
            symbol = symbol_of(dim)
            if symbol is None and wanted != SAME:
                raise _fixed(name, axis, str(dim))
            if symbol is not None:
                _agree(said, symbol, name, wanted)
    return Frame(sizes, {s: _resize(name, sizes[s], w) for s, (name, w) in said.items() if w != SAME})


def _may_resize(update: Update) -> bool:
    """Whether an update may add or delete rows or columns: a quick test, as most do not."""
    match update:
        case RowChange(_, new, gone) | ColumnChange(_, new, gone):
            return new is not None or not isinstance(gone, Sized) or len(gone) > 0
        case LowRank() | Replace():
            return False
        case _:
            return True


def _wanted(update: Update | None, axis: int, is_vector: bool) -> SizeChange:
    match update, axis:
        case (RowChange(_, new, gone), 0) | (ColumnChange(_, new, gone), 1) | (Border(new, _, gone), 0):
            return SizeChange(_count(new, axis, is_vector), tuple(sorted(gone)))
        case Border(new, _, gone), _:
            return SizeChange(_count(new, 0, is_vector), tuple(sorted(gone)))
        case Entries(added=added, gone=lost), _:
            return SizeChange(added[axis], tuple(sorted(lost[axis])), fills=bool(lost[axis]))
        case _:
            return SAME


def _count(new: ArrayLike | None, axis: int, is_vector: bool) -> int:
    """The number of new rows or columns; a flat list is one of them or, for a vector, one for each entry."""
    if new is None:
        return 0
    array = np.asarray(new)
    if array.ndim == 2:
        return int(array.shape[axis])
    return array.size if is_vector else 1


def _fixed(name: str, axis: int, dim: str) -> RejectedEpoch:
    what = "columns" if axis else "rows"
    return RejectedEpoch(
        f"{name} has exactly {dim} {what}; none can be added or deleted",
        hint="declare the size by a name, such as 'n', to let their number change",
    )


def _agree(said: dict[str, tuple[str, SizeChange]], symbol: str, name: str, wanted: SizeChange) -> None:
    first, before = said.setdefault(symbol, (name, wanted))
    if before != wanted:
        raise RejectedEpoch(
            f"{first} and {name} both have {symbol} rows or columns, but {first} gets {_described(before)} and {name} {_described(wanted)}",
            hint="change them in the same update; of a square matrix, rows and columns with Border",
        )


def _described(wanted: SizeChange) -> str:
    return f"{wanted.added} new and loses {list(wanted.gone)}"


def _resize(name: str, size: int, wanted: SizeChange) -> Resize:
    added, gone, fills = wanted
    if len(set(gone)) < len(gone) or (gone and not 0 <= gone[0] <= gone[-1] < size):
        raise RejectedEpoch(
            f"{name}: {list(gone)} cannot be deleted: there are {size}, counted from 0, and each can be deleted once"
        )
    return Resize(size, added, np.asarray(gone, dtype=np.intp), fills)


def apply(update: Update | None, change: Change, buffer: Buffer | LargeBuffer) -> None:
    """A += Δ; given entries are stored exactly, as old + (new − old) could be rounded."""
    if not isinstance(update, Entries):  # other updates are fully described by the change
        buffer.add(change)
    if isinstance(buffer, Buffer):
        _put(update, buffer.array)
    elif isinstance(update, Entries):
        buffer.put(update.rows, update.columns, update.values)


def _put(update: Update | None, array: Array) -> None:
    match update:
        case RowChange(changed):
            for row, entries in changed.items():
                array[row] = np.ravel(entries)
        case ColumnChange(changed):
            for column, entries in changed.items():
                array[:, column] = np.ravel(entries)
        case Entries(rows, columns, values):
            array[rows, columns] = values
        case Replace(matrix):
            array[...] = np.reshape(matrix, array.shape)
        case Border() | LowRank() | None:
            pass
        case _:
            assert_never(update)
