"""NumPy views of Arrow arrays: validity, values, offsets, bytes. Data are copied only if necessary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

Mask = np.ndarray[Any, np.dtype[np.bool_]]
Positions = np.ndarray[Any, np.dtype[np.int64]]


def _concat_columns(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    columns = [pa.concat_arrays([b.column(i) for b in batches]) for i in range(batches[0].num_columns)]
    return pa.RecordBatch.from_arrays(columns, schema=batches[0].schema)


concat_batches: Callable[[Sequence[pa.RecordBatch]], pa.RecordBatch] = getattr(pa, "concat_batches", _concat_columns)
"""Concatenates batches of one schema; PyArrow has it since 19."""


def valid_mask(array: pa.Array) -> Mask:
    """Which values are not NULL."""
    return _bits_of(array, 0)


def truth_of(array: pa.Array) -> Mask:
    """The values of a boolean array; arbitrary where NULL."""
    return _bits_of(array, 1)


def _bits_of(array: pa.Array, which: int) -> Mask:
    buffer = array.buffers()[which]
    if buffer is None:
        return np.ones(len(array), dtype=np.bool_)
    packed = np.frombuffer(buffer, dtype=np.uint8)
    first, last = array.offset // 8, (array.offset + len(array) + 7) // 8
    unpacked = np.unpackbits(packed[first:last], bitorder="little")
    return unpacked[array.offset % 8 : array.offset % 8 + len(array)].view(np.bool_)


def values_of(array: pa.Array, dtype: str) -> np.ndarray[Any, Any]:
    """The values of a fixed-width array; arbitrary where NULL."""
    buffer = array.buffers()[1]
    if buffer is None:
        return np.zeros(len(array), dtype=dtype)
    return np.frombuffer(buffer, dtype=dtype, count=array.offset + len(array))[array.offset :]


def offsets_of(array: pa.Array) -> Positions:
    """The offsets of strings or lists, one more than there are values."""
    wide = (
        pa.types.is_large_string(array.type)
        or pa.types.is_large_binary(array.type)
        or pa.types.is_large_list(array.type)
    )
    buffer = array.buffers()[1]
    if buffer is None or buffer.size == 0:
        return np.zeros(len(array) + 1, dtype=np.int64)
    dtype: Any = np.int64 if wide else np.int32
    return np.frombuffer(buffer, dtype=dtype, count=array.offset + len(array) + 1)[array.offset :].astype(np.int64)


def data_bytes(array: pa.Array, start: int, stop: int, room: int = 8) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Bytes of a string or binary array, padded so that `room` bytes can be read from any position."""
    padded = np.zeros(stop - start + room, dtype=np.uint8)
    if stop > start:
        padded[: stop - start] = np.frombuffer(array.buffers()[2], dtype=np.uint8)[start:stop]
    return padded


def from_numpy(values: np.ndarray[Any, Any], kind: pa.DataType, valid: Mask | None = None) -> pa.Array:
    """An Arrow array of a fixed-width type over NumPy values."""
    if valid is None or valid.all():
        buffers = [None, pa.py_buffer(np.ascontiguousarray(values))]
        return pa.Array.from_buffers(kind, len(values), buffers)
    packed = np.packbits(valid, bitorder="little")
    return pa.Array.from_buffers(kind, len(values), [pa.py_buffer(packed), pa.py_buffer(np.ascontiguousarray(values))])


def combine(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column that may be chunked as one array."""
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks == 1:
            return column.chunk(0)
        combined = column.combine_chunks()
        return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)
    return column


def columns_of(table: pa.Table | pa.RecordBatch) -> list[pa.Array]:
    """The columns of a table, each as one array."""
    if isinstance(table, pa.RecordBatch):
        return table.columns
    return [
        combine(column) for column in table.combine_chunks().columns
    ]  # together: column by column takes three times as long
