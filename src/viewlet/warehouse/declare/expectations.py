"""Expectations: the CHECK constraints of a table, and what happens to rows that violate them.

A row violates a constraint if its expression is false; NULL passes, as in SQL. Such a row fails the epoch
(`FAIL EPOCH`), is dropped and counted (`DROP ROW`), or goes into the table of rejected rows in the same commit
(`KEEP ASIDE`). If a row violates several, FAIL EPOCH takes precedence, then KEEP ASIDE. Constraints are checked as rows
arrive, before the watermark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from viewlet.columns import evaluate
from viewlet.columns.arrays import Mask, valid_mask
from viewlet.columns.fresh_names import free_name
from viewlet.columns.rows import Rows
from viewlet.errors import EvaluationError, SqlError, ViewletError
from viewlet.plan.expr import Column, Expr, substitute
from viewlet.plan.nodes import Plan, Project, Scan
from viewlet.plan.types import BIGINT, BOOLEAN, STRING, Field
from viewlet.plan.words import quoted, read_words
from viewlet.store import Layout

if TYPE_CHECKING:
    from viewlet.spark.analyse import Analysis
    from viewlet.spark.sessions import Sessions

Action = Literal["FAIL EPOCH", "DROP ROW", "KEEP ASIDE"]
ACTIONS: tuple[Action, ...] = ("FAIL EPOCH", "DROP ROW", "KEEP ASIDE")
REJECTED = "_rejected"
"""The suffix of the name of a table of rejected rows."""
DROPPED_LAYOUT = Layout(columns=("constraint",), key=("constraint",))
DROPPED_TYPES = {"constraint": pa.string()}
"""A bag with the names of constraints, weighted by how many rows each has dropped."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """A condition on the rows of a table."""

    name: str
    text: str
    action: Action = "FAIL EPOCH"
    expr: Expr | None = None
    """The condition over the table's columns if it is evaluated in process; if None, Spark evaluates the text."""
    settings: tuple[tuple[str, str], ...] = ()
    """The Spark settings under which it was declared, which its meaning depends on."""

    def reads(self, column: str) -> bool:
        """Whether the condition may read a column: whether its text has that name."""
        return any(w.text.strip("`").lower() == column.lower() for w in read_words(self.text))


Evaluate = Callable[[Constraint, Rows], Mask]
"""A mask of the rows that violate a constraint."""


def read_constraints(table: str, given: Mapping[str, Any] | None) -> tuple[Constraint, ...]:
    """Parse declared constraints: by name, a condition, alone or with the action for rows that violate it."""
    found = []
    for name, declared in (given or {}).items():
        text, action = (declared, ACTIONS[0]) if isinstance(declared, str) else declared
        known = next((a for a in ACTIONS if a == str(action).upper()), None)
        if known is None:
            raise SqlError(f"table {table}: constraint {name}: {action!r} is not an action", hint=", ".join(ACTIONS))
        found.append(Constraint(name, text, known))
    if twice := [c.name for i, c in enumerate(found) if c.name.lower() in {o.name.lower() for o in found[:i]}]:
        raise SqlError(f"table {table} has two constraints named {twice[0]}")
    return tuple(found)


def compiled(sessions: Sessions, table: str, fields: tuple[Field, ...], constraint: Constraint) -> Constraint:
    """Analyse a constraint in Spark under the caller's settings; decode it if it can be evaluated in process."""
    query = f"SELECT ({constraint.text}) AS ok FROM {quoted(table)}"
    try:
        with sessions.analysed(query, {table: fields}) as analysis:
            return _compiled(analysis, fields, constraint)
    except ViewletError as error:
        raise type(error)(f"table {table}, constraint {constraint.name}: {error.args[0]}", hint=error.hint) from None


def _compiled(analysis: Analysis, fields: tuple[Field, ...], constraint: Constraint) -> Constraint:
    from viewlet.spark.session.jvm import class_of

    if not {class_of(node) for node in analysis.operators} <= {"Project", "LogicalRDD"} or analysis.is_session_bound:
        raise SqlError(
            f"CHECK ({constraint.text}) reads more than one row",
            hint="a constraint is an expression of Spark's own functions over the columns of the row",
        )
    if analysis.columns[0].type != BOOLEAN:
        raise SqlError(f"({constraint.text}) is not a condition")
    expr = _over_row(analysis.plan, fields)
    can = expr is not None and evaluate.why_not(expr) is None
    settings = tuple(sorted(analysis.settings.items()))
    return replace(constraint, expr=expr if can else None, settings=settings)


def _over_row(plan: Plan, fields: tuple[Field, ...]) -> Expr | None:
    """The expression of a plan that projects one column of a scan, over the table's columns; None for other plans."""
    match plan:
        case Scan(_, (own,)):
            return Column(fields[0].name, own.type)
        case Project(Scan(_, columns), (result,)):
            named = {c.name: Column(f.name, c.type) for c, f in zip(columns, fields, strict=True)}
            return substitute(result.expr, dict(named))
    return None


def evaluator(sessions: Sessions | None, fields: tuple[Field, ...]) -> Evaluate:
    """A function that evaluates the constraints of a table in process or, given sessions, on Spark."""

    def broken(constraint: Constraint, rows: Rows) -> Mask:
        try:
            met = evaluate.compile_expr(constraint.expr)(rows) if constraint.expr else _on_spark(constraint, rows)
        except EvaluationError as error:
            raise EvaluationError(f"constraint {constraint.name}: {error.args[0]}", hint=error.hint) from error
        return is_broken(met)

    def _on_spark(constraint: Constraint, rows: Rows) -> pa.Array:
        from pyspark.errors import PySparkException
        from pyspark.sql import functions as F

        from viewlet.spark.fragments.spark_operators import as_evaluation_error
        from viewlet.spark.session.arrow_frames import from_arrow, to_arrow
        from viewlet.spark.session.children import active

        assert sessions is not None, f"only Spark evaluates CHECK ({constraint.text})"
        at = Field(free_name("_at", rows.names), BIGINT, False)
        numbered = rows.select([f.name for f in fields]).arrow().append_column(at.name, pa.array(range(len(rows))))
        met = Field("met", BOOLEAN)
        try:
            with active(sessions.under(dict(constraint.settings))) as spark:
                frame = from_arrow(spark, numbered, (*fields, at))
                judged = to_arrow(frame.select(quoted(at.name), F.expr(constraint.text)), (at, met))
        except PySparkException as error:
            raise as_evaluation_error(error, f"CHECK ({constraint.text})") from None
        return judged.sort_by(at.name)[met.name].combine_chunks()

    return broken


def is_broken(met: pa.Array) -> Mask:
    """The rows that violate a constraint, given the values of its expression: NULL passes."""
    return valid_mask(met) & ~np.asarray(met.fill_null(True).to_numpy(zero_copy_only=False), dtype=np.bool_)


def rejected_fields(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """The columns of a table of rejected rows: the names of the constraints that a row violates, then the row."""
    return (Field(free_name("_violated", [f.name for f in fields]), STRING, False), *fields)
