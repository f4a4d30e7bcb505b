"""Operators that are maintained group by group, including those with only one group.

    Δf(Q) = f(Q_new) − f(Q_old),   both restricted to the keys that ΔQ touches

This is domain extraction (Nikolic 2016, §3.4.2) with the set of touched keys as the domain. The target map holds
f(Q_old) for those keys. With the empty key there is one group, everything: that is recomputation, though still only
the difference is passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from viewlet.compile.build import Builder, KeptMap, SumsMap, Terms, change_of, comparable, compute, passing
from viewlet.compile.keyed.window_locality import in_two, leading_rows, nearby_rows, passed_through
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
from viewlet.program.access import Extremes, Group, GroupAccess, Leading, Nearby, Ranked
from viewlet.program.terms import KEY, Term

Keys = tuple[Expr, ...]

MOST_LEADING = 100_000
"""A LIMIT that needs more rows reads all of its input."""
RESERVE = 64
"""Reserve rows of a LIMIT, in addition to as many as it needs. Every epoch reads them, but that many rows must be lost
before the input is read again, so even a small LIMIT rarely rereads it."""


def lower_keyed(
    build: Builder,
    plan: Plan,
    inputs: tuple[Plan, ...],
    keys: tuple[Keys, ...],
    why: str,
    *,
    top: Plan | None = None,
    read: GroupAccess | None = None,
    from_sums: bool = False,
) -> Terms:
    """Regroup an operator on keys of its inputs; `top` is the topmost row-wise operator that joins the function.

    `read` says which rows of a touched group suffice. With `from_sums`, inputs that are aggregates are read from their
    maps of sums.
    """
    if (bad := _unusable_key(build, keys)) is not None:
        keys, why, read = ((),) * len(inputs), f"{why}; its key cannot be indexed: {bad}", None
    top = top or plan
    function = with_inputs(top, inputs)
    unable = build.abilities.groups(function)
    read = Group() if unable is not None else read or _rows_read(plan)
    _note_row_wise(build, top, plan)
    tier = "keyed" if any(keys) or not isinstance(read, Group) else "recompute"
    build.note(plan, tier, _reason(why, read, unable))
    grouped = []
    for i, (rows, by) in enumerate(zip(inputs, keys or ((),) * len(inputs), strict=True)):
        held = _held(build, rows) if from_sums else None
        if held is None:
            grouped.append(_keep_input(build, rows, by, read))
        else:
            grouped.append(terms.Grouped(held.kept.name, (), held.columns, sums=held.sums))
            function = _answered(function, i, held)
    native = None if unable is None else _native(top, inputs)
    fields = (*top.columns, Field(KEY, BIGINT, False))
    target = build.next_map()
    term = terms.Regroup(tuple(grouped), function, target, fields, native)
    made = build.keep((term,), (KEY,), meaning=show_node(plan), name=target)
    return (change_of(made, len(top.columns)),)


def _unusable_key(build: Builder, keys: tuple[Keys, ...]) -> str | None:
    """Why rows cannot be looked up by some keys; None if they can, or if there are no keys."""
    return build.abilities.expressions(comparable(k) for side in keys for k in side) if any(keys) else None


def _reason(why: str, read: GroupAccess, unable: str | None) -> str:
    match read:
        case Extremes():
            return f"{why}; only the first rows of a group are read, in order"
        case Ranked():
            return f"{why}; only rows around it are read, in order"
    return why if unable is None else f"{why}; on Spark: {unable}"


def _held(build: Builder, plan: Plan) -> SumsMap | None:
    """The map of sums that holds an input, if there is one."""
    with build.descending():
        found = build.keep_sums(plan) if isinstance(plan, Aggregate) else None
    return None if found is None else found[1]


def _answered(function: Plan, index: int, held: SumsMap) -> Plan:
    """A function with one input replaced by keys and sums, from which its columns are computed."""
    if isinstance(function, Input) and function.index == index:
        results = tuple(Named(f.name, e) for f, e in zip(function.columns, held.results, strict=True))
        return Project(Input(index, held.columns), results, function.columns)
    return map_children(function, lambda child: _answered(child, index, held))


def _note_row_wise(build: Builder, top: Plan, base: Plan) -> None:
    """Note the row-wise operators that become part of a regrouped function and need no maps."""
    while top is not base and isinstance(top, Filter | Project):
        build.note(top, "keyed", "evaluated within the operator below")
        top = top.rows


def _rows_read(plan: Plan) -> GroupAccess:
    """The rows of a group that an operator reads."""
    calls = calls_of(plan) if isinstance(plan, Aggregate) else ()
    return _extremes_read(calls) or _ranks_read(calls) or Group()


def _extremes_read(calls: Sequence[Reduce]) -> Extremes | None:
    """The columns of which all functions need only the least or the greatest value."""
    found: dict[tuple[str, bool], None] = {}
    for call in calls:
        match call:
            case Reduce("min" | "max" as function, (Column(name, kind),), where=None) if kind.is_sortable:
                found[name, function == "max"] = None
            case _:
                return None
    return Extremes(tuple(sorted(found))) if found else None


def _ranks_read(calls: Sequence[Reduce]) -> Ranked | None:
    """The column of which all functions need only percentiles, with their fractions."""
    found: dict[str, set[float]] = {}
    for call in calls:
        shares = shares_of(call)
        match call:
            case Reduce(args=(Column(name, kind), *_), where=None, distinct=False) if shares and kind.is_ordered:
                found.setdefault(name, set()).update(shares)
            case _:
                return None
    return next((Ranked(name, tuple(sorted(of))) for name, of in found.items()), None) if len(found) == 1 else None


def _keep_input(build: Builder, plan: Plan, keys: Keys, read: GroupAccess) -> terms.Grouped:
    """The input's rows as a map by group; without groups any stored map will do, unless it is read in order."""
    summands = build.lower(plan)
    if not keys and isinstance(read, Group) and len(summands) == 1:
        (term,) = summands
        if isinstance(term, terms.Change) and build.is_stored(term.bag):
            return terms.Grouped(term.bag, (), plan.columns)  # it is stored anyway
    plain = [comparable(k) for k in keys]
    by = tuple(k.name if isinstance(k, Column) else build.fresh("g") for k in plain)
    columns = passing(plan.columns)
    columns += [(Field(name, k.type), k) for name, k in zip(by, plain, strict=True) if not isinstance(k, Column)]
    summands = build.netted(summands, plain)
    meaning = f"{show_node(plan)}, by {', '.join(by)}" if by else show_node(plan)
    kept = build.keep([compute(t, columns) for t in summands], by, meaning=meaning)
    return terms.Grouped(kept.name, tuple(kept.own(n) for n in by), plan.columns, _by_own_names(read, kept))


def _by_own_names(read: GroupAccess, kept: KeptMap) -> GroupAccess:
    """An access path under the map's column names; `Nearby` uses the operator's own names."""
    match read:
        case Extremes(columns):
            return Extremes(tuple((kept.own(name), greatest) for name, greatest in columns))
        case Leading() | Ranked():
            return replace(read, column=kept.own(read.column))
        case Group() | Nearby():
            return read


def _native(top: Plan, inputs: tuple[Plan, ...]) -> tuple[int, tuple[int, ...]]:
    """The operators of Spark's plan that make up a function."""
    cuts, origin = tuple(origin_of(p) for p in inputs), origin_of(top)
    assert origin is not None and None not in cuts, f"{show_node(top)} was made by the compiler and cannot be evaluated"
    return origin, tuple(c for c in cuts if c is not None)


def with_inputs(plan: Plan, inputs: tuple[Plan, ...]) -> Plan:
    """The operators above some inputs, as a function of these."""
    for i, given in enumerate(inputs):
        if plan is given:
            return Input(i, plan.columns)
    return map_children(plan, lambda child: with_inputs(child, inputs))


def lower_window(build: Builder, plan: Window, top: Plan) -> Terms:
    """A window is regrouped by partition or by affected rows; if neither is possible, recomputed."""
    near = nearby_rows(plan) if build.abilities.groups(with_inputs(plan, (plan.rows,))) is None else None
    if near is None or (near.back is None and _drops_rows(top, plan)):
        first = leading_rows(plan, top)
        why = "reads its whole partition" if plan.partition else "without PARTITION BY has one partition"
        if first is not None:
            why = f"reads the first {first.count:,} rows of a partition, and rows tied with them"
        return lower_keyed(build, plan, (plan.rows,), (plan.partition,), f"a window {why}", top=top, read=first)
    why = "a change affects all rows after it" if near.back is None else _reach(near)
    if (result := passed_through(top, plan, near.order) if near.back is not None else None) is not None:
        near = replace(near, result=result)
        return lower_keyed(build, plan, (plan.rows,), (plan.partition,), why, top=top, read=near)
    above, values = _row_wise_above(build, top, plan), in_two(plan, build.fresh)
    summands = lower_keyed(build, values.rows, (plan.rows,), (plan.partition,), why, read=near)
    results = [(f, r.expr) for f, r in zip(values.columns, values.results, strict=True)]
    return tuple(above(compute(term, results)) for term in summands)


def _reach(near: Nearby) -> str:
    """The rows that a change affects, in words."""
    sides = [
        f"{count:,} row{'s' * (count != 1)} {where} it"
        for count, where in ((near.ahead, "before"), (near.back or 0, "after"))
        if count
    ]
    return "a change affects " + (f"{' and '.join(sides)}, and rows tied with them" if sides else "rows tied with it")


def _drops_rows(top: Plan, base: Plan) -> bool:
    """Whether the row-wise operators above another include a filter."""
    return (
        top is not base
        and isinstance(top, Filter | Project)
        and (isinstance(top, Filter) or _drops_rows(top.rows, base))
    )


def lower_top(build: Builder, plan: Top, top: Plan) -> Terms:
    """A global LIMIT has no key: it is recomputed, from its input's first rows if these can be kept."""
    needed = plan.offset + (plan.limit or 0)
    function = with_inputs(plan, (plan.rows,))
    if not plan.limit or needed > MOST_LEADING or build.abilities.groups(function) is not None:
        return lower_keyed(build, plan, (plan.rows,), ((),), "a global LIMIT has no key", top=top)
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
    """The tier of a kept LIMIT, with or without a reserve, and the reason."""
    if kept == needed:
        return "monoid", f"its input only grows: the first {needed:,} rows are kept, no others"
    held = f"kept as the first {needed:,} rows with {kept - needed:,} in reserve"
    if plan.leads is not None and not isinstance(plan.rows, Scan):
        return "keyed", f"{held}; when the reserve runs out, the first rows are read in order"
    return "recompute", f"a global LIMIT is {held}; its input is read again only when the reserve runs out"


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
    """The name of a map of all of a plan's rows, keyed by all columns; if not stored, of their delta only."""
    summands = build.lower(plan)
    if len(summands) == 1 and isinstance(term := summands[0], terms.Change) and build.is_stored(term.bag):
        return term.bag  # it is stored anyway
    columns, names = passing(plan.columns), tuple(f.name for f in plan.columns)
    return build.keep([compute(t, columns) for t in summands], names, meaning=show_node(plan), stored=stored).name


def lower_spark_operator(build: Builder, plan: SparkOperator) -> Terms:
    """An operator that only Spark understands."""
    return lower_keyed(build, plan, plan.inputs, ((),) * len(plan.inputs), plan.reason)
