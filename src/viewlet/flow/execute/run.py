"""Running a flow: sources are read, then stages run, one after the other; each run is one commit (§4.1, §4.3).

A commit holds the output of the run, the state of its stage, all cursors and the scheduler's state. So an interrupted
flow resumes after its last complete run, and no row is read twice or lost. New rows of the sources are committed with
the next run, so that an increment which is read at once is never written to disk.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from viewlet.columns.rows import Rows
from viewlet.errors import FlowError, FlowUnfinished, UnknownName
from viewlet.flow.define.graph import Graph, Source, Stage
from viewlet.flow.define.names import ARRIVED, NEWS, SOURCES, STATE
from viewlet.flow.execute.ahead import Ahead, Done, Pieces, Place
from viewlet.flow.execute.cluster import can_share, translate_on_spark
from viewlet.flow.execute.control import Control, as_json
from viewlet.flow.execute.effects import Chunk, Effects, pieces_of, read_pieces, take_inputs
from viewlet.flow.execute.scheduler import Turn, next_turns
from viewlet.flow.execute.translate import translate_groups
from viewlet.flow.increments.groups import gather
from viewlet.intake.to_columns import to_arrow
from viewlet.warehouse.read.relation import Relation

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse

log = logging.getLogger("viewlet")
Given = Mapping[str, pa.Table]
"""The rows passed to a call, for sources without a table."""
ROUNDS = 10_000
_ROW_BY_ROW = 10
"""How many times more a row costs if Python handles rows one by one, for the choice of the engine."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of a call."""

    runs: int | None = None
    """The number of runs after which to stop, even if stages are runnable."""
    rounds: int = ROUNDS
    """The limit on runs of a stage in a cycle, and on readings of the sources; exceeding it is an error."""
    seconds: float | None = None
    """The time limit; exceeding it is an error."""
    at_once: int = 1
    """How many stages are translated concurrently, in threads."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """New rows of the sources that are not committed yet: the next run commits them, or a commit of their own."""

    effects: Effects
    rows: Mapping[str, int] = field(default_factory=dict)
    started: float = 0.0

    def record(self) -> dict[str, Any]:
        return {ARRIVED: self.rows} if self.rows else {}


@dataclass
class Running:
    """A running flow."""

    warehouse: Warehouse
    graph: Graph
    control: Control
    bounds: Bounds
    began: float = field(default_factory=time.monotonic)
    counts: Counter[str] = field(default_factory=Counter)
    """How often each stage ran."""
    readings: int = 0
    """How often sources had new rows."""
    arrived: Arrived | None = None
    """New rows of the sources, until they are committed."""
    fresh: Mapping[Chunk, Rows] = field(default_factory=dict)
    """The chunks written last, still in memory."""

    def go(self, given: Given) -> dict[str, int]:
        """Read the sources and run until nothing is runnable; return how often each stage ran."""
        self._read_sources(given)
        ahead = Ahead(self.threads, self._translate)
        try:
            self._run_all(ahead)
        except BaseException:
            self._keep_given(given)
            raise
        finally:
            ahead.close()
        self._commit_arrived()
        return dict(self.counts)

    def _run_all(self, ahead: Ahead) -> None:
        while not self._is_enough():
            turns = next_turns(self.graph, self.control)
            if turns:
                self._refuse_endless(turns[0])
                ahead.begin(turns[1:], self._pieces)
                self._run(turns[0], ahead)
            elif not self._read_sources({}):
                return

    def _keep_given(self, given: Given) -> None:
        """After a failed first run, commit the rows that were passed, as if the call had only done that."""
        if self.arrived is not None:
            self.readings = 0
            self.control = Control.load(self.graph.name, self.warehouse.store.snapshot())
            self._read_sources(given)
            self._commit_arrived()

    def _commit_arrived(self) -> None:
        """Commit new rows of the sources, if no run has."""
        if self.arrived is not None:
            arrived, self.arrived = self.arrived, None
            record = {"stage": SOURCES, "read": {}, "why": NEWS}
            arrived.effects.commit(self.warehouse, record, arrived.rows, arrived.started)

    @property
    def threads(self) -> int:
        """How many stages are translated concurrently: one on Spark, as a job uses all cores already."""
        return 1 if self.warehouse.engine == "spark" else self.bounds.at_once

    def _pieces(self, turn: Turn) -> Pieces:
        return pieces_of(turn.decision, self.control.stages[turn.stage.name])

    def _is_enough(self) -> bool:
        return self.bounds.runs is not None and self.counts.total() >= self.bounds.runs

    def _refuse_endless(self, turn: Turn) -> None:
        name, where = turn.stage.name, f"flow {self.graph.name}"
        if name in self.graph.cyclic and self.counts[name] >= self.bounds.rounds:
            raise FlowUnfinished(
                f"{where}: stage {name} has run {self.bounds.rounds:,} times in a cycle, and is runnable again",
                hint="finished runs are committed; continue with more rounds=…, or make the cycle end",
            )
        if self.bounds.seconds is not None and time.monotonic() - self.began > self.bounds.seconds:
            raise FlowUnfinished(
                f"{where} has run for {self.bounds.seconds:g} seconds, and stage {name} is runnable",
                hint="finished runs are committed; continue with more seconds=…",
            )

    def _refuse_feeding_itself(self) -> None:
        """Refuse endless readings: sources change during a run only if the flow's own output reaches them."""
        self.readings += 1
        if self.readings > self.bounds.rounds:
            raise FlowUnfinished(
                f"flow {self.graph.name} feeds itself through tables: its sources have changed "
                f"{self.bounds.rounds:,} times while it ran",
                hint="finished runs are committed; continue with more rounds=…, or make the cycle end",
            )

    def _read_sources(self, given: Given) -> bool:
        """Read the changes of the sources since the last time, and the rows passed; return whether there were any."""
        started = time.perf_counter()
        store = self.warehouse.store
        effects = Effects(self.graph, self.control, store.snapshot())
        for source in self.graph.sources.values():
            for epoch, rows in self._news(source, given.get(source.name)):
                effects.write(source.name, rows, source.fields, epoch)
        if not effects.rows:
            return False
        self._refuse_feeding_itself()
        self.arrived = Arrived(effects, dict(effects.rows), started)
        self.fresh = effects.chunks
        effects.rows.clear()
        return True

    def _news(self, source: Source, given: pa.Table | None) -> list[tuple[int, Rows]]:
        """The new increments of a source, with their epochs."""
        store, control = self.warehouse.store, self.control
        if source.table is None:
            return [] if given is None else [(store.epoch + 1, Rows.of(given))]
        cursor, control.cursors[source.name] = control.cursors[source.name], store.epoch
        relation = Relation(self.warehouse, self.warehouse.catalog.find(source.table))
        names = [f.name for f in source.fields]
        if cursor is None:
            return [(store.epoch, Rows.of(relation.as_inserted().select(names)))]
        if not store.changed_since(relation.name, cursor):
            return []
        if relation.oldest > cursor:
            raise FlowError(
                f"flow {self.graph.name} has read {relation.name} up to epoch {cursor}, but its changes are kept only from "
                f"epoch {relation.oldest} on",
                hint="create the flow again; run it more often, or keep changes longer: db.set_retention",
            )
        return [(epoch, Rows.of(changes.select(names))) for epoch, changes in relation.changes_by_epoch(cursor)]

    def _run(self, turn: Turn, ahead: Ahead) -> None:
        """Run a stage once."""
        started = time.perf_counter()
        stage, decision, control = turn.stage, turn.decision, self.control.stages[turn.stage.name]
        done = ahead.take(stage, self._pieces(turn))
        translated = done.translated.netted()
        old, written = translated.old, translated.written
        arrived = self.arrived or Arrived(Effects(self.graph, self.control, self.warehouse.store.snapshot()))
        effects = arrived.effects
        if stage.state is not None and old is not None:
            effects.changes(stage.state.table).exchange(old, written[STATE])
        take_inputs(decision, control)
        control.runs, control.since = control.runs + 1, None
        control.runnable_state = as_json(f"the state of the runnable function of stage {stage.name}", decision.state)
        effects.write_all(stage, written, control.runs)
        record = {"stage": stage.name, "read": done.read, "why": turn.why, **done.place.record(), **arrived.record()}
        effects.commit(self.warehouse, record, effects.rows, started)
        self.arrived, self.fresh = None, effects.chunks
        self.counts[stage.name] += 1

    def _translate(self, stage: Stage, pieces: Pieces) -> Done:
        """Call a stage's function for all groups of some increments, in process or on Spark."""
        where, fresh = f"stage {stage.name} of flow {self.graph.name}", self.fresh
        snapshot = self.warehouse.store.snapshot()  # taken after `fresh`, so that it has every chunk that `fresh` lacks
        read = read_pieces(self.graph.name, stage, pieces, snapshot, fresh)
        counts = {flow: len(rows) for flow, rows in read.items()}
        if self._suits_spark(stage, sum(counts.values())):
            translated, moved = translate_on_spark(self.warehouse, where, stage, read, snapshot)
            return Done(Place("spark", moved), counts, translated)
        return Done(Place("inproc"), counts, translate_groups(where, stage, gather(stage, read, snapshot)))

    def _suits_spark(self, stage: Stage, rows: int) -> bool:
        if self.threads > 1 or not can_share(stage):
            return False
        return self.warehouse.choose(rows * (_ROW_BY_ROW if stage.form == "group" else 1), 1)[1].engine == "spark"


def run_flow(warehouse: Warehouse, graph: Graph, given: Mapping[str, Any], bounds: Bounds) -> dict[str, int]:
    """Run a flow until nothing is runnable or a limit is reached; return how often each stage ran."""
    outside = [name for name, source in graph.sources.items() if source.table is None]
    for name in given:
        if name not in outside:
            raise UnknownName(
                f"flow {graph.name} takes no rows for {name}",
                hint=f"it takes rows for: {', '.join(outside) or 'nothing'}",
            )
    rows = {name: to_arrow(f"{graph.name}.{name}", graph.sources[name].fields, given[name]) for name in given}
    control = Control.load(graph.name, warehouse.store.snapshot())
    counts = Running(warehouse, graph, control, bounds).go(rows)
    log.info("flow %s: %s", graph.name, ", ".join(f"{name} ×{n}" for name, n in counts.items()) or "nothing to do")
    return counts
