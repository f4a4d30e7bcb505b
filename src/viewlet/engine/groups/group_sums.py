"""Sums and averages of each group: exact for integers and decimals, rounded once for doubles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, from_numpy
from viewlet.columns.arrow_types import arrow_type, spark_type
from viewlet.columns.exact.digits import Ints, doubles_of
from viewlet.columns.exact.double_sums import ExactSums, add_doubles
from viewlet.engine.groups.grouping import Groups, without_nulls
from viewlet.engine.groups.integer_sums import add_limbs, averages, limbs_in, to_bigint, to_decimal, to_double
from viewlet.errors import EvaluationError
from viewlet.plan.expr import Reduce
from viewlet.plan.types import DOUBLE, FRACTIONAL

Sizes = np.ndarray[Any, np.dtype[np.int64]]


def build_sum(call: Reduce) -> Callable[[Sequence[pa.Array], Groups], pa.Array]:
    """sum: a bigint of integers, a wider decimal of decimals, a double of floats."""
    return _reducer(call, finish_sum(call))


def build_avg(call: Reduce) -> Callable[[Sequence[pa.Array], Groups], pa.Array]:
    """avg: a decimal of decimals, else a double."""
    return _reducer(call, finish_avg(call))


def _reducer(call: Reduce, finish: Finish) -> Callable[[Sequence[pa.Array], Groups], pa.Array]:
    in_doubles, finish_double = adds_doubles(call), finish_doubles(call)

    def reduce(args: Sequence[pa.Array], groups: Groups) -> pa.Array:
        (array,), kept = without_nulls(args, groups)
        sizes = kept.sizes()
        if in_doubles:
            return finish_double(add_doubles(doubles_of(array), kept.weights, kept.of, kept.count), sizes)
        return finish(add_limbs(limbs_in(array), kept.weights, kept.of, kept.count), sizes)

    return reduce


def adds_doubles(call: Reduce) -> bool:
    """Whether Spark adds up doubles: for floats, and for the average of BIGINT, whose values it converts."""
    kind = call.args[0].type.name
    return kind in FRACTIONAL or (kind == "bigint" and call.type == DOUBLE)


def finish_doubles(call: Reduce) -> Callable[[ExactSums, Sizes], pa.Array]:
    """The values of sum or avg, from exact sums of doubles and counts."""
    is_sum = call.function == "sum"

    def finish(totals: ExactSums, sizes: Sizes) -> pa.Array:
        sums = totals.doubles()
        return from_numpy(sums if is_sum else sums / np.maximum(sizes, 1), pa.float64(), sizes > 0)

    return finish


Finish = Callable[[Sequence[Ints], Sizes], pa.Array]


def finish_sum(call: Reduce) -> Finish:
    """The values of sum, from exact sums and counts."""
    kind, name, may_fail = arrow_type(call.type), call.function, not call.function.startswith("try_")

    def finish(limbs: Sequence[Ints], sizes: Sizes) -> pa.Array:
        if pa.types.is_decimal128(kind):
            values, over = to_decimal(limbs, kind)
        else:
            numbers, over = to_bigint(limbs)
            values = from_numpy(numbers, kind)
        _check(over, f"ARITHMETIC_OVERFLOW: {name} does not fit {call.type}", may_fail)
        return _valid_where(values, (sizes > 0) & ~over)

    return finish


def finish_avg(call: Reduce) -> Finish:
    """The values of avg, from exact sums and counts."""
    kind, name, may_fail = arrow_type(call.type), call.function, not call.function.startswith("try_")
    precision, scale = call.args[0].type.args if call.args[0].type.name == "decimal" else (0, 0)
    sum_kind = pa.decimal128(min(precision + 10, 38), scale) if precision > 28 else None  # fewer digits never overflow

    def finish(limbs: Sequence[Ints], sizes: Sizes) -> pa.Array:
        if pa.types.is_decimal128(kind):
            valid = sizes > 0
            if sum_kind is not None:  # Spark fails if the sum overflows, even if the average fits
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
    """The values where `valid`, NULL elsewhere."""
    if valid.all():
        return values
    packed = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(values.type, len(values), [packed, values.buffers()[1]])
