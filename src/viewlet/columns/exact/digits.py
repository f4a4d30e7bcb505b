"""Doubles as digits: sums of doubles, and of products of doubles, without rounding.

A double is three digits to the base 2³² somewhere on a fixed grid; a product of doubles is the product of their digits.
Digits of the same limb add up in 64 bits. A map holds them as rows of their own, distinguished by a *slot*: a sum of
degree d has d places of 128 slots each, and limb b of the sum is slot 64·d + b from its first one. For a double
−36 ≤ b ≤ 32, so the remaining slots are free to count NaN and infinities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Positions, valid_mask, values_of
from viewlet.plan.sums import Power, special_place

Ints = np.ndarray[Any, np.dtype[np.int64]]
Words = np.ndarray[Any, np.dtype[np.uint64]]
Doubles = np.ndarray[Any, np.dtype[np.float64]]
Found = tuple[Positions, Ints, Ints]
"""Rows, the slots that they add to, and the values that they add."""

BITS, MASK = 32, 0xFFFFFFFF
PLACE, MIDDLE = 128, 64
NAN, PLUS, MINUS = 120, 121, 122


@dataclass(frozen=True, slots=True)
class Digits:
    """Numbers sign · Σ digit_i · 2^(32·(limb + i)), with digits from 0 to 2³² − 1."""

    sign: Ints
    limb: Ints
    digits: Words

    def __mul__(self, other: Digits) -> Digits:
        words = np.zeros((len(self.digits) + len(other.digits), len(self.sign)), dtype=np.uint64)
        for i, digit in enumerate(self.digits):
            products = digit * other.digits
            words[i : i + len(other.digits)] += products & np.uint64(MASK)
            words[i + 1 : i + 1 + len(other.digits)] += products >> np.uint64(BITS)
        for i in range(len(words) - 1):
            words[i + 1] += words[i] >> np.uint64(BITS)
            words[i] &= np.uint64(MASK)
        return Digits(self.sign * other.sign, self.limb + other.limb, words)


def digits_of(numbers: Doubles) -> Digits:
    """The digits of finite numbers."""
    fraction, exponent = np.frexp(numbers)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    low = exponent.astype(np.int64) - 53
    limb, shift = low // BITS, low % BITS
    size = np.abs(mantissa)
    tail, head = (size & MASK) << shift, (size >> BITS) << shift
    words = np.stack([tail & MASK, (tail >> BITS) + (head & MASK), head >> BITS])
    return Digits(np.sign(mantissa), limb, words.view(np.uint64))


def held_digits(powers: Sequence[Power], values: Sequence[Doubles], place: int, degree: int = 1) -> list[Found]:
    """What each row adds to which slots, for a sum of doubles or products, or for sums of their powers."""
    finite = [finite_part(numbers) for numbers in values]
    if not powers:
        held = specials(values[0], special_place(place, degree))
        return [*held, *_in_slots(digits_of(finite[0]), place, degree)]
    found: list[Found] = []
    made: dict[Power, Digits] = dict(zip(((1, 0), (0, 1)), map(digits_of, finite), strict=False))
    for power, at in power_places(powers, place).items():
        found += _in_slots(_power(made, power), at, sum(power))
        if sum(power) == 1:
            strange = np.flatnonzero(~np.isfinite(values[power[1]]))
            found.append((strange, np.full(len(strange), at * PLACE + NAN), np.ones(len(strange), dtype=np.int64)))
    return found


def power_places(powers: Sequence[Power], place: int) -> dict[Power, int]:
    """The first place of each power of a sum."""
    starts = np.cumsum([place, *map(sum, powers)]).tolist()
    return dict(zip(powers, starts, strict=False))


def _power(made: dict[Power, Digits], power: Power) -> Digits:
    """The digits of a power, computed from smaller powers."""
    if power not in made:
        i, j = power
        half = (i // 2, j // 2) if i + j > 2 else (min(i, 1), 0 if i else 1)
        made[power] = _power(made, half) * _power(made, (i - half[0], j - half[1]))
    return made[power]


def doubles_of(column: pa.Array) -> Doubles:
    """Numbers as doubles, 0 for NULL."""
    kind = "f" if pa.types.is_floating(column.type) else "i"
    numbers = values_of(column, f"{kind}{column.type.bit_width // 8}").astype(np.float64)
    return np.where(valid_mask(column), numbers, 0.0) if column.null_count else numbers


def finite_part(numbers: Doubles) -> Doubles:
    """The numbers, with 0 for those that are not finite."""
    finite = np.isfinite(numbers)
    return numbers if finite.all() else np.where(finite, numbers, 0.0)


def specials(numbers: Doubles, place: int) -> list[Found]:
    """What non-finite numbers add: one to the slot of their kind."""
    if np.isfinite(numbers).all():
        return []
    found, base = [], place * PLACE
    for slot, mask in ((NAN, np.isnan(numbers)), (PLUS, numbers == np.inf), (MINUS, numbers == -np.inf)):
        rows = np.flatnonzero(mask)
        found.append((rows, np.full(len(rows), base + slot), np.ones(len(rows), dtype=np.int64)))
    return found


def first_slot(place: int, degree: int) -> int:
    """The slot of limb 0."""
    return place * PLACE + MIDDLE * degree


def _in_slots(numbers: Digits, place: int, degree: int) -> list[Found]:
    """The nonzero digits of each row."""
    base = first_slot(place, degree)
    found = []
    for i, words in enumerate(numbers.digits.view(np.int64)):
        rows = np.flatnonzero(words)
        found.append((rows, base + i + numbers.limb[rows], numbers.sign[rows] * words[rows]))
    return found
