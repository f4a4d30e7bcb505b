"""Exact sums of integers and decimals.

A number is a row of *limbs*: digits to the base 2³², least significant first, the last one signed. Limbs of many
numbers add up in 64 bits without overflow (fewer than 2³¹ rows), and `carried` turns the sums into digits again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, from_numpy, values_of
from viewlet.columns.rows import Weights

Limb = np.ndarray[Any, np.dtype[np.int64]]
_BASE, _LOW = 32, np.int64(0xFFFFFFFF)


def limbs_of(array: pa.Array) -> list[Limb]:
    """The limbs of integers or unscaled decimals; arbitrary where NULL."""
    kind = array.type
    if not pa.types.is_decimal128(kind):
        values = values_of(array, f"i{kind.bit_width // 8}").astype(np.int64)
        return [values] if kind.bit_width <= 32 else [values & _LOW, values >> _BASE]
    raw = array.buffers()[1]
    if raw is None:
        return [np.zeros(len(array), dtype=np.int64)]
    words = np.frombuffer(raw, dtype=np.int64, count=2 * (array.offset + len(array)))[2 * array.offset :]
    low, high = words[0::2], words[1::2]
    if kind.precision <= 18:
        return [low & _LOW, low >> _BASE]
    return [low & _LOW, low >> _BASE & _LOW, high & _LOW, high >> _BASE]


def carried(limbs: Sequence[Limb]) -> list[Limb]:
    """The same numbers with carries propagated: every limb but the last is a digit again."""
    result, carry = [], np.zeros(len(limbs[0]), dtype=np.int64)
    for limb in limbs[:-1]:
        total = limb + carry
        result.append(total & _LOW)
        carry = total >> _BASE
    return [*result, limbs[-1] + carry]


def to_bigint(limbs: Sequence[Limb]) -> tuple[Limb, Mask]:
    """The numbers in 64 bits, and which of them overflow."""
    digits = carried(limbs)
    if len(digits) == 1:
        return digits[0], np.zeros(len(digits[0]), dtype=np.bool_)
    assert len(digits) == 2
    low, high = digits
    return low | (high << _BASE), high != (high << _BASE) >> _BASE


def to_decimal(limbs: Sequence[Limb], kind: pa.Decimal128Type) -> tuple[pa.Array, Mask]:
    """The numbers as decimals of a type, and which of them do not fit."""
    digits = _widened(carried(limbs))
    l0, l1, l2, l3 = digits[:4]
    low, high = l0 | (l1 << _BASE), l2 | (l3 << _BASE)
    words = np.empty(2 * len(low), dtype=np.int64)
    words[0::2], words[1::2] = low, high
    over = l3 != (l3 << _BASE) >> _BASE
    return from_numpy(words.view("V16"), kind), over | _too_wide(low, high, kind.precision)


def _widened(digits: list[Limb]) -> list[Limb]:
    """The number in four limbs, the last one signed."""
    while len(digits) < 4:
        top = digits.pop()
        digits += [top & _LOW, top >> _BASE]
    return digits


def _too_wide(low: Limb, high: Limb, precision: int) -> Mask:
    """Which 128-bit numbers have more than `precision` digits."""
    limit = 10**precision
    if limit < 2**63:
        return (high != low >> 63) | (low >= limit) | (low <= -limit)
    near = np.abs(high.astype(np.float64)) >= float(limit >> 64) * (1 - 1e-9)
    for i in np.flatnonzero(near).tolist():
        near[i] = abs((int(high[i]) << 64) + int(low.view(np.uint64)[i])) >= limit
    return near


def to_double(limbs: Sequence[Limb]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The numbers as doubles, exact up to 2⁵³."""
    if len(limbs) <= 2:
        values, over = to_bigint(limbs)
        if not over.any():
            return values.astype(np.float64)
    return np.array([float(n) for n in to_ints(limbs)], dtype=np.float64)


def to_ints(limbs: Sequence[Limb]) -> list[int]:
    """The numbers as Python integers."""
    columns = [limb.tolist() for limb in limbs]
    return [sum(digit << (_BASE * place) for place, digit in enumerate(row)) for row in zip(*columns, strict=True)]


def add_limbs(limbs: Sequence[Limb], weights: Weights, groups: Limb, count: int) -> list[Limb]:
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


def averages(limbs: Sequence[Limb], counts: Weights, scale: int, kind: pa.Decimal128Type) -> tuple[pa.Array, Mask]:
    """Sum / count for decimals of a scale, rounded as in Spark, and which do not fit; a count of 0 gives 0."""
    divisors = np.maximum(counts, 1)
    values, wide = to_bigint(limbs) if len(limbs) <= 2 else (counts, np.ones(1, dtype=np.bool_))
    shift = 10 ** (kind.scale - scale)
    if kind.scale <= 19 and not wide.any() and int(np.abs(values).max(initial=0)) < 2**62 // shift:
        quotients, rests = np.divmod(np.abs(values) * shift, divisors)
        rounded = (quotients + (2 * rests >= divisors)) * np.sign(values)
        return to_decimal([rounded & _LOW, rounded >> _BASE], kind)
    exact = [_average(n, d, scale, kind.scale) for n, d in zip(to_ints(limbs), divisors.tolist(), strict=True)]
    return to_decimal(_from_ints(exact), kind)


def _average(number: int, divisor: int, scale: int, result_scale: int) -> int:
    first = _divided(number * 10 ** (_SPARK_SCALE - scale), divisor)
    return _divided(first, 10 ** (_SPARK_SCALE - result_scale))


def _divided(number: int, divisor: int) -> int:
    """The quotient rounded half away from zero."""
    quotient, rest = divmod(abs(number), divisor)
    rounded = quotient + (2 * rest >= divisor)
    return -rounded if number < 0 else rounded


def _from_ints(numbers: Sequence[int]) -> list[Limb]:
    places = [[n >> (_BASE * place) & 0xFFFFFFFF for n in numbers] for place in range(3)]
    return [np.array(limb, dtype=np.int64) for limb in (*places, [n >> (3 * _BASE) for n in numbers])]
