"""The in-process engine: runs programs in the driver's own process, on the epoch's transaction.

A program costs as much as its deltas, however large the state, so this suits small and medium-sized epochs.
"""

from __future__ import annotations

from viewlet.columns.rows import Rows
from viewlet.engine.choose import Chosen
from viewlet.engine.program_run import ProgramRun
from viewlet.engine.stream import filled


class InprocEngine:
    """Runs the steps of a program one after the other."""

    name: Chosen = "inproc"
    cluster: None = None

    def run(self, run: ProgramRun) -> None:
        """Refresh the maps of a program."""
        for number, step in enumerate(run.ready.steps):
            if not run.begins(step):
                continue
            if run.initial:
                parts = filled(run, step, number)
            else:
                parts = [rows for term in step.terms if (rows := term(run)) is not None]
            if parts:
                run.put(step, Rows.concat(parts))
