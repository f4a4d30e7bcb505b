"""The values of readings as doubles, numbers or arrays of one length, and their validation."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewlet.columns.arrays import valid_mask, values_of
from viewlet.columns.arrow_types import arrow_type
from viewlet.plan.types import DOUBLE, Type
from viewlet.signal.samples.ragged import Ints, Mask

ARRAY = Type("array", (DOUBLE,))


def is_payload(kind: Type) -> bool:
    """Whether a type is a number or an array of numbers."""
    return kind.is_numeric or is_array(kind)


def is_array(kind: Type) -> bool:
    return kind.name == "array" and bool(kind.args[0].is_numeric)


def doubles(column: pa.Array, width: int | None) -> pa.Array:
    """A column converted to doubles, as it is stored."""
    return pc.cast(column, pa.float64() if width is None else arrow_type(ARRAY))


def is_finite(column: pa.Array, width: int | None) -> Mask:
    """A mask of the values without NULL, NaN or infinity."""
    kept = valid_mask(column)
    if width is None:
        return kept & np.isfinite(values_of(column, "f8"))
    inner = column.filter(pa.array(kept)).flatten()
    numbers = np.isfinite(values_of(inner, "f8")) & valid_mask(inner)
    kept = kept.copy()
    kept[np.flatnonzero(kept)] = numbers.reshape(-1, width).all(axis=1)
    return kept


def other_lengths(column: pa.Array, width: int) -> Ints:
    """The positions of arrays of another length."""
    return np.flatnonzero(pc.fill_null(pc.not_equal(pc.list_value_length(column), width), False))
