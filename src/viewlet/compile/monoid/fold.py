"""Aggregates kept as a state per key, without rows.

    M[k] ← M[k] + lift(ΔQ[k])

A monoid suffices if Q only grows: min, max and the like, and user-defined aggregates that merge. With inverses it is a
group, and Q may shrink too.
"""

from __future__ import annotations

from dataclasses import replace

from viewlet.compile.build import Builder, comparable, compute
from viewlet.compile.keyed.regroup import with_inputs
from viewlet.compile.monoid.growth import grows
from viewlet.compile.ring.sum_aggregate import chosen, key_names, results_over
from viewlet.plan.expr import Expr, Reduce
from viewlet.plan.nodes import Aggregate, calls_of, column
from viewlet.plan.show import show_expr
from viewlet.plan.types import BIGINT, Field
from viewlet.program.terms import COUNT, Fold, FoldedAggregate, Term

MONOIDS = frozenset(("min", "max", "bool_and", "bool_or", "every", "some", "any", "bit_and", "bit_or", "bit_xor"))
"""Functions whose value is their whole state: f(f(A) ∪ B) = f(A ∪ B)."""


def why_not_fold(build: Builder, plan: Aggregate) -> str | None:
    """Why an aggregate cannot be kept as a state per key."""
    growing = grows(plan.rows, build.growing)
    why = next((why for call in calls_of(plan) if (why := why_not_state(build, call, growing)) is not None), None)
    return why or build.abilities.groups(with_inputs(plan, (plan.rows,)))


def why_not_state(build: Builder, call: Reduce, growing: bool) -> str | None:
    """Why a function cannot be kept as a state; `growing`: its input has no deletions."""
    name, handlers = show_name(call), call.handlers
    if call.where is not None and (handlers or any(map(build.abilities.can_fail, call.args))):
        return f"{name} has a FILTER"
    if handlers is not None:
        if not handlers.merges:
            return f"{name} has no merge: the touched group is replayed from its rows"
        if not handlers.inverts and not growing:
            return f"{name} has no inverse, and rows may be deleted: the touched group is replayed from its rows"
        return None
    if call.function not in MONOIDS or (call.distinct and call.function == "bit_xor"):
        return f"{name} is not a monoid"
    return None if growing else f"{name} has no inverse, and rows may be deleted"


def show_name(call: Reduce) -> str:
    """An aggregate function's name without its parameters."""
    return call.function.partition("[")[0]


def lower_fold(build: Builder, plan: Aggregate) -> tuple[Term, ...]:
    """The delta of an aggregate that is kept as a state per key."""
    plan = replace(plan, keys=tuple(dict.fromkeys(plan.keys)))
    build.note(plan, *tier_of(plan))
    names = key_names(plan)
    keys = [(Field(n, k.type), comparable(k)) for n, k in zip(names, plan.keys, strict=True)]
    arguments, parts = _parts(build, plan)
    terms = build.netted(build.lower(plan.rows), [e for _, e in (*keys, *arguments)])
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


def tier_of(plan: Aggregate) -> tuple[str, str]:
    """The tier of a fold, and the reason."""
    short = [show_name(c) for c in calls_of(plan) if not (c.handlers and c.handlers.inverts)]
    if not short:
        return "ring", "states with an inverse: the delta alone changes them"
    return "monoid", f"its input only grows: the state of {', '.join(dict.fromkeys(short))} is kept, no rows"


def _parts(build: Builder, plan: Aggregate) -> tuple[list[tuple[Field, Expr]], tuple[FoldedAggregate, ...]]:
    """The columns that the aggregates absorb, and the aggregates over them."""
    computed: dict[Expr, Field] = {}
    parts: list[FoldedAggregate] = []
    for call in calls_of(plan):
        given = [chosen(e, call.where) for e in call.args]
        args = [computed.setdefault(e, Field(build.fresh("x"), e.type)) for e in given]
        state = call.handlers.state if call.handlers else ()
        kept = tuple(Field(f"{build.fresh('s')}_{f.name}", f.type) for f in state)
        over = replace(call, args=tuple(map(column, args)), where=None, distinct=False)
        parts.append(FoldedAggregate(over, kept, Field(build.fresh("a"), call.type)))
    return [(f, e) for e, f in computed.items()], tuple(parts)
