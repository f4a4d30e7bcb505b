"""Runs a loop whose state stays in memory between epochs: a graph, or the state of user-defined handlers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from viewlet.columns.rows import Rows
from viewlet.loops.gather.run import Gatherer, PreparedGathering
from viewlet.loops.gather.sums import Sums
from viewlet.loops.graph.deltas import Read
from viewlet.loops.handlers.dataflow import Dataflow
from viewlet.loops.handlers.run import ENTRIES, Handling, PreparedHandlers, as_rows
from viewlet.loops.relax.network import Network
from viewlet.loops.relax.run import PreparedRelaxation, Relaxing
from viewlet.loops.rounds.checkpoints import Checkpoints
from viewlet.loops.rounds.rounds import Round
from viewlet.loops.rounds.working import WorkingMaps
from viewlet.loops.run.prepared_loop import Graph, Outcome, PreparedLoop
from viewlet.store import Layout

Kept = dict[str, Rows]
"""The changes of a state and of the bags beside it."""


@dataclass
class GraphRun:
    """One run of such a loop; from scratch if `before` is None."""

    loop: PreparedLoop
    maps: WorkingMaps
    changes: Mapping[str, Rows]
    graph: Graph | None
    before: Read | None
    checkpoints: Checkpoints | None
    sizes: dict[int, int] = field(default_factory=dict)
    resumed: int | None = None
    in_full: Sequence[int] = ()

    def run(self) -> Outcome:
        """Run the rounds, then the query over the state."""
        found, kept = self._rounds()
        state, is_kept = self.loop.compiled.states[0], self.loop.relaxed is None or self.loop.compiled.is_kept
        self.maps.open(self.loop.result)
        self.maps.begin_round()
        for name, rows in kept.items():
            if name != state.bag or is_kept:
                fields = ENTRIES if name.endswith("_handlers") else state.fields
                self.maps.open_bag(name, Layout(columns=rows.names, key=rows.names), fields)
                self.maps.add(name, rows)
        states = {state.bag: kept[state.bag]} if len(kept[state.bag]) else {}
        Round(self.maps, {**self.changes, **states}, self.before is None).run(self.loop.result)
        made = self.maps.added(self.loop.view)
        self.maps.store(without=self.loop.view)
        held = found.held() if isinstance(found, Sums) else None
        return Outcome(made, self.sizes, found, resumed=self.resumed, held=held, in_full=self.in_full)

    def _rounds(self) -> tuple[Graph, Kept]:
        if self.loop.gathered is not None:
            return self._gather(self.loop.gathered)
        if self.loop.handled is not None:
            return self._handle(self.loop.handled)
        assert self.loop.relaxed is not None
        return self._relax(self.loop.relaxed)

    def _relax(self, state: PreparedRelaxation) -> tuple[Network, Kept]:
        relaxing = Relaxing(self.loop.view, state, self.loop.compiled.reads, self.maps)
        relaxing.checkpoints = self.checkpoints
        if self.before is None:
            found, delta = relaxing.start(self.changes)
        else:
            known = self.graph if isinstance(self.graph, Network) else None
            found, delta = relaxing.go_on(known, self.changes, self.before)
        self.sizes, self.resumed = relaxing.sizes, relaxing.resumed_at
        return found, {state.compiled.bag: delta}

    def _gather(self, state: PreparedGathering) -> tuple[Sums, Kept]:
        gathering, compiled = gatherer(self.loop, self.maps), state.compiled
        gathering.checkpoints = self.checkpoints
        if self.before is None:
            sums = gathering.start(self.changes)
        else:
            known = self.graph if isinstance(self.graph, Sums) else None
            if known is None:
                shown, read = (self.maps.stored(bag).consolidated() for bag in (compiled.bag, compiled.read))
                known = gathering.resumed(self.before, shown, read, self.loop.compiled.reads)
            sums = gathering.go_on(known, self.changes)
        self.sizes, self.resumed, self.in_full = gathering.sizes, gathering.resumed_at, gathering.in_full
        deltas = {compiled.bag: sums.changes(sums.shown), compiled.read: sums.changes(sums.read)}
        return sums, {bag: state.visible(rows) for bag, rows in deltas.items()}

    def _handle(self, state: PreparedHandlers) -> tuple[Dataflow, Kept]:
        compiled, initial = state.compiled, self.before is None
        handling = Handling(self.loop.view, state, self.maps, self.loop.text.last_round)
        known = self.graph if isinstance(self.graph, Dataflow) else None
        flow = state.dataflow() if initial else known or handling.resumed()
        handling.run(flow, self.changes, initial=initial)
        self.sizes = handling.sizes
        rows = as_rows(flow.row_changes(), compiled.fields)
        return flow, {compiled.bag: rows, compiled.entries: as_rows(flow.stored_changes(), ENTRIES)}


def gatherer(loop: PreparedLoop, maps: WorkingMaps, last: int | None = None) -> Gatherer:
    """A runner of the rounds of a gathering state; `last` is the round to stop after."""
    assert loop.gathered is not None
    is_error = loop.text.limit is None and last is None
    hands_on = not loop.text.diffuses
    return Gatherer(loop.view, loop.gathered, maps, last or loop.text.last_round, is_error, hands_on)
