"""Join: pairs of rows with equal keys, found through integer codes, then filtered by the rest of the condition.

With `_key` on both sides, rows match only within their `_key`. Weights of paired rows multiply; a row without a partner
keeps its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewlet.columns.arrays import Mask, Positions
from viewlet.columns.evaluate import compile_condition, compile_expr
from viewlet.columns.evaluate import why_not as why_not_expr
from viewlet.columns.order import why_not_order
from viewlet.columns.rows import Rows
from viewlet.engine.groups.grouping import take_or_null
from viewlet.engine.groups.keys import KEY, any_null, number_pairs
from viewlet.plan.expr import Call, Expr, columns_of, conjunction, conjuncts
from viewlet.plan.nodes import Join, names

_PAIRS_AT_ONCE = 1 << 20
"""Pairs tested against a condition at a time, which bounds the memory of a join without keys."""

Pairs = tuple[Positions, Positions]


@dataclass(frozen=True, slots=True)
class Equality:
    """`left = right`; `null_safe`: NULL equals NULL."""

    left: Expr
    right: Expr
    null_safe: bool


def split_condition(plan: Join) -> tuple[tuple[Equality, ...], Expr | None]:
    """The equalities between the sides, and the rest of the condition."""
    equalities, rest = [], []
    for term in conjuncts(plan.condition):
        found = _equality(term, frozenset(names(plan.left)), frozenset(names(plan.right)))
        if found is None:
            rest.append(term)
        else:
            equalities.append(found)
    return tuple(equalities), conjunction(tuple(rest))


def _equality(term: Expr, left: frozenset[str], right: frozenset[str]) -> Equality | None:
    match term:
        case Call("eq" | "eq_null_safe" as function, (a, b)) if a.type == b.type and not why_not_order(a.type):
            reads_a, reads_b = columns_of(a), columns_of(b)
            if reads_a and reads_b and reads_a <= left and reads_b <= right:
                return Equality(a, b, function == "eq_null_safe")
            if reads_a and reads_b and reads_a <= right and reads_b <= left:
                return Equality(b, a, function == "eq_null_safe")
    return None


def why_not_join(plan: Join, keyed: tuple[bool, bool]) -> str | None:
    """Why a join cannot be evaluated here; None if it can. `keyed`: whether the sides have a `_key`."""
    kept = {"left": (True, False), "right": (False, True), "full": (True, True), "inner": (False, False)}
    keeps = kept.get(plan.kind, (True, False))
    if any(keyed) and any(keep and not key for keep, key in zip(keeps, keyed, strict=True)):
        return f"a {plan.kind} join that keeps constant rows is evaluated by Spark alone"
    equalities, rest = split_condition(plan)
    parts = [side for e in equalities for side in (e.left, e.right)] + ([] if rest is None else [rest])
    return next((why for p in parts if (why := why_not_expr(p))), None)


def compile_join(plan: Join, keyed: tuple[bool, bool]) -> Callable[[Rows, Rows], Rows]:
    """The function from the rows of both sides to the joined rows."""
    find = _compile_pairs(plan, keyed)
    match plan.kind:
        case "semi" | "anti":
            wanted = plan.kind == "semi"
            return lambda left, right: left.filter(_partnered(find(left, right), len(left)) == wanted)
        case "exists":
            return _compile_exists(plan, find)
        case kind:
            assert kind in ("inner", "left", "right", "full"), kind
            return _compile_outer(plan, keyed, find)


def _compile_exists(plan: Join, find: Callable[[Rows, Rows], Iterator[Pairs]]) -> Callable[[Rows, Rows], Rows]:
    flag = plan.columns[-1].name

    def run(left: Rows, right: Rows) -> Rows:
        found = pa.array(_partnered(find(left, right), len(left)))
        columns = {name: left[name] for name in names(plan.left)} | {flag: found}
        return Rows(columns | {n: c for n, c in left.columns.items() if n == KEY}, left.weights)

    return run


def _compile_outer(
    plan: Join, keyed: tuple[bool, bool], find: Callable[[Rows, Rows], Iterator[Pairs]]
) -> Callable[[Rows, Rows], Rows]:
    keeps_left, keeps_right = plan.kind in ("left", "full"), plan.kind in ("right", "full")

    def run(left: Rows, right: Rows) -> Rows:
        pairs = list(find(left, right))
        at, to = _joined([a for a, _ in pairs]), _joined([b for _, b in pairs])
        if keeps_left:
            alone = _missing(at, len(left))
            at, to = np.concatenate([at, alone]), np.concatenate([to, np.full(len(alone), -1)])
        if keeps_right:
            alone = _missing(to, len(right))
            at, to = np.concatenate([at, np.full(len(alone), -1)]), np.concatenate([to, alone])
        return _paired(plan, keyed, (left, at), (right, to))

    return run


def _paired(plan: Join, keyed: tuple[bool, bool], left: tuple[Rows, Positions], right: tuple[Rows, Positions]) -> Rows:
    """The rows at paired positions side by side; NULLs and weight one where a position is −1."""
    columns = {name: take_or_null(left[0][name], left[1]) for name in names(plan.left)}
    columns |= {name: take_or_null(right[0][name], right[1]) for name in names(plan.right)}
    keys = [take_or_null(rows[KEY], at) for (rows, at), has in zip((left, right), keyed, strict=True) if has]
    if keys:
        columns[KEY] = keys[0] if not keys[0].null_count else pc.coalesce(*keys)
    weights = [_weights(rows, at) for rows, at in (left, right)]
    return Rows(columns, weights[0] * weights[1])


def _weights(rows: Rows, at: Positions) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.append(rows.weights, 1)[at]  # position −1 is the 1 at the end


def _joined(parts: Sequence[Positions]) -> Positions:
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def _missing(found: Positions, length: int) -> Positions:
    alone = np.ones(length, dtype=np.bool_)
    alone[found[found >= 0]] = False
    return np.flatnonzero(alone)


def _partnered(pairs: Iterator[Pairs], length: int) -> Mask:
    """Which left rows occur in some pair."""
    result = np.zeros(length, dtype=np.bool_)
    for at, _ in pairs:
        result[at] = True
    return result


def _compile_pairs(plan: Join, keyed: tuple[bool, bool]) -> Callable[[Rows, Rows], Iterator[Pairs]]:
    """The function that finds the positions of pairs that satisfy the condition, in portions."""
    equalities, rest = split_condition(plan)
    lefts, rights = [compile_expr(e.left) for e in equalities], [compile_expr(e.right) for e in equalities]
    strict = [i for i, e in enumerate(equalities) if not e.null_safe]
    holds = None if rest is None else compile_condition(rest)
    needed = frozenset() if rest is None else columns_of(rest)
    one_is_enough = rest is None and plan.kind in ("semi", "anti", "exists")

    def find(left: Rows, right: Rows) -> Iterator[Pairs]:
        keys = [f(left) for f in lefts], [f(right) for f in rights]
        extra = [[rows[KEY]] if all(keyed) else [] for rows in (left, right)]
        codes = number_pairs(keys[0] + extra[0], keys[1] + extra[1], (len(left), len(right)))
        nulls = [any_null([side[i] for i in strict]) for side in keys]
        for at, to in _matches(codes, nulls, one_is_enough, _PAIRS_AT_ONCE if holds else None):
            if holds is not None:
                true = holds(_beside(left, at, right, to, needed))
                at, to = at[true], to[true]
            yield at, to

    return find


def _beside(left: Rows, at: Positions, right: Rows, to: Positions, needed: frozenset[str]) -> Rows:
    a = left.select(n for n in left.columns if n in needed).take(at)
    b = right.select(n for n in right.columns if n in needed).take(to)
    return Rows({**a.columns, **b.columns}, np.ones(len(at), dtype=np.int64))


def _matches(codes: Pairs, nulls: Sequence[Mask | None], one_is_enough: bool, at_once: int | None) -> Iterator[Pairs]:
    """Pairs of positions with equal codes, or one per left row; keys that must be equal and are NULL match nothing."""
    left, right = codes
    places = np.argsort(right, kind="stable")
    if nulls[1] is not None:
        places = places[~nulls[1][places]]
    if one_is_enough:
        places = places[np.unique(right[places], return_index=True)[1]]
    sizes = np.bincount(right[places], minlength=int(max(left.max(initial=-1), right.max(initial=-1))) + 1)
    starts = np.cumsum(sizes) - sizes
    partners = sizes[left]
    if nulls[0] is not None:
        partners = np.where(nulls[0], 0, partners)
    for begin, end in _portions(partners, at_once):
        counts = partners[begin:end]
        at = np.repeat(np.arange(begin, end), counts)
        within = np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts)
        yield at, places[starts[left[at]] + within]


def _portions(sizes: Positions, at_once: int | None) -> Iterator[tuple[int, int]]:
    """Ranges of rows with about `at_once` pairs each."""
    total = np.cumsum(sizes)
    if at_once is None or len(sizes) == 0 or total[-1] <= at_once:
        yield 0, len(sizes)
        return
    begin = 0
    while begin < len(sizes):
        reached = int(total[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(total, reached + at_once, side="right")))
        yield begin, end
        begin = end
