"""Exact products of sums: polynomials in the integers that joined rows carry.

A number is Σ limb_i · 2^(32·i), where limbs are int64 columns that sums have made arbitrarily large. Two methods give
the limbs of a polynomial, both equal to what Python's integers would give:

- *linear*: if each monomial is one number of limbs times int64 columns, every limb is multiplied as it is. The result
  is linear in the limbs, so later deletions leave zeros.
- *exact*: numbers become balanced digits, −2³¹ ≤ d < 2³¹, whose products fit in an int64; these are split into low
  and high halves, added, and carried at the end.

Internally, a number of each row is a table of *columns*, least significant first, far from overflow; the last column
stays zero until a carry reaches it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from math import prod
from operator import mul
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import values_of
from viewlet.columns.exact.digits import BITS, MASK, Ints
from viewlet.columns.rows import Rows
from viewlet.errors import EvaluationError
from viewlet.plan.sums import Factor, Monomial

Limbs = list[Ints]
Numbers = Mapping[Factor, Limbs]

_HALF = 1 << 31
_LINEAR = 1 << 62
"""Limbs below this need no carry."""
_BLOCK = 4096
"""Rows processed together: few enough for the cache, and to reuse memory."""


def combine(rows: Rows, terms: Sequence[Monomial], limbs: int) -> list[Ints]:
    """Σ coefficient · Π factors for each row, as `limbs` 32-bit limbs, the last one signed; 0 limbs: one int64 array.

    The last limb may use all 64 bits of its column, as a sum's does. Anything larger is an EvaluationError.
    """
    numbers = {factor: _read(rows, factor) for term in terms for factor in term.factors}
    found = _linear(numbers, terms, limbs)
    return _exact(numbers, terms, limbs, len(rows)) if found is None else found


def balanced_product(rows: Rows, term: Monomial) -> Limbs:
    """One monomial per row, of any size, as digits from −2³¹ to 2³¹ − 1, least significant first."""
    numbers = {factor: _read(rows, factor) for factor in term.factors}
    whole = [f.limbs for f in term.factors if f.limbs > 1]
    simple = _linear(numbers, (term,), whole[0]) if len(whole) == 1 else None
    return list(_digits(_product(numbers, term, len(rows)) if simple is None else _columns(simple)))


def _read(rows: Rows, factor: Factor) -> Limbs:
    """The limbs of a factor, or its one column."""
    names = [f"{factor.name}_{i}" for i in range(factor.limbs)] or [factor.name]
    columns = [rows[name] for name in names]
    assert all(c.type == pa.int64() and not c.null_count for c in columns), f"{factor} is no whole number"
    return [values_of(c, "i8") for c in columns]


def _linear(numbers: Numbers, terms: Sequence[Monomial], limbs: int) -> Limbs | None:
    """The polynomial limb by limb, without carries; None if a monomial has another form or a limb may overflow."""
    shape = [limbs] if limbs > 1 else []
    total: Limbs = []
    room = _LINEAR
    for term in terms:
        if not term.factors or [f.limbs for f in term.factors if f.limbs > 1] != shape:
            return None
        if limbs > 1 and abs(term.coefficient) != 1:
            return None  # the sum of 2³¹ such limbs would not fit
        *single, whole = sorted((numbers[f] for f in term.factors), key=len)
        room -= abs(term.coefficient) * prod(map(_peak, (*single, whole)))
        if room <= 0:
            return None
        multiplier: Any = reduce(mul, (column for (column,) in single), term.coefficient)
        more = [limb * multiplier for limb in whole]
        total = [a + b for a, b in zip(total, more, strict=True)] if total else more
    return total or None


def _peak(limbs: Limbs) -> int:
    """An upper bound of the limbs' size, at least one."""
    return max(max(int(limb.max(initial=1)), -int(limb.min(initial=-1))) for limb in limbs)


def _exact(numbers: Numbers, terms: Sequence[Monomial], limbs: int, length: int) -> Limbs:
    """The limbs of any polynomial, all but the last one from 0 to 2³² − 1."""
    blocks = []
    for start in range(0, max(length, 1), _BLOCK):
        block = {factor: [limb[start : start + _BLOCK] for limb in whole] for factor, whole in numbers.items()}
        products = [_product(block, term, min(length - start, _BLOCK)) for term in terms]
        blocks.append(_added(products, limbs, min(length - start, _BLOCK)))
    return [np.concatenate(parts) for parts in zip(*blocks, strict=True)]


def _added(products: list[Ints], limbs: int, length: int) -> Limbs:
    """The limbs of the sum of some numbers."""
    last = max(limbs, 1) - 1
    total = np.zeros((max([last + 2, *map(len, products)]), length), dtype=np.int64)
    for columns in products:
        total[: len(columns)] += columns
    _carry(total, unsigned=last + 1)
    if total[last + 2 :].any():  # the two columns before these form one signed 64-bit number
        raise EvaluationError(f"ARITHMETIC_OVERFLOW: a product of sums does not fit in {64 + last * BITS} bits")
    return [*total[:last], total[last] + (total[last + 1] << BITS)]


def _product(numbers: Numbers, term: Monomial, length: int) -> Ints:
    """One monomial, as columns."""
    parts = [numbers[factor] for factor in term.factors]
    if term.coefficient != 1 or not parts:
        parts.append(_constant(term.coefficient, length))
    return reduce(lambda a, b: _times(_digits(a), _digits(b)), map(_columns, parts))


def _constant(number: int, length: int) -> Limbs:
    """The limbs of a constant, the last one signed."""
    last = number.bit_length() // BITS
    limbs = [number >> BITS * i & MASK for i in range(last)] + [number >> BITS * last]
    return [np.full(length, limb, dtype=np.int64) for limb in limbs]


def _columns(limbs: Limbs) -> Ints:
    """Limbs of any size as columns below 2³³: the high half of each is added to the next."""
    columns = np.zeros((len(limbs) + 2, len(limbs[0])), dtype=np.int64)
    for i, limb in enumerate(limbs):
        columns[i] += limb & MASK
        columns[i + 1] += limb >> BITS
    return columns


def _digits(columns: Ints) -> Ints:
    """The same numbers as balanced digits, without leading columns of zeros; overwrites its argument."""
    _carry(columns, unsigned=0)
    width = len(columns)
    while width > 1 and not columns[width - 1].any():
        width -= 1
    return columns[:width]


def _carry(columns: Ints, unsigned: int) -> None:
    """Make digits of columns, in place: 0 ≤ d < 2³² for the first `unsigned`, −2³¹ ≤ d < 2³¹ for the others."""
    for i in range(len(columns) - 1):
        carry = (columns[i] if i < unsigned else columns[i] + _HALF) >> BITS
        columns[i + 1] += carry
        columns[i] -= carry << BITS


def _times(a: Ints, b: Ints) -> Ints:
    """The product of balanced digits, as columns; the product of two digits is at most 2⁶²."""
    columns = np.zeros((len(a) + len(b) + 1, a.shape[1]), dtype=np.int64)
    for i, digit in enumerate(a):
        products = digit * b
        columns[i : i + len(b)] += products & MASK
        columns[i + 1 : i + 1 + len(b)] += products >> BITS
    return columns
