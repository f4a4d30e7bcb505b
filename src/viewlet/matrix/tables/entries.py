"""Rows of a table as records of a matrix: a key, which is one label or two, and the entries under it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewlet.columns.arrays import valid_mask, values_of
from viewlet.columns.rows import Rows
from viewlet.errors import RejectedEpoch, shortened
from viewlet.formatting import plural
from viewlet.matrix.delta.factors import Array
from viewlet.matrix.tables.sources import Long, Wide

Key = Hashable
"""The label of a row of a wide matrix, or the labels of an entry of a long one."""


@dataclass(frozen=True)
class Difference:
    """What becomes of the records of an input: where in `values` each new and each replaced one is, and which go."""

    new: dict[Key, int]
    replaced: dict[Key, int]
    gone: list[Key]
    values: Array

    @property
    def is_nothing(self) -> bool:
        return not (self.new or self.replaced or self.gone)


def difference(name: str, source: Wide | Long, delta: Rows, width: int) -> Difference:
    """The net change of a table, as that of the records of an input, which have so many entries each.

    Rows are told apart by their keys alone: where there is one row for each key, a change of some takes away at most one
    row under a key, and puts in at most one.
    """
    keys, columns = _columns_of(source)
    came, went = delta.filter(delta.weights > 0), delta.filter(delta.weights < 0)
    found: dict[Key, int] = {}
    for at, (key, weight) in enumerate(zip(_keys(source, came, keys), came.weights.tolist(), strict=True)):
        if key in found or weight > 1:
            raise twice(name, source, key)
        found[key] = at
    lost = {key: at for at, key in enumerate(_keys(source, went, keys))}
    replaced = {key: at for key, at in found.items() if key in lost}
    values = _values(source, came, columns, width)
    return Difference(
        {key: at for key, at in found.items() if key not in lost},
        _without_equal(replaced, lost, values, _numbers(went, columns, width)) if replaced else {},
        [key for key in lost if key not in found],
        values,
    )


def _without_equal(replaced: dict[Key, int], lost: dict[Key, int], now: Array, before: Array) -> dict[Key, int]:
    """Those whose entries are not what they were."""
    new, old = ([at[key] for key in replaced] for at in (replaced, lost))
    differs = (now[new] != before[old]).any(axis=1)
    return {key: at for (key, at), other in zip(replaced.items(), differs.tolist(), strict=True) if other}


def twice(name: str, source: Wide | Long, key: Key) -> RejectedEpoch:
    """More than one record under a key."""
    what = "rows" if isinstance(source, Wide) else "values"
    return RejectedEpoch(
        f"{source.table} has two {what} for {place_of(source, key)}, but {name} takes one",
        hint="make a view that groups them, and read that",
    )


def missing(name: str, source: Wide | Long, key: Key) -> RejectedEpoch:
    """A record that is taken away, and was not there."""
    return RejectedEpoch(
        f"{source.table} deletes what {name} does not have for {place_of(source, key)}",
        hint="only existing rows may be deleted from a TRUSTED table",
    )


def place_of(source: Wide | Long, key: Key) -> str:
    """A key as a user would look it up."""
    match source, key:
        case Long(_, row, column), (at, across):
            return f"{row} = {at!r}, {column} = {across!r}"
        case _:
            return f"{source.row} = {key!r}"


def _columns_of(source: Wide | Long) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that are the key, and those that hold entries."""
    match source:
        case Wide(_, columns, row):
            assert row is not None, "only sums over rows can do without a key"
            return (row,), tuple(columns)
        case Long(_, row, column, value):
            return (row, column), (value,)
        case _:
            assert_never(source)


def _keys(source: Wide | Long, rows: Rows, keys: Sequence[str]) -> list[Key]:
    columns = [rows[key].to_pylist() for key in keys]
    for key, column in zip(keys, columns, strict=True):
        if None in column:
            raise RejectedEpoch(
                f"{source.table}.{key} is NULL in a row of a matrix", hint="rows and columns of a matrix need labels"
            )
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


def _values(source: Wide | Long, rows: Rows, columns: Sequence[str], width: int) -> Array:
    """The entries as doubles, a row for each record; all are finite numbers."""
    for column in columns:
        if pa.types.is_list(rows[column].type):
            _refuse_lengths(source, rows, column, width)
        elif rows[column].null_count:
            raise _no_number(source, rows.filter(~valid_mask(rows[column])), column)
    found = _numbers(rows, columns, width)
    if not np.isfinite(found).all():
        row, at = np.argwhere(~np.isfinite(found))[0].tolist()
        raise _no_number(source, rows.take(np.array([row])), columns[min(at, len(columns) - 1)])
    return found


def _numbers(rows: Rows, columns: Sequence[str], width: int) -> Array:
    if pa.types.is_list(rows[columns[0]].type):
        return _doubles(rows[columns[0]].flatten()).reshape(len(rows), width)
    found = np.empty((len(rows), width))
    for at, column in enumerate(columns):
        found[:, at] = _doubles(rows[column])
    return found


def _doubles(array: pa.Array) -> Array:
    return values_of(array if pa.types.is_float64(array.type) else pc.cast(array, pa.float64(), safe=False), "f8")


def _refuse_lengths(source: Wide | Long, rows: Rows, column: str, width: int) -> None:
    """An array must have an entry, and not NULL, for each column of the matrix."""
    lengths = np.asarray(pc.fill_null(pc.list_value_length(rows[column]), -1))
    if (lengths != width).any():
        row = rows.filter(lengths != width)
        key = _keys(source, row, _columns_of(source)[0])[0]
        count = "NULL" if (found := row[column][0].as_py()) is None else plural(len(found), "value")
        raise RejectedEpoch(f"{source.table}.{column} is {count} where {place_of(source, key)}, not {width} values")
    if rows[column].flatten().null_count:
        whole = np.array([None not in values for values in rows[column].to_pylist()])
        raise _no_number(source, rows.filter(~whole), column)


def _no_number(source: Wide | Long, row: Rows, column: str) -> RejectedEpoch:
    key = _keys(source, row, _columns_of(source)[0])[0]
    value = row[column][0].as_py()
    return RejectedEpoch(
        f"{source.table}.{column} is {'NULL' if value is None else shortened(value)} where {place_of(source, key)}",
        hint="a matrix takes finite numbers; make a view that leaves such rows out, or fills them",
    )
