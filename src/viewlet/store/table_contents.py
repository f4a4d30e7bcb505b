"""The contents of a table, which is scanned, not looked up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from viewlet.columns.arrays import Positions, values_of
from viewlet.columns.hash import Hashes, different, is_among
from viewlet.columns.rows import Rows
from viewlet.store.contents import Contents, span_of
from viewlet.store.runs import table_run as tablerun
from viewlet.store.runs.layout import Names
from viewlet.store.runs.map_run import Span
from viewlet.store.runs.runs import Run


class TableContents(Contents):
    """Parquet files, which Spark reads directly, and recent rows."""

    is_sorted = False

    @cached_property
    def _spans(self) -> list[Span]:
        raise AssertionError("a table is not sorted: scan it, or keep a map of it to look rows up")

    @cached_property
    def rows(self) -> int:
        return sum(run.ref.rows for run in self.runs)

    def total(self) -> int:
        filed = sum(run.ref.rows * run.ref.sign for run in self.runs if run.ref.kind == "parquet")
        return filed + int(self.recent().weights.sum())

    def positive_files(self) -> list[str]:
        """Verified Parquet files of inserted rows."""
        return self._files(1)

    def negative_files(self) -> list[str]:
        """Verified Parquet files of deleted rows."""
        return self._files(-1)

    def check_files(self) -> None:
        """Raise if a Parquet file is missing or altered."""
        for run in self.runs:
            if run.ref.kind == "parquet":
                run.check()

    def _files(self, sign: int) -> list[str]:
        self.check_files()
        return [str(run.path) for run in self.runs if run.ref.kind == "parquet" and run.ref.sign == sign]

    def recent(self) -> Rows:
        """The rows that are not in Parquet yet, with weights +1 and −1."""
        return self._read([run for run in self.runs if run.ref.is_recent])

    def scan(self) -> Rows:
        return self._read(self.runs)

    def batches(self, columns: Names, size: int) -> Iterator[Rows]:
        """Some columns of the rows, in pieces, without deleted rows."""
        recent, gone = self.recent(), [run for run in self._parquet() if run.ref.sign < 0]
        taken = np.concatenate([*map(tablerun.read_hashes, gone), recent.filter(recent.weights < 0).hashes()])
        filed = [run for run in self._parquet() if run.ref.sign > 0]
        if not len(taken):
            for run in filed:
                yield from tablerun.read_batches(run, columns, size)
            if len(recent):
                yield recent.select(columns)
            return
        touched = [recent.select(columns), *(b for run in gone for b in tablerun.read_batches(run, columns, size))]
        for run in filed:
            yield from self._untouched(run, columns, size, different(taken), touched)
        netted = Rows.concat(touched).consolidate()
        if len(netted):
            yield netted

    def _untouched(self, run: Run, columns: Names, size: int, taken: Hashes, touched: list[Rows]) -> Iterator[Rows]:
        """The rows of a file whose hash no deleted row has; the others are added to `touched`.

        These few columns suffice to net them, since `touched` has all deleted rows and all rows that they may cancel.
        """
        for batch in tablerun.read_batches(run, (*columns, self.layout.row_hash), size):
            found = is_among(values_of(batch[self.layout.row_hash], "u8"), taken)
            own = batch.select(columns)
            touched.append(own.filter(found))
            yield own.filter(~found)

    def _parquet(self) -> list[Run]:
        return [run for run in self.runs if run.ref.kind == "parquet"]

    def hashes(self) -> Hashes:
        parts = [read[self._inside(read)] for read in map(tablerun.read_hashes, self.runs)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint64)

    def _read(self, runs: Sequence[Run]) -> Rows:
        parts = [tablerun.read_rows(run) for run in runs]
        if self.part is not None:
            parts = [rows.take(self._inside(tablerun.read_hashes(run))) for rows, run in zip(parts, runs, strict=True)]
        return Rows.concat(parts) if parts else self.nothing()

    def _inside(self, hashes: Hashes) -> Positions:
        """The positions of the hashes that belong to the partition."""
        order = np.argsort(hashes, kind="stable")
        start, stop = span_of(hashes[order], self.part)
        return np.sort(order[start:stop])
