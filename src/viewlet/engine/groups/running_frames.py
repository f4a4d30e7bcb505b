"""Aggregates over many overlapping frames in one pass: differences of running sums, or running extremes.

Sums and moments of a frame are differences of running sums, which are exact: of limbs for numbers, of powers for
moments. Extremes run forward through frames with the same start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, Positions, valid_mask
from viewlet.columns.exact.digits import doubles_of
from viewlet.columns.exact.double_sums import add_powers, running_doubles
from viewlet.columns.exact.moments import Powers, finalize
from viewlet.columns.order import ascending, dense_ranks
from viewlet.engine.groups.double_moments import FUNCTIONS
from viewlet.engine.groups.group_sums import adds_doubles, finish_avg, finish_doubles, finish_sum
from viewlet.engine.groups.grouping import take_or_null
from viewlet.engine.groups.integer_sums import limbs_in
from viewlet.plan.expr import Over, Reduce
from viewlet.plan.sums import POWERS
from viewlet.plan.types import INTEGRAL

Running = Callable[[Sequence[pa.Array], Positions, Positions], pa.Array]


def compile_running(over: Over) -> Running | None:
    """The function from argument columns and ranges of positions to each range's value; None if there is none."""
    call = Reduce(over.function, over.args, over.type)
    match over.function:
        case "count":
            return _count
        case "sum" | "avg" if adds_doubles(call):
            return _doubles(call)
        case name if name in FUNCTIONS:
            return _moments(FUNCTIONS[name])
        case "sum" | "avg" if over.args[0].type.name in (*INTEGRAL, "decimal"):
            finish = finish_sum(call) if over.function == "sum" else finish_avg(call)
            return lambda args, low, high: finish(*_differences(args[0], low, high))
        case "min" | "max" if over.frame.lower is None:
            return _extreme(largest=over.function == "max")
        case _:
            return None


def _running(values: np.ndarray[Any, Any]) -> Positions:
    """Prefix sums, starting with 0."""
    sums = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(values, out=sums[1:])
    return sums


def _valid(args: Sequence[pa.Array], length: int) -> Mask:
    valid = np.ones(length, dtype=np.bool_)
    for arg in args:
        if arg.null_count:
            valid &= valid_mask(arg)
    return valid


def _count(args: Sequence[pa.Array], low: Positions, high: Positions) -> pa.Array:
    length = len(args[0]) if args else int(high.max(initial=0))
    total = _running(_valid(args, length))
    return pa.array(total[high] - total[low])


def _differences(array: pa.Array, low: Positions, high: Positions) -> tuple[list[Positions], Positions]:
    """The limbs of the sum of each range, and its number of values."""
    valid = valid_mask(array)
    totals = [_running(np.where(valid, limb, 0)) for limb in limbs_in(array)]
    count = _running(valid)
    return [total[high] - total[low] for total in totals], count[high] - count[low]


def _doubles(call: Reduce) -> Running:
    finish = finish_doubles(call)

    def run(args: Sequence[pa.Array], low: Positions, high: Positions) -> pa.Array:
        valid = valid_mask(args[0])
        totals, count = running_doubles(doubles_of(args[0]), valid.astype(np.int64)), _running(valid)
        return finish(totals.between(low, high), count[high] - count[low])

    return run


def _moments(function: str) -> Running:
    def run(args: Sequence[pa.Array], low: Positions, high: Positions) -> pa.Array:
        valid = _valid(args, len(args[0]))
        values, weights = [doubles_of(arg) for arg in args], valid.astype(np.int64)
        rows, count = np.arange(len(valid)), _running(valid)
        totals = add_powers(POWERS[function], values, weights, rows, len(valid))
        between = {power: total.running().between(low, high) for power, total in totals.items()}
        return finalize(function, Powers.of(between, count[high] - count[low], is_merged=False))

    return run


def _extreme(*, largest: bool) -> Running:
    """The least or greatest value of each range, for ranges that start where a partition does."""

    def run(args: Sequence[pa.Array], low: Positions, high: Positions) -> pa.Array:
        array = args[0]
        ranks = dense_ranks(ascending(array, zeros_differ=True), len(array))
        none = len(array)
        keys = np.where(valid_mask(array), -ranks if largest else ranks, none)
        begins = np.zeros(len(array) + 1, dtype=np.bool_)
        begins[low] = True
        part = np.cumsum(begins[:-1])
        # A partition's keys lie below those of all earlier ones, so one running minimum restarts with each partition.
        shifted = keys - part * (2 * none + 2)
        best = np.minimum.accumulate(shifted) if len(array) else shifted
        place = np.maximum.accumulate(np.where(shifted == best, np.arange(len(array)), -1)) if len(array) else best
        last = np.maximum(high - 1, 0)
        at = np.where(high > low, place[last] if len(array) else -1, -1)
        return take_or_null(array, at)

    return run
