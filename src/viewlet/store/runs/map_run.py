"""The body of a map's run: rows sorted by the hash of the key, each once, with further sorted hashes.

    _hash ascending | columns … | _weight | _hash_0 ascending, _row_0 | _hash_1 ascending, _row_1 | …

`_row_i` says which row each hash of index i belongs to. Columns are taken by position, so that a user's
column may have any name; those of a file are in their stored form (narrow.py). Whoever looks rows up gets all that
share a hash, and compares the keys himself.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Positions, from_numpy, values_of
from viewlet.columns.hash import Hashes, order_of
from viewlet.columns.rows import Rows
from viewlet.store.access.search import find
from viewlet.store.runs.add_rows import add_together
from viewlet.store.runs.layout import Layout, Names
from viewlet.store.runs.narrow import StoredColumns

if TYPE_CHECKING:
    from viewlet.store.access.ranges import RangeIndex

Span = tuple[int, int]
_HASH, _WEIGHT, _ROW = pa.uint64(), pa.int64(), pa.uint32()


class MapBody:
    """An open run of a map: NumPy views of its hashes, and its rows; `ranges` are the indexes made of them so far."""

    __slots__ = ("_rows_of", "batch", "hashes", "ranges", "rows")

    def __init__(self, batch: pa.RecordBatch, layout: Layout, kinds: Sequence[pa.DataType] | None = None) -> None:
        """`kinds` are the types of the layout's columns, where the batch has them in their stored form."""
        width, count = len(layout.columns), len(layout.lookups)
        at = [0, *(width + 2 + 2 * i for i in range(count - 1))]
        self.batch = batch
        self.hashes: list[Hashes] = [values_of(batch.column(i), "u8") for i in at]
        self._rows_of = [values_of(batch.column(i + 1), "u4") for i in at[1:]]
        self.rows = StoredColumns(batch.select(list(range(1, width + 2))), None if kinds is None else [*kinds, _WEIGHT])
        self.ranges: dict[tuple[Names, str, Span], RangeIndex] = {}

    def __len__(self) -> int:
        return len(self.hashes[0])

    def as_rows(self, layout: Layout) -> Rows:
        """All rows, in the order of their hashes, which they know."""
        rows = to_rows(self.rows.slice(0, len(self)), layout)
        rows.learn(layout.key, self.hashes[0])
        return rows

    def hashes_by_row(self, lookup: int) -> Hashes:
        """The hash of each row, by the columns of a lookup."""
        if lookup == 0:
            return self.hashes[0]
        result = np.empty(len(self), dtype=np.uint64)
        result[self._rows_of[lookup - 1]] = self.hashes[lookup]
        return result

    def find(self, lookup: int, probes: Hashes, span: Span) -> tuple[Positions, Positions] | None:
        """Which probes match which rows of the span, by the hashes of a lookup; None if nothing does."""
        start, stop = span
        if lookup == 0:
            found = find(self.hashes[0][start:stop], probes)
            return found if found is None or not start else (found[0], found[1] + start)
        found = find(self.hashes[lookup], probes)
        if found is None:
            return None
        which, at = found[0], self._rows_of[lookup - 1][found[1]].astype(np.int64)
        if start == 0 and stop == len(self):
            return which, at
        inside = (at >= start) & (at < stop)
        return (which[inside], at[inside]) if inside.any() else None


def spread(first: Positions, counts: Positions) -> Positions:
    """Each number and those that follow it, as many as its count says."""
    ends = np.cumsum(counts)
    return np.repeat(first - ends + counts, counts) + np.arange(ends[-1])


def build(rows: Rows, layout: Layout, hashes: Hashes | None = None) -> MapBody | None:
    """The run that holds these rows, or None if they come to nothing; the hashes of the key may be known."""
    rows = rows.select(layout.columns)
    rows, ordered = add_together(rows, rows.hashes(layout.key) if hashes is None else hashes, layout)
    if not len(rows):
        return None
    arrays: list[Any] = [from_numpy(ordered, _HASH), *rows.columns.values(), from_numpy(rows.weights, _WEIGHT)]
    for wanted in layout.indexes:
        hashes = rows.hashes(wanted)
        order = order_of(hashes)
        arrays += [from_numpy(hashes[order], _HASH), from_numpy(order.astype(np.uint32), _ROW)]
    schema = batch_schema([array.type for array in rows.columns.values()], layout.indexes)
    return MapBody(pa.RecordBatch.from_arrays(arrays, schema=schema), layout)


def batch_schema(columns: Sequence[pa.DataType], indexes: Collection[Names], *, hashed: bool = True) -> pa.Schema:
    """The schema of a run's rows; columns go by their places, so that their names are not kept."""
    types = [*([_HASH] if hashed else []), *columns, _WEIGHT, *([_HASH, _ROW] * len(indexes))]
    return pa.schema([pa.field(str(i), type) for i, type in enumerate(types)])


def to_rows(batch: pa.RecordBatch, layout: Layout) -> Rows:
    """The rows of a batch of the layout's columns followed by the weight."""
    width = len(layout.columns)
    *columns, weights = batch.columns[: width + 1]
    return Rows(dict(zip(layout.columns, columns, strict=True)), values_of(weights, "i8"))
