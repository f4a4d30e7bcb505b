"""Integers and unscaled decimals as *limbs*: digits to the base 2³², least significant first, the last one signed.

Limbs of many numbers add up in 64 bits without overflow (fewer than 2³¹ rows), and `carried` turns the sums into digits
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import values_of
from viewlet.columns.exact.digits import BITS, MASK, Ints

Number = TypeVar("Number", int, Ints)


def limbs_of(array: pa.Array, count: int) -> list[Ints]:
    """Numbers as up to four limbs, which must be enough for them; arbitrary where NULL."""
    if count == 0:
        return []
    if pa.types.is_decimal(array.type):
        words = values_of(array, "V16").view(np.int64).reshape(-1, 2)
        low, high = words[:, 0], words[:, 1]
        if count > 2:
            return [low & MASK, low >> BITS & MASK, *([high] if count == 3 else [high & MASK, high >> BITS])]
    else:
        low = values_of(array, f"i{array.type.bit_width // 8}").astype(np.int64)
    return [low] if count == 1 else [low & MASK, low >> BITS]


def carried(limbs: Sequence[Ints]) -> list[Ints]:
    """The same numbers with carries propagated: every limb but the last is a digit again."""
    result, carry = [], np.zeros(len(limbs[0]), dtype=np.int64)
    for limb in limbs[:-1]:
        total = limb + carry
        result.append(total & MASK)
        carry = total >> BITS
    return [*result, limbs[-1] + carry]


def half_up(number: Number, divisor: Number) -> Number:
    """The quotient rounded to the nearest integer, half away from zero; twice the divisor must not overflow."""
    quotient, rest = divmod(abs(number), divisor)
    return (quotient + (2 * rest >= divisor)) * ((number >= 0) * 2 - 1)
