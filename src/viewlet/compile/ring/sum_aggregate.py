"""Aggregates that are sums, kept as sums; others are states (fold.py) or regrouped.

    S[k] += Sum[k](ΔQ)          γ[k](Q) = finalize(S[k])

The map S holds integers that add up for each key (columns/exact/encoded_sums.py). For the keys that a delta touches,
the old result is deleted and the new one inserted. DISTINCT is the same without any sum: a key is present while its
weight is positive. If Q is a product, its sums are pushed into the maps of its factors (product.py).
"""

from __future__ import annotations

from dataclasses import replace

from viewlet.compile.abilities import Abilities
from viewlet.compile.build import Builder, KeptMap, SumsMap, comparable, compute
from viewlet.compile.ring.calculus import Clause, Expansion
from viewlet.compile.ring.factorized_sums import degree_of
from viewlet.compile.ring.fuse_window_sum import WHY, window_sum_below
from viewlet.compile.ring.inequality import split_disjunctions
from viewlet.compile.ring.product import lower_clauses, lower_sums
from viewlet.compile.ring.split_infinite import split_infinite
from viewlet.plan.expr import Call, Column, Expr, Literal, Named, Reduce, columns_of, conjunction, rewrite, substitute
from viewlet.plan.nodes import Aggregate, calls_of
from viewlet.plan.show import show_expr
from viewlet.plan.sums import POWERS, SLOT, Sum, counts_rows, holder, is_sum, sum_columns, uses_slots
from viewlet.plan.types import BIGINT, BOOLEAN, INT, Field
from viewlet.program.terms import FinalizeSums, GroupSums, Term


def lower_aggregate(build: Builder, plan: Aggregate) -> tuple[Term, ...]:
    """The delta of an aggregate that is kept as sums."""
    build.note(plan, "ring")
    answer, held = keep_sums(build, plan)
    return (compute(answer, list(zip(plan.columns, held.results, strict=True))),)


def why_not_sums(build: Builder, plan: Aggregate) -> str | None:
    """Why an aggregate cannot be kept as sums."""
    if window_sum_below(build, plan) is not None:
        return WHY
    for call in calls_of(plan):
        if call.distinct:
            return f"{show_expr(call)} is kept group by group beside other aggregates"
        if not is_sum(call.function, [a.type for a in call.args]):
            return f"{call.function} is not a sum"
        if (why := build.abilities.expressions(filter(None, (*call.args, _where(call))))) is not None:
            return why
    if (why := build.abilities.expressions(comparable(k) for k in plan.keys)) is not None:
        return why
    return build.abilities.expressions(
        r.expr for r in results_over(plan, key_names(plan), [f"_a{i}" for i, _ in enumerate(calls_of(plan))])
    )


def key_names(plan: Aggregate) -> tuple[str, ...]:
    """The names of the key columns; a key that is a column keeps its name."""
    return tuple(k.name if isinstance(k, Column) else f"_k{i}" for i, k in enumerate(plan.keys))


def results_over(plan: Aggregate, keys: tuple[str, ...], values: list[str]) -> tuple[Named, ...]:
    """The results over the columns that hold keys and aggregates."""
    held: dict[Expr, Expr] = {k: Column(n, k.type) for k, n in zip(plan.keys, keys, strict=True)}
    held |= {c: Column(n, c.type) for c, n in zip(calls_of(plan), values, strict=True)}
    return tuple(Named(r.name, rewrite(r.expr, held.get)) for r in plan.results)


def keep_sums(build: Builder, plan: Aggregate) -> tuple[Term, SumsMap]:
    """The map of an aggregate's sums, and the term that computes the results of touched keys from it."""
    plan = replace(plan, keys=tuple(dict.fromkeys(plan.keys)))
    names = key_names(plan)
    keys = [(Field(n, k.type), comparable(k)) for n, k in zip(names, plan.keys, strict=True)]
    arguments, sums = _arguments(plan, build.abilities)
    clauses = Expansion(build).of(plan.rows)
    sums = tuple(_with_room(build, clauses, {f.name: e for f, e in arguments}, s) for s in sums)
    fields = _map_fields([f for f, _ in keys], sums)
    terms = _totals(build, clauses, keys, arguments, sums, fields)
    meaning = f"Sum[{', '.join(names)}]({', '.join(show_expr(c) for c in calls_of(plan)) or '1'})"
    kept = build.keep(terms, names, meaning=meaning, sums=_sum_columns(sums))
    sums = tuple(_as_kept(build, kept, s) for s in sums)
    own = tuple(build.fresh("k") if n.startswith("_") else n for n in names)
    values = [build.fresh("a") for _ in sums]
    shown = (
        *(Field(n, f.type) for n, (f, _) in zip(own, keys, strict=True)),
        *(Field(n, s.type) for n, s in zip(values, sums, strict=True)),
    )
    answer = FinalizeSums(kept.name, tuple(kept.own(n) for n in names), sums, shown)
    results = tuple(r.expr for r in results_over(plan, own, values))
    return answer, SumsMap(kept, own, names, sums, shown, results)


def _with_room(build: Builder, clauses: tuple[Clause, ...], arguments: dict[str, Expr], total: Sum) -> Sum:
    """A sum of doubles with room for the products that it has when factorized."""
    if not uses_slots(total) or total.powers or total.column is None:
        return total
    argument = arguments[total.column]
    return replace(total, degree=max(degree_of(build, c.home, substitute(argument, c.results)) for c in clauses))


def _as_kept(build: Builder, kept: KeptMap, total: Sum) -> Sum:
    """A sum under its name in the map, which may be another view's; the weight alone has none."""
    if counts_rows(total):
        return replace(total, name=build.fresh("n"))
    own = kept.own(f"{holder(total)}_n")[: -len("_n")]
    return replace(total, name=build.fresh("n"), held=own) if total.held else replace(total, name=own)


def _totals(
    build: Builder,
    clauses: tuple[Clause, ...],
    keys: list[tuple[Field, Expr]],
    arguments: list[tuple[Field, Expr]],
    sums: tuple[Sum, ...],
    fields: tuple[Field, ...],
) -> tuple[Term, ...]:
    if build.is_safe(e for _, e in (*keys, *arguments)):
        finite = [part for c in clauses for part in split_infinite(build, c)]
        parts = [part for c in finite for part in split_disjunctions(build, c)]
        return tuple(t for c in parts for t in lower_sums(build, c, keys, arguments, sums, fields))
    needed = dict.fromkeys(n for _, e in (*keys, *arguments) for n in sorted(columns_of(e)))
    kinds = {n: e.type for n, e in clauses[0].results.items()}
    rows = build.added_up(lower_clauses(build, clauses, [(Field(n, kinds[n]), Column(n, kinds[n])) for n in needed]))
    names = tuple(f.name for f, _ in keys)
    return tuple(GroupSums(compute(t, [*keys, *arguments]), names, sums, fields) for t in rows)


def _arguments(plan: Aggregate, abilities: Abilities) -> tuple[list[tuple[Field, Expr]], tuple[Sum, ...]]:
    """The columns that the sums add up, and the sums."""
    computed: dict[Expr, Field] = {}
    sums: list[Sum] = []

    def column_for(e: Expr | None) -> str | None:
        if e is None:
            return None
        return computed.setdefault(e, Field(f"_x{len(computed)}", e.type)).name

    for i, call in enumerate(_guarded(call, abilities) for call in calls_of(plan)):
        args = call.args if call.function in POWERS else call.args[: len(call.args) == 1]
        kind = args[0].type if args else None
        first, second = map(column_for, (*args, None, None)[:2])
        sums.append(Sum(f"_a{i}", call.function, first, column_for(_where(call)), kind, call.type, second))
    return [(f, e) for e, f in computed.items()], _sharing(sums)


def _guarded(call: Reduce, abilities: Abilities) -> Reduce:
    """A call whose arguments cannot fail on rows that its FILTER excludes."""
    if call.where is None or not any(map(abilities.can_fail, call.args)):
        return call
    return replace(call, args=tuple(chosen(a, call.where) for a in call.args))


def chosen(argument: Expr, where: Expr | None) -> Expr:
    """The argument where the FILTER holds, else NULL, which does not count."""
    nothing = Literal(None, argument.type)
    return argument if where is None else Call("if", (where, argument, nothing), argument.type)


def _where(call: Reduce) -> Expr | None:
    """The condition under which rows count; count(a, b) counts rows where neither is NULL."""
    several = call.args if call.function == "count" and len(call.args) > 1 else ()
    there = [Call("is_not_null", (a,), BOOLEAN) for a in several]
    return conjunction((*([call.where] if call.where else []), *there))


def _sharing(sums: list[Sum]) -> tuple[Sum, ...]:
    """Let moments of the same columns share sums of powers."""
    alike: dict[tuple[str | None, ...], list[Sum]] = {}
    for total in sums:
        alike.setdefault((total.column, total.second, total.where), []).append(total)

    def held(total: Sum) -> Sum:
        moments = [s for s in alike[total.column, total.second, total.where] if s.function in POWERS]
        powers = tuple(sorted({p for s in moments for p in POWERS[s.function]}))
        return replace(total, powers=powers, held=moments[0].name) if total in moments else total

    return tuple(map(held, sums))


def _sum_columns(sums: tuple[Sum, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(c for s in sums for c in sum_columns(s)))


def _map_fields(keys: list[Field], sums: tuple[Sum, ...]) -> tuple[Field, ...]:
    slot = [Field(SLOT, INT, False)] if any(uses_slots(s) for s in sums) else []
    return (*keys, *slot, *(Field(c, BIGINT, False) for c in _sum_columns(sums)))
