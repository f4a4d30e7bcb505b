"""Global aggregates over a running sum, fused with it.

A new row changes the running sums of all rows after it: a delta as long as the table, of which a global aggregate keeps
one number. The aggregate is therefore computed together with the running sum, from maps alone:

    γ[](σ(W(P) ⋈ C ⋈ A))   from  P,  C,  and  γ[k](A),  k being the columns of A that the join and the filter read

W is a window without partitions, C are aggregates, and A is at most one further factor, the one that is aggregated. It
holds where all of them derive from the window's own tables, so that reading them costs no more than the window itself;
where equalities connect A with the rest, and nothing that moves below the join can fail there; and where the sums are
exact in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from viewlet.compile.build import Builder
from viewlet.compile.keyed.regroup import lower_keyed, with_inputs
from viewlet.compile.rewrite.domains import adds_exactly, as_part
from viewlet.plan.expr import (
    Call,
    Column,
    Expr,
    Literal,
    Named,
    Reduce,
    columns_of,
    conjunction,
    conjuncts,
    rewrite,
    substitute,
)
from viewlet.plan.nodes import (
    Aggregate,
    Filter,
    Join,
    Plan,
    Project,
    Union,
    Window,
    calls_of,
    children,
    map_children,
    names,
)
from viewlet.plan.types import BIGINT, Field, decimal
from viewlet.program.terms import Term

WHY = "a global aggregate over a running sum is fused with it, because each change touches every row"


@dataclass(frozen=True, slots=True)
class WindowSum:
    """An aggregate as one function of some inputs, each of which is kept as a map."""

    plan: Aggregate
    inputs: tuple[Plan, ...]


@dataclass
class _Flat:
    """Joined factors, the conditions on them, and the projected results in terms of their columns."""

    factors: list[Plan] = field(default_factory=list)
    conditions: list[Expr] = field(default_factory=list)
    results: dict[str, Expr] = field(default_factory=dict)


def window_sum_below(build: Builder, plan: Aggregate) -> WindowSum | None:
    """The function to which an aggregate over a window without partitions is fused, if that pays."""
    if not build.rules.higher_order or plan.keys:
        return None
    flat = _Flat()
    _flatten(plan.rows, flat)
    windows = [p for p in flat.factors if isinstance(p, Window) and not p.partition]
    if len(windows) != 1:
        return None
    single = [p for p in flat.factors if isinstance(p, Aggregate)]
    others = [p for p in flat.factors if p not in windows and p not in single]
    known = build.tables(windows[0])
    if len(others) > 1 or not all(build.tables(p) <= known for p in (*single, *others)):
        return None
    aggregate = replace(plan, results=tuple(Named(r.name, substitute(r.expr, flat.results)) for r in plan.results))
    if others:
        added = _added_up(build, others[0], aggregate, flat.conditions)
        if added is None:
            return None
        others, aggregate = [added[0]], added[1]
    rows = _joined([*windows, *sorted(single, key=lambda p: len(p.keys)), *others], flat.conditions)
    if rows is None:
        return None
    made, inputs = replace(aggregate, rows=rows), (*_cuts(windows[0].rows), *single, *others)
    return WindowSum(made, inputs) if build.abilities.groups(with_inputs(made, inputs)) is None else None


def lower_window_sum(build: Builder, plan: Aggregate, whole: WindowSum, top: Plan) -> tuple[Term, ...]:
    """The delta of a fused aggregate; `top` is the operator above that becomes part of the function too."""
    above = _instead(top, plan, whole.plan)
    return lower_keyed(build, whole.plan, whole.inputs, (), WHY, top=above, from_sums=True)


def _instead(top: Plan, plan: Plan, other: Plan) -> Plan:
    """The operators above a plan, above another one."""
    return other if top is plan else map_children(top, lambda child: _instead(child, plan, other))


def _cuts(plan: Plan) -> tuple[Plan, ...]:
    """The inputs below a window: aggregates from which the rest is quickly computed, or the window's own input."""
    below = tuple(_aggregates(plan))
    return below if all(isinstance(p, Aggregate) for p in below) else (plan,)


def _aggregates(plan: Plan) -> Iterator[Plan]:
    """The plans below filters, projections and unions."""
    if isinstance(plan, Filter | Project | Union):
        for child in children(plan):
            yield from _aggregates(child)
    else:
        yield plan


def _flatten(plan: Plan, flat: _Flat) -> None:
    match plan:
        case Filter():
            _flatten(plan.rows, flat)
            flat.conditions += [substitute(c, flat.results) for c in conjuncts(plan.condition)]
        case Project():
            _flatten(plan.rows, flat)
            flat.results |= {r.name: substitute(r.expr, flat.results) for r in plan.results}
        case Join(kind="inner"):
            _flatten(plan.left, flat)
            _flatten(plan.right, flat)
            flat.conditions += [substitute(c, flat.results) for c in conjuncts(plan.condition)]
        case _:
            flat.factors.append(plan)


def _joined(factors: Sequence[Plan], conditions: Iterable[Expr]) -> Plan | None:
    """The factors joined one after the other; None if no equality connects one that may have many rows."""
    rows, *others = factors
    pending = list(conditions)
    rows, pending = _where(rows, pending)
    for other in others:
        columns = (*rows.columns, *other.columns)
        ready = [c for c in pending if columns_of(c) <= {f.name for f in columns}]
        if not (isinstance(other, Aggregate) and not other.keys) and not any(map(_connects, ready)):
            return None
        rows = Join(rows, other, "inner", conjunction(tuple(ready)), columns)
        pending = [c for c in pending if c not in ready]
    return rows


def _where(rows: Plan, conditions: list[Expr]) -> tuple[Plan, list[Expr]]:
    own = [c for c in conditions if columns_of(c) <= set(names(rows))]
    condition = conjunction(tuple(own))
    return rows if condition is None else Filter(rows, condition), [c for c in conditions if c not in own]


def _connects(condition: Expr) -> bool:
    return isinstance(condition, Call) and condition.function in ("eq", "eq_null_safe")


def _added_up(
    build: Builder, rows: Plan, aggregate: Aggregate, conditions: Sequence[Expr]
) -> tuple[Plan, Aggregate] | None:
    """A factor aggregated by the columns that conditions read, and the aggregate over these sums."""
    own = set(names(rows))
    asked = {name for c in conditions for name in columns_of(c)} & own
    calls = calls_of(aggregate)
    keys = tuple(Column(f.name, f.type) for f in rows.columns if f.name in asked)
    moved = [e for c in calls for e in (*c.args, c.where) if e is not None]
    exact = all(_is_exact(c) and columns_of(c) <= own for c in calls) and not any(k.type.has_floats for k in keys)
    if not exact or not build.is_safe(moved):
        return None
    sums = {c: Field(build.fresh("s"), as_part(c).type) for c in calls}
    fields = (*(Field(k.name, k.type) for k in keys), *sums.values())
    exprs: list[Expr] = [*keys, *map(as_part, calls)]
    below = Aggregate(rows, keys, tuple(Named(f.name, e) for f, e in zip(fields, exprs, strict=True)), fields)
    held: dict[Expr, Expr] = {c: _over(c, Column(f.name, f.type)) for c, f in sums.items()}
    results = tuple(Named(r.name, rewrite(r.expr, held.get)) for r in aggregate.results)
    return below, replace(aggregate, results=results)


def _is_exact(call: Reduce) -> bool:
    """Whether a call is the sum of partial sums, for any partition of the rows."""
    kind = call.args[0].type if call.args else BIGINT
    if call.distinct or len(call.args) > 1:
        return False
    return call.function == "count" or (call.function == "sum" and adds_exactly(kind))


def _over(call: Reduce, parts: Column) -> Expr:
    """A call over partial sums; a count over no parts is 0."""
    if call.function == "count":
        return Call("coalesce", (Reduce("sum", (parts,), BIGINT), Literal(0, BIGINT)), BIGINT)
    if parts.type == call.type:
        return Reduce("sum", (parts,), call.type)
    return Call("cast", (Reduce("sum", (parts,), decimal(38, 0)),), call.type)
