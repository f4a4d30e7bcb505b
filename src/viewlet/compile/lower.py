"""Lowering: a plan becomes a sum of terms that say what each input's change means for it.

    Δ(filter Q) = filter ΔQ        Δ(project Q) = project ΔQ        Δ(P ∪ Q) = ΔP + ΔQ

Filters, projections, unions and joins form blocks of the ring, which become sums of products (calculus.py) and then
maps and statements (product.py). Sums and regrouped operators have files of their own; the match in `_lower` is the
table of contents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from viewlet.compile.build import Builder, SumsMap, Terms, compute, passing
from viewlet.compile.keyed.regroup import lower_keyed, lower_spark_operator, lower_top, lower_window, with_inputs
from viewlet.compile.keyed.regroup_join import lower_join
from viewlet.compile.keyed.sessionize import lower_sessions
from viewlet.compile.keyed.split_aggregate import lower_split, split_aggregate
from viewlet.compile.monoid.fold import lower_fold, why_not_fold
from viewlet.compile.monoid.growth import grows
from viewlet.compile.ring.calculus import Clause, Expansion, in_ring
from viewlet.compile.ring.fuse_window_sum import lower_window_sum, window_sum_below
from viewlet.compile.ring.product import lower_clauses
from viewlet.compile.ring.sum_aggregate import keep_sums, lower_aggregate, why_not_sums
from viewlet.plan.expr import Call, Expr
from viewlet.plan.nodes import (
    Aggregate,
    Expand,
    Filter,
    Generate,
    Input,
    Join,
    Plan,
    Project,
    Scan,
    Sessions,
    SparkOperator,
    Top,
    Union,
    Values,
    Window,
    calls_of,
    children,
    expressions,
    origin_of,
)
from viewlet.plan.show import show_expr, show_node
from viewlet.plan.types import Field
from viewlet.program import terms
from viewlet.program.program import Program, Step
from viewlet.program.terms import KEY, Term


def lower_view(build: Lowering, plan: Plan, columns: tuple[Field, ...]) -> Program:
    """The whole program of a view."""
    summands = build.lower(plan)
    names = tuple(f.name for f in plan.columns)
    if _is_last_map(build, summands, names):
        build.steps[-1] = _as_view(build.steps[-1], build.view)
    else:
        build.keep(summands, names, meaning="the view", name=build.view)
    steps, choices = tuple(build.steps), tuple(build.choices)
    notes = tuple(noted.note() for noted in build.notes)
    return Program(build.view, columns, names, steps, notes, choices, grows(plan, build.growing))


def _is_last_map(build: Builder, summands: Terms, names: tuple[str, ...]) -> bool:
    """Whether the view is just the map that was made last."""
    if len(summands) != 1 or not isinstance(term := summands[0], terms.Change) or not build.steps:
        return False
    last = build.steps[-1]
    return (
        term.bag == last.map.name and tuple(f.name for f in term.columns) == names and last.map.columns[-1].name == KEY
    )


def _as_view(step: Step, view: str) -> Step:
    """A regrouped operator's map, turned into the view itself."""
    (term,) = step.terms
    assert isinstance(term, terms.Regroup)
    return Step(replace(step.map, name=view), (replace(term, target=view),))


class Lowering(Builder):
    """The descent through a plan, as the rules for single operators call it for their inputs."""

    def lower(self, plan: Plan) -> Terms:
        with self.descending():
            return _lower(self, plan)

    def lower_clauses(self, clauses: Sequence[Clause], results: Sequence[tuple[Field, Expr]]) -> Terms:
        return lower_clauses(self, clauses, results)

    def keep_sums(self, plan: Aggregate) -> tuple[Term, SumsMap] | None:
        if why_not_sums(self, plan) is not None:
            return None
        self.note(plan, "ring")
        return keep_sums(self, plan)

    def is_regrouped(self, plan: Plan) -> bool:
        return _regrouped_below(self, plan) is not None


def _lower(build: Builder, plan: Plan) -> Terms:
    match plan:
        case Scan(name, columns):
            build.note(plan, "")
            return (terms.Change(name, columns),)
        case Values(rows, columns):
            build.note(plan, "")
            return (terms.Values(rows, columns),)
        case Filter() | Project() if (base := _regrouped_below(build, plan)) is not None:
            return _lower_regrouped(build, base, plan)
        case Filter() | Project() | Union() | Join() if in_ring(build, plan):
            return lower_clauses(build, Expansion(build).of(plan), passing(plan.columns))
        case Filter() | Project() | Expand() | Generate():
            return _lower_row_wise(build, plan)
        case Join():
            return lower_join(build, plan, plan)
        case Aggregate():
            return _lower_aggregate(build, plan, plan)
        case Window() | Top():
            return _lower_regrouped(build, plan, plan)
        case Sessions():
            return lower_sessions(build, plan)
        case SparkOperator():
            return lower_spark_operator(build, plan)
        case Union() | Input():
            raise AssertionError(f"{show_node(plan)} stands where it cannot")
        case _:
            assert_never(plan)


def _lower_aggregate(build: Builder, plan: Aggregate, top: Plan) -> Terms:
    """An aggregate as sums, as states, in parts, fused with a window below it, or regrouped."""
    if (whole := window_sum_below(build, plan)) is not None:
        return lower_window_sum(build, plan, whole, top)
    if why_not_sums(build, plan) is None:
        return lower_aggregate(build, plan)
    if (why := why_not_fold(build, plan)) is None:
        return lower_fold(build, plan)
    if parts := split_aggregate(build, plan):
        return lower_split(build, plan, parts)
    return lower_keyed(build, plan, (plan.rows,), (plan.keys,), _reason(build, plan, why), top=top)


def _reason(build: Builder, plan: Aggregate, why: str) -> str:
    """Why an aggregate is regrouped: why a user's function is not a state, or a built-in one not a sum."""
    return why if any(c.handlers for c in calls_of(plan)) else why_not_sums(build, plan) or why


def _is_regrouped(build: Builder, plan: Aggregate) -> bool:
    """Whether an aggregate is kept neither as sums, nor as states, nor in parts."""
    if window_sum_below(build, plan) is not None:
        return True
    can = why_not_sums(build, plan) is None or why_not_fold(build, plan) is None
    return not can and not split_aggregate(build, plan)


def _regrouped_below(build: Builder, plan: Plan) -> Plan | None:
    """The operator below some filters and projections, if it is regrouped and they can be part of its function.

    What they drop is then never stored: a top-k per group keeps k rows of each, and an outer join only the columns that
    are needed.
    """
    if not isinstance(plan, Filter | Project):
        return None
    base: Plan = plan
    while isinstance(base, Filter | Project):
        base = base.rows
    match base:
        case Window() | Top():
            pass
        case Join() if base.kind != "inner" and not in_ring(build, base):
            pass
        case Aggregate() if _is_regrouped(build, base):
            pass
        case _:
            return None
    apart, together = (build.abilities.groups(with_inputs(p, children(base))) for p in (base, plan))
    on_spark = apart is not None and origin_of(plan) is not None
    return base if together is None or on_spark else None


def _lower_regrouped(build: Builder, base: Plan, top: Plan) -> Terms:
    match base:
        case Window():
            return lower_window(build, base, top)
        case Top():
            return lower_top(build, base, top)
        case Join():
            return lower_join(build, base, top)
        case Aggregate():
            return _lower_aggregate(build, base, top)
        case _:
            raise AssertionError(f"{show_node(base)} is not regrouped")


def _lower_row_wise(build: Builder, plan: Filter | Project | Expand | Generate) -> Terms:
    """A row-wise operator is linear, so it acts on the delta, on Spark if only Spark evaluates it."""
    why = _why_not_row_wise(build, plan)
    build.note(plan, "ring", "" if why is None else f"on Spark: {why}")
    below = build.lower(plan.rows)
    if why is None:
        return tuple(_row_wise(plan, t) for t in build.netted(below, _evaluated(plan)))
    assert plan.origin is not None, f"{show_node(plan)} was made by the compiler and cannot be evaluated: {why}"
    return tuple(terms.SparkRowwise(t, plan.origin, show_node(plan), plan.columns) for t in build.added_up(below))


_GENERATORS = {"explode": ("array", "map"), "posexplode": ("array", "map"), "inline": ("array",)}
"""Generators that we evaluate, with the types that they unnest."""


def _why_not_row_wise(build: Builder, plan: Filter | Project | Expand | Generate) -> str | None:
    """Why only Spark evaluates a row-wise operator; None if we can."""
    match plan:
        case Generate(generator=Call(function, args)) if args and args[0].type.name in _GENERATORS.get(function, ()):
            pass
        case Generate(generator=Call("replicate_rows")):
            pass
        case Generate():
            return f"{show_expr(plan.generator)} is run by Spark"
        case _:
            pass
    return build.abilities.expressions(_evaluated(plan))


def _evaluated(plan: Filter | Project | Expand | Generate) -> tuple[Expr, ...]:
    """The expressions that a row-wise operator evaluates: for a generator, its arguments."""
    if isinstance(plan, Generate) and isinstance(plan.generator, Call):
        return plan.generator.args
    return tuple(expressions(plan))


def _row_wise(plan: Plan, term: Term) -> Term:
    match plan:
        case Filter(condition=condition):
            return terms.Filter(term, condition)
        case Project(results=results, columns=columns):
            return compute(term, [(f, r.expr) for f, r in zip(columns, results, strict=True)])
        case Expand(projections=projections, columns=columns):
            return terms.Expand(term, projections, columns)
        case Generate(generator=Call() as generator, outer=outer, columns=columns):
            return terms.Unnest(term, generator, outer, columns[len(columns) - plan.generated :], columns)
        case _:
            raise AssertionError(f"{show_node(plan)} is not row-wise")
