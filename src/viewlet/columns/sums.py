"""Sums as integers: the additive state behind count, sum and avg.

A sum that can be added to and taken from forever, in any order, on any machine, must not round. So every
number is split into *limbs* of 32 bits, and limbs are summed in 64: integers and decimals have a fixed few
(columns of the map), doubles as many as their exponents touch. The limbs of a double are rows of their own,
told apart by `_slot`, whose *weight* is the limb's sum: a weighted bag of digits. Infinities and NaN are
counted in slots too, so that one which leaves a group leaves it finite again.

The law: decode(encode(rows)) depends on the bag of rows alone, not on how it came about.
Exact for up to 2³¹ rows a group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Positions, from_numpy, truth_of, valid_mask, values_of
from viewlet.columns.rows import Rows, Weights, add_up, group
from viewlet.errors import EvaluationError
from viewlet.plan.types import INTEGRAL
from viewlet.program.sums import Sum, counts_rows, limbs, sum_columns, uses_slots
from viewlet.program.terms import SLOT

Ints = np.ndarray[Any, np.dtype[np.int64]]
Doubles = np.ndarray[Any, np.dtype[np.float64]]

_BITS, _MASK = 32, np.int64(0xFFFFFFFF)
_SLOTS = 128
"""Slots of one double sum: limb b of sum i is slot (i + 1)·128 + 64 + b, with −34 ≤ b ≤ 33."""
_NAN, _PLUS, _MINUS = 120, 121, 122


def encode(rows: Rows, keys: Sequence[str], sums: Sequence[Sum]) -> Rows:
    """Add up the rows of each key."""
    key_columns = [rows[k] for k in keys]
    first, groups = group(key_columns, len(rows), rows.hashes(keys))
    columns = dict(rows.select(keys).take(first).columns) if keys else {}
    totals = add_up(rows.weights, groups, len(first))
    digits: list[tuple[Positions, Ints, Ints]] = []
    added: dict[str, pa.Array] = {}
    for at, total in enumerate(sums):
        for name, values in _encode_one(rows, total, at, groups, digits).items():
            added[name] = from_numpy(add_up(values, groups, len(first)), pa.int64())
    if not any(uses_slots(s) for s in sums):
        return _drop_nothing(Rows({**columns, **added}, totals), tuple(added))
    return _drop_nothing(_with_slots(Rows(columns, totals), added, digits), tuple(added))


def _encode_one(
    rows: Rows, total: Sum, at: int, groups: Positions, digits: list[tuple[Positions, Ints, Ints]]
) -> dict[str, Ints]:
    """The weighted limbs and count of one sum, row by row; the digits of a double go to `digits`."""
    if counts_rows(total):
        return {}
    counted = rows.weights
    if total.where is not None:
        where = rows[total.where]
        counted = counted * truth_of(where.fill_null(False))
    if total.column is None:
        return {f"{total.name}_n": counted}
    column = rows[total.column]
    if column.null_count:
        counted = counted * valid_mask(column)
    result = {f"{total.name}_{i}": limb * counted for i, limb in enumerate(_limbs_of(column, limbs(total)))}
    if uses_slots(total):
        digits.extend(
            (groups[rows_at], slots, values * counted[rows_at]) for rows_at, slots, values in _digits_of(column, at)
        )
    return {**result, f"{total.name}_n": counted}


def _limbs_of(column: pa.Array, count: int) -> list[Ints]:
    """The 32-bit limbs of integers or unscaled decimals, the last one signed; NULL as anything."""
    if count == 0:
        return []
    if pa.types.is_decimal(column.type):
        words = values_of(column, "V16").view(np.uint32).reshape(-1, 4)
        if count > 2:
            return [words[:, i].astype(np.int64) for i in range(count - 1)] + [
                words[:, count - 1].view(np.int32).astype(np.int64)
            ]
        numbers = np.ascontiguousarray(words[:, :2]).view(np.int64).reshape(-1)
    else:
        numbers = values_of(column, f"i{column.type.bit_width // 8}").astype(np.int64)
    return [numbers] if count == 1 else [numbers & _MASK, numbers >> _BITS]


def _digits_of(column: pa.Array, at: int) -> list[tuple[Positions, Ints, Ints]]:
    """The limbs of doubles: (row, slot, digits), digits · 2^(32·b) adding up to the double."""
    width = column.type.bit_width // 8
    kind = "f" if pa.types.is_floating(column.type) else "i"
    numbers = values_of(column, f"{kind}{width}").astype(np.float64)
    if column.null_count:
        numbers = np.where(valid_mask(column), numbers, 0.0)
    base = (at + 1) * _SLOTS
    found: list[tuple[Positions, Ints, Ints]] = []
    finite = np.isfinite(numbers)
    if not finite.all():
        for slot, mask in ((_NAN, np.isnan(numbers)), (_PLUS, numbers == np.inf), (_MINUS, numbers == -np.inf)):
            rows = np.flatnonzero(mask)
            found.append((rows, np.full(len(rows), base + slot), np.ones(len(rows), dtype=np.int64)))
    rows = np.flatnonzero(finite & (numbers != 0))
    fraction, exponent = np.frexp(numbers[rows])
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    low = exponent.astype(np.int64) - 53
    limb, shift = low // _BITS, low % _BITS
    sign, size = np.sign(mantissa), np.abs(mantissa)
    head, tail = size >> _BITS, size & _MASK
    tail, head = tail << shift, head << shift
    for offset, digit in ((0, tail & _MASK), (1, (tail >> _BITS) + (head & _MASK)), (2, head >> _BITS)):
        found.append((rows, base + 64 + limb + offset, sign * digit))
    return found


def _with_slots(groups: Rows, added: dict[str, pa.Array], digits: list[tuple[Positions, Ints, Ints]]) -> Rows:
    """The rows of the groups themselves (slot 0), and below them the rows of the doubles' digits."""
    owner = np.concatenate([d[0] for d in digits])
    slots = np.concatenate([d[1] for d in digits])
    values = np.concatenate([d[2] for d in digits])
    codes, inverse = np.unique(owner * (1 << 20) + slots, return_inverse=True)
    sums = add_up(values, inverse, len(codes))
    codes, sums = codes[sums != 0], sums[sums != 0]
    at = np.concatenate([np.arange(len(groups)), codes >> 20])
    slot = np.concatenate([np.zeros(len(groups), dtype=np.int64), codes & ((1 << 20) - 1)]).astype(np.int32)
    zeros = pa.array(np.zeros(len(codes), dtype=np.int64))
    sum_columns_ = {n: pa.concat_arrays([c, zeros]) for n, c in added.items()}
    columns = Rows(groups.columns, groups.weights).take(at).columns
    return Rows({**columns, SLOT: pa.array(slot), **sum_columns_}, np.concatenate([groups.weights, sums]))


def _drop_nothing(rows: Rows, added: tuple[str, ...]) -> Rows:
    """Without the rows that say nothing: weight and sums all zero."""
    keep = rows.weights != 0
    for name in added:
        keep |= values_of(rows[name], "i8") != 0
    return rows.filter(keep)


def decode(sums: Sequence[Sum], state: Rows, groups: Positions, count: int) -> tuple[Weights, list[pa.Array]]:
    """For each of `count` groups: how many rows it has, and the value of each sum.

    `groups` numbers the group of each row of the state.
    """
    base = np.ones(len(state), dtype=np.bool_)
    slots = values_of(state[SLOT], "i4") if SLOT in state.columns else None
    if slots is not None:
        base = slots == 0
    counts = add_up(state.weights * base, groups, count)
    return counts, [_decode_one(s, at, state, slots, groups, counts) for at, s in enumerate(sums)]


def _decode_one(total: Sum, at: int, state: Rows, slots: Any, groups: Positions, counts: Weights) -> pa.Array:
    if counts_rows(total):
        return from_numpy(counts, pa.int64())
    parts = [add_up(values_of(state[name], "i8"), groups, len(counts)) for name in sum_columns(total)]
    values = parts[-1]
    if total.function == "count":
        return from_numpy(values, pa.int64())
    present = values > 0
    if uses_slots(total):
        sums = _double_sums(state, slots, at, groups, len(counts))
        return from_numpy(_mean(sums, values) if total.function == "avg" else sums, pa.float64(), present)
    assert total.argument is not None
    if total.argument.name in INTEGRAL:
        return _integer_result(total, parts[:-1], values, present)
    return _decimal_result(total, parts[:-1], values, present)


def _mean(sums: Doubles, counts: Ints) -> Doubles:
    with np.errstate(invalid="ignore", divide="ignore"):
        return sums / counts


def _integer_result(total: Sum, parts: list[Ints], counts: Ints, present: Any) -> pa.Array:
    if len(parts) == 1:
        whole = parts[0]
    else:
        high = parts[1] + (parts[0] >> _BITS)
        if ((high < -(1 << 31)) | (high >= (1 << 31))).any():
            raise EvaluationError("ARITHMETIC_OVERFLOW: a sum does not fit in BIGINT")
        whole = (high << _BITS) + (parts[0] & _MASK)
    if total.function == "avg":
        return from_numpy(_mean(whole.astype(np.float64), counts), pa.float64(), present)
    return from_numpy(whole, pa.int64(), present)


def _decimal_result(total: Sum, parts: list[Ints], counts: Ints, present: Any) -> pa.Array:
    """Spark's decimal sum or average, from the limbs."""
    assert total.argument is not None
    words, top = _carry(parts)
    precision, scale = total.type.args
    shift = scale - total.argument.args[1]
    small = top == (words[0].view(np.int64) >> 63)
    if total.function == "sum" and small.all() and precision >= 19:
        return _decimal_array(words[0], top, precision, scale, present)
    if small.all() and (short := _short_result(total, words[0].view(np.int64), counts, shift)) is not None:
        return _decimal_array(short.view(np.uint64), short >> 63, precision, scale, present)
    numbers = [int(w) + (int(t) << 64) for w, t in zip(words[0], top, strict=True)]
    _refuse_long(numbers, min(38, total.argument.args[0] + 10), "ARITHMETIC_OVERFLOW: a decimal sum")
    if total.function == "avg":
        numbers = [_half_up(n * 10**shift, int(c)) if c > 0 else 0 for n, c in zip(numbers, counts, strict=True)]
        _refuse_long(numbers, precision, "NUMERIC_VALUE_OUT_OF_RANGE: a decimal average")
    low = np.array([n & 0xFFFFFFFFFFFFFFFF for n in numbers], dtype=np.uint64)
    high = np.array([n >> 64 for n in numbers], dtype=np.int64)
    return _decimal_array(low, high, precision, scale, present)


def _short_result(total: Sum, numbers: Ints, counts: Ints, shift: int) -> Ints | None:
    """The same for sums that fit into 64 bits with room to spare, all at once; None where one may not."""
    assert total.argument is not None
    digits = min(total.type.args[0], total.argument.args[0] + 10 + shift, 18)
    unit = 10**shift if total.function == "avg" else 1
    limit = 10**digits // unit
    if ((numbers >= limit) | (numbers <= -limit)).any():
        return None
    if total.function != "avg":
        return numbers
    divisors = np.maximum(counts, 1)
    quotients, rests = np.divmod(np.abs(numbers) * unit, divisors)
    quotients += 2 * rests >= divisors
    return np.where(numbers < 0, -quotients, quotients)


def _refuse_long(numbers: list[int], digits: int, what: str) -> None:
    if any(abs(n) >= 10**digits for n in numbers):
        raise EvaluationError(f"{what} has more than {digits} digits")


def _carry(parts: list[Ints]) -> tuple[list[np.ndarray[Any, Any]], Ints]:
    """Limbs to the low 64 bits and the signed rest."""
    padded = list(parts) + [np.zeros_like(parts[0])] * (4 - len(parts))
    carried = []
    carry = np.zeros_like(parts[0])
    for limb in padded[:3]:
        limb = limb + carry
        carried.append(limb & _MASK)
        carry = limb >> _BITS
    last = padded[3] + carry
    if ((last < -(1 << 31)) | (last >= (1 << 31))).any():
        raise EvaluationError("ARITHMETIC_OVERFLOW: a decimal sum has more than 38 digits")
    low = carried[0].astype(np.uint64) | (carried[1].astype(np.uint64) << np.uint64(_BITS))
    return [low], (last << _BITS) + carried[2]


def _decimal_array(low: np.ndarray[Any, Any], high: Ints, precision: int, scale: int, present: Any) -> pa.Array:
    words = np.empty((len(low), 2), dtype=np.uint64)
    words[:, 0], words[:, 1] = low, high.view(np.uint64)
    return from_numpy(words.reshape(-1).view("V16"), pa.decimal128(precision, scale), present)


def _half_up(number: int, divisor: int) -> int:
    """A quotient rounded to the nearest whole, halves away from zero."""
    quotient, rest = divmod(abs(number), divisor)
    quotient += 2 * rest >= divisor
    return quotient if number >= 0 else -quotient


def _double_sums(state: Rows, slots: Any, at: int, groups: Positions, count: int) -> Doubles:
    """The doubles nearest to the exact sums of one column, group by group."""
    own = np.flatnonzero(slots // _SLOTS == at + 1)
    digits, owner, limb = state.weights[own], groups[own], slots[own].astype(np.int64) % _SLOTS
    special = limb >= _NAN
    sums = _finite_sums(digits[~special], owner[~special], limb[~special] - 64, count)
    if special.any():
        for slot, value in ((_PLUS, np.inf), (_MINUS, -np.inf), (_NAN, np.nan)):
            there = add_up(digits[limb == slot], owner[limb == slot], count) != 0
            with np.errstate(invalid="ignore"):
                sums = np.where(there, sums + value, sums)
    return sums


def _finite_sums(digits: Ints, owner: Positions, limb: Ints, count: int) -> Doubles:
    """Σ digits · 2^(32·limb) for each owner: carried from the lowest limb up, then read off from the top."""
    if not len(digits):
        return np.zeros(count)
    lowest, highest = int(limb.min()), int(limb.max()) + 2
    table = np.zeros((highest - lowest + 1, count), dtype=np.int64)
    np.add.at(table, (limb - lowest, owner), digits)
    _carry_up(table)
    negative = table[-1] < 0
    table[:, negative] *= -1
    _carry_up(table)
    result = np.zeros(count, dtype=np.longdouble)
    with np.errstate(over="ignore"):
        for row in range(len(table) - 1, -1, -1):
            result = result + np.ldexp(table[row].astype(np.longdouble), _BITS * (row + lowest))
        return np.where(negative, -result, result).astype(np.float64)


def _carry_up(table: Ints) -> None:
    for row in range(len(table) - 1):
        table[row + 1] += table[row] >> _BITS
        table[row] &= _MASK
