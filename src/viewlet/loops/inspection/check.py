"""Runs a loop in Spark, round by round, from its text, for `check`.

It does not use the compiled programs. Each round runs the user's own query, with ties decided as in every definition,
over tables of the rows so far; only merging a round's rows with earlier ones is done here, row by row. A loop that
continues from its last result is correct if one more round changes nothing beyond what its condition allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.differences import Row, values_of_rows
from viewlet.columns.rows import Rows
from viewlet.loops.definition.compiled import AnyState, CompiledState, CompiledUntil, RelaxedState
from viewlet.loops.definition.frame_queries import StoredQuery, show_stored
from viewlet.loops.definition.queries import cast_query, pairs_query
from viewlet.loops.language.syntax import MOST_SETTLING, LoopText, State
from viewlet.loops.rounds.merged import merged
from viewlet.loops.rounds.rounds import endless
from viewlet.plan.types import Field
from viewlet.plan.words import quoted
from viewlet.spark.session.arrow_frames import from_arrow, to_arrow
from viewlet.store import Snapshot
from viewlet.warehouse.declare.users_code import from_text
from viewlet.warehouse.refresh import visible

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from viewlet.loops.maintained import Loop
    from viewlet.warehouse.warehouse import Warehouse

Fields = Sequence[Field]


def recompute(warehouse: Warehouse, loop: Loop) -> Rows:
    """The result of a loop when Spark runs its rounds: from the first, or one more round from the stored result."""
    from viewlet.spark.session.children import active, clone
    from viewlet.spark.session.session import FAULTY_RULES, leave_out

    if loop.compiled.handled is not None:
        return _handled_again(warehouse, loop)
    with active(clone(warehouse.sessions.under(loop.compiled.settings))) as spark:
        leave_out(spark, FAULTY_RULES)
        warehouse.reading.show(spark, loop.mentions)
        for table, columns in loop.seen.items():
            spark.table(quoted(table)).select(*map(quoted, columns)).createOrReplaceTempView(quoted(table))
        pairs = zip(loop.text.states, loop.compiled.states, strict=True)
        states = [CollectedState(text, compiled) for text, compiled in pairs]
        rerun = Rerun(spark, loop.name, loop.text, states, loop.trusted_queries)
        if loop.text.converges and not loop.text.restarts and not loop.text.diffuses:
            rerun.run_on(warehouse.store.snapshot(), loop.compiled.until)
        elif loop.text.converges:
            rerun.settle(loop.compiled.until)
        else:
            rerun.run()
        return rerun.answer(loop.fields)


def _handled_again(warehouse: Warehouse, loop: Loop) -> Rows:
    """The result of handlers, run from scratch in process."""
    snapshot = warehouse.store.snapshot()
    found = loop.after_rounds(
        loop.text.last_round, lambda name: visible(warehouse.catalog.find(name), snapshot.contents(name).consolidated())
    )
    return found.select(loop.stored).rename([f.name for f in loop.fields])


@dataclass
class CollectedState:
    """The rows of a state so far, by a text that identifies each."""

    text: State
    compiled: AnyState
    rows: dict[str, Row] = field(default_factory=dict)
    changed: list[Row] = field(default_factory=list)
    """The rows of the last round."""
    improved: list[Row] = field(default_factory=list)
    """The rows that min or max has replaced by better ones."""

    @property
    def so_far(self) -> list[Row]:
        """The rows that a step over all rounds reads."""
        return [*self.rows.values(), *self.improved]

    @property
    def fields(self) -> Fields:
        """Its columns, without the round."""
        return self.compiled.fields

    def replace(self, rows: Iterable[Row]) -> None:
        """Replace all rows."""
        self.changed = list(rows)
        self.rows = {f"{at}": row for at, row in enumerate(self.changed)}

    def merge(self, rows: Iterable[Row]) -> None:
        """Merge the rows of a round."""
        match self.text.merge:
            case "all":
                new = {f"{len(self.rows) + at}": row for at, row in enumerate(rows)}
            case "distinct":
                new = {_written(row): row for row in rows}
                new = {key: row for key, row in new.items() if key not in self.rows}
            case "key" if self.compiled.choice is not None and self.compiled.choice.is_sum:
                return self._add(rows)
            case "key":
                new = {key: row for key, row in self._best(rows).items() if self._is_news(key, row)}
                self.improved += [self.rows[key] for key in new if key in self.rows and self.compiled.choice]
            case "merged":
                return self._merge_by_code(rows)
            case "last" | "replace" | "handled":
                return self.replace(rows)
        self.rows |= new
        self.changed = list(new.values())

    @property
    def _key_at(self) -> list[int]:
        key = {k.lower() for k in self.text.key}
        return [i for i, f in enumerate(self.fields) if f.name.lower() in key]

    def _add(self, rows: Iterable[Row]) -> None:
        """Add the rows of a round to those with their keys, ignoring NULL."""
        self.changed, at = list(rows), self._key_at
        for row in self.changed:
            key = _written([row[i] for i in at])
            both = zip(self.rows.get(key, [None] * len(row)), row, strict=True)
            self.rows[key] = tuple(
                b if i in at or a is None else a if b is None else a + b for i, (a, b) in enumerate(both)
            )

    def _merge_by_code(self, rows: Iterable[Row]) -> None:
        """Merge the rows of a round with those of their keys by the user's function."""
        assert isinstance(self.compiled, CompiledState)
        assert self.compiled.code is not None
        there = {tuple(row[at] for at in self._key_at): row for row in self.rows.values()}
        changed = merged(
            self.text.name, from_text(f"view {self.text.name}", self.compiled.code), self._key_at, there, rows
        )
        self.rows = {_written(key): row for key, row in there.items()}
        self.changed = [there[key] for key in changed]

    def _best(self, rows: Iterable[Row]) -> dict[str, Row]:
        """The best row of each key in a round."""
        best: dict[str, Row] = {}
        for row in rows:
            own = _written([row[i] for i in self._key_at])
            if own not in best or self._comes_first(row, best[own]):
                best[own] = row
        return best

    def _comes_first(self, row: Row, other: Row) -> bool:
        if self._is_better(row, other) or self._is_better(other, row):
            return self._is_better(row, other)
        ours, others = [_order(v) for v in row], [_order(v) for v in other]
        return ours > others if self.compiled.choice and self.compiled.choice.is_greatest else ours < others

    def _is_better(self, row: Row, other: Row) -> bool:
        """Whether min or max prefers `row`."""
        choice = self.compiled.choice
        if choice is None:
            return False
        at = [f.name for f in self.fields].index(choice.column)
        if row[at] is None or other[at] is None:
            return row[at] is not None and other[at] is None
        value, there = _order(row[at]), _order(other[at])
        return bool(value > there if choice.is_greatest else value < there)

    def _is_news(self, key: str, row: Row) -> bool:
        """Whether a row replaces the current one of its key."""
        there = self.rows.get(key)
        if there is None:
            return True
        return self._is_better(row, there) if self.compiled.choice else _written(row) != _written(there)


def _written(values: Iterable[Any]) -> str:
    """A text that is equal for equal values; 0.0 equals −0.0."""
    return repr([v + 0.0 if isinstance(v, float) else v for v in values])


def _order(value: Any) -> tuple[bool, bool, Any]:
    """A sort key: NaN after all numbers, NULL last."""
    is_nan = isinstance(value, float) and value != value
    return value is None, is_nan, 0 if value is None or is_nan else value


@dataclass
class Rerun:
    """The rounds of a loop, run by Spark."""

    spark: SparkSession
    view: str
    text: LoopText
    states: Sequence[CollectedState]
    queries: Mapping[str, StoredQuery] = field(default_factory=dict)
    """The stored queries that its texts read by name."""
    sizes: dict[int, int] = field(default_factory=dict)

    def run(self) -> None:
        """Run rounds until one derives nothing new, or up to the limit."""
        for state in self.states:
            state.merge(self._rows(state, state.text.first))
        while any(state.changed for state in self.states):
            number = len(self.sizes)
            self.sizes[number] = sum(len(state.changed) for state in self.states)
            if number > self.text.last_round:
                changed = {s.text.name: _as_rows(s.changed, s.fields) for s in self.states if s.changed}
                raise endless(self.view, self.sizes, changed, "MAX RECURSION LEVEL n allows more rounds")
            if self.text.limit is not None and number == self.text.limit.rounds and not self.text.limit.is_error:
                return
            made = [self._step(state) for state in self.states]
            for state, rows in zip(self.states, made, strict=True):
                state.merge(rows)

    def run_on(self, snapshot: Snapshot, until: CompiledUntil | None) -> None:
        """Run one more round from the stored states; keep these if the condition holds."""
        for state in self.states:
            assert not isinstance(state.compiled, RelaxedState)
            stored = snapshot.contents(state.compiled.bag).consolidated().select(state.compiled.stored)
            state.replace(values_of_rows(stored.expanded()))
        made = [self._step(state) for state in self.states]
        if until is None or not self._is_done(until, made):
            self._replace(made)

    def settle(self, until: CompiledUntil | None) -> None:
        """Run rounds from the first rows until they converge, or up to the limit; diffusion ignores the limit."""
        self._replace([self._rows(state, state.text.first) if state.text.initial else [] for state in self.states])
        for _ in range(MOST_SETTLING if self.text.diffuses else self.text.last_round):
            made = [self._step(state) for state in self.states]
            before = [sorted(map(_written, state.changed)) for state in self.states]
            is_same = [sorted(map(_written, rows)) for rows in made] == before
            is_done = is_same or (until is not None and self._is_done(until, made))
            self._replace(made)
            if is_done:
                return

    def _replace(self, made: Sequence[list[Row]]) -> None:
        for state, rows in zip(self.states, made, strict=True):
            state.replace(rows)

    def _is_done(self, until: CompiledUntil, made: Sequence[list[Row]]) -> bool:
        """Whether the condition holds for the changes of a round."""
        at = next(i for i, state in enumerate(self.states) if state.text.name == until.state)
        new, old = ({_written(row) for row in rows} for rows in (made[at], self.states[at].changed))
        for name, rows, others in (("new", made[at], old), ("old", self.states[at].changed, new)):
            table = _as_rows([row for row in rows if _written(row) not in others], self.states[at].fields).arrow()
            from_arrow(self.spark, table, self.states[at].fields).createOrReplaceTempView(name)
        assert self.text.until is not None
        answers = self.spark.sql(pairs_query(f"({self.text.until.condition}) AS done", until.key)).collect()
        return new == old or all(row.done for row in answers)

    def answer(self, fields: Fields) -> Rows:
        """The result of the query over the states."""
        for state in self.states:
            self._show(state, state.rows.values())
        return self._query(self.text.result, fields)

    def _step(self, state: CollectedState) -> list[Row]:
        for other in self.states:
            self._show(other, other.so_far if state.compiled.reads_all else other.changed)
        return self._rows(state, state.text.step)

    def _rows(self, state: CollectedState, query: str) -> list[Row]:
        return values_of_rows(self._query(cast_query(query, tuple(state.fields)), state.fields))

    def _query(self, text: str, fields: Fields) -> Rows:
        """Run a query in Spark, with ties decided."""
        from viewlet.spark.rewrite.stabilize import stable

        show_stored(self.spark, self.queries, text)
        return Rows.of(to_arrow(stable(self.spark.sql(text)), fields))

    def _show(self, state: CollectedState, rows: Iterable[Row]) -> None:
        """Register rows under the name of a state."""
        table = _as_rows(list(rows), state.fields).arrow()
        from_arrow(self.spark, table, state.fields).createOrReplaceTempView(quoted(state.text.name))


def _as_rows(rows: Sequence[Row], fields: Fields) -> Rows:
    arrays = [pa.array([row[i] for row in rows], type=arrow_type(f.type)) for i, f in enumerate(fields)]
    return Rows.of(pa.table(arrays, names=[f.name for f in fields]))
