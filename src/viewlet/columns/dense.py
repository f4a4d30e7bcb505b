"""Integers in a narrow range, identified without hashing by their offsets from the least one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Positions, values_of


@dataclass(frozen=True)
class Dense:
    """Integer arrays as offsets from `least`, all below `width`."""

    offsets: list[Positions]
    least: int
    width: int


def dense(arrays: Sequence[pa.Array]) -> Dense | None:
    """Integer arrays of one type as offsets; None for NULLs or a range wider than the number of values."""
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
    """The first position of each distinct number, and each value's number in order of appearance; None if not dense."""
    found = dense([array])
    if found is None:
        return None
    (offsets,), length = found.offsets, len(array)
    first_at = np.full(found.width, length, dtype=np.int64)
    first_at[offsets[::-1]] = np.arange(length - 1, -1, -1)  # of several writes the last one wins
    is_first = np.zeros(length + 1, dtype=np.int64)
    is_first[first_at] = 1
    codes = (np.cumsum(is_first) - 1)[first_at]
    return np.flatnonzero(is_first[:length]), codes[offsets]
