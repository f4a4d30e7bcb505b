"""The compiler, from plan to program: which maps to keep, and what each change means for them.

It reads no state and imports no engine: `Abilities` says what an engine evaluates exactly. The stages, in order, are
its table of contents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from viewlet.compile.abilities import Abilities
from viewlet.compile.eviction import with_evictions
from viewlet.compile.keyed.sessionize import seal_sessions
from viewlet.compile.lower import Lowering, lower_view
from viewlet.compile.options import FIRST_ORDER, Facts, Rules
from viewlet.compile.rewrite.running_sums import running_sums
from viewlet.compile.rewrite.split_distinct import split_distinct
from viewlet.compile.rewrite.split_not_in import split_not_in
from viewlet.compile.rewrite.split_or import split_or
from viewlet.compile.rewrite.split_sketches import split_sketches
from viewlet.plan.nodes import Plan, SparkOperator, leaves, origin_of
from viewlet.plan.types import Field
from viewlet.program.identity import Identity
from viewlet.program.program import Program, Step, check

Stage = Callable[[Plan, Abilities], Plan]

STAGES: tuple[tuple[str, Stage], ...] = (
    # First, because it matches Spark's own aggregate.
    ("session windows by keys that only Spark compares", seal_sessions),
    # Then this, so that distinct aggregates become sums over a DISTINCT before their functions are examined.
    ("split distinct aggregates", split_distinct),
    ("approx_count_distinct as sums over registers", split_sketches),
    ("NOT IN as anti joins on equalities", split_not_in),
    # After NOT IN, which is a disjunction too.
    ("semi and anti joins on alternatives as joins on each", split_or),
    ("sums up to a bound as running sums", running_sums),
)


def compile_view(
    view: str,
    plan: Plan,
    columns: tuple[Field, ...],
    abilities: Abilities,
    *,
    full: bool = False,
    rules: Rules | None = None,
    facts: Facts | None = None,
    known: Mapping[Identity, Step] | None = None,
    taken: frozenset[str] = frozenset(),
) -> Program:
    """The program that keeps `view` equal to `plan`; `columns` are its columns under the user's names.

    `full`: the view is recomputed whenever something changes (REFRESH POLICY FULL). `known` are the maps of other
    views, which are shared where they fit; `taken` are the names of all of them.
    """
    if full:
        plan = SparkOperator(
            leaves(plan), "the whole definition", "REFRESH POLICY FULL", plan.columns, origin=origin_of(plan)
        )
    for _, stage in STAGES:
        before = [f.type for f in plan.columns]
        plan = stage(plan, abilities)
        assert [f.type for f in plan.columns] == before, f"{stage.__name__} changed the schema of {view}"
    build = Lowering(view, abilities, rules or Rules(), facts or Facts(), known or {}, taken)
    program = lower_view(build, plan, columns)
    check(program)
    return with_evictions(plan, program, abilities, build.facts)


__all__ = ["FIRST_ORDER", "STAGES", "Abilities", "Facts", "Rules", "compile_view"]
