"""All rows of a bag as the change that fills a map: read piece by piece, with just the columns that are used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from viewlet.columns.rows import Rows
from viewlet.store import Contents


@dataclass(frozen=True, slots=True)
class Source:
    """What a table or view holds."""

    contents: Contents
    columns: tuple[str, ...]
    """The columns of the bag that hold the fields, in their order."""

    def pieces(self, places: Sequence[int], size: int) -> Iterator[Rows]:
        """The rows in pieces of about some size, with the columns at some places."""
        return self.contents.batches(tuple(self.columns[at] for at in places), size)

    def sample(self, places: Sequence[int], size: int) -> Rows | None:
        """Some rows, with the columns at some places; None if there are none."""
        piece = next((rows for rows in self.pieces(places, 64 * size) if len(rows)), None)
        return None if piece is None else sample_of(piece, size)

    def all(self) -> Rows:
        """All rows, each once."""
        return self.contents.consolidated().select(self.columns)


def sample_of(rows: Rows, size: int) -> Rows:
    """So many of some rows at most, spread over them."""
    return rows.take(np.linspace(0, len(rows) - 1, min(size, len(rows))).astype(np.int64))
