"""Equality as Spark groups, partitions and joins: NULL is one value, NaN is one value, −0.0 is 0.0."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewlet.columns.arrays import Mask, Positions, from_numpy, valid_mask, values_of
from viewlet.columns.floats import canonical
from viewlet.columns.rows import group

KEY = "_key"
"""The column that holds the group of each row."""


def normalized(array: pa.Array) -> pa.Array:
    """The same values with canonical zeros and NaNs, at any depth."""
    kind = array.type
    if pa.types.is_floating(kind):
        return _normalized_floats(array)
    if not pa.types.is_nested(kind) or not _holds_floats(kind):
        return array
    missing = pa.array(~valid_mask(array)) if array.null_count else None
    if pa.types.is_struct(kind):
        parts = [normalized(pc.struct_field(array, [i])) for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=missing)
    offsets = array.offsets if array.offset == 0 else pc.subtract(array.offsets, array.offsets[0])
    values = array.values if array.offset == 0 else array.flatten()
    if array.offset and array.null_count:  # `flatten` drops the values of NULL lists, so offsets are recomputed
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), type=pa.int32())
    return pa.ListArray.from_arrays(offsets, normalized(values), type=kind, mask=missing)


def _holds_floats(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        return any(_holds_floats(kind.field(i).type) for i in range(kind.num_fields))
    return pa.types.is_floating(kind)


def _normalized_floats(array: pa.Array) -> pa.Array:
    values = values_of(array, f"f{array.type.bit_width // 8}")
    return from_numpy(canonical(values), array.type, valid_mask(array) if array.null_count else None)


def number_groups(keys: Sequence[pa.Array], length: int) -> tuple[Positions, Positions]:
    """Number the distinct, already normalized keys: where each occurs first, and each row's number."""
    if not keys:
        return np.zeros(min(length, 1), dtype=np.int64), np.zeros(length, dtype=np.int64)
    return group(keys, length)


def number_pairs(
    left: Sequence[pa.Array], right: Sequence[pa.Array], sizes: tuple[int, int]
) -> tuple[Positions, Positions]:
    """Number the keys of two sides jointly: equal keys get equal numbers."""
    both = [normalized(pa.concat_arrays([a, b])) for a, b in zip(left, right, strict=True)]
    _, numbers = number_groups(both, sum(sizes))
    return numbers[: sizes[0]], numbers[sizes[0] :]


def any_null(columns: Sequence[pa.Array]) -> Mask | None:
    """The rows with a NULL in some column; None if there are none."""
    found: Mask | None = None
    for column in columns:
        if column.null_count:
            found = ~valid_mask(column) if found is None else found | ~valid_mask(column)
    return found
