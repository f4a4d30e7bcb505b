"""Evaluating on Spark what only Spark can: fragments of its own plan over given rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import values_of
from viewlet.columns.rows import Rows
from viewlet.errors import EvaluationError
from viewlet.plan.show import show_node
from viewlet.plan.types import BIGINT, Field
from viewlet.program.chain import chain
from viewlet.program.program import Program
from viewlet.program.terms import KEY, Regroup, SparkRowwise, Term
from viewlet.spark.session.arrow_frames import from_arrow, to_arrow

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession

    from viewlet.spark.sessions import Sessions

WEIGHT = Field("_weight", BIGINT, False)
_ENDLESS = "a LIMIT ends no recursion in a view: end it by a condition, such as WHERE level < 10"


def fragment_name(term: SparkRowwise | Regroup) -> str:
    """The name under which the catalog keeps a term's fragment."""
    if isinstance(term, SparkRowwise):
        return f"rows:{term.origin}"
    assert term.native is not None
    top, cuts = term.native
    return f"{'keyed' if term.is_keyed else 'global'}:{top}:{','.join(map(str, cuts))}"


def spark_terms(program: Program) -> tuple[SparkRowwise | Regroup, ...]:
    """The terms of a program that Spark evaluates."""
    steps: list[Term] = [s for step in program.steps for term in step.terms for s in chain(term)]
    return tuple(s for s in steps if isinstance(s, SparkRowwise) or (isinstance(s, Regroup) and s.native is not None))


def _frame(spark: SparkSession, rows: Rows, fields: tuple[Field, ...]) -> DataFrame:
    """Columns of rows as a DataFrame, possibly repeated. (Arrow does not count rows without columns.)"""
    if not fields:
        return spark.range(len(rows)).select()
    table = pa.Table.from_arrays([rows[f.name] for f in fields], names=[f.name for f in fields])
    return from_arrow(spark, table, fields)


def as_evaluation_error(error: PySparkException, where: str) -> EvaluationError:
    """Spark's error in one line; if users' code raised an exception, that one."""
    own = [line for line in str(error).splitlines() if line.strip() and not line.startswith("\tat ")]
    if "Traceback (most recent call last)" not in str(error):
        failure = EvaluationError(
            " ".join(own[0].split()), hint=_ENDLESS if "RECURSION_LEVEL_LIMIT" in own[0] else None
        )
    else:
        reason = next(line for line in reversed(own) if not line.startswith((" ", "\t")))
        reason = reason.removeprefix("viewlet.errors.EvaluationError: ")  # a user's aggregate raised it
        hint = "make it importable where Spark's workers run: PYTHONPATH, or spark.sparkContext.addPyFile"
        failure = EvaluationError(reason, hint=hint if "No module named" in reason else None)
    failure.expression = where
    return failure


def _single(tables: Sequence[tuple[Rows, tuple[Field, ...]]]) -> dict[str, Any]:
    """The values of a single row; none if there are more."""
    rows, fields = tables[0]
    shown = [f.name for f in fields if f.name not in (WEIGHT.name, KEY)] if len(rows) == 1 else []
    return {name: rows[name][0].as_py() for name in shown}


class HasFragments(Protocol):
    """A definition with fragments, and the settings that it was created under."""

    @property
    def settings(self) -> Mapping[str, str]: ...
    def fragment(self, name: str) -> bytes: ...


class OnSparkSession:
    """Runs the fragments of a definition in a session with its settings, which is started when first needed."""

    def __init__(self, sessions: Sessions, definition: HasFragments) -> None:
        self.sessions = sessions
        self.definition = definition

    def row_wise(self, term: SparkRowwise, rows: Rows) -> Rows:
        """A row-wise operator on a delta; weights pass through."""
        weighted = rows.with_columns({WEIGHT.name: pa.array(rows.weights)})
        fields = (*term.rows.columns, WEIGHT)
        result = self._run(term, [(weighted, fields)], (*term.columns, WEIGHT))
        weights = values_of(result[WEIGHT.name], "i8")
        return Rows({n: c for n, c in result.columns.items() if n != WEIGHT.name}, weights)

    def regroup(self, term: Regroup, inputs: Sequence[Rows]) -> Rows:
        """A function over groups, on the rows of the touched groups."""
        key = (Field(KEY, BIGINT, False),) if term.is_keyed else ()
        wanted = [(*i.columns, *key) for i in term.inputs]
        tables = [(rows.expanded(), fields) for rows, fields in zip(inputs, wanted, strict=True)]
        fields = term.columns if term.is_keyed else term.columns[:-1]
        return self._run(term, tables, fields)

    def _run(
        self,
        term: SparkRowwise | Regroup,
        tables: Sequence[tuple[Rows, tuple[Field, ...]]],
        fields: tuple[Field, ...],
    ) -> Rows:
        from pyspark.errors import PySparkException

        from viewlet.spark.fragments.fragments import run
        from viewlet.spark.session.children import active

        found = self.definition
        try:
            with active(self.sessions.under(found.settings)) as spark:
                frames = [_frame(spark, rows, columns) for rows, columns in tables]
                result = to_arrow(run(spark, found.fragment(fragment_name(term)), frames), fields)
        except PySparkException as error:
            where = term.label if isinstance(term, SparkRowwise) else show_node(term.function)
            failure = as_evaluation_error(error, where)
            failure.values = _single(tables)
            raise failure from None
        return Rows.of(result, np.ones(result.num_rows, dtype=np.int64))
