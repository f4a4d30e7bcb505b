"""The Spark engine: the same programs, run by tasks on partitions of the state.

Only deltas are shuffled; state never moves, since tasks open the runs that they need in place. The views affected by an
epoch run together as one distributed program (`epoch_job.py`). The rest, fills and operators that only Spark evaluates,
runs step by step: rows are (partition, Arrow bytes), and a step is one Spark job:

    split the deltas → { exchange by the look-up's key → row-wise steps and look-up }* → exchange by the map's key
    → add up, write a run under a unique name

Tasks run the same closures (`engine/terms/compile_term.py`). They return the delta and the names of the runs, which the
driver commits with the epoch. Runs of failed attempts are garbage, since no record names them.
"""

from __future__ import annotations

import pickle
import re
import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from viewlet.columns.rows import Rows
from viewlet.engine.choose import Chosen, EngineCosts
from viewlet.engine.cluster.driver_site import Anew
from viewlet.engine.cluster.epoch_job import EpochJob, PreparedEpoch, prepare_epoch
from viewlet.engine.cluster.exchange import (
    PIECES,
    Piece,
    Target,
    by_partition,
    cut,
    pack,
    partition_of,
    piece_frame,
    unpack,
)
from viewlet.engine.cluster.stage_task import IN
from viewlet.engine.cluster.task import Lookups, Task
from viewlet.engine.epoch import Deltas
from viewlet.engine.prepared import PreparedStep
from viewlet.engine.program_run import ProgramRun
from viewlet.engine.terms.compile_term import compile_term
from viewlet.engine.terms.regroup_groups import touched_groups
from viewlet.errors import CorruptFile, EvaluationError, RejectedEpoch, SparkFailed, SparkMissing, StoreError
from viewlet.program.chain import chain, maps_read
from viewlet.program.distributed import Distributed
from viewlet.program.program import Program
from viewlet.program.terms import FinalizeSums, Fold, Probe, Regroup, Sessionize, SparkRowwise, Term
from viewlet.store import RunRef

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PLANS = 64
_SHARE = 64 << 20
"""The most bytes of an epoch's changes, as stored in files, that one task reads."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Steps of a term that a task runs on its partition between two exchanges."""

    steps: tuple[Term, ...]
    where: Target
    """How the rows reach the task."""


class SparkEngine:
    """Runs programs as Spark jobs."""

    name: Chosen = "spark"

    def __init__(self, session: Callable[[], SparkSession], address: str) -> None:
        self.session = session
        self.address = address
        self._plans: OrderedDict[Hashable, tuple[Sequence[Program], PreparedEpoch]] = OrderedDict()
        """Prepared epochs by the `id`s of their programs, which are held so that the ids stay valid."""

    @property
    def cluster(self) -> SparkEngine:
        return self

    def measure(self) -> EngineCosts:
        """Measure the costs of a job and its rows here, and of rows in process."""
        from viewlet.engine.cluster.calibrate import measure_costs
        from viewlet.spark.session.workers import own_workers

        context = self.session().sparkContext
        with own_workers(context):
            return measure_costs(context, partitions_for(context.defaultParallelism), context.defaultParallelism)

    def plan(self, programs: Sequence[Program], more: Hashable, make: Callable[[], Distributed]) -> PreparedEpoch:
        """The programs prepared to run together, cached by their identities and `more`."""
        key = tuple(map(id, programs)), more
        if key not in self._plans:
            self._plans[key] = programs, prepare_epoch(make())
            if len(self._plans) > _PLANS:
                self._plans.popitem(last=False)
        self._plans.move_to_end(key)
        return self._plans[key][1]

    def each(self, size: int, task: Callable[[int, int], Any]) -> list[Any]:
        """The results of `task(partition, partitions)`, run by tasks for `size` bytes in files."""
        from viewlet.spark.session.workers import own_workers

        context = self.session().sparkContext
        parts = partitions_for(max(context.defaultParallelism, size // _SHARE))
        with own_workers(context), tasks_errors():
            return context.parallelize(range(parts), parts).map(EachTask(task, parts)).collect()

    def run_together(
        self, epoch: PreparedEpoch, deltas: Deltas, views: Sequence[str], anew: Anew | None = None
    ) -> None:
        """Refresh the maps of some views in one job, with the epoch's changes or from scratch."""
        from viewlet.spark.session.workers import own_workers

        context = self.session().sparkContext
        parts = partitions_for(max(context.defaultParallelism, epoch.arriving_bytes(deltas) // _SHARE))
        try:
            with own_workers(context), tasks_errors():
                EpochJob(context, self.address, parts, deltas, epoch, anew).run()
        except EvaluationError as error:
            name, error.site = error.site, None
            error.view = epoch.blamed(str(name), views)
            raise

    def run(self, run: ProgramRun) -> None:
        """Refresh the maps of a program."""
        from viewlet.spark.session.children import active

        with active(self.session()) as spark:
            self._run(spark, run)

    def _run(self, spark: SparkSession, run: ProgramRun) -> None:
        parts = partitions_for(spark.sparkContext.defaultParallelism)
        pipeline = _Pipeline(spark, self.address, parts, run)
        for step, kept in zip(run.ready.program.steps, run.ready.steps, strict=True):
            if not run.begins(kept):
                continue
            frames = [frame for term in step.terms if (frame := pipeline.of(term, kept)) is not None]
            if frames:
                self._finish(reduce(lambda a, b: a.unionAll(b), frames), parts, kept, run)

    def _finish(self, frame: DataFrame, parts: int, step: PreparedStep, run: ProgramRun) -> None:
        """Add up the contributions to a map, write its runs, and take the delta back."""
        task = Task.finishing(self.address, parts, run.layout(step), step.map.sums)
        with tasks_errors():
            done = each_partition(frame, parts, task, "ref binary, data binary").toArrow().to_pylist()
        refs: list[RunRef] = [ref for row in done for ref in pickle.loads(row["ref"])]
        deltas = [rows for row in done if len(rows := unpack(row["data"]))]
        if deltas:
            run.adopt(step, Rows.concat(deltas), refs)


@dataclass(frozen=True)
class EachTask:
    """Calls a task with its partition and their number."""

    task: Callable[[int, int], Any]
    parts: int

    def __call__(self, part: int) -> Any:
        return self.task(part, self.parts)


def partitions_for(cores: int) -> int:
    """The number of partitions: a power of two, at least the number of cores."""
    return 1 << max(1, (cores - 1).bit_length())


class _Pipeline:
    """Builds the jobs for the terms of a program."""

    def __init__(self, spark: SparkSession, address: str, parts: int, run: ProgramRun) -> None:
        self.spark, self.address, self.parts, self.run = spark, address, parts, run

    def of(self, term: Term, kept: PreparedStep) -> DataFrame | None:
        """The pieces that a term contributes to its map, ready for the last exchange; None if there are none."""
        steps: tuple[Any, ...] = chain(term)
        while True:
            at = next((i for i, s in enumerate(steps) if isinstance(s, SparkRowwise)), None)
            frame = self._segments(steps[:at], _target(kept) if at is None else Target())
            if at is None or frame is None:
                return frame
            rows = _collected(frame)
            native = steps[at]
            assert isinstance(native, SparkRowwise)
            if not len(rows) or not len(rows := self.run.on_spark(native, rows)):
                return None
            steps = (rows, *steps[at + 1 :])

    def _segments(self, steps: Sequence[Any], last: Target) -> DataFrame | None:
        first, *rest = steps
        segments = _cut_at_probes(rest)
        pieces = self._start(first, segments[0].where if segments else last)
        if pieces is None:
            return None
        frame = piece_frame(self.spark, pieces)
        if _runs_in_tasks(first):
            segments = [Segment((first,), Target()), *segments]
        targets = [*(s.where for s in segments[1:]), last]
        for segment, target in zip(segments, targets, strict=False):
            task = Task.running(
                self.address, self.parts, segment.steps, self._lookups(segment.steps), target, self.run.initial
            )
            frame = each_partition(frame, self.parts, task, PIECES)
        return frame

    def _start(self, first: Term | Rows, target: Target) -> list[Piece] | None:
        """The driver's part: the delta that a term starts from, split by partition."""
        match first:
            case Rows():
                return by_partition(first, target, self.parts)
            case FinalizeSums() | Fold() | Sessionize():
                delta = self.run.change(first.map)
                if delta is None and not (self.run.initial and not first.keys):
                    return None
                return (
                    by_partition(delta, Target(first.keys, keyed=True), self.parts) if delta is not None else [(0, b"")]
                )
            case Regroup() if _runs_in_tasks(first):
                return self._start_regroup(first)
        rows = compile_term(first)(self.run)
        return None if rows is None else by_partition(rows, target, self.parts)

    def _start_regroup(self, term: Regroup) -> list[Piece] | None:
        touched = touched_groups(term, self.run)
        if touched is None:
            return None
        groups = Rows({"touched": pa.array(touched.view(np.int64))}, np.ones(len(touched), dtype=np.int64))
        return [(part, pack(rows)) for part, rows in cut(groups, partition_of(touched, self.parts))]

    def _lookups(self, steps: Sequence[Term]) -> dict[tuple[str, str], Lookups]:
        """The references of the maps that some steps read."""
        found: dict[tuple[str, str], Lookups] = {}
        for step in steps:
            for name, version in (
                maps_read(step) if isinstance(step, FinalizeSums | Fold | Sessionize | Regroup) else _probed(step)
            ):
                contents = self.run.new(name) if version == "new" else self.run.old(name)
                found[name, version] = Lookups(contents.refs(), contents.layout, dict(contents.types))
        return found


def _runs_in_tasks(first: Term | Rows) -> bool:
    """Whether the start of a term runs on the partitions; what only Spark evaluates is driven from here."""
    return isinstance(first, FinalizeSums | Fold | Sessionize) or (isinstance(first, Regroup) and first.native is None)


def _probed(step: Term) -> list[tuple[str, str]]:
    return [(step.map, step.version)] if isinstance(step, Probe) else []


def _cut_at_probes(steps: Sequence[Term]) -> list[Segment]:
    """Segments that each begin with a look-up, which needs its rows on the partition of its key."""
    segments: list[Segment] = []
    current: list[Term] = []
    where = Target()
    for step in steps:
        if isinstance(step, Probe):
            if current:
                segments.append(Segment(tuple(current), where))
            current, where = [], Target(tuple(m.column for m in step.read.on), everywhere=not step.read.on)
        current.append(step)
    return [*segments, Segment(tuple(current), where)] if current else segments


def _target(step: PreparedStep) -> Target:
    return Target(step.layout.key, keyed=True)


def each_partition(
    frame: DataFrame, parts: int, task: Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]], schema: str
) -> DataFrame:
    """Exchange the pieces, and run the task on each partition."""
    return frame.repartitionById(parts, "part").mapInArrow(task, schema)


@contextmanager
def tasks_errors() -> Iterator[None]:
    """Raises an error from a task as the exception that it was there."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        if found := re.search(r"EvaluationError: (.+)", str(error)):
            raise _evaluation_error(found[1].strip()) from None
        if found := re.search(r"RejectedEpoch: (.+)", str(error)):
            raise RejectedEpoch(found[1].strip()) from None
        if found := re.search(r"(?:CorruptFile|GoneFile): (.+)", str(error)):
            raise CorruptFile(found[1].strip()) from None
        if found := re.search(r"StoreError: (.+)", str(error)):
            raise StoreError(found[1].strip()) from None
        if "No module named" in str(error):
            hint = f"install NumPy and PyArrow where the workers run, or set PYSPARK_PYTHON={sys.executable}"
            raise SparkMissing("the Python of Spark's workers lacks what Viewlet needs", hint=hint) from None
        text = str(error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else error)
        if text.startswith("["):  # an error of the caller's own DataFrame
            raise
        hint = "nothing was applied: look at Spark's executors and their disks, and try again"
        raise SparkFailed(f"Spark did not finish a job: {text.strip().partition(chr(10))[0]}", hint=hint) from error


def _evaluation_error(text: str) -> EvaluationError:
    message, _, name = text.removesuffix("⟩").partition(IN)
    error = EvaluationError(message)
    error.site = name
    return error


def _collected(frame: DataFrame) -> Rows:
    with tasks_errors():
        table = frame.toArrow()
    pieces = [rows for data in table["data"].to_pylist() if len(rows := unpack(data))]
    return Rows.concat(pieces) if pieces else Rows({}, np.zeros(0, dtype=np.int64))
