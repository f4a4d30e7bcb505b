"""The interface of engines, which run programs. The choice of engine affects speed, never results."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from viewlet.engine.choose import Chosen, EngineCosts
from viewlet.engine.epoch import Deltas
from viewlet.engine.program_run import ProgramRun
from viewlet.program.distributed import Distributed
from viewlet.program.program import Program

if TYPE_CHECKING:
    from viewlet.engine.cluster.driver_site import Anew
    from viewlet.engine.cluster.epoch_job import PreparedEpoch


class Engine(Protocol):
    """Runs programs on the transaction of an epoch."""

    @property
    def name(self) -> Chosen: ...

    @property
    def cluster(self) -> Cluster | None:
        """The runner of distributed programs, if this engine has one."""

    def run(self, run: ProgramRun) -> None:
        """Refresh the maps of a run's program, step by step."""


class Cluster(Protocol):
    """Runs distributed programs: all affected views of an epoch together."""

    def measure(self) -> EngineCosts:
        """Measure the costs of a job and its rows here, and of rows in process."""

    def plan(self, programs: Sequence[Program], more: Hashable, make: Callable[[], Distributed]) -> PreparedEpoch:
        """The programs prepared to run together, cached by their identities and `more`."""

    def each(self, size: int, task: Callable[[int, int], Any]) -> list[Any]:
        """The results of `task(partition, partitions)`, run by tasks for `size` bytes in files."""

    def run_together(
        self, epoch: PreparedEpoch, deltas: Deltas, views: Sequence[str], anew: Anew | None = None
    ) -> None:
        """Refresh the maps of some views with the changes of an epoch or a round, or from scratch."""
