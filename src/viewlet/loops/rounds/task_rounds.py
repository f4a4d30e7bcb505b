"""Rounds on a cluster: for tasks, a round is an epoch of the loop's maps.

    ΔX, distributed → look-ups in the step's maps, in place → exchanges → names of runs, and the next ΔX

Only ΔX and what is derived from it moves: the step's program is planned for changes of the feeds only, so invariant
views stay in place. The driver has ΔX and checkpoints it; if a task or an executor fails, Spark runs its part of the
round again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from viewlet.columns.rows import Rows
from viewlet.compile import Facts
from viewlet.compile.distribute import distribute, why_not_distributed
from viewlet.engine.cluster.driver_site import Anew
from viewlet.engine.cluster.epoch_job import PreparedEpoch
from viewlet.engine.engine import Cluster
from viewlet.engine.epoch import Deltas
from viewlet.loops.definition.compiled import CompiledLoop
from viewlet.loops.rounds.working import WorkingMaps
from viewlet.program.distributed import Distributed
from viewlet.program.program import Program

_GROWN = 4
"""The number of doublings of a size after which a round is planned again."""


@dataclass
class TaskRounds:
    """Runs the steps of a loop's states as jobs."""

    view: str
    programs: Sequence[Program]
    choose: Callable[[int], Cluster | None]
    """Returns the cluster if running the steps on that many rows is cheaper there."""
    facts: Callable[[], Facts]
    jobs: list[dict[str, Any]] = field(default_factory=list)
    """The jobs of the rounds, for the epoch's record."""

    def run(self, maps: WorkingMaps, changes: Mapping[str, Rows], *, initial: bool) -> dict[str, Rows | None] | None:
        """Run every step on changes of bags; return the change of each state, or None if this is cheaper in process."""
        cluster = self.choose(sum(map(len, changes.values())))
        if cluster is None:
            return None
        maps.send()
        deltas = Deltas(maps)
        deltas.changes.update(changes)
        plan = self._plan(cluster, maps, changes, initial)
        cluster.run_together(plan, deltas, [self.view], Anew() if initial else None)
        self.jobs += deltas.jobs
        return {program.view: deltas.changes.get(program.view) for program in self.programs}

    def _plan(self, cluster: Cluster, maps: WorkingMaps, changes: Mapping[str, Rows], initial: bool) -> PreparedEpoch:
        """The distributed program of a round, cached by the bags that change and made again as sizes grow."""
        read = {bag: len(rows) for bag, rows in changes.items()}
        most = sum(read.values()) if initial else 0
        kept = {m.name: max(maps.new(m.name).rows, most) for p in self.programs for m in p.maps if m.stored}
        sizes = tuple((bag, rows.bit_length() // _GROWN) for bag, rows in sorted({**kept, **read}.items()))
        return cluster.plan(self.programs, (sizes, initial), lambda: self._distributed({**kept, **read}, read, initial))

    def _distributed(self, sizes: Mapping[str, int], changed: Collection[str], initial: bool) -> Distributed:
        known = self.facts()
        facts = replace(known, rows={**known.rows, **sizes})
        return distribute(self.programs, facts, changed=set(changed), initial=initial)


def why_in_process(loop: CompiledLoop) -> str | None:
    """Why the rounds of a loop can only run in the driver's process; None if they can run elsewhere."""
    if loop.is_in_memory or loop.handled is not None:
        return "what they read is in its memory"
    for state in loop.stepped:
        if state.keeps_feed:
            return f"a step reads all rows that rounds have brought to {state.name}"
        if (why := why_not_distributed(state.program)) is not None:
            return why
    return None
