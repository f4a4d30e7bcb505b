"""A loop whose programs can be run, and the outcome of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from viewlet.columns.rows import Rows
from viewlet.engine.prepared import PreparedProgram, prepare
from viewlet.loops.definition.compiled import CompiledLoop
from viewlet.loops.gather.run import PreparedGathering
from viewlet.loops.gather.sums import Sums
from viewlet.loops.handlers.dataflow import Dataflow
from viewlet.loops.handlers.run import PreparedHandlers
from viewlet.loops.language.syntax import LoopText
from viewlet.loops.relax.network import Network
from viewlet.loops.relax.run import PreparedRelaxation
from viewlet.loops.rounds.converge import PreparedUntil
from viewlet.loops.rounds.rounds import PreparedState

Graph = Network | Sums | Dataflow


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
    def handled(self) -> PreparedHandlers | None:
        return None if self.compiled.handled is None else PreparedHandlers(self.compiled.handled)

    @cached_property
    def result(self) -> PreparedProgram:
        return prepare(self.compiled.result)

    @cached_property
    def until(self) -> PreparedUntil | None:
        return None if self.compiled.until is None else PreparedUntil(self.compiled.until)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run: the change of the result, as stored, and how many rows each round changed."""

    delta: Rows
    sizes: Mapping[int, int]
    graph: Graph | None = None
    """The state in memory that the next epoch continues with."""
    resumed: int | None = None
    """The last round of an interrupted run that this one resumed from."""
    held: Mapping[str, float] | None = None
    """How many rows have changes that no round has read and, if known, the greatest of these changes."""
    in_full: Sequence[int] = ()
    """The rounds that were evaluated on all edges rather than on those of changed vertices."""

    def plus(self, rows: Rows) -> Outcome:
        """The same with rows added to the change of the result."""
        return replace(self, delta=Rows.concat([self.delta, rows.select(self.delta.names)]).consolidate())
