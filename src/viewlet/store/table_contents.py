"""The contents of a table, which is scanned, not looked up."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from viewlet.columns.arrays import Positions
from viewlet.columns.hash import Hashes
from viewlet.columns.rows import Rows
from viewlet.store.contents import Contents, span_of
from viewlet.store.runs import table_run as tablerun
from viewlet.store.runs.map_run import Span
from viewlet.store.runs.runs import Run


class TableContents(Contents):
    """The contents of a table: files that Spark reads natively, and recent rows."""

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
        """Parquet files of rows put in, checked."""
        return self._files(1)

    def negative_files(self) -> list[str]:
        """Parquet files of rows taken away again, checked."""
        return self._files(-1)

    def check_files(self) -> None:
        """Raise if a Parquet file is not what was written."""
        for run in self.runs:
            if run.ref.kind == "parquet":
                run.check()

    def _files(self, sign: int) -> list[str]:
        self.check_files()
        return [str(run.path) for run in self.runs if run.ref.kind == "parquet" and run.ref.sign == sign]

    def recent(self) -> Rows:
        """The rows that are in no Parquet file yet, with weights of +1 and −1."""
        return self._read([run for run in self.runs if run.ref.is_recent])

    def scan(self) -> Rows:
        return self._read(self.runs)

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
