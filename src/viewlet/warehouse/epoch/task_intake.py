"""Spark DataFrames ingested by tasks: the driver sees names of runs, counts, and a sample of refused rows.

Rows whose keys are the same meet in one task, in one slice (`engine/cluster/slices.py`). There the change is checked and
netted as it is in process, by `TableChanges`, against the table's index where that is; runs are written under names
that only the commit makes count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from viewlet.columns.arrays import Mask, combine
from viewlet.columns.fresh_names import free_name
from viewlet.columns.hash import Hashes
from viewlet.columns.rows import Rows
from viewlet.engine.choose import EngineName
from viewlet.engine.cluster.maps import StoredMap
from viewlet.engine.cluster.slices import BATCH, NotTaken, slices_for, take_slices
from viewlet.engine.cluster.written import Written, write_run_of
from viewlet.errors import RejectedEpoch
from viewlet.formatting import plural
from viewlet.intake.pieces import COLLECTED
from viewlet.intake.refusal import RejectedRow, place_columns
from viewlet.intake.to_columns import package_of, refuse_streaming, to_columns
from viewlet.program.distributed import Anywhere
from viewlet.progress import report
from viewlet.store import Contents
from viewlet.store.access.probe import Sorted
from viewlet.store.runs.write_runs import make_map_run, make_parquet_runs, make_recent_run
from viewlet.warehouse.declare.expectations import Constraint, evaluator, is_broken
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.declare.watermarks import latest_in
from viewlet.warehouse.epoch.settled import Settled
from viewlet.warehouse.epoch.table_changes import TableChanges

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from viewlet.warehouse.warehouse import Warehouse

Action = Literal["insert", "delete", "delete_keys", "upsert"]
"""What is done with rows: a method of `TableChanges`."""
_FILE = 64 << 20
"""Bytes of rows that a task writes to one run."""
_INLINE = 256 << 10
"""Bytes up to which the runs of all tasks are sent to the driver, whose record holds them."""
_SHOWN = 3
"""Refused rows that an error shows."""


def can_take_by_tasks(engine: EngineName, changes: TableChanges, action: Action, rows: Any) -> bool:
    """Whether a change is for tasks: a DataFrame that is large or is given to Spark, which can judge its rows."""
    if engine == "inproc" or package_of(rows) != "pyspark":
        return False
    from viewlet.spark.session.handles import estimated_bytes, has_plan

    table = changes.table
    if not has_plan(rows) or (_judged_by_spark(table, action) and not _has_types_of(table, rows)):
        return False
    refuse_streaming(table.name, rows)
    return engine == "spark" or estimated_bytes(rows) > COLLECTED


def _judged_by_spark(table: Table, action: Action) -> tuple[Constraint, ...]:
    """The constraints of rows to be put in that only Spark evaluates."""
    return tuple(c for c in table.constraints if c.expr is None) if action in ("insert", "upsert") else ()


def _has_types_of(table: Table, frame: DataFrame) -> bool:
    """Whether a DataFrame has the very types of a table: then a condition means the same on either's rows."""
    from viewlet.spark.session.arrow_frames import spark_schema

    places = place_columns(f"table {table.name}", table.fields, frame.columns)
    given = [frame.schema.fields[i].dataType.simpleString() for i in places]
    return given == [f.dataType.simpleString() for f in spark_schema(table.fields).fields]


def take_by_tasks(
    warehouse: Warehouse, settled: Settled, changes: TableChanges, action: Action, frame: DataFrame
) -> None:
    """Take in a DataFrame, after what was changed before; the runs are part of the transaction."""
    table = changes.table
    columns = table.primary_key if action == "delete_keys" else table.names
    types = {name: table.types[name] for name in columns}
    getattr(TableChanges(table, changes.index), action)(Rows.empty(types))  # refused whatever the rows are?
    report(f"table {table.name}", "tasks take in a DataFrame")
    earlier = settled.earlier
    found = _run_tasks(warehouse, changes, earlier, action, columns, frame)
    written = [note for note in found if isinstance(note, Written)]
    if refused := [note for note in found if isinstance(note, Refusal)]:
        warehouse.store.storage.remove([w.ref.file for w in written if w.ref.file])
        raise _refusing(table, refused)
    for dropped in (note for note in found if isinstance(note, Counter)):
        changes.dropped.update(dropped)
    latest = max((note.micros for note in found if isinstance(note, Latest)), default=None)
    are_apart = earlier is not None and not any(isinstance(note, Overlap) for note in found)
    settled.adopt(written, latest, are_apart=are_apart)
    taken = sum(w.inserted + w.deleted for w in written if w.bag == table.name)
    report(f"table {table.name}", f"{taken:,} rows taken in by tasks")


def _run_tasks(
    warehouse: Warehouse,
    changes: TableChanges,
    earlier: Contents | None,
    action: Action,
    columns: tuple[str, ...],
    frame: DataFrame,
) -> list[Any]:
    from viewlet.engine.cluster.runner import partitions_for, tasks_errors
    from viewlet.spark.session.arrow_frames import without_months
    from viewlet.spark.session.children import active, clone
    from viewlet.spark.session.handles import estimated_bytes, plan_of
    from viewlet.spark.session.jvm import Jvm

    table = changes.table
    places = place_columns(f"table {table.name}", [table.field(name) for name in columns], frame.columns)
    with active(clone(frame.sparkSession)) as spark, tasks_errors():
        for name, value in BATCH.items():
            spark.conf.set(name, value)
        parts = partitions_for(spark.sparkContext.defaultParallelism)
        numbered = Jvm(spark).frame(plan_of(frame)).toDF(*(f"c{i}" for i in range(len(frame.columns))))
        judged = _judged_by_spark(table, action)
        placed = _judged(warehouse, numbered.select(*(f"c{i}" for i in places)), table, judged)
        given = without_months(Jvm(spark).frame(plan_of(placed)) if judged else placed)
        index, others = (None if c is None else StoredMap.of(c, Anywhere()) for c in (changes.index, earlier))
        task = ApplyRows(warehouse.store.address, table, action, index, others, _INLINE // parts, changes.mark, judged)
        read = ReadRows(table, columns, _marks(table, judged))
        return take_slices(given, read, task, parts, slices_for(estimated_bytes(given), parts))


def _marks(table: Table, judged: Sequence[Constraint]) -> tuple[str, ...]:
    """The columns that say whether rows meet constraints, beside those of the table."""
    return tuple(free_name(f"_met_{i}", table.names) for i in range(len(judged)))


def _judged(warehouse: Warehouse, frame: DataFrame, table: Table, judged: Sequence[Constraint]) -> DataFrame:
    """Rows, and whether they meet some constraints: Spark evaluates each under the settings that it was declared with."""
    from pyspark.sql import functions as F

    from viewlet.spark.session.handles import plan_of
    from viewlet.spark.session.jvm import Jvm

    if judged:
        frame = frame.toDF(*table.names)
    for constraint, name in zip(judged, _marks(table, judged), strict=True):
        under = Jvm(warehouse.sessions.under(dict(constraint.settings))).frame(plan_of(frame))
        frame = under.withColumn(name, F.expr(constraint.text))
    return frame


@dataclass(frozen=True, slots=True)
class Refusal:
    """Rows that cannot be taken in: how many at least, one of them with the reason, and what to do instead."""

    count: int
    reason: str
    hint: str | None

    @staticmethod
    def of(error: RejectedRow) -> Refusal:
        return Refusal(error.count, error.reason, error.hint)


def _refusing(table: Table, refused: list[Refusal]) -> RejectedEpoch:
    """The error for all rows that tasks have refused."""
    count = sum(refusal.count for refusal in refused)
    shown = "; ".join(sorted({refusal.reason for refusal in refused})[:_SHOWN])
    hints = sorted({refusal.hint for refusal in refused if refusal.hint})
    return RejectedEpoch(
        f"table {table.name}: {plural(count, 'row')} or more of those given cannot be ingested, such as {shown}",
        hint="; ".join(hints) or None,
    )


@dataclass(frozen=True)
class ReadRows:
    """Makes rows of a table of what Spark gives, in the table's types, and says where they meet others."""

    table: Table
    columns: tuple[str, ...]
    marks: tuple[str, ...] = ()

    def __call__(self, given: pa.Table) -> tuple[Rows, Hashes]:
        named = given.rename_columns([*self.columns, *self.marks])
        own = named.select(list(self.columns))
        try:
            taken = to_columns(self.table.name, self.table.fields, own, columns=self.columns)
        except RejectedRow as error:
            raise NotTaken(Refusal.of(error)) from error
        rows = Rows.each_once(taken)
        return rows.with_columns({m: combine(named[m]) for m in self.marks}), self.table.key_hashes(rows)


@dataclass(frozen=True, slots=True)
class Latest:
    """The latest time of the rows that a task put in."""

    micros: int


@dataclass(frozen=True, slots=True)
class Overlap:
    """Some rows may have a key that an earlier change of the epoch has."""


@dataclass(frozen=True)
class ApplyRows:
    """Checks and nets the change of each slice, and writes runs of the table and of its index."""

    address: str
    table: Table
    action: Action
    index: StoredMap | None
    earlier: StoredMap | None
    """What earlier changes of the epoch have added to the index."""
    inline: int
    """Bytes up to which a run is sent instead of written."""
    mark: int | None = None
    """The watermark that the epoch found."""
    judged: tuple[Constraint, ...] = ()
    """The constraints that Spark has evaluated: the rows say whether they meet them."""

    def __call__(self, slices: Iterator[Rows]) -> Iterator[Written | Refusal | Latest | Overlap | Counter[str]]:
        index, earlier = (None if m is None else m.open(self.address) for m in (self.index, self.earlier))
        dropped: Counter[str] = Counter()
        waiting = {table.name: Waiting(table) for table in (self.table, self.table.late, self.table.rejected) if table}
        for rows in slices:
            try:
                for table, delta in self._deltas(rows, index, dropped):
                    waiting[table.name].add(delta)
                    if earlier is not None and table is self.table and _overlap(table, delta, earlier):
                        yield Overlap()
            except RejectedRow as error:
                yield Refusal.of(error)
            for own in waiting.values():
                if own.bytes > _FILE:
                    yield from self._write(own)
        for own in waiting.values():
            yield from self._write(own)
        if dropped:
            yield dropped

    def _deltas(self, rows: Rows, index: Contents | None, dropped: Counter[str]) -> list[tuple[Table, Rows]]:
        """What the rows of a slice change, in the table and in those of what it does not take in."""
        marks = _marks(self.table, self.judged)
        met = dict(zip(self.judged, (rows[m] for m in marks), strict=True))
        here = evaluator(None, self.table.fields)

        def breaks(constraint: Constraint, rows: Rows) -> Mask:
            return is_broken(met[constraint]) if constraint in met else here(constraint, rows)

        changes = TableChanges(self.table, index, mark=self.mark, breaks=breaks, is_share=True)
        getattr(changes, self.action)(rows.select([n for n in rows.names if n not in marks]) if marks else rows)
        dropped.update(changes.dropped)
        return [(self.table, changes.delta()), *changes.take_asides()]

    def _write(self, waiting: Waiting) -> Iterator[Written | Latest]:
        table, parts = waiting.table, waiting.taken()
        if not parts:
            return
        delta = Rows.concat(parts).select(table.names)
        is_small = sum(array.nbytes for array in delta.columns.values()) <= self.inline
        made = (make_recent_run if is_small else make_parquet_runs)(delta, table.layout)
        for run in made:
            weights = delta.weights if is_small else delta.weights[delta.weights * run.ref.sign > 0]
            yield write_run_of(table.name, run, weights, self.address, self.inline)[1]
        if table.index is not None and self.index is not None:
            kept = table.index_rows(delta)
            for run in make_map_run(kept, self.index.layout):
                yield write_run_of(table.index, run, kept.weights, self.address, self.inline)[1]
        if (latest := latest_in(table.watermark, table.fields, delta)) is not None:
            yield Latest(latest)


def _overlap(table: Table, delta: Rows, earlier: Contents) -> bool:
    """Whether the index of a table has got rows with the hash of a key that changes again."""
    given = Sorted.by(earlier.layout.key, table.index_rows(delta))
    return next(given.find_in_map(earlier, ()), None) is not None


@dataclass
class Waiting:
    """Changes of a table that are written together."""

    table: Table
    parts: list[Rows] = field(default_factory=list)
    bytes: int = 0

    def add(self, rows: Rows) -> None:
        if len(rows):
            self.parts.append(rows)
            self.bytes += sum(array.nbytes for array in rows.columns.values())

    def taken(self) -> list[Rows]:
        """All of them; there are none then."""
        parts, self.parts, self.bytes = self.parts, [], 0
        return parts
