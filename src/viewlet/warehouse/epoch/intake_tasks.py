"""The tasks that ingest DataFrames: they read, check and net rows, and write runs of tables and of their indexes.

Rows that need no check are written by the tasks that read them; others are first exchanged, so that rows with the same
key meet. Tasks report to the driver in notes: names of runs, counts, and a sample of the refused rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from viewlet.columns.arrays import Mask, combine
from viewlet.columns.fresh_names import free_name
from viewlet.columns.rows import Rows
from viewlet.engine.cluster.maps import StoredMap
from viewlet.engine.cluster.slices import Slice, ToDriver, ToSlices
from viewlet.engine.cluster.written import Written, write_run_of
from viewlet.intake.refusal import RejectedRow
from viewlet.intake.to_columns import to_columns
from viewlet.program.distributed import Anywhere
from viewlet.store import Contents, Layout
from viewlet.store.access.probe import Sorted
from viewlet.store.runs.write_runs import make_map_run, make_parquet_runs, make_recent_run
from viewlet.warehouse.declare.expectations import Constraint, evaluator, is_broken
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.declare.watermarks import latest_in
from viewlet.warehouse.epoch.table_changes import TableChanges

Action = Literal["insert", "delete", "delete_keys", "upsert"]
"""The names of methods of `TableChanges`."""
_FILE = 64 << 20
"""Bytes of rows after which a task writes a run."""
_FEW = 4 << 10
"""Bytes up to which a task that reads rows sends them to the driver instead of writing them."""


def marks_of(table: Table, judged: Sequence[Constraint]) -> tuple[str, ...]:
    """The names of the extra columns that hold the values of constraints which Spark has evaluated."""
    return tuple(free_name(f"_met_{i}", table.names) for i in range(len(judged)))


@dataclass(frozen=True, slots=True)
class Refusal:
    """Refused rows of a frame: how many at least, one of them with the reason, and a hint."""

    frame: int
    count: int
    reason: str
    hint: str | None

    @staticmethod
    def of(error: RejectedRow, frame: int) -> Refusal:
        return Refusal(frame, error.count, error.reason, error.hint)


@dataclass(frozen=True)
class ReadRows:
    """Converts rows from Spark to a table's types and hashes their keys, for the exchange."""

    table: Table
    columns: tuple[str, ...]
    marks: tuple[str, ...]
    frame: int

    def __call__(self, given: Iterator[pa.Table]) -> Iterator[ToSlices | ToDriver]:
        for table in given:
            try:
                rows = self.rows(table)
            except RejectedRow as error:
                yield ToDriver(Refusal.of(error, self.frame))
            else:
                yield ToSlices(rows, self.table.key_hashes(rows))

    def rows(self, given: pa.Table) -> Rows:
        named = given.rename_columns([*self.columns, *self.marks])
        own = named.select(list(self.columns))
        rows = Rows.each_once(to_columns(self.table.name, self.table.fields, own, columns=self.columns))
        return rows.with_columns({m: combine(named[m]) for m in self.marks})


@dataclass(frozen=True)
class WriteRows:
    """Writes rows in the task that reads them; only their index entries are exchanged."""

    read: ReadRows
    address: str

    def __call__(self, given: Iterator[pa.Table]) -> Iterator[ToSlices | ToDriver]:
        table, waiting = self.read.table, Waiting(self.read.table)
        for rows in self._taken(given):
            if isinstance(rows, ToDriver):
                yield rows
                continue
            waiting.add(table.normalized(rows))
            if table.index is not None:
                kept = table.index_rows(rows)
                yield ToSlices(kept, kept.hashes(table.index_layout.key))
            if waiting.bytes > _FILE:
                yield from self._written(waiting)
        yield from self._written(waiting)

    def _taken(self, given: Iterator[pa.Table]) -> Iterator[Rows | ToDriver]:
        for table in given:
            try:
                yield self.read.rows(table)
            except RejectedRow as error:
                yield ToDriver(Refusal.of(error, self.read.frame))

    def _written(self, waiting: Waiting) -> Iterator[ToDriver]:
        if parts := waiting.taken():
            yield from map(ToDriver, write_rows(waiting.table, Rows.concat(parts), self.address, _FEW))


@dataclass(frozen=True, slots=True)
class Latest:
    """The latest event time of the rows that a task inserted into a table."""

    table: str
    micros: int


@dataclass(frozen=True, slots=True)
class Overlap:
    """Some rows may share a key with an earlier change of the epoch."""

    table: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """How many rows of a table each constraint dropped."""

    table: str
    counts: Counter[str]


@dataclass(frozen=True, slots=True)
class Applied:
    """How the rows of a frame change which table."""

    table: str
    action: Action
    judged: tuple[Constraint, ...] = ()
    """The constraints that Spark has evaluated; the rows carry their values."""


@dataclass(frozen=True)
class Receiver:
    """A table that tasks change, with what they check its rows against."""

    table: Table
    index: StoredMap | None
    earlier: StoredMap | None
    """The part of the index that earlier changes of the epoch have added."""
    mark: int | None
    """The watermark before the epoch."""
    is_written: bool
    """Whether the tasks that read rows also write them, so that slices hold only index entries."""

    @staticmethod
    def of(changes: TableChanges, earlier: Contents | None, *, is_written: bool) -> Receiver:
        index, others = (None if c is None else StoredMap.of(c, Anywhere()) for c in (changes.index, earlier))
        return Receiver(changes.table, index, others, changes.mark, is_written)


Note = Written | Refusal | Latest | Overlap | Dropped


@dataclass(frozen=True)
class ApplyRows:
    """Checks and nets the changes of each slice, and writes runs of tables and of their indexes."""

    address: str
    receivers: Mapping[str, Receiver]
    frames: tuple[Applied, ...]
    inline: int
    """Bytes up to which a run is sent to the driver instead of written."""

    def __call__(self, slices: Iterator[Slice]) -> Iterator[Note]:
        receiving: Receiving | Indexing | None = None
        for rows in slices:
            name = self.frames[next(iter(rows))].table
            if receiving is None or receiving.table.name != name:
                yield from receiving.finish() if receiving is not None else ()
                receiving = self._receiving(self.receivers[name])
            yield from receiving.take(rows)
        yield from receiving.finish() if receiving is not None else ()

    def _receiving(self, to: Receiver) -> Receiving | Indexing:
        if to.is_written:
            return Indexing(to.table, self.address, self.inline)
        return Receiving(to, self.frames, self.address, self.inline)


class Receiving:
    """The state of a task that applies slices of a table's changes, one after the other."""

    def __init__(self, to: Receiver, frames: Sequence[Applied], address: str, inline: int) -> None:
        self.table, self._mark, self._frames = to.table, to.mark, frames
        self._address, self._inline = address, inline
        self._layout = None if to.index is None else to.index.layout
        self._index, self._earlier = (None if m is None else m.open(address) for m in (to.index, to.earlier))
        self._dropped: Counter[str] = Counter()
        tables = (to.table, to.table.late, to.table.rejected)
        self._waiting = {table.name: Waiting(table) for table in tables if table}

    def take(self, rows: Slice) -> Iterator[Note]:
        """Check the changes of a slice in the order given, and write them once enough have accumulated."""
        changes = TableChanges(self.table, self._index, mark=self._mark, is_share=True)
        for number, given in rows.items():
            try:
                self._apply(changes, self._frames[number], given)
            except RejectedRow as error:
                yield Refusal.of(error, number)
                return
        self._dropped.update(changes.dropped)
        delta = changes.delta()
        for table, own in [(self.table, delta), *changes.take_asides()]:
            self._waiting[table.name].add(own)
        if self._earlier is not None and _overlap(self.table, delta, self._earlier):
            yield Overlap(self.table.name)
        for waiting in self._waiting.values():
            if waiting.bytes > _FILE:
                yield from self._write(waiting)

    def finish(self) -> Iterator[Note]:
        """Write the rest."""
        for waiting in self._waiting.values():
            yield from self._write(waiting)
        if self._dropped:
            yield Dropped(self.table.name, self._dropped)

    def _apply(self, changes: TableChanges, frame: Applied, rows: Rows) -> None:
        """Change the table by the rows of a frame."""
        marks = marks_of(self.table, frame.judged)
        met = dict(zip(frame.judged, (rows[m] for m in marks), strict=True))
        here = evaluator(None, self.table.fields)

        def breaks(constraint: Constraint, rows: Rows) -> Mask:
            return is_broken(met[constraint]) if constraint in met else here(constraint, rows)

        changes.breaks = breaks
        getattr(changes, frame.action)(rows.select([n for n in rows.names if n not in marks]) if marks else rows)

    def _write(self, waiting: Waiting) -> Iterator[Note]:
        table, parts = waiting.table, waiting.taken()
        if not parts:
            return
        delta = Rows.concat(parts).select(table.names)
        yield from write_rows(table, delta, self._address, self._inline)
        if table.index is not None and self._layout is not None:
            yield from write_index(table.index, table.index_rows(delta), self._layout, self._address, self._inline)
        if (latest := latest_in(table.watermark, table.fields, delta)) is not None:
            yield Latest(table.name, latest)


class Indexing:
    """The state of a task that writes slices of the index of a table whose rows are already written."""

    def __init__(self, table: Table, address: str, inline: int) -> None:
        self.table, self._address, self._inline = table, address, inline
        self._waiting = Waiting(table)

    def take(self, rows: Slice) -> Iterator[Note]:
        """Collect index entries, and write them once enough have accumulated."""
        for kept in rows.values():
            self._waiting.add(kept)
        if self._waiting.bytes > _FILE:
            yield from self.finish()

    def finish(self) -> Iterator[Note]:
        """Write the rest."""
        parts = self._waiting.taken()
        if parts and self.table.index is not None:
            kept, layout = Rows.concat(parts), self.table.index_layout
            yield from write_index(self.table.index, kept, layout, self._address, self._inline)


def write_rows(table: Table, delta: Rows, address: str, inline: int) -> Iterator[Written]:
    """Write rows of a table as runs."""
    is_small = sum(array.nbytes for array in delta.columns.values()) <= inline
    for run in (make_recent_run if is_small else make_parquet_runs)(delta, table.layout):
        weights = delta.weights if is_small else delta.weights[delta.weights * run.ref.sign > 0]
        yield write_run_of(table.name, run, weights, address, inline)[1]


def write_index(bag: str, kept: Rows, layout: Layout, address: str, inline: int) -> Iterator[Written]:
    """Write index entries as a run."""
    for run in make_map_run(kept, layout):
        yield write_run_of(bag, run, kept.weights, address, inline)[1]


def _overlap(table: Table, delta: Rows, earlier: Contents) -> bool:
    """Whether a change may touch a key that earlier changes of the epoch have touched: their hashes are compared."""
    given = Sorted.by(earlier.layout.key, table.index_rows(delta))
    return next(given.find_in_map(earlier, ()), None) is not None


@dataclass
class Waiting:
    """Changes of a table that accumulate until they are written."""

    table: Table
    parts: list[Rows] = field(default_factory=list)
    bytes: int = 0

    def add(self, rows: Rows) -> None:
        if len(rows):
            self.parts.append(rows)
            self.bytes += sum(array.nbytes for array in rows.columns.values())

    def taken(self) -> list[Rows]:
        """Remove and return all of them."""
        parts, self.parts, self.bytes = self.parts, [], 0
        return parts
