"""What every engine offers: it runs programs. The choice of engine changes the speed, never the result."""

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
        """What runs distributed programs, if this engine does."""

    def run(self, run: ProgramRun) -> None:
        """Bring the maps of a run's program up to date with its deltas, step by step."""


class Cluster(Protocol):
    """Runs distributed programs: all views that an epoch reaches together."""

    def measure(self) -> EngineCosts:
        """What a job and its rows take here, beside rows in process."""

    def plan(self, programs: Sequence[Program], more: Hashable, make: Callable[[], Distributed]) -> PreparedEpoch:
        """Programs ready to run together, made once for whatever else that depends on."""

    def each(self, size: int, task: Callable[[int, int], Any]) -> list[Any]:
        """What tasks make of so many bytes in files: `task` is given the number of a partition, and how many there are."""

    def run_together(
        self, epoch: PreparedEpoch, deltas: Deltas, views: Sequence[str], anew: Anew | None = None
    ) -> None:
        """Bring the maps of some views up to date with the changes of an epoch, or of a round, or make them anew."""
