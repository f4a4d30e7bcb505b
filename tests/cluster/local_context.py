"""Spark's RDDs as lists: the jobs of an epoch without a JVM. Whatever crosses a stage is pickled, as Spark would."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import Any


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
