"""Running window functions that resume from the preceding row's result.

    rank = rows before + rank among what follows        sum = sum up to the row before + sum of what follows

A sum of doubles is rounded in that row, so it resumes from the exact sum of all rows before.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewlet.columns.arrays import Mask, Positions, from_numpy, truth_of, values_of
from viewlet.columns.evaluate import compile_expr
from viewlet.columns.exact.digits import doubles_of
from viewlet.columns.exact.double_sums import ExactSums, running_doubles
from viewlet.columns.rows import Rows, Weights, same
from viewlet.engine.groups.grouping import take_or_null
from viewlet.engine.groups.window import compile_places
from viewlet.engine.groups.window_functions import Sorted, bounds
from viewlet.plan.expr import Over
from viewlet.plan.nodes import Plan, Window, names
from viewlet.plan.types import FRACTIONAL
from viewlet.program.terms import KEY

Sums = dict[str, ExactSums]
Resume = Callable[[Rows, Weights, Sums, Positions, Rows], Rows | None]


def compile_resume(plan: Plan) -> Resume:
    """The function from results over some ranges alone to the results in their partitions.

    Its inputs are the number of rows before each range, the sums of doubles there, and the stored results of the rows
    just before it with their ranges. It returns None if it cannot tell which of these rows is the last.
    """
    assert isinstance(plan, Window)
    calls = [(r.name, r.expr) for r in plan.results if isinstance(r.expr, Over) and not _adds_doubles(r.expr)]
    exact = {name: _compile_sum(plan, call) for name, call in double_sums(plan)}
    last_of = _compile_last(plan)

    def resume(now: Rows, counts: Weights, sums: Sums, which: Positions, ahead: Rows) -> Rows | None:
        last = last_of(which, ahead, len(counts))
        if last is None:
            return None
        owner = values_of(now[KEY], "i8")
        at, before = last[owner], counts[owner]
        made = {
            name: _continued(call, now[name], before, take_or_null(ahead[name], at), at >= 0) for name, call in calls
        }
        for name, add in exact.items():
            made[name] = add(
                now, sums[name].take(owner), now[name].is_valid(), take_or_null(ahead[name], at).is_valid()
            )
        return now.with_columns(made)

    return resume


def double_sums(plan: Plan) -> list[tuple[str, Over]]:
    """The sums of doubles of a window, by name."""
    assert isinstance(plan, Window)
    return [(r.name, r.expr) for r in plan.results if isinstance(r.expr, Over) and _adds_doubles(r.expr)]


def _adds_doubles(call: Over) -> bool:
    return call.function == "sum" and call.args[0].type.name in FRACTIONAL


def _compile_sum(plan: Window, call: Over) -> Callable[[Rows, ExactSums, pa.Array, pa.Array], pa.Array]:
    """The function that adds sums of doubles to the exact sums before; the result is NULL if both are."""
    value, places = compile_expr(call.args[0]), compile_places(plan, has_key=True)
    inputs = (*names(plan.rows), KEY)

    def add(now: Rows, before: ExactSums, here: pa.Array, there: pa.Array) -> pa.Array:
        order, new_partition, new_peers = places(now.select(inputs))
        rows = now.take(order)
        low, high = bounds(call.frame, Sorted.of(rows, new_partition, new_peers))
        within = running_doubles(doubles_of(value(rows)), np.ones(len(rows), dtype=np.int64)).between(low, high)
        sums = np.empty(len(rows))
        sums[order] = within.plus(before.take(order)).doubles()
        return from_numpy(sums, pa.float64(), truth_of(here) | truth_of(there))

    return add


def _compile_last(plan: Window) -> Callable[[Positions, Rows, int], Positions | None]:
    """The function that finds the last row before each range, −1 if there is none."""
    inputs, places = names(plan.rows), compile_places(plan, has_key=True)

    def last_of(which: Positions, ahead: Rows, count: int) -> Positions | None:
        last = np.full(count, -1, dtype=np.int64)
        if not len(ahead):
            return last
        rows = ahead.select(inputs).with_columns({KEY: from_numpy(which, pa.int64())})
        order = places(rows)[0]
        owner = which[order]
        is_last = np.append(owner[1:] != owner[:-1], True)
        last[owner[is_last]] = order[is_last]
        again = np.flatnonzero(is_last[1:] & (owner[1:] == owner[:-1])) + 1
        columns = list(rows.columns.values())
        return None if same(columns, order[again - 1], columns, order[again]).any() else last

    return last_of


def _continued(call: Over, value: pa.Array, before: Weights, last: pa.Array, has_last: Mask) -> pa.Array:
    """The value of a function, from its value over the rows after the last one, and its value at the last one."""
    match call.function:
        case "row_number" | "rank":
            return pc.add_checked(value, from_numpy(before, pa.int64()).cast(value.type))
        case "count" | "dense_rank":
            return pc.add_checked(value, pc.fill_null(last, 0))
        case "sum":
            return pc.coalesce(pc.add_checked(value, last).cast(value.type), value, last)
        case "min":
            return pc.min_element_wise(value, last)
        case "max":
            return pc.max_element_wise(value, last)
        case "first" | "first_value" | "nth_value":
            return pc.if_else(pa.array(has_last), last, value)
        case _:
            raise AssertionError(f"{call.function} does not resume from a row")
