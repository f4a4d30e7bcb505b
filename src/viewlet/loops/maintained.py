"""Loops as a kind of maintained view."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

from viewlet.columns.rows import Rows
from viewlet.engine.engine import Cluster
from viewlet.engine.prepared import layout_of
from viewlet.errors import EvaluationError, StoreError, UnsupportedQuery
from viewlet.loops.definition.compiled import CompiledLoop, from_document, to_document
from viewlet.loops.definition.define import define_loop
from viewlet.loops.definition.frame_queries import StoredQuery
from viewlet.loops.inspection.check import recompute
from viewlet.loops.inspection.explain import explain, outline
from viewlet.loops.inspection.preview import run_rounds
from viewlet.loops.language import syntax
from viewlet.loops.language.python_form import PythonLoop
from viewlet.loops.language.read_loop import read_loop
from viewlet.loops.language.syntax import LoopText
from viewlet.loops.relax.network import Network
from viewlet.loops.rounds.checkpoints import Checkpoints, fingerprint
from viewlet.loops.rounds.task_rounds import TaskRounds, why_in_process
from viewlet.loops.run.prepared_loop import Outcome, PreparedLoop
from viewlet.loops.run.run_loop import TooMuch, run_loop
from viewlet.plan.types import Field
from viewlet.plan.words import identifier
from viewlet.program.codec import VERSION
from viewlet.program.program import Note, meanings
from viewlet.store import Layout
from viewlet.views.explain_distributed import facts_with_maps
from viewlet.views.refresh import refuse_other_spark
from viewlet.warehouse.declare.users_code import refuse_untrusted
from viewlet.warehouse.maintained import Maintained

if TYPE_CHECKING:
    from viewlet.warehouse.refresh import Refresh
    from viewlet.warehouse.warehouse import Warehouse

log = logging.getLogger("viewlet")
_UPDATE, _FEW = 2, 1000
"""A changed row costs about as much as two rows of a run from scratch; smaller epochs are not compared."""
_MANY: Mapping[type, int] = {type(None): 16, Network: 2}
"""A relaxation starts over if more than one row in 16 changes or, with a graph in memory, more than one in 2."""
_MOST = "the epoch changes most of it"
_SHOWN = 200
"""How many of the last rounds an epoch's record lists."""


@dataclass(frozen=True)
class Loop(Maintained):
    """The result of a recursive or iterative query, refreshed by running rounds."""

    kind: ClassVar[str] = "loop"
    name: str
    definition: str | None
    """The SQL text; None if the loop was given in Python."""
    compiled: CompiledLoop
    position: int = 0
    created: int = 0
    seen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The columns of tables when the loop was defined, if some have been added since."""

    given: LoopText | None = None
    """The parsed loop, if it was given in Python; `queries` are its DataFrames, by name."""
    queries: Mapping[str, StoredQuery] = field(default_factory=dict)
    trusted: bool = True
    """Whether code stored with it may run."""

    @cached_property
    def text(self) -> LoopText:
        """The parsed definition."""
        found = self.given or read_loop(self.definition or "")
        assert found is not None, f"{self.name} is no loop: {self.definition}"
        return found

    @cached_property
    def ready(self) -> PreparedLoop:
        if not self.trusted and self.compiled.has_users_code:
            refuse_untrusted(f"view {self.name}")
        return PreparedLoop(self.name, self.compiled, self.text)

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.compiled.result.columns

    @property
    def stored(self) -> tuple[str, ...]:
        return self.compiled.result.stored

    @property
    def layout(self) -> Layout:
        return layout_of(self.compiled.result.maps[-1], is_view=True)

    @cached_property
    def reads(self) -> tuple[str, ...]:
        return self.compiled.reads

    @property
    def mentions(self) -> tuple[str, ...]:
        return self.compiled.mentions

    @cached_property
    def bags(self) -> tuple[str, ...]:
        own = [m.name for m in self.compiled.result.maps if m.stored]
        return (*(bag for state in self.compiled.states for bag in state.bags), *own)

    @property
    def steps(self) -> int:
        return sum(len(p.steps) for p in self.compiled.programs)

    @property
    def statement(self) -> str | None:
        if self.definition is None:
            return None
        return f"CREATE MATERIALIZED VIEW {identifier(self.name)} AS\n{self.definition}"

    def fill(self, run: Refresh) -> dict[str, Any]:
        refuse_other_spark(run.warehouse, self.name, self.compiled.changing, self.compiled.spark)
        return self._emitted(run, self._from_scratch(run), "from scratch")

    def refresh(self, run: Refresh) -> dict[str, Any]:
        """Continue from the stored state; histories start over if an epoch reaches most rows or fails on deletions."""
        refuse_other_spark(run.warehouse, self.name, self.compiled.changing, self.compiled.spark)
        if self.text.restarts:
            why = "as its merge asks for" if self.compiled.has_users_code else "as RESTART says"
            return self._emitted(run, self._from_scratch(run), f"from scratch, {why}")
        changes = {bag: delta for bag in self.reads if (delta := run.delta(bag)) is not None}
        if self.compiled.relaxed is not None:
            return self._relax(run, changes)
        if self.text.converges or self.compiled.handled is not None:  # its result may depend on where it starts
            outcome = self._run(run, changes, graph=run.memory, before=run.rows_before)
            how = "diffusion from the last result: approximate" if self.text.diffuses else "rounds from the last result"
            return self._emitted(run, outcome, how)
        try:
            return self._emitted(run, self._run(run, changes, most=self._worth_going_on(run)), "rounds that change")
        except (TooMuch, EvaluationError) as reason:
            why = _MOST if isinstance(reason, TooMuch) else "rows that go fail"
            return self._emitted(run, self._from_scratch(run), f"from scratch: {why}")

    def _relax(self, run: Refresh, changes: Mapping[str, Rows]) -> dict[str, Any]:
        """Continue with the graph in memory, or rebuild it; start over if too many rows change."""
        there = sum(run.before(bag).rows for bag in self.reads)
        if sum(map(len, changes.values())) > there // _MANY[type(run.memory)] + _FEW:
            return self._emitted(run, self._from_scratch(run), f"from scratch: {_MOST}")
        outcome = self._run(run, changes, graph=run.memory, before=run.rows_before)
        begins_again = isinstance(outcome.graph, Network) and outcome.graph.begins_again
        return self._emitted(run, outcome, f"from scratch: {_MOST}" if begins_again else "rounds that change")

    def _worth_going_on(self, run: Refresh) -> int:
        """How many rows may be handled before starting over, with all rows of inputs and states, is cheaper."""
        there = [*self.reads, *(state.bag for state in self.compiled.states)]
        return sum(run.before(bag).rows for bag in there) // _UPDATE + _FEW

    def _from_scratch(self, run: Refresh) -> Outcome:
        """Run all rounds on all rows; the change is the difference to the current result."""
        read = run.rows_unnetted if self.compiled.is_in_memory else run.rows
        rows = {bag: found for bag in self.reads if len(found := read(bag))}
        outcome = self._run(run, rows, initial=True)
        if not run.transaction.has(self.name):
            return outcome
        return outcome.plus(run.transaction.contents(self.name).consolidated().negated())

    def _run(self, run: Refresh, changes: Mapping[str, Rows], **how: Any) -> Outcome:
        store = run.warehouse.store
        definition = self.definition or json.dumps(to_document(self.compiled))
        work = partial(fingerprint, f"{definition}\n{sorted(how)}", store.epoch, changes)
        checkpoints, tasks = Checkpoints(store.root, self.name, work), self._tasks(run)
        try:
            return run_loop(self.ready, run.transaction, changes, checkpoints=checkpoints, tasks=tasks, **how)
        except EvaluationError as error:
            error.view = self.name
            raise
        finally:
            run.deltas.jobs += [] if tasks is None else tasks.jobs

    def _tasks(self, run: Refresh) -> TaskRounds | None:
        """A runner of rounds on a cluster: of all, on the Spark engine, or of those that are cheaper there."""
        if why_in_process(self.compiled) is not None:
            return None
        warehouse, programs = run.warehouse, [state.program for state in self.compiled.stepped]

        def choose(rows: int) -> Cluster | None:
            engine = warehouse.choose(rows, self.steps)[0] if warehouse.engine == "auto" else run.engine
            return engine.cluster

        return TaskRounds(self.name, programs, choose, partial(facts_with_maps, warehouse))

    def _emitted(self, run: Refresh, outcome: Outcome, how: str) -> dict[str, Any]:
        run.deltas.add_unnetted(self.name, outcome.delta, self.layout)
        if outcome.graph is not None:
            run.remember(outcome.graph)
        sizes = dict(list(outcome.sizes.items())[-_SHOWN:])
        if outcome.resumed is not None:
            how += f", resumed at round {outcome.resumed}"
        held = {} if outcome.held is None else {"held": dict(outcome.held)}
        found = [number for number in outcome.in_full if number in sizes]
        in_full = {"in_full": found} if found else {}
        return {"technique": how, "rounds": {str(number): size for number, size in sizes.items()}, **in_full, **held}

    def after_rounds(self, number: int, read: Callable[[str], Rows]) -> Rows:
        return run_rounds(self.ready, {bag: rows for bag in self.reads if len(rows := read(bag))}, number)

    @property
    def trusted_queries(self) -> Mapping[str, StoredQuery]:
        """The stored plans of its DataFrames; raise if they must not run."""
        if not self.trusted and self.queries:
            refuse_untrusted(f"view {self.name}")
        return self.queries

    def recompute(self, warehouse: Warehouse) -> Rows:
        return recompute(warehouse, self)

    def explain(self, warehouse: Warehouse, *, verbose: bool = False) -> str:
        return explain(warehouse, self, verbose=verbose)

    def outline(self) -> str:
        return outline(self)

    @property
    def notes(self) -> tuple[Note, ...]:
        return tuple(note for program in self.compiled.programs for note in program.notes)

    @property
    def meanings(self) -> Mapping[str, str]:
        return {name: text for program in self.compiled.programs for name, text in meanings(program).items()}

    def pinned(self, warehouse: Warehouse) -> Loop:
        known = {name: tuple(f.name for f in warehouse.catalog.find(name).fields) for name in self.mentions}
        return replace(self, seen={**known, **self.seen})

    def document(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "definition": self.definition,
            "compiled": to_document(self.compiled),
            "created": self.created,
            "seen": {name: list(columns) for name, columns in self.seen.items()},
            "given": None if self.given is None else syntax.to_document(self.given),
            "queries": {name: _stored(query) for name, query in self.queries.items()},
        }


def read(name: str, document: Mapping[str, Any], trusted: bool) -> Loop:
    """Decode a loop."""
    if document["version"] != VERSION:
        raise StoreError(
            f"loop {name} was compiled by another version of Viewlet", hint="open the warehouse with that version"
        )
    compiled = from_document(document["compiled"])
    seen = {table: tuple(columns) for table, columns in document.get("seen", {}).items()}
    given = document.get("given")
    queries = {
        name: StoredQuery(base64.b64decode(plan), tuple(inputs))
        for name, (plan, inputs) in document.get("queries", {}).items()
    }
    return Loop(
        name,
        document["definition"],
        compiled,
        document["position"],
        document["created"],
        seen,
        None if given is None else syntax.from_document(given),
        queries,
        trusted,
    )


def _stored(query: StoredQuery) -> list[Any]:
    return [base64.b64encode(query.plan).decode(), list(query.inputs)]


def loop_of(warehouse: Warehouse, name: str, definition: Any, policy: str) -> Loop | None:
    """Compile a definition into a loop; None if it is an ordinary query, or a recursion that is left to Spark."""
    if isinstance(definition, PythonLoop):
        compiled, queries = define_loop(warehouse, name, definition)
        return Loop(name, None, compiled, warehouse.next_position(), given=definition.text, queries=queries)
    text = read_loop(definition) if isinstance(definition, str) else None
    if text is None or (policy == "FULL" and text.is_sparks_own):
        return None
    try:
        compiled, _ = define_loop(warehouse, name, text)
    except UnsupportedQuery as reason:
        if text.is_sparks_own and policy != "INCREMENTAL STRICT":
            log.info("left to Spark, which recomputes it on every change: %s", reason.message)
            return None
        raise
    return Loop(name, definition, compiled, warehouse.next_position())
