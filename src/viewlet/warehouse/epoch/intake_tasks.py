"""What tasks do with the rows of DataFrames: they read, check and net them, and write runs of tables and of their indexes.

Rows that nothing forbids and nothing can take away are written by the tasks that read them; others first meet those of
the same key. What a task says of its rows goes to the driver as notes: names and counts, and a sample of what is refused.
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
"""What is done with rows: a method of `TableChanges`."""
_FILE = 64 << 20
"""Bytes of rows that a task writes to one run."""
_FEW = 4 << 10
"""Bytes up to which the rows of a task that reads them are sent instead of written."""


def marks_of(table: Table, judged: Sequence[Constraint]) -> tuple[str, ...]:
    """The columns that say whether rows meet constraints, beside those of the table."""
    return tuple(free_name(f"_met_{i}", table.names) for i in range(len(judged)))


@dataclass(frozen=True, slots=True)
class Refusal:
    """Rows of a frame that cannot be taken in: how many at least, one of them with the reason, what to do instead."""

    frame: int
    count: int
    reason: str
    hint: str | None

    @staticmethod
    def of(error: RejectedRow, frame: int) -> Refusal:
        return Refusal(frame, error.count, error.reason, error.hint)


@dataclass(frozen=True)
class ReadRows:
    """Makes rows of a table of what Spark gives, in the table's types, and says where they meet others."""

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
    """Writes rows where they are read; what the table's index keeps of them goes to slices."""

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
    """The latest time of the rows that a task put into a table."""

    table: str
    micros: int


@dataclass(frozen=True, slots=True)
class Overlap:
    """Some rows may have a key that an earlier change of the epoch has."""

    table: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """How many rows of a table each constraint dropped."""

    table: str
    counts: Counter[str]


@dataclass(frozen=True, slots=True)
class Applied:
    """What is done with the rows of a frame, in which table."""

    table: str
    action: Action
    judged: tuple[Constraint, ...] = ()
    """The constraints that Spark has evaluated: the rows say whether they meet them."""


@dataclass(frozen=True)
class Receiver:
    """A table as tasks find it."""

    table: Table
    index: StoredMap | None
    earlier: StoredMap | None
    """What earlier changes of the epoch have added to the index."""
    mark: int | None
    """The watermark that the epoch found."""
    is_written: bool
    """Whether the tasks that read rows write them, and slices have only what the index keeps."""

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
    """Bytes up to which a run is sent instead of written."""

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
    """A table while a task takes slices of its changes, one after the other."""

    def __init__(self, to: Receiver, frames: Sequence[Applied], address: str, inline: int) -> None:
        self.table, self._mark, self._frames = to.table, to.mark, frames
        self._address, self._inline = address, inline
        self._layout = None if to.index is None else to.index.layout
        self._index, self._earlier = (None if m is None else m.open(address) for m in (to.index, to.earlier))
        self._dropped: Counter[str] = Counter()
        tables = (to.table, to.table.late, to.table.rejected)
        self._waiting = {table.name: Waiting(table) for table in tables if table}

    def take(self, rows: Slice) -> Iterator[Note]:
        """Check the changes of a slice, in the order in which they were given, and write what has come together."""
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
    """The index of a table, in a task that takes slices of what it keeps of rows that are written already."""

    def __init__(self, table: Table, address: str, inline: int) -> None:
        self.table, self._address, self._inline = table, address, inline
        self._waiting = Waiting(table)

    def take(self, rows: Slice) -> Iterator[Note]:
        """Write what has come together."""
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
    """The runs of a table's rows."""
    is_small = sum(array.nbytes for array in delta.columns.values()) <= inline
    for run in (make_recent_run if is_small else make_parquet_runs)(delta, table.layout):
        weights = delta.weights if is_small else delta.weights[delta.weights * run.ref.sign > 0]
        yield write_run_of(table.name, run, weights, address, inline)[1]


def write_index(bag: str, kept: Rows, layout: Layout, address: str, inline: int) -> Iterator[Written]:
    """The run of what an index keeps."""
    for run in make_map_run(kept, layout):
        yield write_run_of(bag, run, kept.weights, address, inline)[1]


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
