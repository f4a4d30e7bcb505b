"""Doubles as digits: sums of doubles, and of products of doubles, that never round.

A double is three digits to the base 2³², somewhere on a fixed grid; a product of doubles is the product of their
digits. Digits of the same limb add up in 64 bits. A map holds them as rows of their own, told apart by a *slot*: a
sum of degree d has d places of 128 slots each, and limb b of the sum is the slot 64·d + b from where they begin.
For a double −36 ≤ b ≤ 32, so the slots beyond are free to count NaN and infinities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, Positions, valid_mask, values_of
from viewlet.columns.rows import Rows, add_up
from viewlet.program.sums import Power, Sum

Ints = np.ndarray[Any, np.dtype[np.int64]]
Words = np.ndarray[Any, np.dtype[np.uint64]]
Doubles = np.ndarray[Any, np.dtype[np.float64]]
Found = tuple[Positions, Ints, Ints]
"""Rows, the slots that they add to, and what they add."""

_BITS, _MASK = 32, 0xFFFFFFFF
_PLACE, _MIDDLE = 128, 64
_NAN, _PLUS, _MINUS = 120, 121, 122


@dataclass(frozen=True, slots=True)
class Digits:
    """Numbers sign · Σ digit_i · 2^(32·(limb + i)), each digit from 0 to 2³² − 1."""

    sign: Ints
    limb: Ints
    digits: Words

    def __mul__(self, other: Digits) -> Digits:
        words = np.zeros((len(self.digits) + len(other.digits), len(self.sign)), dtype=np.uint64)
        for i, digit in enumerate(self.digits):
            products = digit * other.digits
            words[i : i + len(other.digits)] += products & np.uint64(_MASK)
            words[i + 1 : i + 1 + len(other.digits)] += products >> np.uint64(_BITS)
        for i in range(len(words) - 1):
            words[i + 1] += words[i] >> np.uint64(_BITS)
            words[i] &= np.uint64(_MASK)
        return Digits(self.sign * other.sign, self.limb + other.limb, words)


def digits_of(numbers: Doubles) -> Digits:
    """The digits of finite numbers."""
    fraction, exponent = np.frexp(numbers)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    low = exponent.astype(np.int64) - 53
    limb, shift = low // _BITS, low % _BITS
    size = np.abs(mantissa)
    tail, head = (size & _MASK) << shift, (size >> _BITS) << shift
    words = np.stack([tail & _MASK, (tail >> _BITS) + (head & _MASK), head >> _BITS])
    return Digits(np.sign(mantissa), limb, words.view(np.uint64))


def held_digits(total: Sum, columns: Sequence[pa.Array], place: int) -> list[Found]:
    """What each row adds to which slots of a sum of doubles, or of their powers."""
    values = [_doubles(column) for column in columns]
    if not total.powers:
        return [*_specials(values[0], place * _PLACE), *_in_slots(digits_of(_finite(values[0])), place, 1)]
    found: list[Found] = []
    made: dict[Power, Digits] = dict(zip(((1, 0), (0, 1)), (digits_of(_finite(v)) for v in values), strict=False))
    for power, at in power_places(total, place).items():
        found += _in_slots(_power(made, power), at, sum(power))
        if sum(power) == 1:
            strange = np.flatnonzero(~np.isfinite(values[power[1]]))
            found.append((strange, np.full(len(strange), at * _PLACE + _NAN), np.ones(len(strange), dtype=np.int64)))
    return found


def power_places(total: Sum, place: int) -> dict[Power, int]:
    """Where each power of a sum has its first place."""
    starts = np.cumsum([place, *map(sum, total.powers)]).tolist()
    return dict(zip(total.powers, starts, strict=False))


def _power(made: dict[Power, Digits], power: Power) -> Digits:
    """The digits of a power, from those of smaller ones."""
    if power not in made:
        i, j = power
        half = (i // 2, j // 2) if i + j > 2 else (min(i, 1), 0 if i else 1)
        made[power] = _power(made, half) * _power(made, (i - half[0], j - half[1]))
    return made[power]


def _doubles(column: pa.Array) -> Doubles:
    """The values as doubles, 0 for NULL."""
    kind = "f" if pa.types.is_floating(column.type) else "i"
    numbers = values_of(column, f"{kind}{column.type.bit_width // 8}").astype(np.float64)
    return np.where(valid_mask(column), numbers, 0.0) if column.null_count else numbers


def _finite(numbers: Doubles) -> Doubles:
    finite = np.isfinite(numbers)
    return numbers if finite.all() else np.where(finite, numbers, 0.0)


def _specials(numbers: Doubles, base: int) -> list[Found]:
    if np.isfinite(numbers).all():
        return []
    found = []
    for slot, mask in ((_NAN, np.isnan(numbers)), (_PLUS, numbers == np.inf), (_MINUS, numbers == -np.inf)):
        rows = np.flatnonzero(mask)
        found.append((rows, np.full(len(rows), base + slot), np.ones(len(rows), dtype=np.int64)))
    return found


def _in_slots(numbers: Digits, place: int, degree: int) -> list[Found]:
    """The digits of each row that are not zero."""
    base = place * _PLACE + _MIDDLE * degree
    found = []
    for i, words in enumerate(numbers.digits.view(np.int64)):
        rows = np.flatnonzero(words)
        found.append((rows, base + i + numbers.limb[rows], numbers.sign[rows] * words[rows]))
    return found


class Held:
    """The digits that a state has in the slots of one sum, and the group that each belongs to."""

    def __init__(self, state: Rows, slots: Ints, groups: Positions, count: int, place: int, degree: int = 1) -> None:
        own = np.flatnonzero((slots >= place * _PLACE) & (slots < (place + degree) * _PLACE))
        slot = slots[own].astype(np.int64) - place * _PLACE
        special = slot >= _NAN if degree == 1 else np.zeros(len(own), dtype=np.bool_)
        self.count, self._special = count, (slot[special], state.weights[own][special], groups[own][special])
        self._digits, self._owner = state.weights[own][~special], groups[own][~special]
        self._limb = slot[~special] - _MIDDLE * degree

    @property
    def lowest(self) -> int | None:
        """The lowest limb that there is."""
        return int(self._limb.min()) if len(self._limb) else None

    def _table(self, lowest: int) -> Ints:
        """Limbs from `lowest` on as rows, groups as columns: digits again, and at the top 0 or −1 for the sign."""
        highest = int(self._limb.max(initial=lowest)) + 2
        table = np.zeros((highest - lowest + 1, self.count), dtype=np.int64)
        np.add.at(table, (self._limb - lowest, self._owner), self._digits)
        _carry_up(table)
        return table

    def integers(self, lowest: int) -> list[int]:
        """The sum of each group, in units of 2^(32·lowest)."""
        table = self._table(lowest)
        raw, width = np.ascontiguousarray(table.T.astype("<u4")).tobytes(), 4 * len(table)
        return [int.from_bytes(raw[i : i + width], "little", signed=True) for i in range(0, len(raw), width)]

    def doubles(self) -> Doubles:
        """The sum of each group, rounded once; with what NaN and infinities make of it."""
        sums = self._finite_doubles()
        slot, times, owner = self._special
        for which, value in ((_PLUS, np.inf), (_MINUS, -np.inf), (_NAN, np.nan)) if len(slot) else ():
            there = add_up(times[slot == which], owner[slot == which], self.count) != 0
            with np.errstate(invalid="ignore"):
                sums = np.where(there, sums + value, sums)
        return sums

    def strange(self) -> Mask:
        """Which groups have values that are not finite."""
        _, times, owner = self._special
        return add_up(times, owner, self.count) != 0

    def _finite_doubles(self) -> Doubles:
        """Carried from the lowest limb up, then read off from the top."""
        lowest = self.lowest
        if lowest is None:
            return np.zeros(self.count)
        table = self._table(lowest)
        negative = table[-1] < 0
        table[:, negative] *= -1
        _carry_up(table)
        result = np.zeros(self.count, dtype=np.longdouble)
        with np.errstate(over="ignore"):
            for row in range(len(table) - 1, -1, -1):
                result = result + np.ldexp(table[row].astype(np.longdouble), _BITS * (row + lowest))
            return np.where(negative, -result, result).astype(np.float64)


def _carry_up(table: Ints) -> None:
    for row in range(len(table) - 1):
        table[row + 1] += table[row] >> _BITS
        table[row] &= _MASK
