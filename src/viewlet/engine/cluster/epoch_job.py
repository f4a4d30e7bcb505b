"""An epoch of all the views that it reaches, as one Spark job; as more where the driver has to know results to go on.

    changes, dealt → stage → exchange → stage → … → names of runs and counts → the driver's own statements

Tasks read maps where their runs are, and write what they add under names of their own; the driver adopts the names that
came back, and its commit makes them count. Rows pass through it only where a program says so: `gather`.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from viewlet.columns.rows import Rows
from viewlet.engine.cluster.driver_site import DriverSite
from viewlet.engine.cluster.exchange import pack, unpack
from viewlet.engine.cluster.maps import StoredMap
from viewlet.engine.cluster.shares import dealt
from viewlet.engine.cluster.site import Traffic, Written
from viewlet.engine.cluster.stage_task import Parcel, Parcels, StageTask, ToDriver, parcels_of, traffic_of
from viewlet.engine.cluster.stages import Stage, StagedEpoch, staged
from viewlet.engine.epoch import EpochDeltas
from viewlet.engine.terms.compile_term import CompiledTerm, compile_term
from viewlet.program.distributed import Anywhere, Compute, Distributed, Move, Statement, reads_of

if TYPE_CHECKING:
    from pyspark import SparkContext

INLINE = 256 << 10
"""Bytes of a map's delta up to which its runs are sent to the driver, whose record holds them."""


@dataclass(frozen=True)
class PreparedEpoch:
    """A distributed program that can be run, again and again."""

    staged: StagedEpoch
    codes: tuple[bytes, ...]
    terms: dict[str, CompiledTerm]
    """Those of the driver's statements."""

    def blamed(self, name: str, views: Sequence[str]) -> str:
        """The first of some views that a result is a part of."""
        reached = {name}
        for statement in self.staged.program.statements:
            if reads_of(statement) & reached:
                reached.add(statement.name)
        return next((view for view in views if view in reached), "")


def prepare_epoch(program: Distributed) -> PreparedEpoch:
    """A program ready to run."""
    found = staged(program)
    terms = {s.name: compile_term(s.term) for s in found.driver if isinstance(s, Compute)}
    return PreparedEpoch(found, tuple(pickle.dumps(stage) for stage in found.stages), terms)


class EpochJob:
    """One run of a prepared epoch: a job, or more where the driver scatters what it made of another's results."""

    def __init__(
        self, context: SparkContext, address: str, parts: int, deltas: EpochDeltas, epoch: PreparedEpoch
    ) -> None:
        self.context, self.address, self.parts = context, address, parts
        self.deltas, self.epoch = deltas, epoch
        self._driver = DriverSite(deltas, {})
        self._adopted: set[str] = set()

    def run(self) -> None:
        """Bring the maps of all programs up to date."""
        stages = self.epoch.staged.stages
        jobs = 1
        rdd: Any = self.context.parallelize(self._arrivals(), self.parts)
        for at, stage in enumerate(stages):
            if stage.before and at:
                self._take(rdd, stages[at - 1])
                jobs += 1
            rdd = rdd.mapPartitionsWithIndex(self._task(at, self._scattered(stage.before)))
            if at + 1 < len(stages):
                rdd = rdd.partitionBy(self.parts, _itself)
        traffic = self._take(rdd, stages[-1])
        for statement in self.epoch.staged.after:
            self._driver.run(statement, self.epoch.terms)
        shape = {"jobs": jobs, "stages": len(stages), "partitions": self.parts}
        self.deltas.jobs.append({**shape, **asdict(traffic)})

    def _take(self, rdd: Any, stage: Stage) -> Traffic:
        """Run the stages so far, and take what the driver is to have; what they took."""
        done = rdd.mapPartitionsWithIndex(ToDriver(self.epoch.staged.gathered, stage.once)).collect()
        self._adopt([parcel.data for parcel in done if parcel.kind == "run"])
        self._driver.results |= _results(done)
        return traffic_of(done)

    def _scattered(self, before: Sequence[Statement]) -> list[list[Parcel]]:
        """Run the driver's statements before a stage; what it sends to each partition."""
        out: list[list[Parcel]] = [[] for _ in range(self.parts)] if before else []
        for statement in before:
            if isinstance(statement, Move) and statement.transformer == "scatter":
                for to, parcel in parcels_of(statement, self._driver.change(statement.source), self.parts):
                    out[to].append(parcel)
            else:
                self._driver.run(statement, self.epoch.terms)
        return out

    def _task(self, at: int, scattered: Sequence[Sequence[Parcel]]) -> StageTask:
        names = self.epoch.staged.stages[at].names
        tags = self.epoch.staged.program.maps
        there = [name for name in names if name in tags and self.deltas.transaction.has(name)]
        maps = {name: StoredMap.of(self.deltas.transaction.before(name), tags[name]) for name in there}
        return StageTask(self.address, self.parts, INLINE // self.parts, self.epoch.codes[at], maps, scattered, at == 0)

    def _arrivals(self) -> list[Parcels]:
        """The changes that the epoch begins with, for each partition; those that are in runs are read there."""
        parcels: list[Parcels] = [(part, []) for part in range(self.parts)]
        changes = self.deltas.changes
        for name in self.epoch.staged.arrivals:
            if (written := changes.written.get(name)) is not None:
                stored = StoredMap.of(written.contents, Anywhere())
                for part, own in parcels:
                    own.append(Parcel("bag", name, replace(stored, refs=stored.refs[part :: self.parts])))
            else:
                for part, rows in dealt(changes[name], self.parts):
                    parcels[part][1].append(Parcel("rows", name, pack(rows)))
        return parcels

    def _adopt(self, written: Iterable[Written]) -> None:
        """Take over the runs of maps whose deltas are complete, each map once."""
        found: dict[str, list[Written]] = {}
        for run in written:
            found.setdefault(run.map, []).append(run)
        for name, runs in found.items():
            if name in self._adopted:
                continue
            self._adopted.add(name)
            totals = sum(run.inserted for run in runs), sum(run.deleted for run in runs)
            self.deltas.adopt_written(name, [run.ref for run in runs], *totals)


def _results(parcels: Iterable[Parcel]) -> dict[str, Rows]:
    """The rows that were gathered."""
    pieces: dict[str, list[Rows]] = {}
    for parcel in parcels:
        if parcel.kind == "rows":
            pieces.setdefault(parcel.name, []).append(unpack(parcel.data))
    return {name: Rows.concat(rows) for name, rows in pieces.items()}


def _itself(part: int) -> int:
    return part
