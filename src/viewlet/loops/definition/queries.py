"""Analyses the queries of a loop with its states as tables, after inferring the columns of the states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from viewlet.errors import UnsupportedQuery
from viewlet.loops.definition.frame_queries import FrameQueries, StoredQuery
from viewlet.loops.language.syntax import LoopText, State
from viewlet.plan.types import Field, ddl
from viewlet.plan.words import quoted
from viewlet.spark.session.leaves import mentions

if TYPE_CHECKING:
    from viewlet.spark.analyse import Analysis
    from viewlet.spark.sessions import Sessions, Settings

Fields = tuple[Field, ...]
Schemas = Mapping[str, Fields]
_TRIES = 4
"""How many times the types of states may widen before the user has to declare them."""


@dataclass
class LoopQueries:
    """Analyses queries over the states of a loop and the tables of a warehouse."""

    view: str
    loop: LoopText
    sessions: Sessions
    schemas: Schemas
    settings: Settings | None = None
    frames: FrameQueries | None = None
    """Its queries that are DataFrames."""
    fields: dict[str, Fields] = field(default_factory=dict)
    """The columns of the states, as far as they are inferred."""
    changing: set[str] = field(default_factory=set)
    """The Spark classes of functions seen so far whose meaning differs between versions."""

    def __post_init__(self) -> None:
        for state in sorted(self.loop.states, key=lambda s: s.initial is None):
            self.fields[state.name] = self._first_columns(state)
        self._widen()

    def analysed(self, query: str, more: Schemas | None = None) -> Analysis:
        """Analyse a query over tables, states and `more` tables."""
        known = {**self._tables(), **self.fields, **(more or {})}
        frames = {} if self.frames is None else self.frames.read_by(query, self.fields)
        with self.sessions.analysed(query, known, self.settings, frames) as analysis:
            if analysis.is_session_bound:
                raise UnsupportedQuery(
                    f"view {self.view}: a loop can neither call functions of yours nor read temporary views",
                    hint="do that in a separate view, and let the loop read it",
                )
            self.changing |= set(analysis.changing)
            return analysis

    def mentions(self) -> tuple[str, ...]:
        """The tables and views that the queries may read."""
        queries = [q for s in self.loop.states for q in (s.first, s.step)]
        text = "\n".join([*queries, self.loop.result])
        read = {table for query in self.stored.values() for table in query.inputs}
        return tuple(name for name in self._tables() if name in read or mentions(text, name))

    @cached_property
    def stored(self) -> dict[str, StoredQuery]:
        """The DataFrames in the form that is stored, once all states have columns."""
        return (
            {} if self.frames is None else {name: self._stored(self.frames, name) for name in self.frames.loop.queries}
        )

    def _stored(self, frames: FrameQueries, name: str) -> StoredQuery:
        known = {**self._tables(), **self.fields}
        with self.sessions.analysed(frames.frame(name, self.fields), known, self.settings) as analysis:
            return StoredQuery.of(analysis)

    def _tables(self) -> Schemas:
        """The tables and views, without those hidden by a state of the same name."""
        hidden = {state.name.lower() for state in self.loop.states}
        return {name: fields for name, fields in self.schemas.items() if name.lower() not in hidden}

    def _first_columns(self, state: State) -> Fields:
        """The columns of a state's first rows, under its own names."""
        found = self.analysed(_renamed(state.first, state.columns) if state.columns else state.first).columns
        unknown = next((k for k in state.key if k.lower() not in {f.name.lower() for f in found}), None)
        if unknown is not None:
            raise UnsupportedQuery(
                f"view {self.view}: the key of `{state.name}` has `{unknown}`, which is none of its columns",
                hint=f"they are {', '.join(f.name for f in found)}",
            )
        return _nullable(found)

    def _widen(self) -> None:
        """Widen the types of states to those of the union of first rows and steps, until they no longer change."""
        for _ in range(_TRIES):
            wider = {s.name: self._columns_of_both(s) for s in self.loop.states}
            if wider == self.fields:
                return
            self.fields = wider
        raise UnsupportedQuery(
            f"view {self.view}: the types of {', '.join(self.fields)} grow with every round",
            hint="CAST the columns of the step to the types that they shall have",
        )

    def _columns_of_both(self, state: State) -> Fields:
        if state.merge == "handled":
            return self.fields[state.name]
        first = _renamed(state.first, [f.name for f in self.fields[state.name]])
        return _nullable(self.analysed(f"{first} UNION ALL ({state.step})").columns)


def _nullable(fields: Iterable[Field]) -> Fields:
    return tuple(replace(f, nullable=True) for f in fields)


def _renamed(query: str, columns: Sequence[str]) -> str:
    return f"SELECT * FROM ({query}) AS t({', '.join(map(quoted, columns))})"


def cast_query(query: str, fields: Fields) -> str:
    """A query with its columns renamed and cast."""
    casts = ", ".join(f"CAST({quoted(f.name)} AS {ddl(f.type)}) AS {quoted(f.name)}" for f in fields)
    return f"SELECT {casts} FROM ({_renamed(query, [f.name for f in fields])})"


def pairs_query(results: str, key: Sequence[str]) -> str:
    """A query over the rows that a round changed, matched by key as `new` and `old`."""
    same = " AND ".join(f"new.{quoted(k)} <=> old.{quoted(k)}" for k in key)
    return f"SELECT {results} FROM new FULL JOIN old ON {same}"
