"""Aggregates whose functions are maintained differently, as joins of their parts by key.

    γ[k; f, g](Q)  =  γ[k; f](Q) ⋈ γ[k; g](Q)

Sums are kept as sums and states as states; a DISTINCT function adds up the distinct values, an approximate count the
registers of its sketch (rewrite/split_sketches.py). min and max read the first rows of a group, percentiles those
around them, in the order of the argument, which becomes a column. If one function needs whole groups, all stay
together, since the rows are read anyway. Each part is lowered like any aggregate; percentiles of one argument with
different FILTERs are split again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from viewlet.compile.build import Builder
from viewlet.compile.keyed.regroup import with_inputs
from viewlet.compile.monoid.fold import show_name, tier_of, why_not_fold, why_not_state
from viewlet.compile.monoid.growth import grows
from viewlet.compile.rewrite.split_distinct import over_distinct
from viewlet.compile.rewrite.split_sketches import is_sketch, over_registers
from viewlet.compile.ring.sum_aggregate import chosen, why_not_sums
from viewlet.plan.expr import Call, Column, Expr, Named, Reduce, conjunction, conjuncts, rewrite
from viewlet.plan.nodes import Aggregate, Join, Plan, Project, Scan, calls_of, column
from viewlet.plan.percentiles import shares_of
from viewlet.plan.sums import is_sum
from viewlet.plan.types import BOOLEAN, Field
from viewlet.program.terms import Term

_IN_ORDER = {"first rows": "the first rows of a group", "percentiles": "rows around it"}
"""Strategies that keep the rows of a group but read only some of them."""


@dataclass(frozen=True, slots=True)
class AggregatePart:
    """Functions of an aggregate that are maintained alike, by its keys; `strategy` is "sums", "states", …"""

    strategy: str
    calls: tuple[Reduce, ...]
    plan: Aggregate


def split_aggregate(build: Builder, plan: Aggregate) -> tuple[AggregatePart, ...]:
    """The parts of an aggregate that benefits from being split; none if it does not."""
    strategies: dict[tuple[str, tuple[Expr, ...]], list[Reduce]] = {}
    growing = grows(plan.rows, build.growing)
    for call in calls_of(plan):
        if (strategy := _strategy_of(build, call, growing)) is None:
            return ()
        strategies.setdefault(strategy, []).append(call)
    parts = tuple(
        AggregatePart(strategy, tuple(calls), _only(plan, calls)) for (strategy, _), calls in strategies.items()
    )
    gains = len(parts) > 1 or (len(parts) == 1 and parts[0].strategy in _IN_ORDER and not _by_columns(parts[0].calls))
    able = gains and all(_is_able(build, part) for part in parts) and build.abilities.expressions(_over(plan)) is None
    return parts if able else ()


def _over(plan: Aggregate) -> list[Expr]:
    """The results of an aggregate over columns for its keys and functions."""
    held: dict[Expr, Expr] = {e: Column(f"_{i}", e.type) for i, e in enumerate((*plan.keys, *calls_of(plan)))}
    return [rewrite(r.expr, held.get) for r in plan.results]


def _strategy_of(build: Builder, call: Reduce, growing: bool) -> tuple[str, tuple[Expr, ...]] | None:
    """The strategy of a function, with the arguments if each gets a part of its own; None if it needs whole groups."""
    if is_sum(call.function, [a.type for a in call.args]):
        if not call.distinct:
            return "sums", ()
        return ("distinct values", call.args) if len(call.args) == 1 and call.where is None else None
    if is_sketch(call):
        return "sketches", (replace(call, distinct=False),)
    if why_not_state(build, call, growing) is None:
        return "states", ()
    if call.where is not None and any(map(build.abilities.can_fail, call.args)):
        return None
    if call.function in ("min", "max") and call.args[0].type.is_sortable:
        return "first rows", ()
    return ("percentiles", call.args[:1]) if _is_percentile(call) else None


def _is_percentile(call: Reduce) -> bool:
    return bool(shares_of(call)) and call.args[0].type.is_ordered and not call.distinct


def _by_columns(calls: Sequence[Reduce]) -> bool:
    return all(isinstance(c.args[0], Column) and c.where is None for c in calls)


def _is_able(build: Builder, part: AggregatePart) -> bool:
    """Whether a part can be kept by its strategy and looked up by its key."""
    abilities, keys = build.abilities, part.plan.columns[: len(part.plan.keys)]
    if abilities.expressions(conjuncts(_same_key(keys, keys))) is not None:
        return False
    match part.strategy:
        case "states":
            return why_not_fold(build, part.plan) is None
        case "sketches":
            return over_registers(part.plan, abilities) is not None
        case "first rows" | "percentiles":
            arguments = [chosen(c.args[0], c.where) for c in part.calls]
            function = with_inputs(part.plan, (part.plan.rows,))
            return abilities.expressions([*part.plan.keys, *arguments]) is None and abilities.groups(function) is None
        case _:
            plain = replace(
                part.plan, results=tuple(replace(r, expr=_without_distinct(r.expr)) for r in part.plan.results)
            )
            return why_not_sums(build, plain) is None


def _without_distinct(e: Expr) -> Expr:
    return replace(e, distinct=False) if isinstance(e, Reduce) else e


def _only(plan: Aggregate, calls: Sequence[Reduce]) -> Aggregate:
    """An aggregate restricted to some of its functions."""
    keys = tuple(dict.fromkeys(plan.keys))
    fields = tuple(Field(f"_p{i}", e.type) for i, e in enumerate((*keys, *calls)))
    results = tuple(Named(f.name, e) for f, e in zip(fields, (*keys, *calls), strict=True))
    return Aggregate(plan.rows, keys, results, fields)


def _same_key(left: Sequence[Field], right: Sequence[Field]) -> Expr | None:
    pairs = zip(left, right, strict=True)
    return conjunction(tuple(Call("eq_null_safe", (column(a), column(b)), BOOLEAN) for a, b in pairs))


def lower_split(build: Builder, plan: Aggregate, parts: tuple[AggregatePart, ...]) -> tuple[Term, ...]:
    """An aggregate as the join of its parts, over rows that are computed once."""
    build.note(plan, *_tier(parts, growing=grows(plan.rows, build.growing)))
    terms = build.lower(plan.rows)  # a scan is only noted: each part reads the table itself
    rows = plan.rows if isinstance(plan.rows, Scan) else build.passed_on(terms, plan.rows)
    named = [_renamed(build, replace(part.plan, rows=rows)) for part in parts]
    held: dict[Expr, Expr] = {r.expr: Column(r.name, r.expr.type) for one in reversed(named) for r in one.results}
    results = tuple(Named(r.name, rewrite(r.expr, held.get)) for r in plan.results)
    kept: list[Plan] = [_kept(build, part.strategy, one) for part, one in zip(parts, named, strict=True)]
    keys = len(named[0].keys)

    def join(left: Plan, right: Plan) -> Plan:
        same = _same_key(left.columns[:keys], right.columns[:keys])
        return Join(left, right, "inner", same, (*left.columns, *right.columns))

    with build.quiet():
        return build.lower(Project(reduce(join, kept), results, plan.columns))


def _tier(parts: tuple[AggregatePart, ...], *, growing: bool) -> tuple[str, str]:
    """The tier of the weakest part, and how the parts are maintained."""
    strategies = {part.strategy: part for part in parts}
    beside = [strategy for strategy in ("sums", "distinct values", "sketches") if strategy in strategies]
    also = f"; {' and '.join(beside)} are kept separately" if beside else ""
    if read := [part for part in parts if part.strategy in _IN_ORDER]:
        return "keyed", "; ".join(dict.fromkeys(map(_what_is_read, read))) + also
    if (states := strategies.get("states")) is not None:
        tier, why = tier_of(states.plan)
        return tier, why + also
    tier = "ring" if "sketches" not in strategies else "monoid" if growing else "keyed"
    return tier, f"{' and '.join(beside)} are kept separately and joined by key"


def _what_is_read(part: AggregatePart) -> str:
    names = ", ".join(dict.fromkeys(show_name(c) for c in part.calls))
    return f"{names}: only {_IN_ORDER[part.strategy]} are read, in order"


def _renamed(build: Builder, part: Aggregate) -> Aggregate:
    """The aggregate with column names that are unique in the program."""
    fields = tuple(replace(f, name=build.fresh("c")) for f in part.columns)
    results = tuple(replace(r, name=f.name) for r, f in zip(part.results, fields, strict=True))
    return replace(part, results=results, columns=fields)


def _kept(build: Builder, strategy: str, part: Aggregate) -> Aggregate:
    """A part in the form in which it is kept."""
    match strategy:
        case "distinct values":
            return over_distinct(part, calls_of(part)[0].args[0])
        case "sketches":
            made = over_registers(part, build.abilities)
            assert made is not None, "it was able to be kept so"
            return made
        case "first rows" | "percentiles":
            return _over_columns(build, part)
        case _:
            return part


def _over_columns(build: Builder, part: Aggregate) -> Aggregate:
    """An aggregate whose keys and arguments are columns, computed by a projection below."""
    calls = calls_of(part)
    needed = dict.fromkeys((*part.keys, *(chosen(c.args[0], c.where) for c in calls)))
    made = {e: Field(e.name if isinstance(e, Column) else build.fresh("x"), e.type) for e in needed}
    named = tuple(Named(f.name, e) for e, f in made.items())
    columns: dict[Expr, Expr] = {e: column(f) for e, f in made.items()}
    over: dict[Expr, Expr] = {
        c: replace(c, args=(columns[chosen(c.args[0], c.where)], *c.args[1:]), where=None, distinct=False)
        for c in calls
    }
    results = tuple(Named(r.name, rewrite(r.expr, lambda e: over.get(e) or columns.get(e))) for r in part.results)
    rows = Project(part.rows, named, tuple(made.values()))
    return Aggregate(rows, tuple(columns[k] for k in part.keys), results, part.columns)
