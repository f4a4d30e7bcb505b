"""Converts samples to rows of a bag and back: the group's columns, the time, the channels, the block of time.

A block is a range of times of fixed length. Rows are looked up by group and block, so that reading the surroundings of
a change takes a few look-ups, however long the history is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import from_numpy, values_of
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.fresh_names import free_name
from viewlet.columns.rows import Rows, Weights
from viewlet.plan.types import BIGINT, DOUBLE, Field
from viewlet.signal.plan.kinds import Kind
from viewlet.signal.samples.payload import ARRAY
from viewlet.signal.samples.ragged import Ints, Values
from viewlet.signal.samples.series import Series
from viewlet.store import Layout


@dataclass(frozen=True)
class Columns:
    """The representation of samples of a kind as rows."""

    by: tuple[Field, ...]
    time: Field
    kind: Kind
    span: int
    """The length of a block in ticks."""

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The columns that users see."""
        return *self.by, self.time, *value_fields(self.kind)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.fields)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.by)

    @cached_property
    def time_type(self) -> pa.DataType:
        return arrow_type(self.time.type)

    @cached_property
    def block(self) -> str:
        return free_name("_block", self.names)

    @cached_property
    def layout(self) -> Layout:
        return Layout(columns=(*self.names, self.block), key=(*self.keys, self.block))

    @cached_property
    def blocks_layout(self) -> Layout:
        """The layout of a directory: a row for each block of a group, weighted by its number of readings."""
        return Layout(columns=(*self.keys, self.block), key=self.keys)

    def rows(self, keys: Rows, series: Series, weights: Weights) -> Rows:
        """Samples as rows; `keys` has the key of each group."""
        picked = keys.take(series.groups)
        columns = {name: picked[name] for name in self.keys}
        columns[self.time.name] = from_numpy(series.times, self.time_type)
        arrays = _arrays(series.values, self.kind)
        columns.update(zip(self.names[len(self.by) + 1 :], arrays, strict=True))
        columns[self.block] = pa.array(series.times // self.span)
        return Rows(columns, weights)

    def blocks(self, rows: Rows) -> Rows:
        """The directory entries for rows: a row for each block, weighted by its number of rows."""
        return rows.select((*self.keys, self.block)).consolidate()

    def nothing(self) -> Rows:
        """No rows."""
        types = {f.name: arrow_type(f.type) for f in self.fields}
        return Rows.empty({**types, self.block: pa.int64()})

    def times(self, rows: Rows) -> Ints:
        return values_of(rows[self.time.name], "i8")

    def values(self, rows: Rows) -> Values:
        """The channels of rows."""
        names = self.names[len(self.by) + 1 :]
        parts = [_numbers(rows[name], self.kind.width) for name in names]
        if self.kind.is_complex:
            parts = [_complex(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
        return np.stack(parts, axis=1)


def value_fields(kind: Kind) -> tuple[Field, ...]:
    """The columns of a signal's values: one for each channel, or two if it is complex."""
    number = DOUBLE if kind.width is None else ARRAY
    parts = ("_re", "_im") if kind.is_complex else ("",)
    return tuple(Field(f"{channel}{part}", number, nullable=False) for channel in kind.channels for part in parts)


def time_field(field: Field) -> Field:
    """The time column of a result: timestamps keep their type, numbers become BIGINT."""
    return Field(field.name, field.type if field.type.name.startswith("timestamp") else BIGINT, nullable=False)


def _arrays(values: Values, kind: Kind) -> list[pa.Array]:
    channels = [values[:, i] for i in range(values.shape[1])]
    parts = [part for c in channels for part in ((c.real, c.imag) if kind.is_complex else (c,))]
    return [_array(np.ascontiguousarray(part), kind.width) for part in parts]


def _array(values: Values, width: int | None) -> pa.Array:
    if width is None:
        return from_numpy(values, pa.float64())
    ends = pa.array(np.arange(len(values) + 1, dtype=np.int32) * width)
    return pa.ListArray.from_arrays(ends, from_numpy(values.ravel(), pa.float64()), type=arrow_type(ARRAY))


def _complex(real: Values, imaginary: Values) -> Values:
    """Complex numbers, exact to the bit: adding the parts would lose the signs of zeros."""
    result = np.empty(real.shape, dtype=np.complex128)
    result.real, result.imag = real, imaginary
    return result


def _numbers(column: pa.Array, width: int | None) -> Values:
    if width is None:
        return values_of(column, "f8")
    return values_of(column.flatten(), "f8").reshape(len(column), width)
