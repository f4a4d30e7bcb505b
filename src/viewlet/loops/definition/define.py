"""Defining a loop: Spark analyses its queries with the states as tables, and the compiler makes a program of each.

A state's program turns the rows of a round into the change of the history, or of the state if rounds continue from the
last result. The result's program reads these changes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from viewlet.columns.fresh_names import free_name
from viewlet.compile import Facts, compile_view
from viewlet.engine import groups
from viewlet.errors import UnsupportedQuery
from viewlet.loops.definition.compiled import (
    AnyState,
    CompiledLoop,
    CompiledState,
    CompiledUntil,
    GatheredState,
    HandledState,
    RelaxedState,
)
from viewlet.loops.definition.frame_queries import FrameQueries, StoredQuery
from viewlet.loops.definition.histories import ROUND, Histories, History, all_names, initially
from viewlet.loops.definition.merging import (
    Choice,
    best_by_key,
    choice_of,
    current_by_key,
    first_rounds,
    of_round,
    sums_by_key,
)
from viewlet.loops.definition.queries import Fields, LoopQueries, cast_query, pairs_query
from viewlet.loops.gather.gathering import GatherPlans, gathering_of, is_unique
from viewlet.loops.gather.until import over_pairs
from viewlet.loops.language.python_form import PythonLoop
from viewlet.loops.language.syntax import LoopText, State, Until
from viewlet.loops.relax.offering import Offering
from viewlet.loops.relax.relaxation import Relaxation, relaxation_of
from viewlet.plan.expr import Call, Literal, Named
from viewlet.plan.nodes import Filter, Input, Plan, Project, Scan, Union, column, map_children
from viewlet.plan.show import show_node
from viewlet.plan.types import BIGINT, BOOLEAN, Field
from viewlet.plan.words import quoted
from viewlet.program.chain import maps_read
from viewlet.program.program import Program
from viewlet.program.terms import SparkRowwise
from viewlet.spark.fragments.spark_operators import spark_terms
from viewlet.views.define import ABILITIES, facts_of
from viewlet.warehouse.declare.users_code import to_text

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse

_ROUND = Field(ROUND, BIGINT, False)


def define_loop(
    warehouse: Warehouse, name: str, loop: LoopText | PythonLoop
) -> tuple[CompiledLoop, dict[str, StoredQuery]]:
    """Compile a loop over the tables and views of a warehouse; also return its queries that are DataFrames."""
    facts = facts_of(warehouse.store, warehouse.catalog)
    schemas = {n: fields for n, fields in warehouse.catalog.schemas().items() if n != name}
    frames = None
    if isinstance(loop, PythonLoop):
        frames, loop = FrameQueries(name, loop, warehouse.sessions), loop.text
        _refuse_names(name, loop, schemas)
    queries = LoopQueries(name, loop, warehouse.sessions, schemas, frames=frames)
    return LoopCompiler(queries, Facts(facts.rows, facts.keys, facts.rates)).compile(), queries.stored


def _refuse_names(view: str, loop: LoopText, tables: Collection[str]) -> None:
    """Refuse states named like tables: DataFrames refer to both by name only."""
    taken = {table.lower() for table in tables}
    for state in loop.states:
        if state.name.lower() in taken:
            raise UnsupportedQuery(
                f"view {view}: `{state.name}` is a table or view already", hint="give the state another name"
            )


@dataclass
class LoopCompiler:
    """Compiles the queries of one loop."""

    queries: LoopQueries
    facts: Facts
    relaxes: bool = True
    """Whether steps along the edges of a graph are recognized."""

    @property
    def view(self) -> str:
        return self.queries.view

    @property
    def loop(self) -> LoopText:
        return self.queries.loop

    def compile(self) -> CompiledLoop:
        until = None if self.loop.until is None else self._until(self.loop.until)
        if self.loop.converges:
            states = tuple(self._replaced(state, until) for state in self.loop.states)
        else:
            states = tuple(map(self._merged, self.loop.states))
        analysis = self.queries.analysed(self.loop.result)
        known = {state.name: state for state in states}
        result = self._compiled(self.view, self._over_states(analysis.plan, known), analysis.columns)
        return CompiledLoop(
            tuple(_kept(state, result) for state in states),
            result,
            analysis.settings,
            analysis.jvm.spark.version,
            self.queries.mentions(),
            tuple(sorted(self.queries.changing)),
            until,
        )

    def _bag(self, state: State) -> str:
        """The bag of a state, or of its history."""
        return f"{self.view}.state_{state.name}"

    def _feed(self, state: State) -> str:
        return f"{self.view}.round_{state.name}"

    def _plan(self, query: str, state: State) -> Plan:
        """The plan of a query that returns rows of a state."""
        return self.queries.analysed(cast_query(query, self.queries.fields[state.name])).plan

    def _compiled(self, name: str, plan: Plan, columns: Fields) -> Program:
        program = compile_view(name, plan, columns, ABILITIES, facts=self.facts)
        for term in spark_terms(program):
            what = term.label if isinstance(term, SparkRowwise) else show_node(term.function)
            raise UnsupportedQuery(
                f"view {self.view}: {what} is evaluated by Spark alone, which a loop cannot wait for in every round",
                hint="compute it in a separate view, and let the loop read that",
            )
        return program

    # ——— states that rounds add to

    def _merged(self, state: State) -> AnyState:
        """A relaxation or a state with handlers, if it is one; else a state with a history."""
        if state.merge == "handled":
            return self._handled(state)
        own = self.queries.fields[state.name]
        initial, step, choice = self._plan(state.first, state), self._plan(state.step, state), None
        if state.merge == "key":
            step, choice = choice_of(self.view, step, [f.name for f in own], _key(state, own))
        relaxation = self._relaxation(state, step, choice)
        if relaxation is not None:
            return self._relaxed(state, initial, relaxation, choice)
        return self._with_history(state, initial, step, choice)

    def _relaxation(self, state: State, step: Plan, choice: Choice | None) -> Relaxation | None:
        """A step as a relaxation, if it is one; a limit on rounds or other states rule it out."""
        own = self.queries.fields[state.name]
        key = [f.name for f in own] if state.merge == "distinct" else _key(state, own)
        is_choice = state.merge == "distinct" or (choice is not None and not choice.is_sum)
        if not self.relaxes or not is_choice or len(self.loop.states) > 1 or self.loop.limit is not None:
            return None
        return relaxation_of(step, state.name, own, key, choice)

    def _relaxed(self, state: State, initial: Plan, found: Relaxation, choice: Choice | None) -> RelaxedState:
        """A relaxation, with the programs of its edges and first rows."""
        own = self.queries.fields[state.name]
        key_at = [f.name for f in own].index(_key(state, own)[0]) if state.key else 0
        firsts = _key_first(initial, key_at)
        programs = (
            self._streamed(f"{self.view}.edges_{state.name}", found.edges),
            self._streamed(f"{self.view}.first_{state.name}", firsts),
        )
        known = None if found.value is None else Field(found.known_as, own[1 - key_at].type)
        offering = Offering(
            own[key_at].type, found.edges.columns[2:], found.value, known, bool(choice and choice.is_greatest)
        )
        return RelaxedState(state.name, self._bag(state), own, key_at, *programs, offering, choice)

    def _handled(self, state: State) -> HandledState:
        """A state with handlers, with the programs of its relation and first rows."""
        assert self.queries.frames is not None
        handling = self.queries.frames.loop.handling
        assert handling is not None
        own, relation = self.queries.fields[state.name], self.queries.analysed(state.step)
        names = [f.name.lower() for f in own]
        places = (
            _place(self.view, names, handling.on[0]),
            _place(self.view, [f.name.lower() for f in relation.columns], handling.on[1]),
        )
        return HandledState(
            state.name,
            self._bag(state),
            own,
            tuple(names.index(k.lower()) for k in state.key),
            places,
            self._streamed(f"{self.view}.relation_{state.name}", relation.plan),
            self._streamed(f"{self.view}.first_{state.name}", self._plan(state.first, state)),
            to_text(f"view {self.view}", handling.handlers),
        )

    def _streamed(self, name: str, plan: Plan) -> Program:
        """A program whose result is not stored, unless the program itself looks it up."""
        program = self._compiled(name, plan, plan.columns)
        *others, last = program.steps
        if any(bag == name for step in program.steps for term in step.terms for bag, _ in maps_read(term)):
            return program
        return replace(program, steps=(*others, replace(last, map=replace(last.map, stored=False))))

    def _with_history(self, state: State, initial: Plan, step: Plan, choice: Choice | None) -> CompiledState:
        """A state with a history: its program turns the rows of a round into the history's change."""
        own = self.queries.fields[state.name]
        is_sum = choice is not None and choice.is_sum
        of_one_round = is_sum or state.merge in ("all", "last", "merged")
        rows, references = self._derived(state, initial, step, of_one_round=of_one_round)
        renamed = {f.name: made.name for f, made in zip(own, rows.columns, strict=False)}
        match state.merge:
            case "distinct":
                rows = first_rounds(rows)
            case "key" if not is_sum:
                chosen = None if choice is None else replace(choice, column=renamed[choice.column])
                rows = best_by_key(rows, [renamed[k] for k in _key(state, own)], chosen)
        program = self._compiled(self._bag(state), rows, (*own, _ROUND))
        reads_all = references > 1 and state.merge in ("distinct", "key") and not is_sum
        return CompiledState(state.name, self._feed(state), program, reads_all, choice, code=self._merge_of(state))

    def _merge_of(self, state: State) -> str | None:
        """The user's function that merges the rows of a key, if there is one."""
        frames = self.queries.frames
        function = None if frames is None else frames.loop.merges.get(state.name)
        return None if function is None else to_text(f"view {self.view}", function)

    def _derived(self, state: State, initial: Plan, step: Plan, *, of_one_round: bool) -> tuple[Plan, int]:
        """The plan of all derived rows with their rounds, and how many rows of states each may be derived from."""
        limit = self.loop.limit
        later = self._histories(state, step, of_one_round).step(step)
        if later is None:
            raise UnsupportedQuery(f"view {self.view}: the recursive part of `{state.name}` reads nothing recursive")
        parts = (_in_order(initially(initial), initial), _in_order(later, step))
        columns = _fresh_columns((*self.queries.fields[state.name], _ROUND), parts)
        derived: Plan = Union(parts, columns)
        if limit is not None and not limit.is_error:
            derived = Filter(derived, Call("le", (column(columns[-1]), Literal(limit.rounds, BIGINT)), BOOLEAN))
        return derived, later.references

    def _histories(self, state: State, step: Plan, of_one_round: bool) -> Histories:
        feeds = {s.name: self._feed(s) for s in self.loop.states}
        rounds = self.loop.limit.rounds if state.merge == "last" and self.loop.limit else None
        return Histories(self.view, feeds, of_one_round, rounds, all_names(step))

    # ——— states that rounds replace

    def _replaced(self, state: State, until: CompiledUntil | None) -> AnyState:
        """A state that sums along the edges of a graph, if it is one; else one whose step is a program."""
        step = self._plan(state.step, state)
        found = None if until is None else self._gathering(state, step, until)
        return self._stepped(state, step) if found is None else self._gathered(state, *found)

    def _gathering(self, state: State, step: Plan, until: CompiledUntil) -> tuple[int, GatherPlans] | None:
        """The position of the key and the plans of a gathering step, if it is one and its conditions are per vertex."""
        own = self.queries.fields[state.name]
        conditions = [until.is_done, *([until.is_held] if until.is_held else [])]
        if not self.relaxes or len(self.loop.states) > 1 or len(until.key) != 1 or not all(map(over_pairs, conditions)):
            return None
        key_at = [f.name for f in own].index(until.key[0])
        first = self._plan(state.initial, state) if state.initial else None
        if first is not None and not is_unique(first, first.columns[key_at].name):
            return None
        found = gathering_of(step, state.name, own, key_at)
        return None if found is None else (key_at, found)

    def _gathered(self, state: State, key_at: int, found: GatherPlans) -> GatheredState:
        own = self.queries.fields[state.name]
        plans = {"edges": found.edges, "sources": found.sources, "own": found.own}
        programs = {
            name: None if plan is None else self._streamed(f"{self.view}.{name}_{state.name}", plan)
            for name, plan in plans.items()
        }
        initial = None
        if state.initial:
            first = _key_first(self._plan(state.initial, state), key_at)
            initial = self._compiled(f"{self.view}.first_{state.name}", first, first.columns)
        return GatheredState(state.name, self._bag(state), own, key_at, found.gathering, **programs, initial=initial)  # type: ignore[arg-type]

    def _stepped(self, state: State, step: Plan) -> CompiledState:
        """A state whose program turns the changes of a round into those of the next; also the first rows' program."""
        own = self.queries.fields[state.name]
        feeds = {s.name: self._feed(s) for s in self.loop.states}
        program = self._compiled(self._bag(state), _reading(step, feeds), own)
        first = self._compiled(f"{self.view}.first_{state.name}", self._plan(state.first, state), own)
        initial = first if state.initial else None
        return CompiledState(state.name, self._feed(state), program, goes_on=True, initial=initial)

    def _until(self, until: Until) -> CompiledUntil:
        """The conditions as functions of the rows that a round changed."""
        state = next(s for s in self.loop.states if s.name.lower() == until.state.lower())
        own = self.queries.fields[state.name]
        key = tuple(_key(replace(state, key=until.key), own))
        if len(key) < len(until.key):
            raise UnsupportedQuery(
                f"view {self.view}: UNTIL … BY ({', '.join(until.key)}) names what is no column of `{state.name}`",
                hint=f"its columns are {', '.join(f.name for f in own)}",
            )
        done = self._function(pairs_query(f"({until.condition}) AS done", key), own)
        held = None
        if until.held is not None:
            keys = ", ".join(f"coalesce(new.{quoted(k)}, old.{quoted(k)}) AS {quoted(k)}" for k in key)
            held = self._function(f"{pairs_query(keys, key)} WHERE {until.held}", own)
        return CompiledUntil(state.name, key, done, held)

    def _function(self, query: str, fields: Fields) -> Plan:
        """A query over `new` and `old` as a plan over two inputs."""
        plan = _with_inputs(self.queries.analysed(query, {"new": fields, "old": fields}).plan)
        why = groups.why_not(plan, keyed=False)
        if why is not None:
            raise UnsupportedQuery(
                f"view {self.view}: the condition after UNTIL is evaluated by Spark alone: {why}",
                hint="write it with the columns of new and old, arithmetic and aggregates",
            )
        return plan

    # ——— the result

    def _over_states(self, plan: Plan, known: Mapping[str, AnyState]) -> Plan:
        """A query over states as a query over their bags."""
        state = next((s for s in self.loop.states if isinstance(plan, Scan) and s.name == plan.name), None)
        if state is None or not isinstance(plan, Scan):
            return map_children(plan, lambda child: self._over_states(child, known))
        if not isinstance(compiled := known[state.name], CompiledState) or compiled.goes_on:
            return Scan(self._bag(state), plan.columns)
        at = Field(f"{ROUND}_of_{plan.columns[0].name}", BIGINT, False)
        rows: Plan = Scan(self._bag(state), (*plan.columns, at))
        match state.merge:
            case "key" | "merged":
                own = self.queries.fields[state.name]
                renamed = {f.name: p.name for f, p in zip(own, plan.columns, strict=True)}
                is_sum = compiled.choice is not None and compiled.choice.is_sum
                rows = (sums_by_key if is_sum else current_by_key)(rows, [renamed[k] for k in _key(state, own)])
            case "last":
                assert self.loop.limit is not None
                rows = of_round(rows, self.loop.limit.rounds)
        return Project(rows, tuple(Named(f.name, column(f)) for f in plan.columns), plan.columns)


def _kept(state: AnyState, result: Program) -> AnyState:
    """The state, marked as stored if it is a relaxation and the query over it looks it up."""
    if not isinstance(state, RelaxedState):
        return state
    read = {bag for step in result.steps for term in step.terms for bag, _ in maps_read(term)}
    return replace(state, is_kept=state.bag in read)


def _place(view: str, names: Sequence[str], name: str) -> int:
    """The position of a column."""
    if name.lower() not in names:
        raise UnsupportedQuery(
            f"view {view}: `{name}`, which rows are joined on, is no column", hint=f"there are {', '.join(names)}"
        )
    return names.index(name.lower())


def _key_first(plan: Plan, at: int) -> Plan:
    """A plan with one column moved to the front."""
    columns = (plan.columns[at], *plan.columns[:at], *plan.columns[at + 1 :])
    return Project(plan, tuple(Named(f.name, column(f)) for f in columns), columns)


def _key(state: State, fields: Fields) -> list[str]:
    """The key columns of a state, in the spelling and order of its columns."""
    wanted = {k.lower() for k in state.key}
    return [f.name for f in fields if f.name.lower() in wanted]


def _reading(plan: Plan, feeds: dict[str, str]) -> Plan:
    """A plan that reads the feeds of states instead of the states."""
    if isinstance(plan, Scan):
        return Scan(feeds.get(plan.name, plan.name), plan.columns, origin=plan.origin)
    return map_children(plan, lambda child: _reading(child, feeds))


def _with_inputs(plan: Plan) -> Plan:
    """A plan over inputs instead of the tables `new` and `old`."""
    if isinstance(plan, Scan):
        return Input(("new", "old").index(plan.name), plan.columns)
    return map_children(plan, _with_inputs)


def _in_order(history: History, plan: Plan) -> Plan:
    """A history's rows with the columns of a plan, then the round."""
    columns = (*plan.columns, history.round)
    return Project(history.plan, tuple(Named(f.name, column(f)) for f in columns), columns)


def _fresh_columns(wanted: Fields, parts: Sequence[Plan]) -> Fields:
    """Columns with names that the plans below do not use."""
    taken = {name for part in parts for name in all_names(part)}
    made: list[Field] = []
    for f in wanted:
        made.append(replace(f, name=free_name(f.name, [*taken, *(m.name for m in made)])))
    return tuple(made)
