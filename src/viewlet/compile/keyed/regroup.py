"""Operators that work group by group, and those that have no groups.

    Δf(Q) = f(Q_new) − f(Q_old),   both restricted to the keys that ΔQ touches

which is the thesis' domain extraction (§3.4.2) with the set of touched keys as the domain. f(Q_old) is what
the target map holds for those keys. With the empty key the one group is everything: recomputation, whose
difference is still all that goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from viewlet.compile.build import Builder, SumsMap, change_of, comparable, compute, passing
from viewlet.compile.keyed.window_locality import Prefix, frame_reach, in_two, passed_through, prefix_of
from viewlet.compile.monoid.growth import grows
from viewlet.plan.expr import Column, Expr, Named, Reduce
from viewlet.plan.nodes import (
    Aggregate,
    Filter,
    Input,
    Plan,
    Project,
    Scan,
    SparkOperator,
    Top,
    Window,
    calls_of,
    column,
    map_children,
    origin_of,
)
from viewlet.plan.percentiles import shares_of
from viewlet.plan.show import show_node
from viewlet.plan.types import BIGINT, BOOLEAN, Field
from viewlet.program import terms
from viewlet.program.terms import KEY, Term

Keys = tuple[Expr, ...]
Shares = tuple[str, tuple[float, ...]]

MOST_LEADING = 100_000
"""A LIMIT that needs more rows than this reads all of its input."""
RESERVE = 64
"""Rows that a LIMIT has in reserve, besides as many as it needs: every epoch reads them, and so many rows have to
leave before the input is read again. So each of these costs a share of that reading, however small the LIMIT."""


def lower_keyed(
    build: Builder,
    plan: Plan,
    inputs: tuple[Plan, ...],
    keys: tuple[Keys, ...],
    why: str,
    *,
    top: Plan | None = None,
    from_sums: bool = False,
    near: terms.FrameReach | None = None,
    prefix: Prefix | None = None,
) -> tuple[Term, ...]:
    """Regroup an operator on keys of its inputs; `top` is the last of the row-wise ones that go into the function too.

    With `from_sums`, inputs that are aggregates are read from their maps of sums; with `near`, only what sees a change is
    read, with `prefix`, the first rows of a group.
    """
    if (
        keys
        and keys[0]
        and (bad := build.abilities.expressions(comparable(k) for side in keys for k in side)) is not None
    ):
        keys, why = ((),) * len(inputs), f"{why}; its key cannot be used: {bad}"
        near = prefix = None
    keyed = bool(keys) and bool(keys[0])
    top = top or plan
    function = with_inputs(top, inputs)
    unable = build.abilities.groups(function)
    near, prefix = (near, prefix) if unable is None else (None, None)
    _note_row_wise(build, top, plan)
    first = _first_read(plan) if unable is None else ()
    shares = _shares_read(plan) if unable is None else None
    why = f"{why}; only the first rows of a group are read, in order" if first else why
    why = f"{why}; only rows around it are read, in order" if shares else why
    narrowed = bool(first or near or prefix or shares)
    build.note(
        plan,
        "keyed" if keyed or narrowed else "recompute",
        why if unable is None else f"{why}; on Spark: {unable}",
    )
    grouped = []
    for i, (plan_of, by) in enumerate(zip(inputs, keys or ((),) * len(inputs), strict=True)):
        held = _held(build, plan_of) if from_sums else None
        if held is None:
            kept = _keep_input(build, plan_of, by, alone=narrowed)
            grouped.append(_narrowed(build, kept, first, prefix, shares))
        else:
            grouped.append(terms.Grouped(held.kept.name, (), held.columns, held.sums))
            function = _answered(function, i, held)
    native = None if unable is None else _native(top, inputs)
    fields = (*top.columns, Field(KEY, BIGINT, False))
    target = build.next_map()
    term = terms.Regroup(tuple(grouped), function, target, fields, native, near)
    made = build.keep((term,), (KEY,), meaning=show_node(plan), name=target)
    return (change_of(made, len(top.columns)),)


def _held(build: Builder, plan: Plan) -> SumsMap | None:
    """The map of sums that an input is kept as, if it is."""
    with build.descending():
        found = build.keep_sums(plan) if isinstance(plan, Aggregate) else None
    return None if found is None else found[1]


def _answered(function: Plan, index: int, held: SumsMap) -> Plan:
    """A function one of whose inputs comes as keys and sums, of which its columns are made."""
    if isinstance(function, Input) and function.index == index:
        results = tuple(Named(f.name, e) for f, e in zip(function.columns, held.results, strict=True))
        return Project(Input(index, held.columns), results, function.columns)
    return map_children(function, lambda child: _answered(child, index, held))


def _note_row_wise(build: Builder, top: Plan, base: Plan) -> None:
    """What goes into a regrouped operator's function needs no map of its own."""
    while top is not base and isinstance(top, Filter | Project):
        build.note(top, "keyed", "within the operator below")
        top = top.rows


def _first_read(plan: Plan) -> tuple[tuple[str, bool], ...]:
    """The columns of which an operator needs only the least value of a group, or the greatest; none if it needs more."""
    found: dict[tuple[str, bool], None] = {}
    for call in calls_of(plan) if isinstance(plan, Aggregate) else ():
        match call:
            case Reduce("min" | "max" as function, (Column(name, kind),), where=None) if kind.is_sortable:
                found[name, function == "max"] = None
            case _:
                return ()
    return tuple(sorted(found))


def _shares_read(plan: Plan) -> Shares | None:
    """The column of which an operator needs only percentiles, and which; None if it needs more."""
    found: dict[str, set[float]] = {}
    for call in calls_of(plan) if isinstance(plan, Aggregate) else ():
        shares = shares_of(call)
        match call:
            case Reduce(args=(Column(name, kind), *_), where=None, distinct=False) if shares and kind.is_ordered:
                found.setdefault(name, set()).update(shares)
            case _:
                return None
    return (name, tuple(sorted(found[name]))) if len(found) == 1 else None


def _keep_input(build: Builder, plan: Plan, keys: Keys, *, alone: bool) -> terms.Grouped:
    """The input's rows as a map, by group; without groups anything that is kept will do, unless it is to be `alone`."""
    summands = build.lower(plan)
    if (
        not keys
        and not alone
        and len(summands) == 1
        and isinstance(summands[0], terms.Change)
        and build.is_stored(summands[0].bag)
    ):
        return terms.Grouped(summands[0].bag, (), plan.columns)  # it is kept already
    plain = [comparable(k) for k in keys]
    by = tuple(k.name if isinstance(k, Column) else build.fresh("g") for k in plain)
    columns = passing(plan.columns)
    columns += [(Field(name, k.type), k) for name, k in zip(by, plain, strict=True) if not isinstance(k, Column)]
    summands = build.netted(summands, plain)
    meaning = f"{show_node(plan)}, by {', '.join(by)}" if by else show_node(plan)
    kept = build.keep([compute(t, columns) for t in summands], by, meaning=meaning)
    return terms.Grouped(kept.name, tuple(kept.own(n) for n in by), plan.columns)


def _narrowed(
    build: Builder,
    grouped: terms.Grouped,
    first: tuple[tuple[str, bool], ...],
    prefix: Prefix | None,
    shares: Shares | None,
) -> terms.Grouped:
    """An input of which only some rows are read, by columns as its map calls them."""
    if not first and prefix is None and shares is None:
        return grouped
    kept = next(step.map for step in build.steps if step.map.name == grouped.map)
    own = {f.name: held.name for f, held in zip(grouped.columns, kept.columns, strict=False)}
    return replace(
        grouped,
        first=tuple((own[name], descending) for name, descending in first),
        prefix=None if prefix is None else (own[prefix[0]], *prefix[1:]),
        shares=None if shares is None else (own[shares[0]], shares[1]),
    )


def _native(top: Plan, inputs: tuple[Plan, ...]) -> tuple[int, tuple[int, ...]]:
    """Which of Spark's own operators make up a function."""
    cuts, origin = tuple(origin_of(p) for p in inputs), origin_of(top)
    assert origin is not None and None not in cuts, f"{show_node(top)} was made by the compiler and cannot be evaluated"
    return origin, tuple(c for c in cuts if c is not None)


def with_inputs(plan: Plan, inputs: tuple[Plan, ...]) -> Plan:
    """The operators above some inputs, as a function of them."""
    for i, given in enumerate(inputs):
        if plan is given:
            return Input(i, plan.columns)
    return map_children(plan, lambda child: with_inputs(child, inputs))


def lower_window(build: Builder, plan: Window, top: Plan) -> tuple[Term, ...]:
    """A window is regrouped by its partition, or by what sees a change; where it can be neither, recomputed."""
    near = frame_reach(plan) if build.abilities.groups(with_inputs(plan, (plan.rows,))) is None else None
    if near is None or (near.back is None and _drops_rows(top, plan)):
        prefix = prefix_of(plan, top)
        why = "reads its whole partition" if plan.partition else "without PARTITION BY has one partition"
        if prefix is not None:
            why = f"reads the first {prefix[2]:,} rows of a partition, and those that tie with them"
        return lower_keyed(build, plan, (plan.rows,), (plan.partition,), f"a window {why}", top=top, prefix=prefix)
    why = "a change reaches all rows after it" if near.back is None else _reach(near)
    if (result := passed_through(top, plan, near.order) if near.back is not None else None) is not None:
        near = replace(near, result=result)
        return lower_keyed(build, plan, (plan.rows,), (plan.partition,), why, top=top, near=near)
    above, values = _row_wise_above(build, top, plan), in_two(plan, build.fresh)
    summands = lower_keyed(build, values.rows, (plan.rows,), (plan.partition,), why, near=near)
    results = [(f, r.expr) for f, r in zip(values.columns, values.results, strict=True)]
    return tuple(above(compute(term, results)) for term in summands)


def _reach(near: terms.FrameReach) -> str:
    return f"a change reaches {near.ahead:,} rows before it and {near.back:,} after it, and those that tie with them"


def _drops_rows(top: Plan, base: Plan) -> bool:
    """Whether a filter is among the row-wise operators above another."""
    return (
        top is not base
        and isinstance(top, Filter | Project)
        and (isinstance(top, Filter) or _drops_rows(top.rows, base))
    )


def lower_top(build: Builder, plan: Top, top: Plan) -> tuple[Term, ...]:
    """A global LIMIT has no key: it is recomputed, from its input's first rows where these can be kept."""
    needed = plan.offset + (plan.limit or 0)
    function = with_inputs(plan, (plan.rows,))
    if not plan.limit or needed > MOST_LEADING or build.abilities.groups(function) is not None:
        return lower_keyed(build, plan, (plan.rows,), ((),), "LIMIT over everything has no key", top=top)
    assert isinstance(function, Top)
    above = _row_wise_above(build, top, plan)
    growing = grows(plan.rows, build.growing)
    kept = needed if growing else 2 * needed + RESERVE
    build.note(plan, *_tier_of_first(plan, needed, kept))
    whole = _keep_whole(build, plan.rows, stored=not growing)
    target, mark = build.next_map(), Field(build.fresh("first"), BOOLEAN, False)
    term = terms.TopK(whole, function, kept, target, (*plan.columns, mark))
    meaning = f"the first rows of {whole}, with a reserve"
    first = build.keep((term,), tuple(f.name for f in term.columns), meaning=meaning, name=target)
    return (above(compute(terms.Filter(change_of(first), column(mark)), passing(plan.columns))),)


def _tier_of_first(plan: Top, needed: int, kept: int) -> tuple[str, str]:
    """How the first rows of everything are kept, some of them in reserve or none."""
    if kept == needed:
        return "monoid", f"its input only grows: the first {needed:,} rows are kept, and no others"
    held = f"kept as the first {needed:,} rows with {kept - needed:,} in reserve"
    if plan.leads is not None and not isinstance(plan.rows, Scan):
        return "keyed", f"{held}; when the reserve runs out, the first rows are read in order"
    return "recompute", f"LIMIT over everything: {held}; reads its input again only when the reserve runs out"


def _row_wise_above(build: Builder, top: Plan, base: Plan) -> Callable[[Term], Term]:
    """The filters and projections above an operator, as steps that follow it."""
    if top is base:
        return lambda term: term
    assert isinstance(top, Filter | Project)
    build.note(top, "ring")
    below = _row_wise_above(build, top.rows, base)
    if isinstance(top, Filter):
        return lambda term: terms.Filter(below(term), top.condition)
    results = [(f, r.expr) for f, r in zip(top.columns, top.results, strict=True)]
    return lambda term: compute(below(term), results)


def _keep_whole(build: Builder, plan: Plan, *, stored: bool) -> str:
    """The name of a map of all of a plan's rows, each found by itself; or, not stored, of just their delta."""
    summands = build.lower(plan)
    if len(summands) == 1 and isinstance(term := summands[0], terms.Change) and build.is_stored(term.bag):
        return term.bag  # it is kept already
    columns, names = passing(plan.columns), tuple(f.name for f in plan.columns)
    return build.keep([compute(t, columns) for t in summands], names, meaning=show_node(plan), stored=stored).name


def lower_spark_operator(build: Builder, plan: SparkOperator) -> tuple[Term, ...]:
    """An operator that nobody but Spark understands."""
    return lower_keyed(build, plan, plan.inputs, ((),) * len(plan.inputs), plan.reason)
