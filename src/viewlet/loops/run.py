"""Running a loop inside of an epoch: its rounds, then the query over what they come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.rows import Rows
from viewlet.engine.prepared import PreparedProgram, prepare
from viewlet.loops.compiled import CompiledLoop
from viewlet.loops.converge import Convergence, PreparedUntil
from viewlet.loops.relax.network import Network
from viewlet.loops.relax.run import Before, PreparedRelaxation, Relaxing
from viewlet.loops.rounds import PreparedState, Round, Rounds, TooMuch
from viewlet.loops.syntax import LoopText
from viewlet.loops.working import WorkingMaps
from viewlet.store import Layout, Transaction


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
    network: Network | None = None
    """The graph that the next epoch goes on with, where rounds go along its edges."""

    def plus(self, rows: Rows) -> Outcome:
        """The same with further rows in the change of the result."""
        return replace(self, delta=Rows.concat([self.delta, rows.select(self.delta.names)]).consolidate())


def run_loop(
    loop: PreparedLoop,
    transaction: Transaction,
    changes: Mapping[str, Rows],
    progress: Callable[[str], None],
    *,
    initial: bool = False,
    most: int | None = None,
    network: Network | None = None,
    before: Before | None = None,
) -> Outcome:
    """Bring a loop up to date with changes; `initial`: from nothing, whatever is stored, with all rows as changes.

    Where more than `most` rows would have to be handled, nothing is done: `TooMuch`. `network` is what the last epoch
    left; without it, rounds along edges make it anew of what was there `before`.
    """
    if loop.relaxed is not None:
        return _run_relaxed(loop, loop.relaxed, transaction, changes, progress, network, None if initial else before)
    maps = opened(loop, transaction, initial=initial)
    steps: Rounds | Convergence
    common = loop.view, loop.states, maps, loop.text.last_round, progress, most
    if loop.text.converges:
        is_error = loop.text.limit is None
        unread = {} if initial else _unread(loop, transaction)
        steps = Convergence(*common, until=loop.until, is_error=is_error, unread=unread)
    else:
        steps = Rounds(*common)
    found = steps.run(changes, initial=initial)
    maps.begin_round()
    states = {s.bag: found[s.name] for s in loop.states if s.name in found}
    Round(maps, {**changes, **states}, initial).run(loop.result)
    delta = maps.added(loop.view)
    maps.store(without=loop.view)
    if isinstance(steps, Convergence):
        _store_unread(loop, transaction, steps.unread)
    return Outcome(delta, steps.sizes)


def _run_relaxed(
    loop: PreparedLoop,
    state: PreparedRelaxation,
    transaction: Transaction,
    changes: Mapping[str, Rows],
    progress: Callable[[str], None],
    network: Network | None,
    before: Before | None,
) -> Outcome:
    """Rounds along the edges of a graph; without what was there before, from nothing."""
    initial = before is None
    maps = WorkingMaps(transaction, anew=initial)
    maps.open(loop.result)
    relaxing = Relaxing(loop.view, state, loop.compiled.reads, maps, progress)
    found, delta = relaxing.start(changes) if before is None else relaxing.go_on(network, changes, before)
    compiled = state.compiled
    if compiled.is_kept:
        names = tuple(f.name for f in compiled.fields)
        maps.open_bag(compiled.bag, Layout(columns=names, key=names), compiled.fields)
    maps.begin_round()
    if compiled.is_kept:
        maps.add(compiled.bag, delta)
    states = {compiled.bag: delta} if len(delta) else {}
    Round(maps, {**changes, **states}, initial).run(loop.result)
    made = maps.added(loop.view)
    maps.store(without=loop.view)
    return Outcome(made, relaxing.sizes, found)


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
