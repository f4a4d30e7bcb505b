"""Session windows: rows whose time intervals overlap form one group.

    γ[k, session(start, end)](Q)  =  γ[k, s](sessionize[k](Q))

Sessionizing gives each row its session s. One map keeps the rows with their sessions, by key and in time order: a
change reads the sessions that it overlaps, and the aggregate above sees the rows whose session changed.
"""

from __future__ import annotations

from viewlet.compile.abilities import Abilities
from viewlet.compile.build import Builder, change_of, comparable, compute, passing
from viewlet.plan.expr import Call, Column, Expr, Literal
from viewlet.plan.nodes import Aggregate, Plan, Sessions, SparkOperator, column, map_children
from viewlet.plan.show import show_node
from viewlet.plan.types import STRING, Field
from viewlet.program.terms import Sessionize, Term

_WHY = "a change affects the sessions that it touches"


def seal_sessions(plan: Plan, abilities: Abilities) -> Plan:
    """Leave sessions to Spark if only Spark can compare their keys."""
    plan = map_children(plan, lambda child: seal_sessions(child, abilities))
    match plan:
        case Aggregate(rows=Sessions(rows, keys)):
            why = abilities.expressions(map(comparable, keys))
            return (
                plan if why is None else SparkOperator((rows,), show_node(plan), why, plan.columns, origin=plan.origin)
            )
        case _:
            return plan


def lower_sessions(build: Builder, plan: Sessions) -> tuple[Term, ...]:
    """The rows' delta, sessionized."""
    build.note(plan, "keyed", _WHY)
    span, session = ([Field(build.fresh(n), kind, False) for _, kind in plan.span.type.args] for n in ("t", "s"))
    keys = [comparable(k) for k in dict.fromkeys(plan.keys)]
    by = tuple(k.name if isinstance(k, Column) else build.fresh("g") for k in keys)
    columns = [*passing(_others(plan)), *zip(span, _ends(plan.span), strict=True)]
    columns += [(Field(n, k.type), k) for n, k in zip(by, keys, strict=True) if not isinstance(k, Column)]
    terms = build.netted(build.lower(plan.rows), [e for _, e in columns])
    rows = build.keep(
        [compute(t, columns) for t in terms], by, meaning="rows to be sessionized", name=build.next_map(), stored=False
    )
    target, (start, end) = build.next_map(), (f.name for f in span)
    term = Sessionize(rows.name, by, (start, end), target, (*rows.columns, *session))
    kept = build.keep((term,), by, meaning=f"{show_node(plan)}, by {', '.join((*by, 'time'))}", name=target)
    whole = _struct(plan.span, session)
    results = [(f, whole if f.name == plan.span.name else column(f)) for f in plan.columns]
    return (compute(change_of(kept), results),)


def _others(plan: Sessions) -> list[Field]:
    return [f for f in plan.columns if f.name != plan.span.name]


def _ends(span: Column) -> list[Expr]:
    """The start and end of a span."""
    return [Call("get_field", (span, Literal(name, STRING)), kind) for name, kind in span.type.args]


def _struct(span: Column, session: list[Field]) -> Expr:
    """A session as a struct of the span's type."""
    args = [e for (name, _), f in zip(span.type.args, session, strict=True) for e in (Literal(name, STRING), column(f))]
    return Call("named_struct", tuple(args), span.type)
