"""Large merges in tasks: tasks read and write the runs, and the driver swaps their names."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from viewlet.errors import StoreError
from viewlet.store import Layout, RunRef, open_contents
from viewlet.store.runs.merge_runs import How, Merge
from viewlet.store.runs.runs import Run, Types
from viewlet.store.runs.write_runs import save_durably

if TYPE_CHECKING:
    from pyspark import SparkContext

Swap = tuple[list[RunRef], list[RunRef]]
"""The runs that a merge replaces, and those that it makes."""


def merge_by_task(context: SparkContext, address: str, merge: Merge, layout: Layout, types: Types) -> Swap:
    """Merge runs in a job of one task, which needs no more memory than any merge."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    from viewlet.engine.cluster.runner import tasks_errors
    from viewlet.spark.session.workers import own_workers

    task: Any = MergeTask(address, tuple(run.ref for run in merge.inputs), layout, dict(types), merge.how)
    try:
        with own_workers(context), tasks_errors():
            (swap,) = context.parallelize([0], 1).mapPartitionsWithIndex(task).collect()
    except (Py4JError, PySparkException) as error:
        raise StoreError(f"a task could not merge runs: {str(error)[:500]}") from error
    return swap


@dataclass(frozen=True)
class MergeTask:
    """Maps the single partition of a merge."""

    address: str
    refs: tuple[RunRef, ...]
    layout: Layout
    types: Types
    how: How

    def __call__(self, part: int, _: Iterable[Any]) -> Iterator[Swap]:
        runs = open_contents(self.address, self.refs, self.layout, self.types).runs
        gone, made = self.how(runs, self.layout, self._keep)
        yield [run.ref for run in gone], [run.ref for run in made]

    def _keep(self, made: list[Run]) -> list[Run]:
        """Save runs under unique names; the files of a failed attempt are garbage."""
        return [save_durably(run, self.address, f"task-{uuid.uuid4().hex}") for run in made]
