"""Running a loop inside of an epoch: its rounds, then the query over what they come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.rows import Rows
from viewlet.engine.prepared import PreparedProgram, prepare
from viewlet.loops.checkpoints import Checkpoints
from viewlet.loops.compiled import CompiledLoop
from viewlet.loops.converge import Convergence, PreparedUntil
from viewlet.loops.gather.run import Gatherer, PreparedGathering
from viewlet.loops.gather.sums import Sums
from viewlet.loops.graph.deltas import Read
from viewlet.loops.relax.network import Network
from viewlet.loops.relax.run import PreparedRelaxation, Relaxing
from viewlet.loops.rounds import PreparedState, Round, Rounds, TooMuch
from viewlet.loops.syntax import LoopText
from viewlet.loops.working import WorkingMaps
from viewlet.store import Layout, Transaction

Graph = Network | Sums


@dataclass(frozen=True)
class PreparedLoop:
    """A loop whose programs can be run."""

    view: str
    compiled: CompiledLoop
    text: LoopText

    @cached_property
    def states(self) -> tuple[PreparedState, ...]:
        return tuple(
            PreparedState(s, prepare(s.program), None if s.initial is None else prepare(s.initial))
            for s in self.compiled.stepped
        )

    @cached_property
    def relaxed(self) -> PreparedRelaxation | None:
        return None if self.compiled.relaxed is None else PreparedRelaxation(self.compiled.relaxed)

    @cached_property
    def gathered(self) -> PreparedGathering | None:
        state, until = self.compiled.gathered, self.compiled.until
        return None if state is None or until is None else PreparedGathering(state, until)

    @cached_property
    def result(self) -> PreparedProgram:
        return prepare(self.compiled.result)

    @cached_property
    def until(self) -> PreparedUntil | None:
        return None if self.compiled.until is None else PreparedUntil(self.compiled.until)


@dataclass(frozen=True)
class Outcome:
    """What a run came to: the change of the result, as its map stores it, and how much each round changed."""

    delta: Rows
    sizes: Mapping[int, int]
    graph: Graph | None = None
    """The graph that the next epoch goes on with, where rounds go along its edges."""
    resumed: int | None = None
    """The last round of an earlier run that this one went on from."""
    held: Mapping[str, float] | None = None
    """How many rows changed in a way that no round has read, and, where that is known, by how much at most."""

    def plus(self, rows: Rows) -> Outcome:
        """The same with further rows in the change of the result."""
        return replace(self, delta=Rows.concat([self.delta, rows.select(self.delta.names)]).consolidate())


def run_loop(
    loop: PreparedLoop,
    transaction: Transaction,
    changes: Mapping[str, Rows],
    *,
    initial: bool = False,
    most: int | None = None,
    graph: Graph | None = None,
    before: Read | None = None,
    checkpoints: Checkpoints | None = None,
) -> Outcome:
    """Bring a loop up to date with changes; `initial`: from nothing, whatever is stored, with all rows as changes.

    Where more than `most` rows would have to be handled, nothing is done: `TooMuch`. `graph` is what the last epoch
    left; without it, rounds along edges make it anew of what was there `before`. Rounds are written to `checkpoints`.
    """
    if loop.relaxed is not None or loop.gathered is not None:
        return _run_on_graph(loop, transaction, changes, graph, None if initial else before)
    maps = opened(loop, transaction, initial=initial)
    steps: Rounds | Convergence
    common: dict[str, Any] = {"most": most, "checkpoints": checkpoints}
    what = loop.view, loop.states, maps, loop.text.last_round
    if loop.text.converges:
        is_error = loop.text.limit is None
        unread = {} if initial else _unread(loop, transaction)
        steps = Convergence(*what, **common, until=loop.until, is_error=is_error, unread=unread)
    else:
        steps = Rounds(*what, **common)
    found = steps.run(changes, initial=initial)
    maps.begin_round()
    states = {s.bag: found[s.name] for s in loop.states if s.name in found}
    Round(maps, {**changes, **states}, initial).run(loop.result)
    delta = maps.added(loop.view)
    maps.store(without=loop.view)
    held = None
    if isinstance(steps, Convergence):
        _store_unread(loop, transaction, steps.unread)
        held = {"rows": sum(map(len, steps.unread.values()))}
    return Outcome(delta, steps.sizes, resumed=steps.resumed, held=held)


def _run_on_graph(
    loop: PreparedLoop,
    transaction: Transaction,
    changes: Mapping[str, Rows],
    graph: Graph | None,
    before: Read | None,
) -> Outcome:
    """Rounds along the edges of a graph; without what was there before, from nothing."""
    initial = before is None
    maps = WorkingMaps(transaction, anew=initial)
    maps.open(loop.result)
    found: Graph
    if loop.gathered is not None:
        found, kept, sizes = _gathered(loop, loop.gathered, maps, changes, graph, before)
    else:
        found, kept, sizes = _relaxed(loop, maps, changes, graph, before)
    bag = loop.compiled.states[0].bag
    maps.begin_round()
    for name, rows in kept.items():
        if name != bag or not isinstance(found, Network) or loop.compiled.is_kept:
            maps.open_bag(name, _state_layout(loop), loop.compiled.states[0].fields)
            maps.add(name, rows)
    states = {bag: kept[bag]} if len(kept[bag]) else {}
    Round(maps, {**changes, **states}, initial).run(loop.result)
    made = maps.added(loop.view)
    maps.store(without=loop.view)
    return Outcome(made, sizes, found, held=found.held() if isinstance(found, Sums) else None)


Kept = dict[str, Rows]
"""What changes of a state, and of what is kept beside it."""


def _relaxed(
    loop: PreparedLoop,
    maps: WorkingMaps,
    changes: Mapping[str, Rows],
    graph: Graph | None,
    before: Read | None,
) -> tuple[Network, Kept, dict[int, int]]:
    assert loop.relaxed is not None
    relaxing = Relaxing(loop.view, loop.relaxed, loop.compiled.reads, maps)
    known = graph if isinstance(graph, Network) else None
    found, delta = relaxing.start(changes) if before is None else relaxing.go_on(known, changes, before)
    return found, {loop.relaxed.compiled.bag: delta}, relaxing.sizes


def gatherer(loop: PreparedLoop, maps: WorkingMaps, last: int | None = None) -> Gatherer:
    """What runs the rounds of a state that gathers; `last` is the round to stop after."""
    assert loop.gathered is not None
    is_error = loop.text.limit is None and last is None
    return Gatherer(loop.view, loop.gathered, maps, last or loop.text.last_round, is_error)


def _gathered(
    loop: PreparedLoop,
    state: PreparedGathering,
    maps: WorkingMaps,
    changes: Mapping[str, Rows],
    graph: Graph | None,
    before: Read | None,
) -> tuple[Sums, Kept, dict[int, int]]:
    gathering, compiled = gatherer(loop, maps), state.compiled
    if before is None:
        sums = gathering.start(changes)
    else:
        known = graph if isinstance(graph, Sums) else None
        if known is None:
            shown, read = (maps.stored(bag).consolidated() for bag in (compiled.bag, compiled.read))
            known = gathering.resumed(before, shown, read, loop.compiled.reads)
        sums = gathering.go_on(known, changes)
    deltas = {compiled.bag: sums.changes(sums.shown), compiled.read: sums.changes(sums.read)}
    return sums, {bag: state.visible(rows) for bag, rows in deltas.items()}, gathering.sizes


def _state_layout(loop: PreparedLoop) -> Layout:
    names = tuple(f.name for f in loop.compiled.states[0].fields)
    return Layout(columns=names, key=names)


def opened(loop: PreparedLoop, transaction: Transaction | None, *, initial: bool) -> WorkingMaps:
    """The maps of a loop, for its rounds to add to."""
    maps = WorkingMaps(transaction, anew=initial)
    for ready in (*(s.ready for s in loop.states), loop.result):
        maps.open(ready)
    for state in loop.states:
        if state.compiled.keeps_feed:
            maps.open_bag(state.feed, _layout(state), state.ready.program.columns)
    return maps


def _layout(state: PreparedState) -> Layout:
    names = tuple(f.name for f in state.ready.program.columns)
    return Layout(columns=names, key=names)


def _unread(loop: PreparedLoop, transaction: Transaction) -> dict[str, Rows]:
    """What the rounds of the last epoch left unread."""
    found = {s.name: transaction.contents(s.compiled.unread).consolidated() for s in loop.states}
    return {name: rows for name, rows in found.items() if len(rows)}


def _store_unread(loop: PreparedLoop, transaction: Transaction, unread: Mapping[str, Rows]) -> None:
    for state in loop.states:
        bag, layout = state.compiled.unread, _layout(state)
        types = {f.name: arrow_type(f.type) for f in state.ready.program.columns}
        now = unread.get(state.name, Rows.empty(types))
        if transaction.has(bag):
            now = Rows.concat([now, transaction.contents(bag).consolidated().negated()])
        transaction.append(bag, now, layout)


__all__ = ["Outcome", "PreparedLoop", "TooMuch", "run_loop"]
