"""Sums and averages of each group: exact for integers and decimals, correctly rounded for doubles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, from_numpy, values_of
from viewlet.columns.types import arrow_type, spark_type
from viewlet.engine.local.groups import Groups, without_nulls
from viewlet.engine.local.integers import Limb, add_limbs, averages, limbs_of, to_bigint, to_decimal, to_double
from viewlet.errors import EvaluationError
from viewlet.plan.expr import Reduce
from viewlet.plan.types import FRACTIONAL

Doubles = np.ndarray[Any, np.dtype[np.float64]]


def build_sum(call: Reduce) -> Callable[[Sequence[pa.Array], Groups], pa.Array]:
    """sum: a bigint of integers, a wider decimal of decimals, a double of floats."""
    is_float, finish = call.args[0].type.name in FRACTIONAL, finish_sum(call)

    def reduce(args: Sequence[pa.Array], groups: Groups) -> pa.Array:
        (array,), kept = without_nulls(args, groups)
        sizes = kept.sizes()
        if is_float:
            return from_numpy(add_doubles(doubles_of(array), kept), pa.float64(), sizes > 0)
        return finish(add_limbs(limbs_of(array), kept.weights, kept.of, kept.count), sizes)

    return reduce


def build_avg(call: Reduce) -> Callable[[Sequence[pa.Array], Groups], pa.Array]:
    """avg: a decimal of decimals, else a double; Spark adds integers up as doubles."""
    is_float, finish = call.args[0].type.name in FRACTIONAL, finish_avg(call)

    def reduce(args: Sequence[pa.Array], groups: Groups) -> pa.Array:
        (array,), kept = without_nulls(args, groups)
        sizes = kept.sizes()
        if is_float:
            return from_numpy(add_doubles(doubles_of(array), kept) / np.maximum(sizes, 1), pa.float64(), sizes > 0)
        return finish(add_limbs(limbs_of(array), kept.weights, kept.of, kept.count), sizes)

    return reduce


Finish = Callable[[Sequence[Limb], np.ndarray[Any, np.dtype[np.int64]]], pa.Array]


def finish_sum(call: Reduce) -> Finish:
    """The values of sum, from exact sums and the number of values in each."""
    kind, name, may_fail = arrow_type(call.type), call.function, not call.function.startswith("try_")

    def finish(limbs: Sequence[Limb], sizes: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Array:
        if pa.types.is_decimal128(kind):
            values, over = to_decimal(limbs, kind)
        else:
            numbers, over = to_bigint(limbs)
            values = from_numpy(numbers, kind)
        _check(over, f"ARITHMETIC_OVERFLOW: {name} does not fit {call.type}", may_fail)
        return _valid_where(values, (sizes > 0) & ~over)

    return finish


def finish_avg(call: Reduce) -> Finish:
    """The values of avg, from exact sums and the number of values in each."""
    kind, name, may_fail = arrow_type(call.type), call.function, not call.function.startswith("try_")
    precision, scale = call.args[0].type.args if call.args[0].type.name == "decimal" else (0, 0)
    sum_kind = pa.decimal128(min(precision + 10, 38), scale) if precision > 28 else None  # fewer digits never overflow

    def finish(limbs: Sequence[Limb], sizes: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Array:
        if pa.types.is_decimal128(kind):
            valid = sizes > 0
            if sum_kind is not None:  # Spark fails where the sum has no place, even if the average has
                over = to_decimal(limbs, sum_kind)[1]
                _check(over, f"ARITHMETIC_OVERFLOW: the sum in {name} does not fit {spark_type(sum_kind)}", may_fail)
                valid &= ~over
            values, over = averages(limbs, sizes, scale, kind)
            _check(over, f"NUMERIC_VALUE_OUT_OF_RANGE: {name} does not fit {call.type}", may_fail)
            return _valid_where(values, valid & ~over)
        return from_numpy(to_double(limbs) / np.maximum(sizes, 1), kind, sizes > 0)

    return finish


def _check(over: Mask, message: str, may_fail: bool) -> None:
    if may_fail and over.any():
        raise EvaluationError(message)


def _valid_where(values: pa.Array, valid: Mask) -> pa.Array:
    """The same values, NULL elsewhere."""
    if valid.all():
        return values
    packed = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(values.type, len(values), [packed, values.buffers()[1]])


def doubles_of(array: pa.Array) -> Doubles:
    """The values of a float or double column without NULLs, as doubles."""
    return values_of(array, f"f{array.type.bit_width // 8}").astype(np.float64)


def add_doubles(values: Doubles, groups: Groups) -> Doubles:
    """The sum of each group, rounded once, so that it does not depend on the order of the rows."""
    if len(values) == 0:
        return np.zeros(groups.count)
    at = np.argsort(groups.of, kind="stable")
    numbers = np.repeat(values[at], groups.weights[at])
    ends = np.cumsum(groups.sizes()).tolist()
    sums, start = [], 0
    for end in ends:
        sums.append(_add(numbers[start:end]))
        start = end
    return np.array(sums)


def _add(numbers: Doubles) -> float:
    if len(numbers) < 2:
        return float(numbers[0]) + 0.0 if len(numbers) else 0.0
    try:
        return math.fsum(numbers)
    except (OverflowError, ValueError):  # beyond the largest double, or ∞ − ∞
        return float(numbers.sum())
