"""Spark's RDDs as lists: the jobs of an epoch without a JVM. Whatever crosses a stage is pickled, as Spark would."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, cast

from viewlet.engine.choose import EngineCosts
from viewlet.engine.cluster.driver_site import Anew
from viewlet.engine.cluster.epoch_job import EpochJob, PreparedEpoch, prepare_epoch
from viewlet.engine.epoch import Deltas
from viewlet.program.distributed import Distributed
from viewlet.program.program import Program


class LocalContext:
    """What makes lists of partitions."""

    master, pythonExec = "local[1]", "python"

    def parallelize(self, items: list[Any], parts: int) -> LocalRdd:
        assert len(items) == parts
        return LocalRdd([[item] for item in items])


class LocalRdd:
    """The partitions of a dataset, computed at once."""

    def __init__(self, partitions: list[list[Any]]) -> None:
        self.partitions: list[list[Any]] = pickle.loads(pickle.dumps(partitions))

    def mapPartitionsWithIndex(self, task: Callable[[int, Iterable[Any]], Iterable[Any]]) -> LocalRdd:
        """Spark's name for it."""
        copied = pickle.loads(pickle.dumps(task))
        return LocalRdd([list(copied(part, iter(rows))) for part, rows in enumerate(self.partitions)])

    def partitionBy(self, parts: int, number: Callable[[int], int]) -> LocalRdd:
        """Spark's name for it."""
        out: list[list[Any]] = [[] for _ in range(parts)]
        for row in (row for rows in self.partitions for row in rows):
            out[number(row[0])].append(row)
        return LocalRdd(out)

    def collect(self) -> list[Any]:
        return [row for rows in self.partitions for row in rows]


class LocalCluster:
    """A cluster over such lists."""

    def __init__(self, address: str, parts: int = 4) -> None:
        self.address, self.parts = address, parts

    def measure(self) -> EngineCosts:
        return EngineCosts()

    def plan(self, programs: Sequence[Program], more: Hashable, make: Callable[[], Distributed]) -> PreparedEpoch:
        return prepare_epoch(make())

    def each(self, size: int, task: Callable[[int, int], Any]) -> list[Any]:
        return [task(part, self.parts) for part in range(self.parts)]

    def run_together(
        self, epoch: PreparedEpoch, deltas: Deltas, views: Sequence[str], anew: Anew | None = None
    ) -> None:
        EpochJob(cast(Any, LocalContext()), self.address, self.parts, deltas, epoch, anew).run()
