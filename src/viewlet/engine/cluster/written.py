"""Runs made by tasks: in files under unique names, or sent to the driver if they are small.

Only names that come back from a task reach a record, so files of failed or superfluous attempts are garbage.
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
    """A run that a task made from a bag's delta, and how many rows it inserts and deletes."""

    bag: str
    ref: RunRef
    inserted: int
    deleted: int
    counts: bool = True
    """Whether this run is committed, of those that every partition makes alike."""


def write_run_of(
    bag: str, run: Run, weights: Weights, address: str, inline: int, *, counts: bool = True
) -> tuple[Run, Written]:
    """Save a new run to a file, unless it has at most `inline` bytes or does not count."""
    if counts and run.ref.size > inline:
        run = save_durably(run, address, f"task-{uuid.uuid4().hex}")
    inserted, deleted = int(np.maximum(weights, 0).sum()), int(np.maximum(-weights, 0).sum())
    return run, Written(bag, sendable(run.ref), inserted, deleted, counts)


def sendable(ref: RunRef) -> RunRef:
    """The same reference with its bytes in one piece."""
    return ref if ref.data is None else replace(ref, data=(b"".join(ref.data),))
