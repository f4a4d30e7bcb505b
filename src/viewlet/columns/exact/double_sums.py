"""Exact sums of doubles, and of products of doubles, for many groups at once.

    sum = Σ limb_i · 2^(32·(lowest + i)),          with counts of NaN, ∞ and −∞ beside it

Limbs are 64-bit integers that add up 32-bit digits, so a sum is exact for up to 2³¹ rows, keeps no trace of deleted
values, and the difference of two running sums is the sum of the values in between. It is rounded once, when read: to
the nearest double, ties to even, as `math.fsum` does, and to ±∞ beyond the largest double. All of it is integer
arithmetic, the same on every platform.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viewlet.columns.arrays import Mask, Positions
from viewlet.columns.exact.digits import (
    BITS,
    MASK,
    MIDDLE,
    NAN,
    PLACE,
    Doubles,
    Found,
    Ints,
    Words,
    held_digits,
    power_places,
)
from viewlet.columns.rows import add_up
from viewlet.plan.sums import Power, special_place

_KEPT = 53
"""The number of mantissa bits of a double."""


@dataclass(frozen=True, slots=True)
class ExactSums:
    """One column per group: of `limbs`, from `lowest` up, and of `specials`, the counts of NaN, ∞ and −∞."""

    limbs: Ints
    lowest: int
    specials: Ints

    @staticmethod
    def gather(slots: Ints, digits: Ints, groups: Positions, count: int, place: int, degree: int = 1) -> ExactSums:
        """One sum of each group, read from its slots."""
        own = np.flatnonzero((slots >= place * PLACE) & (slots < (place + degree) * PLACE))
        slot, values, owner = slots[own].astype(np.int64) - place * PLACE, digits[own], groups[own]
        special = (slot >= NAN) & (degree == 1)
        specials = _table(slot[special] - NAN, values[special], owner[special], 3, count)
        limb, values, owner = slot[~special] - MIDDLE * degree, values[~special], owner[~special]
        lowest = int(limb.min()) if len(limb) else 0
        height = int(limb.max()) - lowest + 1 if len(limb) else 0
        return ExactSums(_table(limb - lowest, values, owner, height, count), lowest, specials)

    @staticmethod
    def of_degree(slots: Ints, digits: Ints, groups: Positions, count: int, place: int, degree: int) -> ExactSums:
        """A sum of products of each group, read from its slots; counts of non-finite values come after the digits."""
        found = ExactSums.gather(slots, digits, groups, count, place, degree)
        if degree == 1:
            return found
        strange = ExactSums.gather(slots, digits, groups, count, special_place(place, degree))
        return ExactSums(found.limbs, found.lowest, strange.specials)

    @property
    def count(self) -> int:
        return self.limbs.shape[1]

    @staticmethod
    def merge(parts: Sequence[tuple[Positions, ExactSums]], count: int) -> ExactSums:
        """The sums of all parts; each part names the groups of its columns, a group at most once."""
        spans = [(part.lowest, part.lowest + len(part.limbs)) for _, part in parts if len(part.limbs)]
        lowest, highest = (min(low for low, _ in spans), max(high for _, high in spans)) if spans else (0, 0)
        limbs, specials = (np.zeros((height, count), dtype=np.int64) for height in (highest - lowest, 3))
        for groups, part in parts:
            start = part.lowest - lowest if len(part.limbs) else 0
            limbs[start : start + len(part.limbs), groups] += part.limbs
            specials[:, groups] += part.specials
        return ExactSums(limbs, lowest, specials)

    def take(self, groups: Positions) -> ExactSums:
        return ExactSums(self.limbs[:, groups], self.lowest, self.specials[:, groups])

    def plus(self, other: ExactSums) -> ExactSums:
        """The sums of both, group by group."""
        everywhere = np.arange(self.count)
        return ExactSums.merge([(everywhere, self), (everywhere, other)], self.count)

    def running(self) -> ExactSums:
        """The running sums over groups, beginning with that of none."""
        return ExactSums(_running(self.limbs), self.lowest, _running(self.specials))

    def between(self, low: Positions, high: Positions) -> ExactSums:
        """For running sums, the sums from `low` to `high`."""
        limbs, specials = (table[:, high] - table[:, low] for table in (self.limbs, self.specials))
        return ExactSums(limbs, self.lowest, specials)

    def integers(self, lowest: int) -> list[int]:
        """The finite part of each sum, in units of 2^(32·lowest); `lowest` may not exceed that of the limbs."""
        if not len(self.limbs):
            return [0] * self.count
        table = _carried(self.limbs)
        raw, width = np.ascontiguousarray(table.T.astype("<u4")).tobytes(), 4 * len(table)
        shift = BITS * (self.lowest - lowest)
        return [int.from_bytes(raw[i : i + width], "little", signed=True) << shift for i in range(0, len(raw), width)]

    def doubles(self) -> Doubles:
        """Each sum, rounded once. NaN, or ∞ together with −∞, gives NaN; a single kind of infinity gives itself."""
        nan, plus, minus = self.specials != 0
        sums = _nearest(self.limbs, self.lowest)
        if self.specials.any():
            sums = np.where(plus, np.inf, np.where(minus, -np.inf, sums))
            sums = np.where(nan | (plus & minus), np.nan, sums)
        return sums

    def strange(self) -> Mask:
        """Which groups have non-finite values."""
        return (self.specials != 0).any(axis=0)


def add_doubles(values: Doubles, weights: Ints, groups: Positions, count: int) -> ExactSums:
    """The weighted sum of each group."""
    rows, slots, digits = _joined(held_digits((), (values,), 0))
    return ExactSums.gather(slots, digits * weights[rows], groups[rows], count, 0)


def running_doubles(values: Doubles, weights: Ints) -> ExactSums:
    """The running sums of values, beginning with that of none."""
    return add_doubles(values, weights, np.arange(len(values)), len(values)).running()


def add_powers(
    powers: Sequence[Power], values: Sequence[Doubles], weights: Ints, groups: Positions, count: int
) -> dict[Power, ExactSums]:
    """The sums of powers of each group."""
    rows, slots, digits = _joined(held_digits(powers, values, 0))
    digits, groups = digits * weights[rows], groups[rows]
    places = power_places(powers, 0)
    return {power: ExactSums.gather(slots, digits, groups, count, at, sum(power)) for power, at in places.items()}


def _joined(found: list[Found]) -> Found:
    rows, slots, digits = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return rows, slots, digits


def _table(rows: Ints, values: Ints, columns: Positions, height: int, count: int) -> Ints:
    return add_up(values, rows * count + columns, height * count).reshape(height, count)


def _running(table: Ints) -> Ints:
    sums = np.zeros((table.shape[0], table.shape[1] + 1), dtype=np.int64)
    np.cumsum(table, axis=1, out=sums[:, 1:])
    return sums


def _carried(limbs: Ints) -> Ints:
    """The same sums in digits from 0 to 2³² − 1, with 0 or −1 at the top for the sign."""
    table = np.vstack([limbs, np.zeros((2, limbs.shape[1]), dtype=np.int64)])
    _carry_up(table)
    return table


def _carry_up(table: Ints) -> None:
    for row in range(len(table) - 1):
        table[row + 1] += table[row] >> BITS
        table[row] &= MASK


def _nearest(limbs: Ints, lowest: int) -> Doubles:
    """The doubles nearest to sums: the highest 53 bits, rounded by the bits below.

    A sum of doubles is a multiple of the smallest double, so one with fewer than 53 bits above that is exact.
    """
    table = _carried(limbs)
    negative = table[-1] < 0
    table[:, negative] *= -1
    _carry_up(table)
    table = np.vstack([np.zeros((2, table.shape[1]), dtype=np.int64), table])
    there = table != 0
    top = np.maximum(len(table) - 1 - there[::-1].argmax(axis=0), 2)
    head, rest, bits = _head(table, top)
    rest |= there.argmax(axis=0) < top - 2
    exponent = BITS * (top - 2 + lowest) + bits - _KEPT
    with np.errstate(over="ignore"):
        sums = np.ldexp(_half_even(head, rest), exponent.astype(np.int32))
    return np.where(there.any(axis=0), np.where(negative, -sums, sums), 0.0)


def _head(table: Ints, top: Positions) -> tuple[Words, Mask, Ints]:
    """The highest 64 bits of numbers, whether the three top digits have lower bits, and the length of the top digit."""
    at = np.arange(table.shape[1])
    high, middle, low = (table[top - i, at].view(np.uint64) for i in range(3))
    bits = np.frexp(high.astype(np.float64))[1].astype(np.uint64)
    head = (high << (np.uint64(64) - bits)) | (middle << (np.uint64(BITS) - bits)) | (low >> bits)
    return head, low & ((np.uint64(1) << bits) - np.uint64(1)) != 0, bits.astype(np.int64)


def _half_even(head: Words, rest: Mask) -> Doubles:
    """64-bit numbers with a sticky rest, rounded to their highest 53 bits."""
    kept, tail = head >> np.uint64(64 - _KEPT), head & np.uint64((1 << 64 - _KEPT) - 1)
    half = np.uint64(1 << 63 - _KEPT)
    up = (tail > half) | ((tail == half) & (rest | (kept & np.uint64(1) != 0)))
    return (kept + up).astype(np.float64)
