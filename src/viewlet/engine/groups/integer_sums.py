"""Exact sums of integers and decimals of each group, limb by limb."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, from_numpy
from viewlet.columns.exact.digits import BITS, MASK, Ints
from viewlet.columns.exact.integers import carried, half_up, limbs_of
from viewlet.columns.rows import Weights
from viewlet.plan.sums import limbs_for


def limbs_in(array: pa.Array) -> list[Ints]:
    """As many limbs as the type of some numbers needs; arbitrary where NULL."""
    kind = array.type
    if pa.types.is_decimal(kind):
        return limbs_of(array, limbs_for(kind.precision))
    return limbs_of(array, 2 if kind.bit_width == 64 else 1)


def to_bigint(limbs: Sequence[Ints]) -> tuple[Ints, Mask]:
    """The numbers in 64 bits, and which of them overflow."""
    digits = carried(limbs)
    if len(digits) == 1:
        return digits[0], np.zeros(len(digits[0]), dtype=np.bool_)
    assert len(digits) == 2
    low, high = digits
    return low | (high << BITS), high != (high << BITS) >> BITS


def to_decimal(limbs: Sequence[Ints], kind: pa.Decimal128Type) -> tuple[pa.Array, Mask]:
    """The numbers as decimals of a type, and which of them do not fit."""
    digits = _widened(carried(limbs))
    l0, l1, l2, l3 = digits[:4]
    low, high = l0 | (l1 << BITS), l2 | (l3 << BITS)
    words = np.empty(2 * len(low), dtype=np.int64)
    words[0::2], words[1::2] = low, high
    over = l3 != (l3 << BITS) >> BITS
    return from_numpy(words.view("V16"), kind), over | _too_wide(low, high, kind.precision)


def _widened(digits: list[Ints]) -> list[Ints]:
    """The number in four limbs, the last one signed."""
    while len(digits) < 4:
        top = digits.pop()
        digits += [top & MASK, top >> BITS]
    return digits


def _too_wide(low: Ints, high: Ints, precision: int) -> Mask:
    """Which 128-bit numbers have more than `precision` digits."""
    limit = 10**precision
    if limit < 2**63:
        return (high != low >> 63) | (low >= limit) | (low <= -limit)
    near = np.abs(high.astype(np.float64)) >= float(limit >> 64) * (1 - 1e-9)
    for i in np.flatnonzero(near).tolist():
        near[i] = abs((int(high[i]) << 64) + int(low.view(np.uint64)[i])) >= limit
    return near


def to_double(limbs: Sequence[Ints]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The numbers as doubles, exact up to 2⁵³."""
    if len(limbs) <= 2:
        values, over = to_bigint(limbs)
        if not over.any():
            return values.astype(np.float64)
    return np.array([float(n) for n in to_ints(limbs)], dtype=np.float64)


def to_ints(limbs: Sequence[Ints]) -> list[int]:
    """The numbers as Python integers."""
    columns = [limb.tolist() for limb in limbs]
    return [sum(digit << (BITS * place) for place, digit in enumerate(row)) for row in zip(*columns, strict=True)]


def add_limbs(limbs: Sequence[Ints], weights: Weights, groups: Ints, count: int) -> list[Ints]:
    """The weighted sum of each group."""
    assert int(weights.sum()) < 2**31, "a group sum of 2^31 rows or more belongs to Spark"
    sums = []
    for limb in limbs:
        total = np.zeros(count, dtype=np.int64)
        np.add.at(total, groups, limb * weights)
        sums.append(total)
    return sums


_SPARK_SCALE = 39
"""Spark divides decimals to this many fractional digits, and then rounds to the result's scale."""


def averages(limbs: Sequence[Ints], counts: Weights, scale: int, kind: pa.Decimal128Type) -> tuple[pa.Array, Mask]:
    """Sum / count for decimals of a scale, rounded as in Spark, and which do not fit; a count of 0 gives 0."""
    divisors = np.maximum(counts, 1)
    values, wide = to_bigint(limbs) if len(limbs) <= 2 else (counts, np.ones(1, dtype=np.bool_))
    shift = 10 ** (kind.scale - scale)
    if kind.scale <= 19 and not wide.any() and int(np.abs(values).max(initial=0)) < 2**62 // shift:
        rounded = half_up(values * shift, divisors)
        return to_decimal([rounded & MASK, rounded >> BITS], kind)
    exact = [_average(n, d, scale, kind.scale) for n, d in zip(to_ints(limbs), divisors.tolist(), strict=True)]
    return to_decimal(_from_ints(exact), kind)


def _average(number: int, divisor: int, scale: int, result_scale: int) -> int:
    first = half_up(number * 10 ** (_SPARK_SCALE - scale), divisor)
    return half_up(first, 10 ** (_SPARK_SCALE - result_scale))


def _from_ints(numbers: Sequence[int]) -> list[Ints]:
    places = [[n >> (BITS * place) & MASK for n in numbers] for place in range(3)]
    return [np.array(limb, dtype=np.int64) for limb in (*places, [n >> (3 * BITS) for n in numbers])]
