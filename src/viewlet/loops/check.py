"""A loop computed from scratch by Spark, round by round, as its text says: what `check` compares with.

Nothing of the compiled programs is used. Each round is the user's own query over tables of the rows so far; only how a
round's rows are merged with the earlier ones is done here, row by row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.differences import Row, values_of_rows
from viewlet.columns.rows import Rows
from viewlet.loops.define import CompiledState, cast_query
from viewlet.loops.rounds import endless
from viewlet.loops.syntax import LoopText, State
from viewlet.plan.types import Field
from viewlet.plan.words import quoted
from viewlet.spark.session.arrow_frames import from_arrow, to_arrow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from viewlet.loops.maintained import Loop
    from viewlet.warehouse.warehouse import Warehouse

Fields = Sequence[Field]


def recompute(warehouse: Warehouse, loop: Loop) -> Rows:
    """What a loop comes to, when Spark runs its rounds from the first on."""
    from viewlet.spark.session.children import active, clone
    from viewlet.spark.session.session import FAULTY_RULES, leave_out

    with active(clone(warehouse.sessions.under(loop.compiled.settings))) as spark:
        leave_out(spark, FAULTY_RULES)
        warehouse.reading.show(spark, loop.mentions)
        pairs = zip(loop.text.states, loop.compiled.states, strict=True)
        rerun = Rerun(spark, loop.name, loop.text, [CollectedState(text, compiled) for text, compiled in pairs])
        rerun.run()
        return rerun.answer(loop.fields)


@dataclass
class CollectedState:
    """The rows of a state so far, by what tells them apart."""

    text: State
    compiled: CompiledState
    rows: dict[str, Row] = field(default_factory=dict)
    changed: list[Row] = field(default_factory=list)
    """Those that the last round brought."""

    @property
    def fields(self) -> Fields:
        """Its columns, without the round."""
        return self.compiled.program.columns[:-1]

    def merge(self, rows: Iterable[Row]) -> None:
        """Take in what a round gives."""
        match self.text.merge:
            case "all":
                new = {f"{len(self.rows) + at}": row for at, row in enumerate(rows)}
            case "distinct":
                new = {_written(row): row for row in rows}
                new = {key: row for key, row in new.items() if key not in self.rows}
            case "key":
                new = {key: row for key, row in self._best(rows).items() if self._is_news(key, row)}
            case "replace":
                raise AssertionError(f"what {self.text.name} comes to depends on where its rounds begin")
        self.rows |= new
        self.changed = list(new.values())

    def _best(self, rows: Iterable[Row]) -> dict[str, Row]:
        """Of each key the row that comes first among those of a round."""
        key = {k.lower() for k in self.text.key}
        at = [i for i, f in enumerate(self.fields) if f.name.lower() in key]
        best: dict[str, Row] = {}
        for row in rows:
            own = _written([row[i] for i in at])
            if own not in best or self._comes_first(row, best[own]):
                best[own] = row
        return best

    def _comes_first(self, row: Row, other: Row) -> bool:
        if self._is_better(row, other) or self._is_better(other, row):
            return self._is_better(row, other)
        ours, others = [_order(v) for v in row], [_order(v) for v in other]
        return ours > others if self.compiled.choice and self.compiled.choice.is_greatest else ours < others

    def _is_better(self, row: Row, other: Row) -> bool:
        """Whether min or max prefers a row."""
        choice = self.compiled.choice
        if choice is None:
            return False
        at = [f.name for f in self.fields].index(choice.column)
        if row[at] is None or other[at] is None:
            return row[at] is not None and other[at] is None
        value, there = _order(row[at]), _order(other[at])
        return bool(value > there if choice.is_greatest else value < there)

    def _is_news(self, key: str, row: Row) -> bool:
        """Whether a row takes the place of the one that its key has."""
        there = self.rows.get(key)
        if there is None:
            return True
        return self._is_better(row, there) if self.compiled.choice else _written(row) != _written(there)


def _written(values: Iterable[Any]) -> str:
    """Values as a text that is the same for equal ones: 0.0 is −0.0."""
    return repr([v + 0.0 if isinstance(v, float) else v for v in values])


def _order(value: Any) -> tuple[bool, bool, Any]:
    """Where a value comes in order: NaN after all numbers, NULL last."""
    is_nan = isinstance(value, float) and value != value
    return value is None, is_nan, 0 if value is None or is_nan else value


@dataclass
class Rerun:
    """The rounds of a loop, run by Spark."""

    spark: SparkSession
    view: str
    text: LoopText
    states: Sequence[CollectedState]
    sizes: dict[int, int] = field(default_factory=dict)

    def run(self) -> None:
        """Rounds until none brings rows, or as many as there may be."""
        for state in self.states:
            state.merge(self._rows(state, state.text.first))
        while any(state.changed for state in self.states):
            number = len(self.sizes)
            self.sizes[number] = sum(len(state.changed) for state in self.states)
            if number > self.text.last_round:
                changed = {s.text.name: _as_rows(s.changed, s.fields) for s in self.states if s.changed}
                raise endless(self.view, number, self.sizes, changed)
            if self.text.limit is not None and number == self.text.limit.rounds and not self.text.limit.is_error:
                return
            made = [self._step(state) for state in self.states]
            for state, rows in zip(self.states, made, strict=True):
                state.merge(rows)

    def answer(self, fields: Fields) -> Rows:
        """What the query over the states gives."""
        for state in self.states:
            self._show(state, state.rows.values())
        return Rows.of(to_arrow(self.spark.sql(self.text.result), fields))

    def _step(self, state: CollectedState) -> list[Row]:
        for other in self.states:
            self._show(other, other.rows.values() if state.compiled.reads_all else other.changed)
        return self._rows(state, state.text.step)

    def _rows(self, state: CollectedState, query: str) -> list[Row]:
        frame = self.spark.sql(cast_query(query, tuple(state.fields)))
        return values_of_rows(Rows.of(to_arrow(frame, state.fields)))

    def _show(self, state: CollectedState, rows: Iterable[Row]) -> None:
        """Let the name of a state stand for some rows."""
        table = _as_rows(list(rows), state.fields).arrow()
        from_arrow(self.spark, table, state.fields).createOrReplaceTempView(quoted(state.text.name))


def _as_rows(rows: Sequence[Row], fields: Fields) -> Rows:
    arrays = [pa.array([row[i] for row in rows], type=arrow_type(f.type)) for i, f in enumerate(fields)]
    return Rows.of(pa.table(arrays, names=[f.name for f in fields]))
