"""Which maps can evict groups that a table's watermark has passed.

The law: if a key is e(t), where t is the time of a row and e is monotone, then rows at or after the watermark w have
keys of at least e(w). No row can reach a group with a smaller key any more, so everything kept for it, except the
view's own rows, can be evicted. A row of sliding windows has several keys, e₁(t), e₂(t) …; the least of the eᵢ(w)
counts. A session that starts at e(t) for its first row lasts as long as rows extend it, so its end counts.
"""

from __future__ import annotations

from dataclasses import replace

from viewlet.compile.abilities import Abilities
from viewlet.compile.options import Facts
from viewlet.plan.expr import Call, Column, Expr, columns_of, substitute, walk
from viewlet.plan.nodes import Aggregate, Expand, Filter, Plan, Project, Scan, Sessions, column, leaves
from viewlet.program.program import Eviction, Program
from viewlet.program.terms import Sessionize


def with_evictions(plan: Plan, program: Program, abilities: Abilities, facts: Facts) -> Program:
    """The program with the maps that evict closed groups, or with the reason why none can."""
    marked = [leaf for leaf in leaves(plan) if isinstance(leaf, Scan) and leaf.name in facts.watermarks]
    if not marked:
        return program
    found = evictions_of(plan, program, abilities, facts)
    if isinstance(found, str):
        return replace(program, keeps=found)
    return replace(program, evictions=found)


def evictions_of(plan: Plan, program: Program, abilities: Abilities, facts: Facts) -> tuple[Eviction, ...] | str:
    """The evictions for aggregates of one table by its time, or the reason why groups are kept."""
    chain = _chain(plan)
    scan = chain[-1]
    if not isinstance(scan, Scan) or not any(isinstance(node, Aggregate) for node in chain):
        return "it is not an aggregate of one table by time"
    field = scan.columns[facts.watermarks[scan.name]]
    time = Column(field.name, field.type)
    by_time = (
        _by_session(chain, program, time) if any(isinstance(n, Sessions) for n in chain) else _by_time(chain, time)
    )
    maps = [m for m in program.maps if m.stored and m.name != program.view]
    ends = _ends(program)
    columns = [next((n for n in (*m.key, ends.get(m.name, "")) if n in by_time), "") for m in maps]
    if not all(columns):
        return f"it is not grouped by the time `{time.name}`, or by a window of it"
    if (why := abilities.expressions(e for column in columns for e in by_time[column])) is not None:
        return why
    return tuple(
        Eviction(m.name, c, by_time[c], scan.name, time, at_end=bool(ends)) for m, c in zip(maps, columns, strict=True)
    )


def _by_time(chain: list[Plan], time: Column) -> dict[str, tuple[Expr, ...]]:
    """The columns that are e(t) for a monotone e, with their possible expressions."""
    keys = {c.name: _origins(node, column(c)) for node in chain for c in node.columns}
    return {name: found for name, found in keys.items() if all(_is_monotone(e, time) for e in found)}


def _by_session(chain: list[Plan], program: Program, time: Column) -> dict[str, tuple[Expr, ...]]:
    """The columns that hold sessions or their ends, with the possible starts of a row's session."""
    at = next(i for i, node in enumerate(chain) if isinstance(node, Sessions))
    sessions, below = chain[at], chain[at + 1 :]
    assert isinstance(sessions, Sessions)
    starts = tuple(_start_of(e) for e in _origins(sessions.rows, sessions.span))
    if any(isinstance(n, Aggregate) for n in below) or not all(_is_monotone(e, time) for e in starts):
        return {}
    above = [c.name for node in chain[:at] for c in node.columns if _origins(node, column(c)) == (sessions.span,)]
    return dict.fromkeys((sessions.span.name, *above, *_ends(program).values()), starts)


def _ends(program: Program) -> dict[str, str]:
    """The maps of sessionized rows, with the column for the end of a session."""
    return {t.target: t.columns[-1].name for step in program.steps for t in step.terms if isinstance(t, Sessionize)}


def _start_of(span: Expr) -> Expr:
    """The start of a span, which is its first field."""
    return span.args[1] if isinstance(span, Call) and span.function == "named_struct" else span


def _chain(plan: Plan) -> list[Plan]:
    """A plan's operators from the top down, as long as each has one input and works by row or by group."""
    chain = [plan]
    while isinstance(plan, Project | Filter | Expand | Aggregate | Sessions):
        plan = plan.rows
        chain.append(plan)
    return chain


def _origins(plan: Plan, expr: Expr) -> tuple[Expr, ...]:
    """An expression in terms of the table's columns; several if an operator multiplies rows."""
    match plan:
        case Filter():
            return _origins(plan.rows, expr)
        case Project() | Aggregate():
            return _origins(plan.rows, substitute(expr, {r.name: r.expr for r in plan.results}))
        case Expand():
            named = [dict(zip([c.name for c in plan.columns], p, strict=True)) for p in plan.projections]
            return tuple(e for values in named for e in _origins(plan.rows, substitute(expr, values)))
        case _:
            return (expr,)


def _is_monotone(key: Expr, time: Column) -> bool:
    """Whether a later time never has a smaller key."""
    match key:
        case Column():
            return key == time
        case Call("cast", (inner,)) if key.type.name in ("date", "timestamp", "timestamp_ntz"):
            return _is_monotone(inner, time)
        case Call("precise_time", (inner,)):
            return _is_monotone(inner, time)
        case Call("get_field", (inner, _)):
            return _is_window(inner, time)
        case _:
            return _is_window(key, time)


def _is_window(key: Expr, time: Column) -> bool:
    """Whether this is Spark's expansion of `window(time, …)`, recognized by its conversion of times to numbers."""
    if not isinstance(key, Call) or key.function != "named_struct" or columns_of(key) != {time.name}:
        return False
    return any(isinstance(part, Call) and part.function == "precise_time" for part in walk(key))
