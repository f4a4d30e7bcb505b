"""DataFrames of Spark's, taken into a table by tasks: the driver sees names of runs, counts, and a sample of what is refused.

Rows whose keys are the same meet in one task, in one slice (`engine/cluster/slices.py`). There the change is checked and
netted as it is in process, by `TableChanges`, against the table's index where that is; runs are written under names
that only the commit makes count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from viewlet.columns.hash import Hashes
from viewlet.columns.rows import Rows
from viewlet.engine.choose import EngineName
from viewlet.engine.cluster.maps import StoredMap
from viewlet.engine.cluster.slices import BATCH, NotTaken, slices_for, take_slices
from viewlet.engine.cluster.written import Written, write_run_of
from viewlet.engine.epoch import EpochDeltas, WrittenChange, adopt_runs
from viewlet.errors import RejectedEpoch
from viewlet.formatting import plural
from viewlet.intake.pieces import COLLECTED
from viewlet.intake.refusal import RejectedRow, place_columns
from viewlet.intake.to_columns import package_of, refuse_streaming, to_columns
from viewlet.program.distributed import Anywhere
from viewlet.progress import report
from viewlet.store import Contents, Transaction
from viewlet.store.runs.write_runs import make_map_run, make_parquet_runs, make_recent_run
from viewlet.warehouse.expectations import evaluator
from viewlet.warehouse.load import Loading
from viewlet.warehouse.tables import Table, TableChanges

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


def can_take_by_tasks(engine: EngineName, changes: TableChanges, rows: Any) -> bool:
    """Whether a change is for tasks: a DataFrame that is large or is given to Spark, the first change of its table."""
    if engine == "inproc" or package_of(rows) != "pyspark" or changes.pending or changes.load:
        return False
    from viewlet.spark.session.handles import estimated_bytes, has_plan

    table = changes.table
    evaluated_here = all(c.expr is not None and c.action != "KEEP ASIDE" for c in table.constraints)
    if not has_plan(rows) or table.watermark is not None or not evaluated_here:
        return False
    refuse_streaming(table.name, rows)
    return engine == "spark" or estimated_bytes(rows) > COLLECTED


def take_by_tasks(
    warehouse: Warehouse, transaction: Transaction, changes: TableChanges, action: Action, frame: DataFrame
) -> TaskLoading:
    """Take in a DataFrame; the runs are part of the transaction."""
    table = changes.table
    columns = table.primary_key if action == "delete_keys" else table.names
    types = {name: table.types[name] for name in columns}
    getattr(TableChanges(table, changes.index), action)(Rows.empty(types))  # refused whatever the rows are?
    report(f"table {table.name}", "tasks take in a DataFrame")
    found = _run_tasks(warehouse, changes, action, columns, frame)
    written = [note for note in found if isinstance(note, Written)]
    if refused := [note for note in found if isinstance(note, Refusal)]:
        warehouse.store.storage.remove([w.ref.file for w in written if w.ref.file])
        raise _refusing(table, refused)
    for dropped in (note for note in found if isinstance(note, Counter)):
        changes.dropped.update(dropped)
    loading = TaskLoading(changes, transaction, written)
    report(f"table {table.name}", f"{sum(loading.counts.values()):,} rows taken in by tasks")
    return loading


def _run_tasks(
    warehouse: Warehouse, changes: TableChanges, action: Action, columns: tuple[str, ...], frame: DataFrame
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
        given = without_months(numbered.select(*(f"c{i}" for i in places)))
        index = None if changes.index is None else StoredMap.of(changes.index, Anywhere())
        task = ApplyRows(warehouse.store.address, table, action, index, _INLINE // parts)
        return take_slices(given, ReadRows(table, columns), task, parts, slices_for(estimated_bytes(given), parts))


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
        f"table {table.name}: {plural(count, 'row')} or more of those given cannot be taken in, such as {shown}",
        hint="; ".join(hints) or None,
    )


@dataclass(frozen=True)
class ReadRows:
    """Makes rows of a table of what Spark gives, in the table's types, and says where they meet others."""

    table: Table
    columns: tuple[str, ...]

    def __call__(self, given: pa.Table) -> tuple[Rows, Hashes]:
        named = given.rename_columns(list(self.columns))
        try:
            taken = to_columns(self.table.name, self.table.fields, named, columns=self.columns)
        except RejectedRow as error:
            raise NotTaken(Refusal.of(error)) from error
        rows = Rows.each_once(taken)
        return rows, self.table.key_hashes(rows)


@dataclass(frozen=True)
class ApplyRows:
    """Checks and nets the change of each slice, and writes runs of the table and of its index."""

    address: str
    table: Table
    action: Action
    index: StoredMap | None
    inline: int
    """Bytes up to which a run is sent instead of written."""

    def __call__(self, slices: Iterator[Rows]) -> Iterator[Written | Refusal | Counter[str]]:
        index = None if self.index is None else self.index.open(self.address)
        dropped: Counter[str] = Counter()
        waiting = Waiting()
        for rows in slices:
            try:
                waiting.add(self._delta(rows, index, dropped))
            except RejectedRow as error:
                yield Refusal.of(error)
            if waiting.bytes > _FILE:
                yield from self._write(waiting.taken())
        yield from self._write(waiting.taken())
        if dropped:
            yield dropped

    def _delta(self, rows: Rows, index: Contents | None, dropped: Counter[str]) -> Rows:
        """What the rows of a slice change."""
        changes = TableChanges(self.table, index, breaks=evaluator(None, self.table.fields), is_share=True)
        getattr(changes, self.action)(rows)
        dropped.update(changes.dropped)
        return changes.delta()

    def _write(self, parts: list[Rows]) -> Iterator[Written]:
        if not parts:
            return
        delta, table = Rows.concat(parts).select(self.table.names), self.table
        is_small = sum(array.nbytes for array in delta.columns.values()) <= self.inline
        made = (make_recent_run if is_small else make_parquet_runs)(delta, table.layout)
        for run in made:
            weights = delta.weights if is_small else delta.weights[delta.weights * run.ref.sign > 0]
            yield write_run_of(table.name, run, weights, self.address, self.inline)[1]
        if table.index is not None and self.index is not None:
            kept = table.index_rows(delta)
            for run in make_map_run(kept, self.index.layout):
                yield write_run_of(table.index, run, kept.weights, self.address, self.inline)[1]


@dataclass
class Waiting:
    """Changes that are written together."""

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


class TaskLoading(Loading):
    """A change that tasks have checked and written."""

    def __init__(self, changes: TableChanges, transaction: Transaction, written: Iterable[Written]) -> None:
        super().__init__(changes, transaction)
        runs = list(written)
        self._change = self._adopted(changes.table.name, runs)
        if changes.table.index is not None:
            self._adopted(changes.table.index, runs)

    def _adopted(self, bag: str, written: list[Written]) -> WrittenChange:
        own = [w for w in written if w.bag == bag]
        ends = sum(w.inserted for w in own), sum(w.deleted for w in own)
        return adopt_runs(self.transaction, bag, [w.ref for w in own], *ends)

    @property
    def counts(self) -> dict[str, int]:
        return {"inserted": self._change.inserted, "deleted": self._change.deleted}

    def delta(self, *, is_read: bool) -> Rows:
        return self._changes.table.empty()

    def hand_on(self, deltas: EpochDeltas, delta: Rows) -> None:
        if self._change.rows:
            deltas.changes.written[self._changes.table.name] = self._change

    def read(self) -> Rows:
        return self._change.contents.scan()
