"""The stored form of a run's columns: as few bytes as hold their values.

    integers, dates, times, decimals   least + above      `above` in 0 to 6 bytes per row, or 8
    strings that repeat                dictionary[code]   `code` in 1 or 2 bytes per row
    hashes                             their first half   4 bytes per row; map_run.py computes the rest
    row numbers                        as they are        in 3 bytes if that is enough

A column with a single value takes no bytes. `least` is stored with the column's type, in the schema. Values are widened
on reading; a look-up widens only the rows that it finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, Positions, from_numpy, valid_mask, values_of
from viewlet.columns.parallel import MANY, in_parallel

_LEAST = b"least"
_WIDTHS = (1, 2, 3, 4, 5, 6, 8)
_UNSIGNED = {1: pa.uint8(), 2: pa.uint16(), 4: pa.uint32(), 8: pa.uint64()}
"""The types of stored numbers; other widths are fixed-size binary, little-endian."""
_SAMPLE = 1_000  # strings sampled to see whether they repeat
_CODES = 1 << 15  # the most values in a dictionary

Numbers = np.ndarray[Any, np.dtype[np.int64]]


def narrowed_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The columns of a batch in stored form."""
    named = list(zip(batch.columns, batch.schema.names, strict=True))
    made = list((in_parallel if batch.num_rows >= MANY else map)(lambda column: narrowed(*column), named))
    return pa.RecordBatch.from_arrays([array for array, _ in made], schema=pa.schema([field for _, field in made]))


def narrowed(array: pa.Array, name: str) -> tuple[pa.Array, pa.Field]:
    """A column in its stored form, and its field; unchanged if no form is narrower."""
    if pa.types.is_string(array.type) or pa.types.is_uint64(array.type):
        array = _coded(array) if pa.types.is_string(array.type) else _first_halves(array)
        return array, pa.field(name, array.type)
    if pa.types.is_uint32(array.type):
        array = narrowed_places(array)
        return array, pa.field(name, array.type)
    found = _above_least(array)
    if found is None:
        return array, pa.field(name, array.type)
    return found[0], pa.field(name, found[0].type, metadata={_LEAST: str(found[1])})


def _coded(array: pa.Array) -> pa.Array:
    """Strings as dictionary codes, if a sample shows that they repeat."""
    sample = (
        array.take(np.linspace(0, len(array) - 1, min(len(array), _SAMPLE)).astype(np.int64)) if len(array) else array
    )
    if 4 * len(sample.unique()) > len(sample):
        return array
    coded = array.dictionary_encode()
    if len(coded.dictionary) > min(_CODES, len(array) // 4):
        return array
    kind = pa.int8() if len(coded.dictionary) <= 1 << 7 else pa.int16()
    return pa.DictionaryArray.from_arrays(coded.indices.cast(kind), coded.dictionary)


def _first_halves(hashes: pa.Array) -> pa.Array:
    """The first 32 bits of each hash, which suffice to find rows."""
    return from_numpy((values_of(hashes, "u8") >> np.uint64(32)).astype(np.uint32), pa.uint32())


def narrowed_places(array: pa.Array) -> pa.Array:
    """Row numbers in 3 bytes each, if there are few enough rows."""
    return _of_width(values_of(array, "u4"), _PLACE) if len(array) <= 1 << 8 * _PLACE else array


_PLACE = 3


def _above_least(array: pa.Array) -> tuple[pa.Array, int] | None:
    """Differences to the least value in as few bytes as hold them, and that value; None if that saves nothing."""
    numbers = _numbers(array)
    if numbers is None or array.null_count == len(array):
        return None
    valid = valid_mask(array) if array.null_count else None
    known = numbers if valid is None else numbers[valid]
    least, most = int(known.min()), int(known.max())
    if least == most and valid is None:
        return pa.nulls(len(array)), least
    width = next(w for w in _WIDTHS if most - least < 1 << 8 * w)
    if 8 * width >= array.type.bit_width:
        return None
    return _of_width((numbers - np.int64(least)).view(np.uint64), width, valid), least


def _of_width(numbers: np.ndarray[Any, Any], width: int, valid: Mask | None = None) -> pa.Array:
    """Nonnegative numbers in `width` bytes each."""
    if width in _UNSIGNED:
        return from_numpy(numbers.astype(f"u{width}"), _UNSIGNED[width], valid)
    parts = np.ascontiguousarray(numbers).view(np.uint8).reshape(len(numbers), -1)[:, :width]
    return from_numpy(parts, pa.binary(width), valid)


def stored_numbers(array: pa.Array) -> np.ndarray[Any, Any]:
    """Stored numbers as NumPy's own type, or as bytes."""
    kind = array.type
    if pa.types.is_fixed_size_binary(kind):
        return values_of(array, f"V{kind.byte_width}")
    return values_of(array, f"{'i' if pa.types.is_signed_integer(kind) else 'u'}{kind.bit_width // 8}")


def as_numbers(stored: np.ndarray[Any, Any]) -> Numbers:
    """Stored numbers as newly allocated 64-bit integers."""
    if stored.dtype.kind != "V":
        return stored.astype(np.int64)
    numbers, width = np.zeros(len(stored), dtype=np.int64), stored.itemsize
    parts = numbers.view(np.uint8).reshape(len(stored), 8)
    given = np.ascontiguousarray(stored).view(np.uint8).reshape(len(stored), width)
    for some in [slice(width)] if len(stored) < _FEW else range(width):  # for many rows, byte by byte
        parts[:, some] = given[:, some]
    return numbers


def _numbers(array: pa.Array) -> Numbers | None:
    """Values as 64-bit integers, arbitrary where NULL; None if they are not integers or do not fit."""
    kind = array.type
    if pa.types.is_decimal128(kind):
        words = values_of(array, "V16").view(np.int64).reshape(-1, 2)
        low = np.ascontiguousarray(words[:, 0])
        fits = words[:, 1] == low >> 63
        return low if (fits if not array.null_count else fits | ~valid_mask(array)).all() else None
    if pa.types.is_signed_integer(kind) or (pa.types.is_temporal(kind) and kind.bit_width <= 64):
        return values_of(array, f"i{kind.bit_width // 8}").astype(np.int64, copy=False)
    return None


_FEW = 1_000


def taken(rows: StoredColumns | pa.RecordBatch, at: Positions) -> pa.RecordBatch:
    """Rows at some positions, widened."""
    return rows.take(at) if isinstance(rows, StoredColumns) else rows.take(from_numpy(at, pa.int64()))


class StoredColumns:
    """Columns in stored form that are widened on reading; without `kinds` they already have their types."""

    __slots__ = ("_batch", "_columns", "_kinds", "_names")

    def __init__(self, batch: pa.RecordBatch, kinds: Sequence[pa.DataType] | None = None) -> None:
        self._batch = batch
        self._kinds = None if kinds is None or list(kinds) == batch.schema.types else tuple(kinds)
        self._columns: list[_StoredColumn] = []
        self._names: list[str] = []

    def column(self, at: int, start: int, stop: int) -> pa.Array:
        """Some rows of one column."""
        if self._kinds is None:
            return self._batch.column(at).slice(start, stop - start)
        return self._opened()[at].slice(start, stop)

    def slice(self, start: int, stop: int, places: Sequence[int] | None = None) -> pa.RecordBatch:
        """Consecutive rows, with all columns or those at `places`."""
        if self._kinds is None:
            return self._selected(places).slice(start, stop - start)
        return self._batch_of([column.slice(start, stop) for column in self._picked(places)], places)

    def take(self, at: Positions, places: Sequence[int] | None = None) -> pa.RecordBatch:
        """Rows by their positions, with all columns or those at `places`."""
        if self._kinds is None:
            return self._selected(places).take(from_numpy(at, pa.int64()))
        return self._batch_of([column.take(at) for column in self._picked(places)], places)

    def last(self, at: Positions) -> Numbers:
        """The last column of some rows, which must be integers."""
        if self._kinds is None:
            numbers: Numbers = values_of(self._batch.column(self._batch.num_columns - 1), "i8")[at]
            return numbers
        return self._opened()[-1].numbers(at)

    def _selected(self, places: Sequence[int] | None) -> pa.RecordBatch:
        return self._batch if places is None else self._batch.select(list(places))

    def _picked(self, places: Sequence[int] | None) -> list[_StoredColumn]:
        columns = self._opened()
        return columns if places is None else [columns[place] for place in places]

    def _opened(self) -> list[_StoredColumn]:
        """All columns, prepared once: runs are read again and again."""
        if not self._columns:
            kinds, self._names = self._kinds or self._batch.schema.types, self._batch.schema.names
            stored = zip(self._batch.columns, self._batch.schema, kinds, strict=True)
            self._columns = [_StoredColumn(*column) for column in stored]
        return self._columns

    def _batch_of(self, columns: list[pa.Array], places: Sequence[int] | None) -> pa.RecordBatch:
        names = self._names if places is None else [self._names[place] for place in places]
        return pa.RecordBatch.from_arrays(columns, names=names)


class _StoredColumn:
    """A column: its stored array, and its stored numbers or codes in NumPy, if it has such."""

    __slots__ = ("_array", "_dictionary", "_is_wide", "_kind", "_least", "_stored")

    def __init__(self, array: pa.Array, field: pa.Field, kind: pa.DataType) -> None:
        self._array, self._kind, self._least = array, kind, _least_of(field)
        self._is_wide = array.type == kind
        self._dictionary = array.dictionary if pa.types.is_dictionary(array.type) else None
        self._stored = _numbers_or_codes(array if self._dictionary is None else array.indices)

    def slice(self, start: int, stop: int) -> pa.Array:
        return _widened(self._array.slice(start, stop - start), self._kind, self._least)

    def take(self, at: Positions) -> pa.Array:
        """Rows by position. For a few numbers NumPy takes a fraction of Arrow's time."""
        if self._stored is None or self._is_wide:
            return _widened(self._array.take(from_numpy(at, pa.int64())), self._kind, self._least)
        if self._dictionary is not None:
            return self._dictionary.take(pa.array(self._stored[at]))
        return from_numpy(_as_stored(self.numbers(at), self._kind), self._kind)

    def numbers(self, at: Positions) -> Numbers:
        """The numbers of some rows, none of which may be NULL."""
        assert self._stored is not None, f"{self._kind} is not stored as numbers"
        found = as_numbers(self._stored[at])
        found += self._least
        return found


def _numbers_or_codes(array: pa.Array) -> np.ndarray[Any, Any] | None:
    """The stored numbers of a column as NumPy; None if there are NULLs or other values."""
    kind = array.type
    if pa.types.is_null(kind):
        return np.broadcast_to(np.uint8(0), len(array))
    if array.null_count or not (pa.types.is_integer(kind) or pa.types.is_fixed_size_binary(kind)):
        return None
    return stored_numbers(array)


def _least_of(field: pa.Field) -> int:
    return int((field.metadata or {}).get(_LEAST, b"0"))


def _widened(array: pa.Array, kind: pa.DataType, least: int) -> pa.Array:
    """A stored column in its original type."""
    if array.type == kind:
        return array
    if pa.types.is_dictionary(array.type):
        return array.dictionary_decode()
    if pa.types.is_null(array.type):
        numbers = np.full(len(array), least, dtype=np.int64)
    else:
        numbers = as_numbers(stored_numbers(array))
        numbers += least
    valid = valid_mask(array) if array.null_count and not pa.types.is_null(array.type) else None
    return from_numpy(_as_stored(numbers, kind), kind, valid)


def _as_stored(numbers: Numbers, kind: pa.DataType) -> np.ndarray[Any, Any]:
    """Integers as the bytes of an array of the given type."""
    if not pa.types.is_decimal(kind):
        return numbers.astype(f"i{kind.bit_width // 8}", copy=False)
    words = np.empty((len(numbers), 2), dtype=np.int64)
    words[:, 0], words[:, 1] = numbers, numbers >> 63
    return words.reshape(-1).view("V16")
