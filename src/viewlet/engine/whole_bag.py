"""A whole bag as the change that fills a map, read in pieces with only the columns that are used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from viewlet.columns.rows import Rows
from viewlet.store import Contents


@dataclass(frozen=True, slots=True)
class Source:
    """The contents of a table or view."""

    contents: Contents
    columns: tuple[str, ...]
    """The bag's columns for the fields, in their order."""

    def pieces(self, places: Sequence[int], size: int) -> Iterator[Rows]:
        """The rows in pieces of about `size` rows, with the columns at `places`."""
        return self.contents.batches(tuple(self.columns[at] for at in places), size)

    def sample(self, places: Sequence[int], size: int) -> Rows | None:
        """A sample of rows with the columns at `places`; None if there are none."""
        piece = next((rows for rows in self.pieces(places, 64 * size) if len(rows)), None)
        return None if piece is None else sample_of(piece, size)

    def all(self) -> Rows:
        """All rows, netted."""
        return self.contents.consolidated().select(self.columns)


def sample_of(rows: Rows, size: int) -> Rows:
    """At most `size` rows, evenly spaced."""
    return rows.take(np.linspace(0, len(rows) - 1, min(size, len(rows))).astype(np.int64))
