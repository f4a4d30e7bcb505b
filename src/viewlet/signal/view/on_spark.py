"""Signals on Spark: groups are partitioned, and each task runs the in-process code on its partition.

Only changed readings are sent to tasks; state is not moved: a task opens the bags in place. Its results return to the
driver, which appends them.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from viewlet.columns.rows import Rows
from viewlet.engine.cluster.exchange import pack, partition_of, piece_frame, unpack
from viewlet.engine.cluster.runner import SparkEngine, each_partition, partitions_for, tasks_errors
from viewlet.engine.cluster.task import Lookups
from viewlet.signal.change.made import RowChanges
from viewlet.signal.stored.kept import Bags, Schema
from viewlet.store import Contents, open_contents

Work = Callable[[Sequence[Rows]], RowChanges]
"""Computes the changes of groups, from rows with their keys."""


def on_spark(engine: SparkEngine, work: Work, given: Sequence[Rows], keys: tuple[str, ...]) -> RowChanges:
    """Run the work by tasks, each on the rows of its groups."""
    from viewlet.spark.session.children import active

    with active(engine.session()) as spark:
        parts = partitions_for(spark.sparkContext.defaultParallelism)
        frame = piece_frame(spark, _pieces(given, keys, parts))
        with tasks_errors():
            done = each_partition(frame, parts, _Task(work), "data binary").toArrow()
    return RowChanges.together([_unpacked(data) for data in done["data"].to_pylist()])


def _pieces(given: Sequence[Rows], keys: tuple[str, ...], parts: int) -> list[tuple[int, bytes]]:
    """The rows of each partition; the first gets a piece even without rows, so that there is a result."""
    numbers = [partition_of(rows.hashes(keys), parts) for rows in given]
    there = np.unique(np.concatenate([*numbers, np.zeros(1, dtype=np.int64)]))
    return [
        (int(part), pickle.dumps([pack(rows.filter(own == part)) for rows, own in zip(given, numbers, strict=True)]))
        for part in there
    ]


@dataclass(frozen=True, slots=True)
class _Task:
    """A function for `mapInArrow`."""

    work: Work

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for data in batch.column("data").to_pylist():
                made = self.work([unpack(packed) for packed in pickle.loads(data)])
                yield pa.RecordBatch.from_pydict({"data": pa.array([_packed(made)], pa.binary())})


def _packed(made: RowChanges) -> bytes:
    checkpoints = None if made.checkpoints is None else pack(made.checkpoints)
    return pickle.dumps((pack(made.result), checkpoints, made.groups, made.read))


def _unpacked(data: bytes) -> RowChanges:
    result, checkpoints, groups, read = pickle.loads(data)
    return RowChanges(unpack(result), None if checkpoints is None else unpack(checkpoints), groups, read)


@dataclass(frozen=True, slots=True)
class TaskBags:
    """The bags of an epoch, as a task opens them."""

    address: str
    lookups: dict[tuple[str, str], Lookups]

    @staticmethod
    def of(address: str, schema: Schema, bags: Bags) -> TaskBags:
        """The bags that a rerun reads: readings after the epoch's change, results and checkpoints before it."""
        read = [bag for s in schema.readings for bag in (schema.readings_of(s), schema.reading_blocks_of(s))]
        kept = [schema.name, schema.blocks, *([schema.checkpoints] if schema.scans else [])]
        found = {(bag, "after"): bags.after(bag) for bag in read} | {(bag, "before"): bags.before(bag) for bag in kept}
        return TaskBags(address, {key: Lookups(c.refs(), c.layout, dict(c.types)) for key, c in found.items()})

    def before(self, bag: str) -> Contents:
        return self._open(bag, "before")

    def after(self, bag: str) -> Contents:
        return self._open(bag, "after")

    def _open(self, bag: str, version: str) -> Contents:
        found = self.lookups[bag, version]
        return open_contents(self.address, found.refs, found.layout, found.types)
