"""Domains: the values for which a nested aggregate is evaluated after Spark has decorrelated it.

`(SELECT sum(x) FROM R WHERE R.y = l.y AND R.q > l.p)` for each row l of L arrives as L joined with

    γ[p, y; sum(x)](D ⋈[q > p] R)   on p and y,   where D is DISTINCT p of L

which has a row for each p with *every* y. Only pairs that occur in L can match a row of L, so D may as well be
DISTINCT (p, y) of D ⋈ L, and the equality moves into the inner join. This holds wherever a row of the aggregate without
a partner in L does not affect the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from viewlet.plan.expr import (
    Call,
    Column,
    Expr,
    Named,
    Reduce,
    conjunction,
    conjuncts,
    rewrite,
    substitute,
)
from viewlet.plan.nodes import (
    Aggregate,
    Filter,
    Input,
    Join,
    Plan,
    Project,
    Scan,
    Values,
    calls_of,
    children,
    column,
    names,
)
from viewlet.plan.types import BIGINT, BOOLEAN, INTEGRAL, Field, Type, decimal

_TRACELESS = {"inner": ("left", "right"), "right": ("left",)} | dict.fromkeys(
    ("left", "semi", "anti", "exists"), ("right",)
)
"""For each kind of join, the sides whose rows without a partner do not affect the result."""
_CHEAP = (Scan, Input, Values, Filter, Project, Aggregate)
"""Operators that are cheap to read twice, in addition to inner joins."""
Asked = dict[str, tuple[str, Column]]
"""For keys of an aggregate, the function (`eq` or `eq_null_safe`) and the column with which a partner compares them."""
Pays = Callable[[Aggregate], bool]
"""Whether rewriting pays for an aggregate."""


def over_join(plan: Aggregate) -> Aggregate | None:
    """The same aggregate directly over an inner join, if there is one below projections and a filter."""
    match plan.rows:
        case Join(kind="inner"):
            return plan
        case Filter(Join(kind="inner") as join, condition):
            terms = (*conjuncts(join.condition), *conjuncts(condition))
            return replace(plan, rows=replace(join, condition=conjunction(terms)))
        case Project(rows, results):
            known = {r.name: r.expr for r in results}
            keys = tuple(substitute(k, known) for k in plan.keys)
            named = tuple(Named(r.name, substitute(r.expr, known)) for r in plan.results)
            return over_join(replace(plan, rows=rows, keys=keys, results=named))
        case _:
            return None


def unique_columns(plan: Plan) -> frozenset[str] | None:
    """The columns that are a key of a DISTINCT."""
    match plan:
        case Aggregate() if plan.keys and not calls_of(plan):
            made = {r.expr: r.name for r in plan.results}
            return frozenset(made[k] for k in plan.keys) if all(k in made for k in plan.keys) else None
        case Filter():
            return unique_columns(plan.rows)
        case Project():
            below = unique_columns(plan.rows)
            passed = {r.expr.name: r.name for r in plan.results if isinstance(r.expr, Column)}
            return frozenset(passed[n] for n in below) if below is not None and below <= passed.keys() else None
        case _:
            return None


def never_null(plan: Plan) -> frozenset[str]:
    """The columns that are never NULL, by declaration or because of a filter."""
    known = {f.name for f in plan.columns if not f.nullable}
    match plan:
        case Filter(rows, condition):
            known |= never_null(rows)
            for term in conjuncts(condition):
                match term:
                    case Call("is_not_null", (Column(name),)):
                        known.add(name)
        case Project() | Aggregate():
            below = never_null(plan.rows)
            known |= {r.name for r in plan.results if isinstance(r.expr, Column) and r.expr.name in below}
        case _:
            pass
    return frozenset(known)


def adds_exactly(kind: Type) -> bool:
    """Whether sums of such values are exact, and sums of fewer than 10¹⁰ rows fit their type."""
    return kind.name in INTEGRAL or (kind.name == "decimal" and kind.args[0] <= 28)


def as_part(call: Reduce) -> Reduce:
    """A call over a part of the rows, which never overflows: sums of BIGINT become sums of decimals."""
    if call.function == "sum" and call.args[0].type == BIGINT:
        return replace(call, args=(Call("cast", call.args, decimal(19, 0)),), type=decimal(29, 0))
    return call


def narrowed(plan: Join, pays: Pays) -> Join:
    """A join whose nested aggregate is computed only for the values that the other side needs, where that pays."""
    for side in _TRACELESS.get(plan.kind, ()):
        nested, by = (plan.left, plan.right) if side == "left" else (plan.right, plan.left)
        if _is_cheap(by) and (found := _narrowed(nested, by, plan.condition, pays)) is not None:
            return replace(plan, left=found) if side == "left" else replace(plan, right=found)
    return plan


def _is_cheap(plan: Plan) -> bool:
    """Whether a plan may be read twice."""
    return (isinstance(plan, _CHEAP) or (isinstance(plan, Join) and plan.kind == "inner")) and all(
        map(_is_cheap, children(plan))
    )


def _narrowed(plan: Plan, by: Plan, condition: Expr | None, pays: Pays) -> Plan | None:
    """The plan with the aggregate below its filters and projections narrowed."""
    match plan:
        case Filter():
            below = _narrowed(plan.rows, by, condition, pays)
        case Project() if condition is not None:
            below = _narrowed(plan.rows, by, substitute(condition, {r.name: r.expr for r in plan.results}), pays)
        case Aggregate() if (aggregate := over_join(plan)) is not None:
            return _narrowed_aggregate(aggregate, by, _asked(aggregate, by, condition), pays)
        case _:
            return None
    return None if below is None else replace(plan, rows=below)


def _asked(aggregate: Aggregate, by: Plan, condition: Expr | None) -> Asked:
    """The columns that a partner compares with keys of an aggregate."""
    made = {r.name: r.expr for r in aggregate.results}
    asked: Asked = {}
    for term in conjuncts(condition):
        match term:
            case Call("eq" | "eq_null_safe" as function, (Column() as a, Column() as b)):
                for key, value in ((a, b), (b, a)):
                    held = made.get(key.name)
                    if isinstance(held, Column) and held.type == value.type and value.name in names(by):
                        asked[held.name] = (function, value)
            case _:
                pass
    return asked


def _narrowed_aggregate(plan: Aggregate, by: Plan, asked: Asked, pays: Pays) -> Aggregate | None:
    join = plan.rows
    assert isinstance(join, Join)
    keys = {k.name if isinstance(k, Column) else None for k in plan.keys}
    for domain, other in ((join.left, join.right), (join.right, join.left)):
        others = [f for f in other.columns if f.name in keys]
        wanted = {*names(domain), *(f.name for f in others)}
        if others and unique_columns(domain) is not None and keys == wanted == asked.keys():
            found = _over_wanted(plan, other, others, _wanted(domain, others, by, asked), asked)
            return found if pays(found) else None
    return None


def _wanted(domain: Plan, others: list[Field], by: Plan, asked: Asked) -> Aggregate:
    """DISTINCT of a domain joined with the values that the partner needs."""
    fields = tuple(Field(_other_name(name), value.type) for name, (_, value) in asked.items())
    values = Project(by, tuple(Named(_other_name(n), value) for n, (_, value) in asked.items()), fields)
    condition = conjunction(tuple(_equal(f, asked) for f in domain.columns))
    both = Join(domain, values, "inner", condition, (*domain.columns, *fields))
    kept = (*domain.columns, *(Field(_other_name(f.name), f.type) for f in others))
    return Aggregate(both, tuple(map(column, kept)), tuple(Named(f.name, column(f)) for f in kept), kept)


def _other_name(name: str) -> str:
    return f"_of_{name}"


def _equal(f: Field, asked: Asked) -> Expr:
    return Call(asked[f.name][0], (column(f), Column(_other_name(f.name), f.type)), BOOLEAN)


def _over_wanted(plan: Aggregate, other: Plan, others: list[Field], wanted: Aggregate, asked: Asked) -> Aggregate:
    """The aggregate over a join with `wanted` in place of the domain, from which it takes its keys."""
    assert isinstance(plan.rows, Join)
    condition = conjunction((*(_equal(f, asked) for f in others), *conjuncts(plan.rows.condition)))
    taken: dict[Expr, Expr] = {column(f): Column(_other_name(f.name), f.type) for f in others}

    def take(e: Expr) -> Expr | None:
        return e if isinstance(e, Reduce) else taken.get(e)

    return replace(
        plan,
        rows=Join(wanted, other, "inner", condition, (*wanted.columns, *other.columns)),
        keys=tuple(rewrite(k, take) for k in plan.keys),
        results=tuple(Named(r.name, rewrite(r.expr, take)) for r in plan.results),
    )
