"""Aggregate: number the groups, reduce each call, then compute the results from keys and reduced values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from viewlet.columns.evaluate import compile_condition, compile_expr
from viewlet.columns.evaluate import why_not as why_not_expr
from viewlet.columns.exact.failing_group import naming_group
from viewlet.columns.order import why_not_order
from viewlet.columns.rows import Rows
from viewlet.engine.groups.grouping import Groups
from viewlet.engine.groups.keys import KEY, normalized, number_groups
from viewlet.engine.groups.reducers import compile_reduce, why_not_reduce
from viewlet.plan.expr import Column, Expr, Reduce, columns_of, rewrite, walk
from viewlet.plan.nodes import Aggregate
from viewlet.plan.show import show_expr


def why_not_aggregate(plan: Aggregate) -> str | None:
    """Why an aggregate cannot be evaluated here; None if it can."""
    for key in plan.keys:
        if why := why_not_order(key.type) or why_not_expr(key):
            return why
    calls, results = _split(plan)
    for call in calls:
        if why := why_not_reduce(call) or _why_not_inputs(call):
            return why
    return next((why for r in results if (why := why_not_expr(r))), None)


def _why_not_inputs(call: Reduce) -> str | None:
    parts = call.args if call.where is None else (*call.args, call.where)
    return next((why for p in parts if (why := why_not_expr(p))), None)


def _split(plan: Aggregate) -> tuple[tuple[Reduce, ...], tuple[Expr, ...]]:
    """The distinct aggregate calls, and the results as expressions over columns for keys and calls."""
    calls = tuple(dict.fromkeys(e for r in plan.results for e in walk(r.expr) if isinstance(e, Reduce)))
    known: dict[Expr, Expr] = {
        **{call: Column(f"call {i}", call.type) for i, call in enumerate(calls)},
        **{key: Column(f"key {i}", key.type) for i, key in enumerate(plan.keys)},
    }
    return calls, tuple(rewrite(r.expr, known.get) for r in plan.results)


def compile_aggregate(plan: Aggregate, has_key: bool) -> Callable[[Rows], Rows]:
    """The function from rows to one row per group; groups never cross values of `_key`."""
    calls, results = _split(plan)
    keys, labels = [compile_expr(key) for key in plan.keys], [show_expr(key) for key in plan.keys]
    reducers = [compile_call(call) for call in calls]
    outputs = [(r.name, compile_expr(e)) for r, e in zip(plan.results, results, strict=True)]

    of_nothing = not any(call.handlers for call in calls)  # for user-defined aggregates Spark returns no row then

    def run(rows: Rows) -> Rows:
        found = [normalized(key(rows)) for key in keys]
        first, groups = _groups(found, rows, has_key)
        indices = pa.array(first, type=pa.int64())
        with naming_group({name: key.take(indices) for name, key in zip(labels, found, strict=True)}):
            columns = {f"call {i}": reduce(rows, groups) for i, reduce in enumerate(reducers)}
        if has_key or found:
            columns |= {f"key {i}": key.take(indices) for i, key in enumerate(found)}
        reduced = Rows(columns, np.ones(groups.count, dtype=np.int64))
        if not (found or has_key or of_nothing or len(rows)):
            reduced = reduced.take(first)
        last = {KEY: rows[KEY].take(indices)} if has_key else {}
        return Rows({name: output(reduced) for name, output in outputs} | last, reduced.weights)

    return run


def _groups(keys: Sequence[pa.Array], rows: Rows, has_key: bool) -> tuple[np.ndarray, Groups]:
    """The first row of each group, and the groups; without keys there is one group, even for no rows."""
    if not keys and not has_key:
        return np.zeros(0, dtype=np.int64), Groups(np.zeros(len(rows), dtype=np.int64), rows.weights, 1)
    first, of = number_groups([*keys, rows[KEY]] if has_key else keys, len(rows))
    return first, Groups(of, rows.weights, len(first))


def compile_call(call: Reduce) -> Callable[[Rows, Groups], pa.Array]:
    """The function from rows and their groups to the values of one aggregate call."""
    varying = [a for a in call.args if call.handlers or columns_of(a)]
    args = [compile_expr(a) for a in varying or call.args]
    reduce = compile_reduce(call)
    if call.where is None:
        return lambda rows, groups: reduce([arg(rows) for arg in args], groups)
    chosen = compile_condition(call.where)
    needed = [name for a in call.args for name in columns_of(a)]

    def reduce_chosen(rows: Rows, groups: Groups) -> pa.Array:
        at = np.flatnonzero(
            chosen(rows)
        )  # Spark computes the arguments of these rows only, and so cannot fail on others
        some = rows.select(dict.fromkeys(needed)).take(at)
        return reduce([arg(some) for arg in args], groups.take(at))

    return reduce_chosen
