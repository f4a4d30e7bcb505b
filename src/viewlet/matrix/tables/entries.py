"""Rows of a table as records of a matrix: a key of one or two labels, and entries."""

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
    """The change of an input's records: positions in `values` of new and replaced ones, and deleted keys."""

    new: dict[Key, int]
    replaced: dict[Key, int]
    gone: list[Key]
    values: Array

    @property
    def is_nothing(self) -> bool:
        return not (self.new or self.replaced or self.gone)


def difference(name: str, source: Wide | Long, delta: Rows, width: int) -> Difference:
    """The change of an input's records, of `width` entries each, from the net change of its table.

    Records are identified by their keys: if each key has one row, a change deletes at most one row of a key and
    inserts at most one.
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
    """The replaced records whose entries differ."""
    new, old = ([at[key] for key in replaced] for at in (replaced, lost))
    differs = (now[new] != before[old]).any(axis=1)
    return {key: at for (key, at), other in zip(replaced.items(), differs.tolist(), strict=True) if other}


def twice(name: str, source: Wide | Long, key: Key) -> RejectedEpoch:
    """The error for a key with several records."""
    what = "rows" if isinstance(source, Wide) else "values"
    return RejectedEpoch(
        f"{source.table} has two {what} for {place_of(source, key)}, but {name} takes one",
        hint="make a view that groups them, and read that",
    )


def missing(name: str, source: Wide | Long, key: Key) -> RejectedEpoch:
    """The error for a deleted record that did not exist."""
    return RejectedEpoch(
        f"{source.table} deletes what {name} does not have for {place_of(source, key)}",
        hint="only existing rows may be deleted from a TRUSTED table",
    )


def place_of(source: Wide | Long, key: Key) -> str:
    """A key as a condition on the table's columns."""
    match source, key:
        case Long(_, row, column), (at, across):
            return f"{row} = {at!r}, {column} = {across!r}"
        case _:
            return f"{source.row} = {key!r}"


def _columns_of(source: Wide | Long) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The key columns, and the columns of entries."""
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
    """The entries as doubles, a row for each record; raise if one is not finite."""
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
    """Refuse arrays without an entry for each column of the matrix, or with NULL."""
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
