"""Defining a view: Spark analyses the definition, the compiler makes its program, fragments are set aside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from viewlet.catalog import View
from viewlet.columns import evaluate
from viewlet.compile import Abilities, compile_view
from viewlet.engine import local
from viewlet.errors import UnsupportedQuery
from viewlet.plan.types import Field
from viewlet.program.program import Program
from viewlet.program.terms import Native

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ABILITIES = Abilities(expression=evaluate.why_not, groups=local.why_not, can_fail=evaluate.can_fail)


def define_view(
    spark: SparkSession,
    name: str,
    definition: Any,
    schemas: Mapping[str, tuple[Field, ...]],
    policy: str,
    position: int,
) -> View:
    """The view that a definition (SQL text or DataFrame) describes, compiled and ready to be stored."""
    from viewlet.catalyst.analyse import analyse
    from viewlet.catalyst.fragments import make_whole, whole_inputs

    analysis = analyse(spark, definition, schemas)
    program = compile_view(name, analysis.plan, analysis.columns, ABILITIES, full=policy == "FULL")
    if policy == "INCREMENTAL STRICT":
        _refuse_recomputation(program)
    cuts, inputs = whole_inputs(analysis)
    text = definition if isinstance(definition, str) else None
    fragments = _fragments(analysis, program)
    if text is None or analysis.is_stabilized:  # otherwise the text says it all
        fragments["whole"] = make_whole(analysis, 0, cuts)
    return View(name, program, text, fragments, inputs, analysis.is_stabilized, policy, position)


def _fragments(analysis: Any, program: Program) -> dict[str, bytes]:
    """The pieces of Spark's plan that a program needs."""
    from viewlet.catalyst.fragments import make_keyed, make_rowwise, make_whole
    from viewlet.engine.onspark import fragment_name, spark_terms

    made: dict[str, bytes] = {}
    for term in spark_terms(program):
        if isinstance(term, Native):
            made[fragment_name(term)] = make_rowwise(analysis, term.origin)
        else:
            assert term.native is not None
            make = make_keyed if term.is_keyed else make_whole
            made[fragment_name(term)] = make(analysis, *term.native)
    return made


def _refuse_recomputation(program: Program) -> None:
    """INCREMENTAL STRICT: no operator may need recomputation."""
    for note in program.notes:
        if note.tier == "recompute":
            raise UnsupportedQuery(
                f"view {program.view}: {note.label} would be recomputed on every change: {note.reason}",
                hint="REFRESH POLICY INCREMENTAL allows it",
            )
