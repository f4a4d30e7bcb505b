"""Integers in a narrow range: their offsets from the least one identify them, without hashing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Positions, values_of


@dataclass(frozen=True)
class Dense:
    """Arrays of whole numbers as distances from the least of them, which are less than `width`."""

    offsets: list[Positions]
    least: int
    width: int


def dense(arrays: Sequence[pa.Array]) -> Dense | None:
    """Arrays of one type as distances, where these are whole numbers, none NULL, in a range that they could fill."""
    kind = arrays[0].type
    if not pa.types.is_signed_integer(kind) or any(array.null_count for array in arrays):
        return None
    values = [values_of(array, f"i{kind.bit_width // 8}").astype(np.int64, copy=False) for array in arrays]
    some = [v for v in values if len(v)]
    least = min((int(v.min()) for v in some), default=0)
    width = max((int(v.max()) for v in some), default=-1) - least + 1
    return (
        Dense([v - least if least else v for v in values], least, width) if 0 < width <= sum(map(len, some)) else None
    )


def distinct_numbers(array: pa.Array) -> tuple[Positions, Positions] | None:
    """Where each different number occurs first, and which of them each one is, in the order in which they come."""
    found = dense([array])
    if found is None:
        return None
    (offsets,), length = found.offsets, len(array)
    first_at = np.full(found.width, length, dtype=np.int64)
    first_at[offsets[::-1]] = np.arange(length - 1, -1, -1)  # of several that are written, the last one stays
    is_first = np.zeros(length + 1, dtype=np.int64)
    is_first[first_at] = 1
    codes = (np.cumsum(is_first) - 1)[first_at]
    return np.flatnonzero(is_first[:length]), codes[offsets]
