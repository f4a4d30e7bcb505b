"""Distinct aggregates as sums over a DISTINCT.

    γ[k; count(distinct x)](Q)  =  γ[k; count(x)](δ[k, x](Q))

so count(distinct …) is maintained by counting, without rereading groups. This applies if all aggregates of an operator
are sums that are distinct over the same argument.
"""

from __future__ import annotations

from dataclasses import replace

from viewlet.compile.abilities import Abilities
from viewlet.plan.expr import Column, Expr, Named, Reduce, rewrite, walk
from viewlet.plan.nodes import Aggregate, Plan, column, map_children
from viewlet.plan.sums import is_sum
from viewlet.plan.types import Field


def split_distinct(plan: Plan, abilities: Abilities) -> Plan:
    """Rewrite every aggregate of the plan to which the law applies."""
    plan = map_children(plan, lambda child: split_distinct(child, abilities))
    if not isinstance(plan, Aggregate):
        return plan
    calls = {e for r in plan.results for e in walk(r.expr) if isinstance(e, Reduce)}
    arguments = {c.args for c in calls}
    if not calls or len(arguments) != 1 or not all(c.distinct and c.where is None for c in calls):
        return plan
    (args,) = arguments
    if len(args) != 1 or not all(is_sum(c.function, [args[0].type]) for c in calls):
        return plan
    outer: dict[Expr, Expr] = {c: Column("", c.type) for c in calls}
    needed = [*plan.keys, *args, *(rewrite(r.expr, outer.get) for r in plan.results)]
    return plan if abilities.expressions(needed) is not None else over_distinct(plan, args[0])


def over_distinct(plan: Aggregate, argument: Expr) -> Aggregate:
    """The aggregate over the distinct (keys, argument) rows."""
    distinct = tuple(dict.fromkeys((*plan.keys, argument)))
    fields = tuple(Field(f"_d{i}", e.type) for i, e in enumerate(distinct))
    named = tuple(Named(f.name, e) for f, e in zip(fields, distinct, strict=True))
    inner = Aggregate(plan.rows, distinct, named, fields)
    columns: dict[Expr, Expr] = {e: column(f) for e, f in zip(distinct, fields, strict=True)}

    def over(e: Expr) -> Expr | None:
        if isinstance(e, Reduce):
            return replace(e, args=(columns[argument],), distinct=False)
        return columns[e] if e in plan.keys else None

    results = tuple(Named(r.name, rewrite(r.expr, over)) for r in plan.results)
    return Aggregate(inner, tuple(columns[k] for k in plan.keys), results, plan.columns, origin=plan.origin)
