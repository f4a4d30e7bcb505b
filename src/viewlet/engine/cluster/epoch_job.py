"""An epoch of all affected views as one Spark job, or as several if the driver needs results in between.

    changes, dealt → stage → exchange → stage → … → names of runs and counts → the driver's own statements

Tasks read maps where their runs are and write additions under unique names; the driver adopts the names that come back,
and its commit makes them count. Rows pass through the driver only where a program says so: `gather`.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from viewlet.columns.rows import Rows
from viewlet.engine.cluster.arrivals import NetTask, are_net, arriving
from viewlet.engine.cluster.driver_site import Anew, DriverSite, before
from viewlet.engine.cluster.exchange import by_number, unpack
from viewlet.engine.cluster.maps import StoredMap
from viewlet.engine.cluster.parcels import Parcel
from viewlet.engine.cluster.site import Traffic
from viewlet.engine.cluster.stage_task import GatherTask, StageTask, parcels_of, traffic_of
from viewlet.engine.cluster.stages import Stage, StagedEpoch, staged
from viewlet.engine.cluster.written import Written
from viewlet.engine.epoch import Deltas
from viewlet.engine.terms.compile_term import CompiledTerm, compile_term
from viewlet.program.distributed import Compute, Distributed, Move, Statement, reads_of

if TYPE_CHECKING:
    from pyspark import SparkContext

INLINE = 256 << 10
"""The largest delta of a map, in bytes, whose runs are sent to the driver and stored in its record."""


@dataclass(frozen=True)
class PreparedEpoch:
    """A distributed program that is ready to run, any number of times."""

    staged: StagedEpoch
    codes: tuple[bytes, ...]
    terms: dict[str, CompiledTerm]
    """The compiled terms of the driver's statements."""

    def arriving_bytes(self, deltas: Deltas) -> int:
        """The size of the changes that are in runs already."""
        written = deltas.changes.written
        return sum(written[name].contents.bytes for name in self.staged.arrivals if name in written)

    def blamed(self, name: str, views: Sequence[str]) -> str:
        """The first of the views that a result contributes to."""
        reached = {name}
        for statement in self.staged.program.statements:
            if reads_of(statement) & reached:
                reached.add(statement.name)
        return next((view for view in views if view in reached), "")


def prepare_epoch(program: Distributed) -> PreparedEpoch:
    """Stage a program and compile its terms."""
    found = staged(program)
    terms = {s.name: compile_term(s.term) for s in found.driver if isinstance(s, Compute)}
    return PreparedEpoch(found, tuple(pickle.dumps(stage) for stage in found.stages), terms)


class EpochJob:
    """One run of a prepared epoch: one job, or several if the driver scatters what it made of results."""

    def __init__(
        self,
        context: SparkContext,
        address: str,
        parts: int,
        deltas: Deltas,
        epoch: PreparedEpoch,
        anew: Anew | None = None,
    ) -> None:
        self.context, self.address, self.parts = context, address, parts
        self.deltas, self.epoch, self.anew = deltas, epoch, anew
        self._driver = DriverSite(deltas, {}, initial=anew is not None, anew=anew)
        self._adopted: set[str] = set()

    def run(self) -> None:
        """Refresh the maps of all programs."""
        if self.epoch.staged.stages:
            self._run_stages()
        for statement in self.epoch.staged.after:
            self._driver.run(statement, self.epoch.terms)

    def _run_stages(self) -> None:
        stages = self.epoch.staged.stages
        jobs, exchanges = 1, 0
        parcels = arriving(self.deltas.changes, self.epoch.staged.arrivals, self.parts)
        rdd: Any = self.context.parallelize(parcels, self.parts)
        if not are_net(parcels):
            rdd = rdd.mapPartitionsWithIndex(NetTask(self.address, self.parts)).partitionBy(self.parts, by_number)
            exchanges = 1
        for at, stage in enumerate(stages):
            if stage.before and at:
                self._take(rdd, stages[at - 1])
                jobs += 1
            rdd = rdd.mapPartitionsWithIndex(self._task(at, self._scattered(stage.before), at + exchanges == 0))
            if at + 1 < len(stages):
                rdd = rdd.partitionBy(self.parts, by_number)
        traffic = self._take(rdd, stages[-1])
        shape = {"jobs": jobs, "stages": exchanges + len(stages), "partitions": self.parts}
        self.deltas.jobs.append({**shape, **asdict(traffic)})

    def _take(self, rdd: Any, stage: Stage) -> Traffic:
        """Run the stages so far and collect the results and runs for the driver; returns their traffic."""
        done = rdd.mapPartitionsWithIndex(GatherTask(self.epoch.staged.gathered, stage.once)).collect()
        self._adopt([parcel.data for parcel in done if parcel.kind == "run"])
        self._driver.results |= _results(done)
        return traffic_of(done)

    def _scattered(self, before: Sequence[Statement]) -> list[list[Parcel]]:
        """Run the driver's statements before a stage; returns what it sends to each partition."""
        out: list[list[Parcel]] = [[] for _ in range(self.parts)] if before else []
        for statement in before:
            if isinstance(statement, Move) and statement.transformer == "scatter":
                for to, parcel in parcels_of(statement, self._driver.change(statement.source), self.parts):
                    out[to].append(parcel)
            else:
                self._driver.run(statement, self.epoch.terms)
        return out

    def _task(self, at: int, scattered: Sequence[Sequence[Parcel]], is_first: bool) -> StageTask:
        names, bags, anew = self.epoch.staged.stages[at].names, self.deltas.bags, self.anew
        tags = self.epoch.staged.program.maps
        there = [name for name in names if name in tags and bags.has(name)]
        maps = {name: StoredMap.of(before(bags, name, anew), tags[name]) for name in there}
        gone = [name for name in there if anew is not None and name in anew.superseded]
        return StageTask(
            self.address,
            self.parts,
            INLINE // self.parts,
            self.epoch.codes[at],
            maps,
            scattered,
            is_first,
            anew is not None,
            {name: StoredMap.of(bags.before(name), tags[name]) for name in gone},
        )

    def _adopt(self, written: Iterable[Written]) -> None:
        """Adopt the runs of maps whose deltas are complete, each map once."""
        found: dict[str, list[Written]] = {}
        for run in written:
            found.setdefault(run.bag, []).append(run)
        for name, runs in found.items():
            if name in self._adopted:
                continue
            self._adopted.add(name)
            totals = sum(run.inserted for run in runs), sum(run.deleted for run in runs)
            self.deltas.adopt_written(name, [run.ref for run in runs], *totals)


def _results(parcels: Iterable[Parcel]) -> dict[str, Rows]:
    """The gathered rows, by result."""
    pieces: dict[str, list[Rows]] = {}
    for parcel in parcels:
        if parcel.kind == "rows":
            pieces.setdefault(parcel.name, []).append(unpack(parcel.data))
    return {name: Rows.concat(rows) for name, rows in pieces.items()}
