"""What every engine offers: it runs programs. Which one does changes the speed, never the result."""

from __future__ import annotations

from typing import Protocol

from viewlet.engine.choose import Chosen
from viewlet.engine.program_run import ProgramRun


class Engine(Protocol):
    """Runs programs on the transaction of an epoch."""

    @property
    def name(self) -> Chosen: ...

    def run(self, run: ProgramRun) -> None:
        """Bring the maps of a run's program up to date with its deltas, step by step."""
