"""Evicting groups that a watermark has passed; tasks evict from large maps, each from one partition."""

from __future__ import annotations

from dataclasses import dataclass

from viewlet.engine.cluster.maps import StoredMap
from viewlet.engine.cluster.written import Written, sendable, write_run_of
from viewlet.engine.engine import Cluster
from viewlet.engine.epoch import adopt_runs
from viewlet.program.distributed import Anywhere
from viewlet.program.program import Eviction
from viewlet.store import Transaction
from viewlet.store.runs.write_runs import make_map_run
from viewlet.warehouse.declare.watermarks import closed_rows

_LARGE = 64 << 20
"""Bytes of a map from which on tasks scan it."""


def evict(transaction: Transaction, eviction: Eviction, mark: int, cluster: Cluster | None) -> None:
    """Evict the closed groups from a map."""
    contents = transaction.contents(eviction.map)
    if cluster is None or contents.bytes < _LARGE:
        if (gone := closed_rows(contents, eviction, mark)) is not None:
            transaction.append(eviction.map, gone, contents.layout)
        return
    refs = tuple(map(sendable, contents.refs()))
    stored = StoredMap(refs, contents.layout, dict(contents.types), Anywhere())
    found = cluster.each(contents.bytes, EvictTask(transaction.address, stored, eviction, mark))
    written = [run for runs in found for run in runs]
    adopt_runs(transaction, eviction.map, [w.ref for w in written], 0, 0)


@dataclass(frozen=True)
class EvictTask:
    """Writes a run that deletes the closed groups of a partition."""

    address: str
    stored: StoredMap
    eviction: Eviction
    mark: int

    def __call__(self, part: int, parts: int) -> list[Written]:
        own = self.stored.open(self.address).partition(part, parts)
        gone = closed_rows(own, self.eviction, self.mark)
        made = [] if gone is None else make_map_run(gone, self.stored.layout)
        return [
            write_run_of(self.eviction.map, run, run.map.as_rows(run.layout).weights, self.address, 0)[1]
            for run in made
        ]
