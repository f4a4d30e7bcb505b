"""Running a loop inside of an epoch: its rounds, then the query over what they come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from viewlet.columns.rows import Rows
from viewlet.engine.prepared import PreparedProgram, prepare
from viewlet.loops.define import CompiledLoop
from viewlet.loops.rounds import PreparedState, Round, Rounds, TooMuch
from viewlet.loops.working import WorkingMaps
from viewlet.store import Transaction


@dataclass(frozen=True)
class PreparedLoop:
    """A loop whose programs can be run."""

    view: str
    compiled: CompiledLoop
    last: int
    """The last round that may bring rows."""

    @cached_property
    def states(self) -> tuple[PreparedState, ...]:
        return tuple(PreparedState(s.name, prepare(s.program), s.feed) for s in self.compiled.states)

    @cached_property
    def result(self) -> PreparedProgram:
        return prepare(self.compiled.result)


@dataclass(frozen=True)
class Outcome:
    """What a run came to: the change of the result, as its map stores it, and how much each round changed."""

    delta: Rows
    sizes: Mapping[int, int]

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
) -> Outcome:
    """Bring a loop up to date with changes; `initial`: from nothing, whatever is stored, with all rows as changes.

    Where more than `most` rows would have to be handled, nothing is done: `TooMuch`.
    """
    maps = WorkingMaps(transaction, anew=initial)
    for ready in (*(s.ready for s in loop.states), loop.result):
        maps.open(ready)
    rounds = Rounds(loop.view, loop.states, maps, loop.last, progress, most)
    found = rounds.run(changes, initial=initial)
    maps.begin_round()
    histories = {s.history: found[s.name] for s in loop.states if s.name in found}
    Round(maps, {**changes, **histories}, initial).run(loop.result)
    delta = maps.added(loop.view)
    maps.store(without=loop.view)
    return Outcome(delta, rounds.sizes)


__all__ = ["Outcome", "PreparedLoop", "TooMuch", "run_loop"]
