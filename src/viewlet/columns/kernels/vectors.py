"""The operands of kernels: the values of a column, and which of them are not NULL.

Fixed-width values are NumPy arrays (a date as days, a timestamp as microseconds, a decimal as its unscaled integer:
int64 while every value and its negative fit, Python integers otherwise), arbitrary where NULL. They are as long as the
rows, or of length one if all rows have the same value. Strings, binary and nested values are Arrow arrays, always as
long as the rows, and also carry their own NULLs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, truth_of, valid_mask
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.rows import Rows
from viewlet.plan.expr import Literal
from viewlet.plan.types import Type

Values = Any
"""A NumPy array or an Arrow array."""
Vector = tuple[Values, Mask | None]
"""Values, and a mask of those that are not NULL; None if none is."""
Evaluate = Callable[[Rows], Vector]

DTYPES = {
    "tinyint": "i1", "smallint": "i2", "int": "i4", "bigint": "i8", "float": "f4", "double": "f8",
    "date": "i4", "timestamp": "i8", "timestamp_ntz": "i8",
}  # fmt: skip
NO_ROWS: Mask = np.zeros(1, dtype=np.bool_)
"""False for every row."""
ALL_ROWS: Mask = np.ones(1, dtype=np.bool_)
"""True for every row."""
_WORD = (1 << 64) - 1
_SMALLEST = np.iinfo(np.int64).min
"""It has no negative in int64, so decimals are never stored as it."""


def is_flat(kind: Type) -> bool:
    """Whether values of the type are NumPy arrays here."""
    return kind.name in DTYPES or kind.name in ("boolean", "decimal", "void")


def anywhere(mask: Mask) -> bool:
    """Whether a mask holds anywhere, tested in the fastest way for a few rows."""
    return bool(np.count_nonzero(mask))


def both(left: Mask | None, right: Mask | None) -> Mask | None:
    """Where both values are not NULL."""
    if left is None:
        return right
    return left if right is None else left & right


def spread(values: np.ndarray[Any, Any], length: int) -> np.ndarray[Any, Any]:
    """One value for each row."""
    return values if len(values) == length else np.repeat(values, length)


def reader(kind: Type) -> Callable[[pa.Array], Vector]:
    """The function that turns a column of the type into a vector."""
    match kind.name:
        case "boolean":
            return _read_booleans
        case "decimal":
            return _read_short_decimals if kind.args[0] <= 18 else _read_long_decimals
        case "void":
            return lambda array: (NO_ROWS, NO_ROWS)
        case name if name in DTYPES:
            return _fixed_reader(DTYPES[name])
    return read_arrow


def read_arrow(array: pa.Array) -> Vector:
    return array, valid_mask(array) if array.null_count else None


def _fixed_reader(name: str) -> Callable[[pa.Array], Vector]:
    dtype = np.dtype(name)
    width = dtype.itemsize

    def read(array: pa.Array) -> Vector:
        values = np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * width)
        return values, valid_mask(array) if array.null_count else None

    return read


def _read_booleans(array: pa.Array) -> Vector:
    return truth_of(array), valid_mask(array) if array.null_count else None


def _limbs(array: pa.Array) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The low and high half of each 128-bit integer."""
    return np.frombuffer(array.buffers()[1], np.int64, 2 * len(array), 16 * array.offset).reshape(-1, 2)


def _read_short_decimals(array: pa.Array) -> Vector:
    return _limbs(array)[:, 0], valid_mask(array) if array.null_count else None


def _read_long_decimals(array: pa.Array) -> Vector:
    limbs = _limbs(array)
    low, high = limbs[:, 0], limbs[:, 1]
    valid = valid_mask(array) if array.null_count else None
    wide = (high != low >> 63) | (low == _SMALLEST)
    if not anywhere(wide if valid is None else wide & valid):
        return low, valid
    pairs = zip(high.tolist(), low.view(np.uint64).tolist(), strict=True)
    return np.array([(h << 64) + w for h, w in pairs], dtype=object), valid


def writer(kind: Type) -> Callable[[Vector, int], pa.Array]:
    """The function that turns a vector into an Arrow array of the type and of a given length."""
    arrow = arrow_type(kind)
    match kind.name:
        case "boolean":
            return _write_booleans
        case "decimal":
            return lambda vector, length: _write_decimals(vector, length, arrow)
        case "void":
            return lambda vector, length: pa.nulls(length)
        case name if name in DTYPES:
            return lambda vector, length: _write_fixed(vector, length, arrow)
    return lambda vector, length: vector[0]


def _packed(mask: Mask | None, length: int) -> pa.Buffer | None:
    return None if mask is None else pa.py_buffer(np.packbits(spread(mask, length), bitorder="little"))


def _write_fixed(vector: Vector, length: int, arrow: pa.DataType) -> pa.Array:
    data = pa.py_buffer(np.ascontiguousarray(spread(vector[0], length)))
    return pa.Array.from_buffers(arrow, length, [_packed(vector[1], length), data])


def _write_booleans(vector: Vector, length: int) -> pa.Array:
    return pa.Array.from_buffers(pa.bool_(), length, [_packed(vector[1], length), _packed(vector[0], length)])


def _write_decimals(vector: Vector, length: int, arrow: pa.DataType) -> pa.Array:
    values, valid = spread(vector[0], length), vector[1]
    limbs = np.empty((length, 2), dtype=np.int64)
    if values.dtype == object:
        if valid is not None:
            values = np.where(valid, values, 0)
        limbs[:, 0] = np.array([v & _WORD for v in values], dtype=np.uint64).view(np.int64)
        limbs[:, 1] = [v >> 64 for v in values]
    else:
        limbs[:, 0] = values
        limbs[:, 1] = limbs[:, 0] >> 63
    return pa.Array.from_buffers(arrow, length, [_packed(valid, length), pa.py_buffer(limbs)])


def literal_vector(literal: Literal) -> Vector:
    """A constant, as a vector of one row."""
    return reader(literal.type)(pa.array([literal.value], type=arrow_type(literal.type)))


def constant(literal: Literal) -> Evaluate:
    """A constant, for any number of rows."""
    vector = literal_vector(literal)
    if is_flat(literal.type):
        return lambda rows: vector
    value, missing = vector[0][0], literal.value is None

    def evaluate(rows: Rows) -> Vector:
        return pa.repeat(value, len(rows)), np.zeros(len(rows), dtype=np.bool_) if missing else None

    return evaluate
