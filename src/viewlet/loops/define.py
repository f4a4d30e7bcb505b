"""Defining a loop: Spark analyses its queries, with the states as tables; the compiler makes a program of each.

A state's program reads the rows of a round and gives the history's change. The result's program reads histories.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from viewlet.columns.fresh_names import free_name
from viewlet.compile import Facts, compile_view
from viewlet.errors import UnsupportedQuery
from viewlet.loops.histories import ROUND, Histories, History, all_names, initially
from viewlet.loops.merging import Choice, best_by_key, choice_of, current_by_key, first_rounds
from viewlet.loops.syntax import LoopText, State
from viewlet.plan.expr import Call, Literal, Named
from viewlet.plan.nodes import Filter, Plan, Project, Scan, Union, column, map_children
from viewlet.plan.show import show_node
from viewlet.plan.types import BIGINT, BOOLEAN, Field, ddl
from viewlet.plan.words import quoted
from viewlet.program.program import Program
from viewlet.program.terms import SparkRowwise
from viewlet.spark.fragments.spark_operators import spark_terms
from viewlet.spark.session.leaves import mentions
from viewlet.views.define import ABILITIES, facts_of

if TYPE_CHECKING:
    from viewlet.spark.analyse import Analysis
    from viewlet.spark.sessions import Sessions, Settings
    from viewlet.warehouse.warehouse import Warehouse

Fields = tuple[Field, ...]
Schemas = Mapping[str, Fields]
_TRIES = 4
"""So often the types of states may grow before they have to be told."""


@dataclass(frozen=True)
class CompiledState:
    """A state of a loop: its columns, and the program whose result is its history."""

    name: str
    feed: str
    """What the program reads the rows of a round as."""
    program: Program
    reads_all: bool
    """Whether a step brings rows of several rounds together; else it sees those of the last one alone."""
    choice: Choice | None = None
    """How one row of a key is chosen; None where there is no key, or the newest row is."""


@dataclass(frozen=True)
class CompiledLoop:
    """A loop that can be run."""

    states: tuple[CompiledState, ...]
    result: Program
    settings: Settings
    """The settings of Spark under which the definition was made."""
    spark: str
    """The version of Spark that it was made with."""
    mentions: tuple[str, ...] = ()
    """The tables and views that its text may read."""
    changing: tuple[str, ...] = ()
    """Spark's classes of the functions in it that mean something else in some version."""

    @property
    def programs(self) -> tuple[Program, ...]:
        """All its programs, in the order in which an epoch runs them."""
        return (*(state.program for state in self.states), self.result)

    @property
    def reads(self) -> tuple[str, ...]:
        """The tables and views whose change matters."""
        own = {name for state in self.states for name in (state.feed, state.program.view)}
        return tuple(dict.fromkeys(bag for p in self.programs for bag in p.reads if bag not in own))


@dataclass
class LoopCompiler:
    """Makes programs of the queries of one loop."""

    view: str
    loop: LoopText
    sessions: Sessions
    schemas: Schemas
    facts: Facts = field(default_factory=Facts)
    settings: Settings | None = None
    fields: dict[str, Fields] = field(default_factory=dict)
    """The columns of the states."""
    _changing: set[str] = field(default_factory=set)

    def compile(self) -> CompiledLoop:
        self.fields = self._first_fields()
        self._widen()
        states = tuple(map(self._state, self.loop.states))
        analysis = self._analysed(self.loop.result)
        result = self._compiled(self.view, self._over_histories(analysis.plan), analysis.columns)
        version, changing = analysis.jvm.spark.version, tuple(sorted(self._changing))
        return CompiledLoop(states, result, analysis.settings, version, self._mentions(), changing)

    def _mentions(self) -> tuple[str, ...]:
        queries = [q for s in self.loop.states for q in (s.first, s.step)]
        text = "\n".join([*queries, self.loop.result])
        return tuple(name for name in self._tables() if mentions(text, name))

    def _history(self, state: State) -> str:
        """The bag that holds the history of a state."""
        return f"{self.view}.state_{state.name}"

    def _feed(self, state: State) -> str:
        return f"{self.view}.round_{state.name}"

    # ——— types

    def _first_fields(self) -> dict[str, Fields]:
        return {s.name: self._named(s) for s in self.loop.states}

    def _named(self, state: State) -> Fields:
        """The columns of a state's first rows, by the names that it gives them."""
        found = self._analysed(_renamed(state.first, state.columns) if state.columns else state.first).columns
        unknown = next((k for k in state.key if k.lower() not in {f.name.lower() for f in found}), None)
        if unknown is not None:
            raise UnsupportedQuery(
                f"view {self.view}: the key of `{state.name}` has `{unknown}`, which is none of its columns",
                hint=f"they are {', '.join(f.name for f in found)}",
            )
        return _nullable(found)

    def _widen(self) -> None:
        """Let the columns of states have the types of the union of their first rows and their steps."""
        for _ in range(_TRIES):
            wider = {s.name: self._columns_of_both(s) for s in self.loop.states}
            if wider == self.fields:
                return
            self.fields = wider
        raise UnsupportedQuery(
            f"view {self.view}: the types of {', '.join(self.fields)} grow with every round",
            hint="CAST the columns of the recursive part to the types that they shall have",
        )

    def _columns_of_both(self, state: State) -> Fields:
        first = _renamed(state.first, [f.name for f in self.fields[state.name]])
        return _nullable(self._analysed(f"{first} UNION ALL ({state.step})").columns)

    def _analysed(self, query: str) -> Analysis:
        """What a query over states and tables means."""
        with self.sessions.analysed(query, {**self._tables(), **self.fields}, self.settings) as analysis:
            self._changing |= set(analysis.changing)
            return analysis

    def _tables(self) -> Schemas:
        """The tables and views that no state of the same name hides."""
        hidden = {state.name.lower() for state in self.loop.states}
        return {name: fields for name, fields in self.schemas.items() if name.lower() not in hidden}

    # ——— plans

    def _state(self, state: State) -> CompiledState:
        """The program from a round's rows to the history's change."""
        own = self.fields[state.name]
        initial, step = (self._analysed(cast_query(query, own)).plan for query in (state.first, state.step))
        step, choice = choice_of(self.view, step, [f.name for f in own]) if state.merge == "key" else (step, None)
        assert state.merge != "replace", f"{state.name} has no history"
        rows, references = self._derived(state, initial, step)
        renamed = {f.name: made.name for f, made in zip(own, rows.columns, strict=False)}
        match state.merge:
            case "distinct":
                rows = first_rounds(rows)
            case "key":
                chosen = None if choice is None else replace(choice, column=renamed[choice.column])
                rows = best_by_key(rows, [renamed[k] for k in _key(state, own)], chosen)
        program = self._compiled(self._history(state), rows, (*own, Field(ROUND, BIGINT, False)))
        reads_all = references > 1 and state.merge != "all"
        return CompiledState(state.name, self._feed(state), program, reads_all, choice)

    def _derived(self, state: State, initial: Plan, step: Plan) -> tuple[Plan, int]:
        """All rows that are ever derived, with their rounds, and how many rows of states each may come from."""
        feeds = {s.name: self._feed(s) for s in self.loop.states}
        later = Histories(self.view, feeds, of_one_round=state.merge == "all", taken=all_names(step)).of(step)
        if later is None:
            raise UnsupportedQuery(f"view {self.view}: the recursive part of `{state.name}` reads nothing recursive")
        parts = (_in_order(initially(initial), initial), _in_order(later, step))
        wanted = (*self.fields[state.name], Field(ROUND, BIGINT, False))
        columns = _fresh_columns(wanted, parts)
        limit = self.loop.limit
        derived: Plan = Union(parts, columns)
        if limit is not None and not limit.is_error:
            derived = Filter(derived, Call("le", (column(columns[-1]), Literal(limit.rounds, BIGINT)), BOOLEAN))
        return derived, later.references

    def _over_histories(self, plan: Plan) -> Plan:
        """A query over states, with what their histories come to in their places."""
        state = next((s for s in self.loop.states if isinstance(plan, Scan) and s.name == plan.name), None)
        if state is None or not isinstance(plan, Scan):
            return map_children(plan, self._over_histories)
        at = Field(f"{ROUND}_of_{plan.columns[0].name}", BIGINT, False)
        rows: Plan = Scan(self._history(state), (*plan.columns, at))
        if state.merge == "key":
            own = {f.name: p.name for f, p in zip(self.fields[state.name], plan.columns, strict=True)}
            rows = current_by_key(rows, [own[k] for k in _key(state, self.fields[state.name])])
        return Project(rows, tuple(Named(f.name, column(f)) for f in plan.columns), plan.columns)

    def _compiled(self, name: str, plan: Plan, columns: Fields) -> Program:
        program = compile_view(name, plan, columns, ABILITIES, facts=self.facts)
        for term in spark_terms(program):
            what = term.label if isinstance(term, SparkRowwise) else show_node(term.function)
            raise UnsupportedQuery(
                f"view {self.view}: {what} is evaluated by Spark alone, which a loop cannot wait for in every round",
                hint="compute it in a view of its own, and let the loop read that",
            )
        return program


def _nullable(fields: Iterable[Field]) -> Fields:
    return tuple(replace(f, nullable=True) for f in fields)


def _key(state: State, fields: Fields) -> list[str]:
    """The names of a state's key, as its columns are written."""
    wanted = {k.lower() for k in state.key}
    return [f.name for f in fields if f.name.lower() in wanted]


def _renamed(query: str, columns: Sequence[str]) -> str:
    return f"SELECT * FROM ({query}) AS t({', '.join(map(quoted, columns))})"


def cast_query(query: str, fields: Fields) -> str:
    """A query whose columns have given names and types."""
    casts = ", ".join(f"CAST({quoted(f.name)} AS {ddl(f.type)}) AS {quoted(f.name)}" for f in fields)
    return f"SELECT {casts} FROM ({_renamed(query, [f.name for f in fields])})"


def _in_order(history: History, plan: Plan) -> Plan:
    """The columns of a plan, then the round."""
    columns = (*plan.columns, history.round)
    return Project(history.plan, tuple(Named(f.name, column(f)) for f in columns), columns)


def _fresh_columns(wanted: Fields, parts: Sequence[Plan]) -> Fields:
    """Columns under names that nothing below has."""
    taken = {name for part in parts for name in all_names(part)}
    made: list[Field] = []
    for f in wanted:
        made.append(replace(f, name=free_name(f.name, [*taken, *(m.name for m in made)])))
    return tuple(made)


def define_loop(warehouse: Warehouse, name: str, loop: LoopText) -> CompiledLoop:
    """The programs of a loop over the tables and views of a warehouse."""
    catalog = warehouse.catalog
    facts = facts_of(warehouse.store, catalog)
    schemas = {n: fields for n, fields in catalog.schemas().items() if n != name}
    return LoopCompiler(name, loop, warehouse.sessions, schemas, Facts(facts.rows, facts.keys, facts.rates)).compile()
