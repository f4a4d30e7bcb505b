"""Running window functions that go on from the row before: what they give for it, and for what follows it alone.

rank = rows before + rank among what follows        sum = sum up to the row before + sum of what follows
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewlet.columns.arrays import Mask, Positions, from_numpy, values_of
from viewlet.columns.rows import Rows, Weights, same
from viewlet.engine.local.groups import take_or_null
from viewlet.engine.local.window import compile_places
from viewlet.plan.expr import Over
from viewlet.plan.nodes import Plan, Window, names
from viewlet.program.terms import KEY

GoOn = Callable[[Rows, Weights, Positions, Rows], Rows | None]


def compile_going_on(plan: Plan) -> GoOn:
    """The function from the results of some stretches alone to what they are in their partitions.

    It is given how many rows are before each stretch, and the stored results of those right before it, with the
    stretches that they are before. None if these do not tell which of them is the last.
    """
    assert isinstance(plan, Window)
    calls = [(r.name, r.expr) for r in plan.results if isinstance(r.expr, Over)]
    last_of = _compile_last(plan)

    def go_on(now: Rows, counts: Weights, which: Positions, ahead: Rows) -> Rows | None:
        last = last_of(which, ahead, len(counts))
        if last is None:
            return None
        stretch = values_of(now[KEY], "i8")
        at, before = last[stretch], counts[stretch]
        made = {
            name: _continued(call, now[name], before, take_or_null(ahead[name], at), at >= 0) for name, call in calls
        }
        return now.with_columns(made)

    return go_on


def _compile_last(plan: Window) -> Callable[[Positions, Rows, int], Positions | None]:
    """The function that finds the last row before each stretch, −1 if there is none."""
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
    """The value of a function, from its value among what follows the last row and from its value there."""
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
            raise AssertionError(f"{call.function} does not go on from a row")
