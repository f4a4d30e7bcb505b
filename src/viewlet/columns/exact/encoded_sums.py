"""Sums as integers: the additive state of count, sum, avg and the moments.

A sum that is added to and subtracted from forever, in any order, on any machine, must not round. Every number is
therefore split into *limbs* of 32 bits, which are summed in 64: integers and decimals have a fixed few (columns of the
map), doubles as many as their exponents touch (digits.py). The limbs of a double are rows of their own, told apart by
`_slot`, whose *weight* is the limb's sum: a weighted bag of digits. Infinities and NaN are counted in slots, too, so a
group is finite again once they are deleted (double_sums.py). Moments are sums of powers (moments.py).

The law: decode(encode(rows)) depends only on the bag of rows, not on its history.
Exact for up to 2³¹ rows per group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Positions, from_numpy, truth_of, valid_mask, values_of
from viewlet.columns.exact.digits import BITS, MASK, Doubles, Found, Ints, Words, doubles_of, held_digits, power_places
from viewlet.columns.exact.double_sums import ExactSums
from viewlet.columns.exact.double_windows import in_windows
from viewlet.columns.exact.failing_group import failure_of
from viewlet.columns.exact.integers import carried, half_up, limbs_of
from viewlet.columns.exact.moments import Powers, finalize
from viewlet.columns.rows import Rows, Weights, add_up, group
from viewlet.plan.sums import SLOT, Sum, counts_rows, holder, limbs, places, sum_columns, uses_slots
from viewlet.plan.types import INTEGRAL


def encode(rows: Rows, keys: Sequence[str], sums: Sequence[Sum]) -> Rows:
    """Add up the rows of each key."""
    rows, keys, whole = in_windows(rows, keys, sums)
    first, groups = group([rows[k] for k in keys], len(rows), rows.hashes(keys))
    are_distinct = len(first) == len(rows) and bool((first == np.arange(len(rows))).all())
    columns = dict(rows.select(keys).take(first).columns) if keys else {}
    totals = rows.weights if are_distinct else add_up(rows.weights, groups, len(first))
    digits: list[Found] = []
    added: dict[str, pa.Array] = {}
    for total, place in zip(sums, places(sums), strict=True):
        if f"{holder(total)}_n" not in added:
            limb_columns = whole.get(total.name)
            for name, values in _encode_one(rows, total, place, groups, digits, limb_columns).items():
                added[name] = from_numpy(values if are_distinct else add_up(values, groups, len(first)), pa.int64())
    if not any(uses_slots(s) for s in sums):
        return _drop_nothing(Rows({**columns, **added}, totals), tuple(added))
    return _drop_nothing(_with_slots(Rows(columns, totals), added, digits), tuple(added))


def encode_products(rows: Rows, keys: Sequence[str], counts: dict[str, Ints], digits: list[Found]) -> Rows:
    """Add up the counts and the doubles' digits of each key."""
    first, groups = group([rows[k] for k in keys], len(rows), rows.hashes(keys))
    columns = dict(rows.select(keys).take(first).columns) if keys else {}
    added = {n: from_numpy(add_up(values, groups, len(first)), pa.int64()) for n, values in counts.items()}
    owned = [(groups[at], slots, values) for at, slots, values in digits]
    totals = add_up(rows.weights, groups, len(first))
    return _drop_nothing(_with_slots(Rows(columns, totals), added, owned), tuple(added))


def _encode_one(
    rows: Rows, total: Sum, place: int, groups: Positions, digits: list[Found], whole: list[Ints] | None
) -> dict[str, Ints]:
    """The weighted limbs and count of one sum, row by row; a double's digits are added to `digits`."""
    if counts_rows(total):
        return {}
    counted = rows.weights
    if total.where is not None:
        where = rows[total.where]
        counted = counted * truth_of(where.fill_null(False))
    if total.column is None:
        return {f"{total.name}_n": counted}
    columns = [rows[name] for name in (total.column, total.second) if name is not None]
    for column in columns:
        if column.null_count:
            counted = counted * valid_mask(column)
    if uses_slots(total):
        found = held_digits(total.powers, [doubles_of(column) for column in columns], place, total.degree)
        digits.extend((groups[at], slots, v * counted[at]) for at, slots, v in found)
    numbers = limbs_of(columns[0], limbs(total)) if whole is None else whole
    result = {f"{total.name}_{i}": limb * counted for i, limb in enumerate(numbers)}
    return {**result, f"{holder(total)}_n": counted}


def _with_slots(groups: Rows, added: dict[str, pa.Array], digits: list[Found]) -> Rows:
    """The rows of the groups (slot 0), followed by the rows of the doubles' digits."""
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
    """The rows without those whose weight and sums are all zero."""
    keep = rows.weights != 0
    if keep.all():
        return rows
    for name in added:
        keep |= values_of(rows[name], "i8") != 0
    return rows.filter(keep)


def decode(sums: Sequence[Sum], state: Rows, groups: Positions, count: int) -> tuple[Weights, list[pa.Array]]:
    """The number of rows and the value of each sum, for `count` groups.

    `groups` numbers the group of each row of the state.
    """
    base = np.ones(len(state), dtype=np.bool_)
    slots = values_of(state[SLOT], "i4") if SLOT in state.columns else None
    if slots is not None:
        base = slots == 0
    counts = add_up(state.weights * base, groups, count)
    powers: dict[str, Powers] = {}
    values = []
    for total, place in zip(sums, places(sums), strict=True):
        values.append(_decode_one(total, place, state, slots, groups, counts, powers))
    return counts, values


def _decode_one(
    total: Sum, place: int, state: Rows, slots: Any, groups: Positions, counts: Weights, powers: dict[str, Powers]
) -> pa.Array:
    if counts_rows(total):
        return from_numpy(counts, pa.int64())
    parts = [add_up(values_of(state[name], "i8"), groups, len(counts)) for name in sum_columns(total)]
    values = parts[-1]
    if total.function == "count":
        return from_numpy(values, pa.int64())
    if total.powers:
        if holder(total) not in powers:
            powers[holder(total)] = _read_powers(total, place, state, slots, groups, values)
        return finalize(total.function, powers[holder(total)])
    present = values > 0
    if uses_slots(total):
        sums = ExactSums.of_degree(slots, state.weights, groups, len(counts), place, total.degree).doubles()
        return from_numpy(_mean(sums, values) if total.function == "avg" else sums, pa.float64(), present)
    assert total.argument is not None
    if total.argument.name in INTEGRAL:
        return _integer_result(total, parts[:-1], values, present)
    return _decimal_result(total, parts[:-1], values, present)


def _read_powers(total: Sum, place: int, state: Rows, slots: Ints, groups: Positions, counts: Ints) -> Powers:
    """The sums of powers in a state; `counts` are the numbers of values."""
    return Powers.of(
        {
            power: ExactSums.gather(slots, state.weights, groups, len(counts), at, sum(power))
            for power, at in power_places(total.powers, place).items()
        },
        counts,
    )


def _mean(sums: Doubles, counts: Ints) -> Doubles:
    with np.errstate(invalid="ignore", divide="ignore"):
        return sums / counts


def _integer_result(total: Sum, parts: list[Ints], counts: Ints, present: Any) -> pa.Array:
    if len(parts) == 1:
        whole = parts[0]
    else:
        high = parts[1] + (parts[0] >> BITS)
        too_large = (high < -(1 << 31)) | (high >= (1 << 31))
        if too_large.any():
            raise failure_of(too_large, "ARITHMETIC_OVERFLOW: a sum does not fit in BIGINT")
        whole = (high << BITS) + (parts[0] & MASK)
    if total.function == "avg":
        return from_numpy(_mean(whole.astype(np.float64), counts), pa.float64(), present)
    return from_numpy(whole, pa.int64(), present)


def _decimal_result(total: Sum, parts: list[Ints], counts: Ints, present: Any) -> pa.Array:
    """Spark's decimal sum or average, computed from limbs."""
    assert total.argument is not None
    low, top = _carry(parts)
    precision, scale = total.type.args
    shift = scale - total.argument.args[1]
    small = top == (low.view(np.int64) >> 63)
    if total.function == "sum" and small.all() and precision >= 19:
        return _decimal_array(low, top, precision, scale, present)
    if small.all() and (short := _short_result(total, low.view(np.int64), counts, shift)) is not None:
        return _decimal_array(short.view(np.uint64), short >> 63, precision, scale, present)
    numbers = [int(w) + (int(t) << 64) for w, t in zip(low, top, strict=True)]
    _refuse_long(numbers, min(38, total.argument.args[0] + 10), "ARITHMETIC_OVERFLOW: a decimal sum")
    if total.function == "avg":
        numbers = [half_up(n * 10**shift, int(c)) if c > 0 else 0 for n, c in zip(numbers, counts, strict=True)]
        _refuse_long(numbers, precision, "NUMERIC_VALUE_OUT_OF_RANGE: a decimal average")
    low = np.array([n & 0xFFFFFFFFFFFFFFFF for n in numbers], dtype=np.uint64)
    high = np.array([n >> 64 for n in numbers], dtype=np.int64)
    return _decimal_array(low, high, precision, scale, present)


def _short_result(total: Sum, numbers: Ints, counts: Ints, shift: int) -> Ints | None:
    """The result if all sums fit into 64 bits with room to spare, vectorized; else None."""
    assert total.argument is not None
    digits = min(total.type.args[0], total.argument.args[0] + 10 + shift, 18)
    unit = 10**shift if total.function == "avg" else 1
    limit = 10**digits // unit
    if ((numbers >= limit) | (numbers <= -limit)).any():
        return None
    if total.function != "avg":
        return numbers
    divisors = np.maximum(counts, 1)
    return half_up(numbers * unit, divisors)


def _refuse_long(numbers: list[int], digits: int, what: str) -> None:
    too_long = [abs(n) >= 10**digits for n in numbers]
    if any(too_long):
        raise failure_of(np.array(too_long), f"{what} has more than {digits} digits")


def _carry(parts: list[Ints]) -> tuple[Words, Ints]:
    """Limbs as the low 64 bits and the signed rest."""
    first, second, third, last = carried([*parts, *[np.zeros_like(parts[0])] * (4 - len(parts))])
    too_long = (last < -(1 << 31)) | (last >= (1 << 31))
    if too_long.any():
        raise failure_of(too_long, "ARITHMETIC_OVERFLOW: a decimal sum has more than 38 digits")
    return (first | second << BITS).view(np.uint64), (last << BITS) + third


def _decimal_array(low: Words, high: Ints, precision: int, scale: int, present: Any) -> pa.Array:
    words = np.empty((len(low), 2), dtype=np.uint64)
    words[:, 0], words[:, 1] = low, high.view(np.uint64)
    return from_numpy(words.reshape(-1).view("V16"), pa.decimal128(precision, scale), present)
