"""Aggregates that are kept as a state for each key, without rows.

    M[k] ← M[k] + lift(ΔQ[k])

A monoid is enough where Q only grows: min, max and their like, and what users declare to merge. With an inverse
it is a ring, and Q may shrink too. Sums beside such functions are kept apart, as sums, and joined with them by key.
"""

from __future__ import annotations

from dataclasses import replace

from viewlet.compile.aggregate import key_names, results_over, why_not_sums
from viewlet.compile.build import Builder, comparable, compute
from viewlet.compile.growth import grows
from viewlet.compile.regroup import Lower, with_inputs
from viewlet.plan.expr import Call, Column, Expr, Literal, Named, Reduce, conjunction, conjuncts, rewrite
from viewlet.plan.nodes import Aggregate, Join, Project, calls_of, column
from viewlet.plan.show import show_expr
from viewlet.plan.types import BIGINT, BOOLEAN, Field
from viewlet.program.sums import is_sum
from viewlet.program.terms import COUNT, Absorb, Fold, Term

MONOIDS = frozenset(("min", "max", "bool_and", "bool_or", "every", "some", "any", "bit_and", "bit_or", "bit_xor"))
"""Functions whose value is all that has to be kept: f(f(A) ∪ B) = f(A ∪ B)."""


def why_not_fold(build: Builder, plan: Aggregate) -> str | None:
    """Why an aggregate is not kept as a state for each key."""
    growing = grows(plan.rows, build.growing)
    why = next((why for call in calls_of(plan) if (why := _why_not_call(build, call, growing)) is not None), None)
    return why or build.abilities.groups(with_inputs(plan, (plan.rows,)))


def _why_not_call(build: Builder, call: Reduce, growing: bool) -> str | None:
    name, handlers = show_name(call), call.handlers
    if call.where is not None and (handlers or any(map(build.abilities.can_fail, call.args))):
        return f"{name} has a FILTER"
    if handlers is not None:
        if not handlers.merges:
            return f"{name} has no merge: the touched group is replayed from its rows"
        if not handlers.inverts and not growing:
            return f"{name} has no inverse, and rows may be taken away: the touched group is replayed from its rows"
        return None
    if call.function not in MONOIDS or (call.distinct and call.function == "bit_xor"):
        return f"{name} is no monoid of its values"
    return None if growing else f"{name} has no inverse, and rows may be taken away"


def show_name(call: Reduce) -> str:
    """An aggregate function's name, without the mark of a user's code."""
    return call.function.partition("[")[0]


def lower_fold(build: Builder, plan: Aggregate, lower: Lower) -> tuple[Term, ...]:
    """The delta of an aggregate that is kept as a state for each key."""
    plan = replace(plan, keys=tuple(dict.fromkeys(plan.keys)))
    build.note(plan, *_tier(plan))
    names = key_names(plan)
    keys = [(Field(n, k.type), comparable(k)) for n, k in zip(names, plan.keys, strict=True)]
    arguments, parts = _parts(build, plan)
    terms = build.netted(lower(build, plan.rows), [e for _, e in (*keys, *arguments)])
    columns = [compute(t, [*keys, *arguments]) for t in terms]
    rows = build.keep(columns, names, meaning="what is absorbed", name=build.next_map(), stored=False)
    states = (f for p in parts for f in (*p.state, p.value))
    target = build.next_map()
    fields = (*(f for f, _ in keys), Field(COUNT, BIGINT, False), *states)
    calls = ", ".join(show_expr(c) for c in calls_of(plan))
    fold = Fold(rows.name, names, parts, target, fields)
    kept = build.keep((fold,), names, meaning=f"States[{', '.join(names)}]({calls})", name=target)
    results = results_over(plan, names, [p.value.name for p in parts])
    return (compute(kept.change(), [(f, r.expr) for f, r in zip(plan.columns, results, strict=True)]),)


def _tier(plan: Aggregate) -> tuple[str, str]:
    """The tier of a fold, and why it has it."""
    short = [show_name(c) for c in calls_of(plan) if not (c.handlers and c.handlers.inverts)]
    if not short:
        return "ring", "states with an inverse: the delta alone changes them"
    return "monoid", f"its input only grows: the state of {', '.join(dict.fromkeys(short))} is kept, and no rows"


def _parts(build: Builder, plan: Aggregate) -> tuple[list[tuple[Field, Expr]], tuple[Absorb, ...]]:
    """The columns that the aggregates absorb, and the aggregates over them."""
    computed: dict[Expr, Field] = {}
    parts: list[Absorb] = []
    for call in calls_of(plan):
        chosen = [_chosen(e, call.where) for e in call.args]
        args = [computed.setdefault(e, Field(build.fresh("x"), e.type)) for e in chosen]
        state = call.handlers.state if call.handlers else ()
        kept = tuple(Field(f"{build.fresh('s')}_{f.name}", f.type) for f in state)
        over = replace(call, args=tuple(map(column, args)), where=None, distinct=False)
        parts.append(Absorb(over, kept, Field(build.fresh("a"), call.type)))
    return [(f, e) for e, f in computed.items()], tuple(parts)


def _chosen(argument: Expr, where: Expr | None) -> Expr:
    """An argument, or NULL, which does not count, where the FILTER does not hold."""
    nothing = Literal(None, argument.type)
    return argument if where is None else Call("if", (where, argument, nothing), argument.type)


Halves = tuple[Aggregate, Aggregate]
"""The sums of an aggregate, and its other functions; by key each."""


def split_sums(build: Builder, plan: Aggregate) -> Halves | None:
    """The two halves of an aggregate of sums and of functions that can be kept as states."""
    calls = calls_of(plan)
    sums = [c for c in calls if not c.distinct and is_sum(c.function, [a.type for a in c.args])]
    others = [c for c in calls if c not in sums]
    if not sums or not others:
        return None
    left, right = _only(plan, sums, "l"), _only(plan, others, "r")
    able = why_not_sums(build, left) is None and why_not_fold(build, right) is None
    return (left, right) if able and build.abilities.expressions(conjuncts(_same_key(left, right))) is None else None


def _only(plan: Aggregate, calls: list[Reduce], side: str) -> Aggregate:
    """Some functions of an aggregate, by its keys."""
    keys = tuple(dict.fromkeys(plan.keys))
    fields = tuple(Field(f"_{side}{i}", e.type) for i, e in enumerate((*keys, *calls)))
    results = tuple(Named(f.name, e) for f, e in zip(fields, (*keys, *calls), strict=True))
    return Aggregate(plan.rows, keys, results, fields)


def _same_key(left: Aggregate, right: Aggregate) -> Expr | None:
    pairs = zip(left.columns[: len(left.keys)], right.columns, strict=False)
    return conjunction(tuple(Call("eq_null_safe", (column(a), column(b)), BOOLEAN) for a, b in pairs))


def lower_split(build: Builder, plan: Aggregate, halves: Halves, lower: Lower) -> tuple[Term, ...]:
    """An aggregate as the join of its sums with its states, over rows that are computed once."""
    build.note(plan, _tier(halves[1])[0], f"{_tier(halves[1])[1]}; sums are kept beside it")
    rows = build.passed_on(lower(build, plan.rows), plan.rows)
    left, right = (_renamed(build, replace(half, rows=rows)) for half in halves)
    both = Join(left, right, "inner", _same_key(left, right), (*left.columns, *right.columns))
    held: dict[Expr, Expr] = {r.expr: Column(r.name, r.expr.type) for r in (*right.results, *left.results)}
    results = tuple(Named(r.name, rewrite(r.expr, held.get)) for r in plan.results)
    with build.quiet():
        return lower(build, Project(both, results, plan.columns))


def _renamed(build: Builder, half: Aggregate) -> Aggregate:
    """Under names that nothing else in the program has."""
    fields = tuple(replace(f, name=build.fresh("c")) for f in half.columns)
    results = tuple(replace(r, name=f.name) for r, f in zip(half.results, fields, strict=True))
    return replace(half, results=results, columns=fields)
