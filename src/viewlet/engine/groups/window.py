"""Window: rows sorted by partition and order, then functions of their positions, partitions, peers and frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, Positions
from viewlet.columns.evaluate import compile_expr
from viewlet.columns.evaluate import why_not as why_not_expr
from viewlet.columns.order import changes, sort, sort_total, term_keys, why_not_order
from viewlet.columns.rows import Rows
from viewlet.engine.groups.keys import KEY, normalized, number_groups
from viewlet.engine.groups.window_functions import Sorted, compile_over, depends_on_ties, why_not_over
from viewlet.plan.expr import Column, Expr, Order, Over, rewrite
from viewlet.plan.nodes import Top, Window, overs_of


def why_not_window(plan: Window) -> str | None:
    """Why a window operator cannot be evaluated here; None if it can."""
    for part in plan.partition:
        if why := why_not_order(part.type) or why_not_expr(part):
            return why
    overs, results = _split(plan)
    for over in overs:
        if why := why_not_over(over):
            return why
    return why_not_terms(plan.order) or next((why for r in results if (why := why_not_expr(r))), None)


def why_not_terms(order: Sequence[Order]) -> str | None:
    """Why rows cannot be sorted here; None if they can."""
    return next((why for o in order if (why := why_not_order(o.key.type) or why_not_expr(o.key))), None)


def _split(plan: Window) -> tuple[tuple[Over, ...], tuple[Expr, ...]]:
    """The distinct window calls, and the results as expressions over columns for the calls."""
    calls = overs_of(plan)
    known = {call: Column(f"_over {i}", call.type) for i, call in enumerate(calls)}
    return calls, tuple(rewrite(r.expr, lambda e: known.get(e) if isinstance(e, Over) else None) for r in plan.results)


def compile_window(plan: Window, has_key: bool) -> Callable[[Rows], Rows]:
    """The function from rows to the same rows with the window functions' values as further columns."""
    calls, results = _split(plan)
    places = compile_places(plan, has_key)
    functions = [compile_over(call) for call in calls]
    outputs = [(r.name, compile_expr(e)) for r, e in zip(plan.results, results, strict=True)]

    def run(rows: Rows) -> Rows:
        rows = rows.expanded()
        at, new_partition, new_peers = places(rows)
        arranged = Sorted.of(rows.take(at), new_partition, new_peers)
        found = {f"_over {i}": function(arranged) for i, function in enumerate(functions)}
        known = arranged.rows.with_columns(found)
        more = {name: output(known) for name, output in outputs}
        columns = {n: c for n, c in arranged.rows.columns.items() if n != KEY} | more
        return Rows(columns | ({KEY: arranged.rows[KEY]} if has_key else {}), arranged.rows.weights)

    return run


def compile_places(plan: Window, has_key: bool) -> Callable[[Rows], tuple[Positions, Mask, Mask]]:
    """The function that sorts rows by partition and order, and marks where partitions and peers begin.

    Ties are left open only if no function can tell.
    """
    partition = [compile_expr(p) for p in plan.partition]
    terms = _compile_terms(plan.order)
    total = any(map(depends_on_ties, overs_of(plan)))

    def places(rows: Rows) -> tuple[Positions, Mask, Mask]:
        keys: list[pa.Array] = [normalized(p(rows)) for p in partition]
        _, numbers = number_groups([*keys, rows[KEY]] if has_key else keys, len(rows))
        order = terms(rows)
        at = sort_total([numbers, *order], _contents(rows)) if total else sort([numbers, *order], len(rows))
        return at, changes([numbers], at), changes([numbers, *order], at)

    return places


def _contents(rows: Rows) -> Rows:
    """The rows without `_key`, which is not part of their contents."""
    return rows.select(name for name in rows.columns if name != KEY)


def _compile_terms(order: Sequence[Order]) -> Callable[[Rows], list[np.ndarray]]:
    """The function from rows to the sort keys of an ORDER BY."""
    terms = [(compile_expr(o.key), o.descending, o.nulls_first) for o in order]
    return lambda rows: [key for value, down, first in terms for key in term_keys(value(rows), down, first)]


def compile_top(plan: Top, has_key: bool) -> Callable[[Rows], Rows]:
    """The function that keeps the first rows in order, per `_key`."""
    terms = _compile_terms(plan.order)
    first, last = plan.offset, None if plan.limit is None else plan.offset + plan.limit

    def run(rows: Rows) -> Rows:
        keys = terms(rows)
        numbers = number_groups([rows[KEY]], len(rows))[1] if has_key else np.zeros(len(rows), dtype=np.int64)
        ordered = rows.take(sort_total([numbers, *keys], _contents(rows)))
        at = np.sort(numbers)
        before = np.cumsum(ordered.weights) - ordered.weights
        begins = np.flatnonzero(np.diff(at, prepend=-1))
        place = before - np.repeat(before[begins], np.diff(begins, append=len(at)))
        ends = place + ordered.weights if last is None else np.minimum(place + ordered.weights, last)
        kept = np.maximum(ends - np.maximum(place, first), 0)
        return ordered.weighted(kept).filter(kept > 0)

    return run
