"""Bulk loads: rows written to files as they arrive, with only a few pieces in memory at any time.

No record names the files before the commit; a transaction that ends without one removes them. While some pieces are
encoded and written, each to a file of its own, the next is prepared.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from queue import Full, Queue
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Positions, from_numpy
from viewlet.columns.hash import Hashes, order_of
from viewlet.columns.rows import Rows
from viewlet.store.files import DATA
from viewlet.store.limits import WRITERS
from viewlet.store.runs.layout import Layout
from viewlet.store.runs.map_run import MapBody, Span
from viewlet.store.runs.runs import ParquetPieces, Run, RunRef
from viewlet.store.runs.table_run import parquet_table
from viewlet.store.runs.write_runs import SUFFIX, make_map_run, name_after

if TYPE_CHECKING:
    from viewlet.store.log.writer import Writer

_WAITING = 1  # prepared pieces that may wait for a writer
_MOMENT, _SOON = 1.0, 0.05  # seconds between checks whether writing has failed or ended
_COMPARED = 1 << 20  # hashes sorted at once to find duplicates


_Part = tuple[Hashes, Hashes | None, dict[str, pa.Array]]
"""The key hashes of some rows, their fingerprints if the layout keeps them, and their columns."""


class Load(ABC):
    """Rows loaded into one bag; `finish` returns the runs that hold them."""

    def __init__(self, writer: Writer, layout: Layout) -> None:
        self.layout, self._writer = layout, writer
        self._storage, self._largest = writer.handles.storage, writer.limits.largest_run
        self._writing: list[Future[None]] = []
        self._finished = False
        self.runs: list[Run] = []
        self.rows = 0

    def add(self, rows: Rows) -> None:
        """Take some rows, each inserted once."""
        self.rows += len(rows)
        self._take(rows.select(self.layout.columns))

    @abstractmethod
    def _take(self, rows: Rows) -> None:
        """Write some rows, now or later."""

    def finish(self) -> list[Run]:
        """Write what is left, make everything durable and return the runs."""
        if not self._finished:
            self._write_rest()
            self._wait()
            self._storage.sync(run.ref.file for run in self.runs)
            self._finished = True
        return self.runs

    @abstractmethod
    def _write_rest(self) -> None:
        """Write rows that were held back to be written with more."""

    def abandon(self) -> None:
        """Remove the files written so far."""
        for writing in self._writing:
            writing.exception()
        self._storage.remove(run.ref.file for run in self.runs)

    def _behind(self, work: Callable[..., None], *arguments: Any) -> None:
        """Run some work in the background."""
        self._writing.append(self._writer.ahead.submit(work, *arguments))

    def _wait(self) -> None:
        for writing in self._writing:
            writing.result()
        self._writing.clear()


class TableLoad(Load):
    """Rows of a table: Parquet files of limited size with a row group per piece, written on several cores."""

    def __init__(self, writer: Writer, layout: Layout) -> None:
        super().__init__(writer, layout)
        self._given: Queue[Rows | None] = Queue(_WAITING)

    def _take(self, rows: Rows) -> None:
        if len(self._writing) < WRITERS:
            self._behind(self._write)
        self._put(rows)

    def _put(self, rows: Rows | None) -> None:
        """Pass rows, or None for their end, to the next writer that is free."""
        while True:
            try:
                self._given.put(rows, timeout=_MOMENT)
            except Full:
                for writing in self._writing:
                    if writing.done():
                        writing.result()
            else:
                return

    def _write(self) -> None:
        """Write rows to files until there are no more."""
        rows = self._given.get()
        while rows is not None:
            file = f"{DATA}/{name_after(self._writer.durable_epoch)}{SUFFIX['parquet']}"
            written = _ParquetFile(self._given, rows, self.layout, self._largest)
            try:
                self._storage.write(file, written)
            except BaseException:
                self._storage.remove([file])
                raise
            self.runs.append(self._writer.handles.put(Run(written.ref(file), self.layout, storage=self._storage)))
            rows = written.rest

    def _write_rest(self) -> None:
        for _ in self._writing:
            self._put(None)

    def abandon(self) -> None:
        while not all(writing.done() for writing in self._writing):
            with suppress(Full):
                self._given.put(None, timeout=_SOON)
        super().abandon()


class _ParquetFile:
    """The bytes of a file that begins with given rows and takes more as they arrive; `rest` begins the next file."""

    def __init__(self, given: Queue[Rows | None], rows: Rows, layout: Layout, largest: int) -> None:
        self._given, self._layout, self._largest = given, layout, largest
        self._pieces = ParquetPieces()
        self.rest: Rows | None = rows

    def __iter__(self) -> Iterator[Any]:
        while self.rest is not None and self._pieces.size < self._largest:
            yield from self._pieces.add(parquet_table(self.rest, self._layout))
            self.rest = self._given.get()
        yield from self._pieces.end()

    def ref(self, file: str) -> RunRef:
        return RunRef("parquet", file, 0, self._pieces.size, self._pieces.crc, self._pieces.rows)


class MapLoad(Load):
    """Rows of a map: runs of the maximal size, so that they need no merging."""

    def __init__(self, writer: Writer, layout: Layout) -> None:
        super().__init__(writer, layout)
        self._parts: list[_Part] = []
        self._bytes = 0

    def _take(self, rows: Rows) -> None:
        fingerprints = rows.fingerprints(self.layout.plain) if self.layout.fingerprints else None
        self._parts.append((rows.hashes(self.layout.key), fingerprints, dict(rows.columns)))
        self._bytes += sum(array.nbytes for array in rows.columns.values())
        if self._bytes > self._largest:
            self._write_rest()
        elif self._bytes > self._largest // 4:
            self._wait()  # so that at most one run and a quarter are in memory

    def _write_rest(self) -> None:
        parts, self._parts, self._bytes = self._parts, [], 0
        self._wait()
        self._behind(self._write, parts)

    def _write(self, parts: list[_Part]) -> None:
        """Sort rows into a run of their own; each unsorted column is released once it is sorted."""
        hashes = np.concatenate([np.zeros(0, dtype=np.uint64), *(own for own, _, _ in parts)])
        if not len(hashes):
            return
        order = order_of(hashes)
        at = from_numpy(order, pa.int64())
        columns = {n: pa.concat_arrays([held.pop(n) for _, _, held in parts]).take(at) for n in self.layout.columns}
        rows = Rows.each_once(columns)
        if len(known := [fingerprints for _, fingerprints, _ in parts if fingerprints is not None]) == len(parts):
            rows.learn_fingerprints(self.layout.plain, np.concatenate(known)[order])
        for run in make_map_run(rows, self.layout, hashes[order]):
            self.runs.append(self._writer.save(run))

    def repeated(self) -> Hashes:
        """The hashes that occur more than once, once all rows are written."""
        bodies = [run.map for run in self.runs]
        pieces = max(1, self.rows // _COMPARED)
        return np.concatenate([_repeated(bodies, (i, pieces)) for i in range(pieces)])


def _repeated(bodies: list[MapBody], part: tuple[int, int]) -> Hashes:
    """The duplicate hashes in a part of the hash range: only hashes with equal first halves are compared."""
    spans = [body.span(part) for body in bodies]
    halves = [body.first_halves(span) for body, span in zip(bodies, spans, strict=True)]
    alike = _twice(np.concatenate([np.zeros(0, dtype=np.uint32), *halves]))
    found = [np.flatnonzero(np.isin(some, alike)) + start for some, (start, _) in zip(halves, spans, strict=True)]
    hashes = [body.hashes_at(at) for body, at in zip(bodies, found, strict=True)]
    added = [body.hashes_at(_added_up(body, span)) for body, span in zip(bodies, spans, strict=True)]
    return np.concatenate([_twice(np.concatenate([np.zeros(0, dtype=np.uint64), *hashes])), *added])


def _added_up(body: MapBody, span: Span) -> Positions:
    """The rows of a span that were added more than once and became one."""
    return np.flatnonzero(body.weights(span) != 1) + span[0]


def _twice(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The numbers that occur more than once."""
    ordered = np.sort(numbers)
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
