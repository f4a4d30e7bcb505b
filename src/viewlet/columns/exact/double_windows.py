"""Doubles in windows: integers that add up, and multiply, without rounding.

The limbs of a double are somewhere on a grid that is far too wide for columns. Its *window* says where: it starts at a
multiple of `WINDOW` limbs at or below the number's own first limb, and a few limbs from there hold any double that
starts in it. Rows of one window add up limb by limb, as decimals do. A product of numbers is in the window that starts
at the sum of its factors' starts. Everyday numbers, from 0.0005 to 4.5e15, share one window.

A window includes the sign of its numbers, and zero, NaN and the infinities have windows of their own, so a product of
windows yields the IEEE result of ∞ · 0, and how many rows have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import mul

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, from_numpy, values_of
from viewlet.columns.exact.digits import (
    BITS,
    Digits,
    Doubles,
    Found,
    Ints,
    digits_of,
    doubles_of,
    finite_part,
    first_slot,
    specials,
)
from viewlet.columns.exact.limbs import balanced_product, combine
from viewlet.columns.rows import Rows
from viewlet.plan.sums import WINDOW, DoubleSum, Monomial, Sum, special_place

_ZERO, _NAN, _PLUS, _MINUS, _FINITE = range(5)
_BIAS = 64


def in_windows(
    rows: Rows, keys: Sequence[str], sums: Sequence[Sum]
) -> tuple[Rows, tuple[str, ...], dict[str, list[Ints]]]:
    """Rows with the windows of doubles summed in windows, the keys including these, and the limbs in the windows."""
    whole: dict[str, list[Ints]] = {}
    windows: dict[str, pa.Array] = {}
    for total in sums:
        if total.window is not None:
            columns = [rows[name] for name in (total.column, total.second) if name is not None]
            codes, whole[total.name] = place([doubles_of(column) for column in columns])
            windows[total.window] = from_numpy(codes.astype(np.int32), pa.int32())
    if windows:
        rows = Rows({**rows.columns, **windows}, rows.weights)
    return rows, (*keys, *windows), whole


def place(factors: Sequence[Doubles]) -> tuple[Ints, list[Ints]]:
    """The window of each product, and its limbs there."""
    digits = reduce(mul, (digits_of(finite_part(numbers)) for numbers in factors))
    window = digits.limb // WINDOW
    return _codes(_kinds(factors), window), _limbs(digits, digits.limb - window * WINDOW)


def _kinds(factors: Sequence[Doubles]) -> Doubles:
    """The IEEE product of factors in which every finite number is replaced by its sign: nothing overflows."""
    with np.errstate(invalid="ignore"):
        return reduce(mul, (np.where(np.isfinite(n), np.sign(n), n) for n in factors))


def _codes(kinds: Doubles, window: Ints) -> Ints:
    codes = _FINITE + 2 * (window + _BIAS) + (kinds < 0)
    codes[kinds == 0] = _ZERO
    if not np.isfinite(kinds).all():
        codes[np.isnan(kinds)], codes[kinds == np.inf], codes[kinds == -np.inf] = _NAN, _PLUS, _MINUS
    return codes


def _limbs(digits: Digits, offset: Ints) -> list[Ints]:
    words = digits.digits.view(np.int64) * digits.sign
    limbs = np.zeros((len(words) + WINDOW - 1, len(offset)), dtype=np.int64)
    for start in range(WINDOW):
        limbs[start : start + len(words)] += words * (offset == start)
    return list(limbs)


def product_digits(rows: Rows, total: DoubleSum) -> list[Found]:
    """What each row adds to the slots of a sum: the digits of its products, or a count if they are not finite."""
    found: list[Found] = []
    counted = combine(rows, (total.counted,), 0)[0]
    for term in total.terms:
        codes = [values_of(rows[name], "i4").astype(np.int64) for factor in term.factors for name in factor.windows]
        kinds = _kinds([np.full(len(rows), np.sign(term.coefficient), dtype=np.float64), *map(_kind, codes)])
        found += [
            (at, slots, counted[at]) for at, slots, _ in specials(kinds, special_place(total.place, total.degree))
        ]
        found += _finite_digits(rows, term, codes, np.isfinite(kinds), first_slot(total.place, total.degree))
    return found


def _kind(codes: Ints) -> Doubles:
    """−1, 0, 1 or the non-finite value of each window."""
    signs = np.where(codes % 2 == 0, 1.0, -1.0)
    return np.where(codes >= _FINITE, signs, np.array([0.0, np.nan, np.inf, -np.inf])[np.minimum(codes, _MINUS)])


def _finite_digits(rows: Rows, term: Monomial, codes: list[Ints], finite: Mask, slot: int) -> list[Found]:
    shift, exponent = divmod(term.exponent, BITS)
    digits = balanced_product(rows, Monomial(term.coefficient << exponent, term.factors))
    begins = sum((WINDOW * ((code - _FINITE) // 2 - _BIAS) for code in codes), np.full(len(rows), shift + slot))
    found = []
    for i, digit in enumerate(digits):
        at = np.flatnonzero((digit != 0) & finite)
        found.append((at, begins[at] + i, digit[at]))
    return found
