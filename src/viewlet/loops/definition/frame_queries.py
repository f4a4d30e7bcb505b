"""Queries that are DataFrames: built over a loop's states when it is defined, stored, and run again by `check`.

They are stored as Spark's own plans, with placeholders for the tables and states that they read.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from viewlet.errors import UnsupportedQuery, kind_of, shortened
from viewlet.loops.language.python_form import PythonLoop
from viewlet.loops.language.syntax import State
from viewlet.plan.types import Field
from viewlet.plan.words import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from viewlet.spark.analyse import Analysis
    from viewlet.spark.sessions import Sessions

Schemas = Mapping[str, tuple[Field, ...]]


@dataclass(frozen=True)
class StoredQuery:
    """A DataFrame as Spark's plan, and the tables and states that it reads, in order."""

    plan: bytes
    inputs: tuple[str, ...]

    @staticmethod
    def of(analysis: Analysis) -> StoredQuery:
        from viewlet.spark.fragments.fragments import make_whole, whole_inputs

        cuts, inputs = whole_inputs(analysis)
        return StoredQuery(make_whole(analysis, 0, cuts), inputs)


def show_stored(spark: SparkSession, queries: Mapping[str, StoredQuery], text: str) -> None:
    """Register the stored queries that a text reads as views of a session."""
    from viewlet.spark.fragments.fragments import run

    for name, query in queries.items():
        if quoted(name) in text:
            inputs = [spark.table(quoted(table)) for table in query.inputs]
            run(spark, query.plan, inputs).createOrReplaceTempView(quoted(name))


@dataclass(frozen=True)
class FrameQueries:
    """The DataFrames of a loop during its definition."""

    view: str
    loop: PythonLoop
    sessions: Sessions

    def read_by(self, text: str, states: Schemas) -> dict[str, DataFrame]:
        """The DataFrames that a text reads, by name, over states with these columns."""
        return {name: self.frame(name, states) for name in self.loop.queries if quoted(name) in text}

    def frame(self, name: str, states: Schemas) -> DataFrame:
        """A query as a DataFrame; a step of an iteration sees the results of the steps before it."""
        known = self._states(states)
        for state in self._before(name) if self.loop.text.converges else ():
            made = self._made(f"_{state.name}_step", known)
            known = {**known, state.name: made.toDF(*known[state.name].columns)}
        return self._made(name, known)

    def _before(self, name: str) -> tuple[State, ...]:
        """The states whose steps precede a step."""
        steps = [f"_{state.name}_step" for state in self.loop.text.states]
        return self.loop.text.states[: steps.index(name)] if name in steps else ()

    def _made(self, name: str, known: Mapping[str, DataFrame]) -> DataFrame:
        """A query, or the result of calling a function with the states that its parameters name."""
        query = self.loop.queries[name]
        if not callable(query):
            return _frame(f"view {self.view}: `{name}`", query)
        wanted = list(inspect.signature(query).parameters)
        unknown = next((p for p in wanted if p not in known), None)
        if unknown is not None:
            raise UnsupportedQuery(
                f"view {self.view}: the function of `{name}` asks for `{unknown}`, which is no state",
                hint=f"its parameters are names of states: {', '.join(known)}",
            )
        made = query(**{p: known[p] for p in wanted})
        return _frame(f"view {self.view}: what the function of `{name}` gives", made)

    def _states(self, states: Schemas) -> dict[str, DataFrame]:
        """The states as empty DataFrames, marked like tables of the warehouse."""
        from viewlet.spark.session.children import active, clone
        from viewlet.spark.session.leaves import Tables, register_mentioned

        with active(clone(self.sessions.child)) as spark:
            register_mentioned(spark, Tables(states, self.sessions.warehouse), "\n".join(states))
            return {name: spark.table(quoted(name)) for name in states}


def _frame(what: str, value: Any) -> DataFrame:
    if not hasattr(value, "sparkSession"):
        raise UnsupportedQuery(
            f"{what} is {shortened(value)}, {kind_of(value)}",
            hint="give a DataFrame made of the states and of tables of `db.spark`",
        )
    frame: DataFrame = value
    return frame
