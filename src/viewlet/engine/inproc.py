"""The in-process engine: runs programs in the driver's own process, on the epoch's transaction.

It serves small and middling epochs whatever the size of the state: a program costs what its deltas cost.
"""

from __future__ import annotations

from viewlet.columns.rows import Rows
from viewlet.engine.epoch import OpenEpoch
from viewlet.engine.prepared import PreparedProgram


class InprocEngine:
    """Runs the steps of a program one after the other."""

    name = "inproc"

    def run(self, ready: PreparedProgram, epoch: OpenEpoch) -> None:
        """Bring the maps of a program up to date with the epoch's changes."""
        for step in ready.steps:
            if step.map.name in epoch.done:
                continue
            epoch.done.add(step.map.name)
            parts = [rows for run in step.runs if (rows := run(epoch)) is not None]
            if parts:
                epoch.put(step, Rows.concat(parts))
