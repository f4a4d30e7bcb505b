"""Runs that tasks make: in files under names that no other attempt has, or small enough to be sent to the driver.

Only the names that come back from a task reach a record, so that what a failed or superfluous attempt wrote is garbage.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace

import numpy as np

from viewlet.columns.rows import Weights
from viewlet.store import RunRef
from viewlet.store.runs.runs import Run
from viewlet.store.runs.write_runs import save_durably


@dataclass(frozen=True, slots=True)
class Written:
    """A run that a task made of a bag's delta, and how many rows it puts in and takes away."""

    bag: str
    ref: RunRef
    inserted: int
    deleted: int
    counts: bool = True
    """Whether it is the one that is committed, where every partition makes the same."""


def write_run_of(
    bag: str, run: Run, weights: Weights, address: str, inline: int, *, counts: bool = True
) -> tuple[Run, Written]:
    """Put a run that was just made into a file, unless it has at most `inline` bytes or does not count."""
    if counts and run.ref.size > inline:
        run = save_durably(run, address, f"task-{uuid.uuid4().hex}")
    inserted, deleted = int(np.maximum(weights, 0).sum()), int(np.maximum(-weights, 0).sum())
    return run, Written(bag, sendable(run.ref), inserted, deleted, counts)


def sendable(ref: RunRef) -> RunRef:
    """The same with its bytes in one piece."""
    return ref if ref.data is None else replace(ref, data=(b"".join(ref.data),))
