"""Ingestion of Spark DataFrames by tasks: the driver sees only names of runs, counts, and a sample of refused rows.

An epoch's DataFrames wait until its block ends, and one job ingests them. Rows with equal keys meet in one slice of one
task (`engine/cluster/slices.py`). There all changes of a table are checked and netted as in process
(`intake_tasks.py`), against the table's index, if it has one. Tasks write runs, which only the commit makes visible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from viewlet.columns.rows import Rows
from viewlet.engine.choose import EngineName
from viewlet.engine.cluster.slices import BATCH, Cutting, slices_for, take_slices
from viewlet.engine.cluster.written import Written
from viewlet.errors import RejectedEpoch
from viewlet.formatting import plural
from viewlet.intake.pieces import COLLECTED
from viewlet.intake.refusal import place_columns
from viewlet.intake.to_columns import package_of, refuse_streaming
from viewlet.progress import report
from viewlet.store import Transaction
from viewlet.warehouse.declare.expectations import Constraint
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.epoch.intake_tasks import (
    Action,
    Applied,
    ApplyRows,
    Dropped,
    Latest,
    Overlap,
    ReadRows,
    Receiver,
    Refusal,
    WriteRows,
    marks_of,
)
from viewlet.warehouse.epoch.settled import Settled
from viewlet.warehouse.epoch.table_changes import TableChanges

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from viewlet.warehouse.warehouse import Warehouse

_INLINE = 256 << 10
"""Bytes up to which the runs of all tasks are sent to the driver, which puts them into the commit record."""
_MANY = 64 << 20
"""Bytes from which on tasks write the rows that they read, if possible; below that, the runs would be small."""
_SHOWN = 3
"""How many refused rows an error shows."""


def can_take_by_tasks(engine: EngineName, changes: TableChanges, action: Action, rows: Any) -> bool:
    """Whether tasks ingest a change: a DataFrame that is large or for the Spark engine, whose rows Spark can check."""
    if engine == "inproc" or package_of(rows) != "pyspark":
        return False
    from viewlet.spark.session.handles import estimated_bytes, has_plan

    table = changes.table
    if not has_plan(rows) or (_judged_by_spark(table, action) and not _has_types_of(table, rows)):
        return False
    refuse_streaming(table.name, rows)
    return engine == "spark" or estimated_bytes(rows) > COLLECTED


def _judged_by_spark(table: Table, action: Action) -> tuple[Constraint, ...]:
    """The constraints on inserted rows that only Spark can evaluate."""
    return tuple(c for c in table.constraints if c.expr is None) if action in ("insert", "upsert") else ()


def _has_types_of(table: Table, frame: DataFrame) -> bool:
    """Whether a DataFrame has exactly the types of a table, so that a condition means the same on both."""
    from viewlet.spark.session.arrow_frames import spark_schema

    places = place_columns(f"table {table.name}", table.fields, frame.columns)
    given = [frame.schema.fields[i].dataType.simpleString() for i in places]
    return given == [f.dataType.simpleString() for f in spark_schema(table.fields).fields]


@dataclass(frozen=True)
class SessionState:
    """The settings of a user's session when it gave a DataFrame, and a clone of the session with these settings."""

    session: SparkSession
    settings: Mapping[str, str]
    own: SparkSession

    @staticmethod
    def of(session: SparkSession, known: SessionState | None) -> SessionState:
        """The current state of a session; the known one, if nothing has changed since."""
        from viewlet.spark.session.children import clone
        from viewlet.spark.session.settings import settings_of

        settings = settings_of(session)
        if known is not None and known.session is session and known.settings == settings:
            return known
        own = clone(session)
        for name, value in BATCH.items():
            own.conf.set(name, value)
        return SessionState(session, settings, own)


@dataclass(frozen=True)
class GivenFrame:
    """A DataFrame queued for a table; everything but its rows is checked."""

    changes: TableChanges
    action: Action
    columns: tuple[str, ...]
    judged: tuple[Constraint, ...]
    state: SessionState
    frame: DataFrame
    """The columns in the table's order, then the values of the constraints that Spark evaluates."""

    @property
    def table(self) -> Table:
        return self.changes.table


def given_frame(
    warehouse: Warehouse, changes: TableChanges, action: Action, frame: DataFrame, known: SessionState | None
) -> GivenFrame:
    """Prepare a DataFrame; raise if it lacks columns, or if the table does not allow such changes."""
    from viewlet.spark.session.arrow_frames import without_months
    from viewlet.spark.session.children import active
    from viewlet.spark.session.handles import plan_of
    from viewlet.spark.session.jvm import Jvm

    table = changes.table
    columns = table.primary_key if action == "delete_keys" else table.names
    types = {name: table.types[name] for name in columns}
    getattr(TableChanges(table, changes.index), action)(Rows.empty(types))  # raises if the table allows no such change
    places = place_columns(f"table {table.name}", [table.field(name) for name in columns], frame.columns)
    state, judged = SessionState.of(frame.sparkSession, known), _judged_by_spark(table, action)
    with active(state.own) as spark:
        numbered = Jvm(spark).frame(plan_of(frame)).toDF(*(f"c{i}" for i in range(len(frame.columns))))
        placed = _judged(warehouse, numbered.select(*(f"c{i}" for i in places)), table, judged)
        own = without_months(Jvm(spark).frame(plan_of(placed)) if judged else placed)
    return GivenFrame(changes, action, columns, judged, state, own)


def take_by_tasks(warehouse: Warehouse, frames: Sequence[GivenFrame], transaction: Transaction) -> None:
    """Ingest DataFrames of one session, after all earlier changes; the transaction adopts the runs."""
    tables = {frame.table.name: frame.changes for frame in frames}
    settled = {name: Settled.of(changes, transaction) for name, changes in tables.items()}
    for name in tables:
        count = sum(frame.table.name == name for frame in frames)
        report(f"table {name}", f"tasks take in {'a DataFrame' if count == 1 else f'{count} DataFrames'}")
    receivers = {}
    for name, changes in tables.items():
        given, earlier = [frame for frame in frames if frame.table.name == name], settled[name].earlier
        receivers[name] = Receiver.of(changes, earlier, is_written=earlier is None and _is_written_as_read(given))
    found = _run_tasks(warehouse, frames, receivers)
    written = [note for note in found if isinstance(note, Written)]
    if refused := [note for note in found if isinstance(note, Refusal)]:
        warehouse.store.storage.remove([w.ref.file for w in written if w.ref.file])
        first = min(refusal.frame for refusal in refused)
        raise _refusing(frames[first].table, [refusal for refusal in refused if refusal.frame == first])
    for name, changes in tables.items():
        own = [note for note in found if isinstance(note, Dropped | Latest | Overlap) and note.table == name]
        changes.dropped.update(sum((note.counts for note in own if isinstance(note, Dropped)), Counter()))
        latest = max((note.micros for note in own if isinstance(note, Latest)), default=None)
        are_apart = receivers[name].earlier is not None and not any(isinstance(note, Overlap) for note in own)
        settled[name].adopt(written, latest, are_apart=are_apart)
        taken = sum(w.inserted + w.deleted for w in written if w.bag == name)
        report(f"table {name}", f"{taken:,} rows taken in by tasks")


def _run_tasks(warehouse: Warehouse, frames: Sequence[GivenFrame], receivers: Mapping[str, Receiver]) -> list[Any]:
    """Ingest all DataFrames in one job; return the notes of its tasks."""
    from viewlet.engine.cluster.runner import partitions_for, tasks_errors
    from viewlet.spark.session.children import active

    with active(frames[0].state.own) as spark, tasks_errors():
        parts = partitions_for(spark.sparkContext.defaultParallelism)
        applied = tuple(Applied(frame.table.name, frame.action, frame.judged) for frame in frames)
        task = ApplyRows(warehouse.store.address, receivers, applied, _INLINE // parts)
        return take_slices(list(_cuttings(frames, task, parts)), task, parts)


def _is_written_as_read(frames: Sequence[GivenFrame]) -> bool:
    """Whether tasks write a table's rows as they read them: there are many, all inserted and none checked."""
    from viewlet.spark.session.handles import estimated_bytes

    table = frames[0].table
    is_looked_up = table.index is not None and bool(table.primary_key or table.clustered)
    if is_looked_up or table.constraints or table.watermark or any(frame.action != "insert" for frame in frames):
        return False
    return sum(estimated_bytes(frame.frame) for frame in frames) >= _MANY


def _cuttings(frames: Sequence[GivenFrame], task: ApplyRows, parts: int) -> Iterator[Cutting]:
    """How to cut DataFrames into slices: those of one table share its slices."""
    from viewlet.spark.session.handles import estimated_bytes

    first = 0
    for name in dict.fromkeys(frame.table.name for frame in frames):
        own = [(number, frame) for number, frame in enumerate(frames) if frame.table.name == name]
        slices = slices_for(sum(estimated_bytes(frame.frame) for _, frame in own), parts)
        for number, frame in own:
            read = ReadRows(frame.table, frame.columns, marks_of(frame.table, frame.judged), number)
            writes = task.receivers[name].is_written
            yield Cutting(frame.frame, WriteRows(read, task.address) if writes else read, slices, first, number)
        first += slices


def _judged(warehouse: Warehouse, frame: DataFrame, table: Table, judged: Sequence[Constraint]) -> DataFrame:
    """Add the values of constraints to a DataFrame; each is evaluated under the settings that it was declared with."""
    from pyspark.sql import functions as F

    from viewlet.spark.session.handles import plan_of
    from viewlet.spark.session.jvm import Jvm

    if judged:
        frame = frame.toDF(*table.names)
    for constraint, name in zip(judged, marks_of(table, judged), strict=True):
        under = Jvm(warehouse.sessions.under(dict(constraint.settings))).frame(plan_of(frame))
        frame = under.withColumn(name, F.expr(constraint.text))
    return frame


def _refusing(table: Table, refused: list[Refusal]) -> RejectedEpoch:
    """One error for all rows of a DataFrame that tasks refused."""
    count = sum(refusal.count for refusal in refused)
    shown = "; ".join(sorted({refusal.reason for refusal in refused})[:_SHOWN])
    hints = sorted({refusal.hint for refusal in refused if refusal.hint})
    return RejectedEpoch(
        f"table {table.name}: {plural(count, 'row')} or more of those given cannot be ingested, such as {shown}",
        hint="; ".join(hints) or None,
    )
