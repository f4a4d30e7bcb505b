"""Rounds that tasks of a cluster run: to them, a round is an epoch of the loop's maps.

    ΔX, dealt → look-ups in the maps of the step, where they are → exchanges → names of runs, and the next ΔX

Only ΔX and what is made of it moves: the step's program is planned for changes of the feeds alone, so that invariant
views stay where they are. The driver has ΔX, which it writes down; when a task or an executor fails, Spark runs its part
of the round again.
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
"""A round is planned again when something has become so many times twice as large."""


@dataclass
class TaskRounds:
    """Runs the steps of a loop's states as jobs."""

    view: str
    programs: Sequence[Program]
    choose: Callable[[int], Cluster | None]
    """The cluster, if it is cheaper there to run the steps on so many rows."""
    facts: Callable[[], Facts]
    jobs: list[dict[str, Any]] = field(default_factory=list)
    """What rounds took, for the epoch's record."""

    def run(self, maps: WorkingMaps, changes: Mapping[str, Rows], *, initial: bool) -> dict[str, Rows | None] | None:
        """Run every step on the changes of some bags; what changes in each state, or None if that is better done here."""
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
        """The program of a round, made once for what changes, and again as sizes grow."""
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
    """Why the rounds of a loop run in the driver's process, whatever the engine; None if they need not."""
    if loop.is_in_memory or loop.handled is not None:
        return "what they read is in its memory"
    for state in loop.stepped:
        if state.keeps_feed:
            return f"a step reads all rows that rounds have brought to {state.name}"
        if (why := why_not_distributed(state.program)) is not None:
            return why
    return None
