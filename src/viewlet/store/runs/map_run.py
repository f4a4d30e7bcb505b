"""The body of a map's run: distinct rows sorted by the hash of the key, followed by the sorted hashes of each index.

    _hash ascending | columns … | _weight | _hash_0 ascending, _row_0 | _hash_1 ascending, _row_1 | … | _fingerprint

`_row_i` is the row of each hash of index i. `_fingerprint`, the hash of the whole row, is present if the layout says
so. Columns are addressed by position, so a user's column may have any name. In a file, columns are in their stored form
(narrow.py), and only the first halves of hashes are kept: the second halves are computed from the columns of the few
rows found. A look-up returns all rows with the same hash, and its caller compares the keys; a caller that does so
anyway can do without the second halves.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Positions, from_numpy, values_of
from viewlet.columns.hash import Hashes, hash_rows, order_of
from viewlet.columns.parallel import MANY, in_parallel
from viewlet.columns.rows import Rows, Weights
from viewlet.store.access.search import StoredHashes, find
from viewlet.store.runs.add_rows import add_together
from viewlet.store.runs.layout import Layout, Names
from viewlet.store.runs.narrow import StoredColumns, as_numbers, stored_numbers

if TYPE_CHECKING:
    from viewlet.store.access.gathered import Gathered
    from viewlet.store.access.ranges import RangeIndex

Span = tuple[int, int]
_HASH, _WEIGHT, _ROW, _FINGERPRINT = pa.uint64(), pa.int64(), pa.uint32(), pa.binary(8)  # the last is stored whole


class MapBody:
    """An open run of a map: NumPy views of its hashes, and its rows.

    `ranges` caches its range indexes, `gathered` its hashes merged with those of later runs.
    """

    __slots__ = ("_fingerprints", "_hashes", "_layout", "_rows_of", "batch", "gathered", "ranges", "rows")

    def __init__(self, batch: pa.RecordBatch, layout: Layout, kinds: Sequence[pa.DataType] | None = None) -> None:
        """`kinds` are the types of the layout's columns if the batch has them in stored form."""
        width, count = len(layout.columns), len(layout.lookups)
        at = [0, *(width + 2 + 2 * i for i in range(count - 1))]
        self.batch, self._layout = batch, layout
        self._hashes: list[StoredHashes] = [_stored_hashes(batch.column(i)) for i in at]
        self._rows_of = [stored_numbers(batch.column(i + 1)) for i in at[1:]]
        self._fingerprints = values_of(batch.column(width + 2 * count), "u8") if layout.fingerprints else None
        self.rows = StoredColumns(batch.select(list(range(1, width + 2))), None if kinds is None else [*kinds, _WEIGHT])
        self.ranges: dict[tuple[Names, str, Span], RangeIndex] = {}
        self.gathered: Gathered | None = None

    def __len__(self) -> int:
        return len(self._hashes[0])

    def as_rows(self, layout: Layout) -> Rows:
        """All rows in hash order; they know their key hashes if those are stored whole."""
        rows = self.piece((0, len(self)), layout)
        if is_whole(self._hashes[0]):
            rows.learn(layout.key, self._hashes[0])
        return rows

    def piece(self, span: Span, layout: Layout) -> Rows:
        """The rows of a span; they know their fingerprints if those are stored."""
        rows = to_rows(self.rows.slice(*span), layout)
        if self._fingerprints is not None:
            rows.learn_fingerprints(layout.plain, self._fingerprints[slice(*span)])
        return rows

    @property
    def fingerprints(self) -> Hashes:
        """The fingerprint of each row, over the columns that identify rows."""
        assert self._fingerprints is not None, f"no fingerprints are kept of {self._layout}"
        return self._fingerprints

    @property
    def has_whole_hashes(self) -> bool:
        """Whether key hashes are stored whole, and need not be computed."""
        return is_whole(self._hashes[0])

    def weights(self, span: Span) -> Weights:
        return values_of(self.rows.column(len(self._layout.columns), *span), "i8")

    def hashes(self, span: Span, lookup: int = 0) -> Hashes:
        """The hash of each row of a span, over the columns of a look-up."""
        start, stop = span
        if lookup == 0 and is_whole(self._hashes[0]):
            return self._hashes[0][start:stop]
        return hash_rows(self.rows.slice(start, stop, self._places(lookup)).columns, stop - start)

    def hashes_at(self, at: Positions, lookup: int = 0) -> Hashes:
        """The hash of each row at the given positions, over the columns of a look-up."""
        if lookup == 0 and is_whole(self._hashes[0]):
            return self._hashes[0][at]
        return hash_rows(self.rows.take(at, self._places(lookup)).columns, len(at))

    def first_halves(self, span: Span) -> np.ndarray[Any, np.dtype[np.uint32]]:
        """The first half of the key hash of each row of a span."""
        return _first_halves(self._hashes[0][slice(*span)])

    def span(self, part: tuple[int, int] | None) -> Span:
        """The rows whose key hash is in the i-th of n equal ranges."""
        if part is None:
            return 0, len(self)
        i, n = part
        return self._place((i << 64) // n), len(self) if i + 1 == n else self._place(((i + 1) << 64) // n)

    def _place(self, least: int) -> int:
        """The first row whose key hash is at least `least`."""
        hashes = self._hashes[0]
        if is_whole(hashes):
            return int(hashes.searchsorted(np.uint64(least)))
        start, stop = (int(hashes.searchsorted(np.uint32(least >> 32), side)) for side in ("left", "right"))
        return start + int(self.hashes((start, stop)).searchsorted(np.uint64(least)))

    def find(
        self, lookup: int, probes: Hashes, span: Span, *, loosely: bool = False
    ) -> tuple[Positions, Positions] | None:
        """Which probes match which rows of the span, by the hashes of a look-up; None if none do.

        `loosely`: matches may include false ones, which the caller detects by comparing the columns.
        """
        found = self._find(lookup, probes, span)
        if found is None or loosely or is_whole(self._hashes[lookup]):
            return found
        which, at = found
        same = self.hashes_at(at, lookup) == probes[which]
        if same.all():
            return found
        return (which[same], at[same]) if same.any() else None

    def _find(self, lookup: int, probes: Hashes, span: Span) -> tuple[Positions, Positions] | None:
        """Which probes match which rows of the span, by the stored halves or whole hashes."""
        start, stop = span
        hashes = self._hashes[lookup] if lookup else self._hashes[0][start:stop]
        found = find(hashes, probes if is_whole(hashes) else _first_halves(probes))
        if found is None:
            return None
        if lookup == 0:
            return (found[0], found[1] + start) if start else found
        which, at = found[0], as_numbers(self._rows_of[lookup - 1][found[1]])
        if start == 0 and stop == len(self):
            return which, at
        inside = (at >= start) & (at < stop)
        return (which[inside], at[inside]) if inside.any() else None

    def _places(self, lookup: int) -> list[int]:
        return [self._layout.columns.index(name) for name in self._layout.lookups[lookup]]


def is_whole(hashes: StoredHashes) -> TypeGuard[Hashes]:
    """Whether hashes are stored whole, not just their first halves."""
    return hashes.itemsize == _HASH.bit_width // 8


def _stored_hashes(array: pa.Array) -> StoredHashes:
    return values_of(array, "u8" if array.type == _HASH else "u4")


def _first_halves(hashes: StoredHashes) -> np.ndarray[Any, np.dtype[np.uint32]]:
    return (hashes >> np.uint64(32) if is_whole(hashes) else hashes).astype(np.uint32, copy=False)


def spread(first: Positions, counts: Positions) -> Positions:
    """For each of `first`, as many consecutive numbers from there as its count says, concatenated."""
    ends = np.cumsum(counts)
    return np.repeat(first - ends + counts, counts) + np.arange(ends[-1])


def build(rows: Rows, layout: Layout, hashes: Hashes | None = None) -> MapBody | None:
    """The run that holds these rows, or None if they cancel out; `hashes` are those of the key, if known."""
    rows = rows.select(layout.columns)
    rows, ordered = add_together(rows, rows.hashes(layout.key) if hashes is None else hashes, layout)
    if not len(rows):
        return None
    arrays: list[Any] = [from_numpy(ordered, _HASH), *rows.columns.values(), from_numpy(rows.weights, _WEIGHT)]
    for index in (in_parallel if len(rows) >= MANY else map)(partial(_index, rows), layout.indexes):
        arrays += index
    if layout.fingerprints:
        arrays.append(from_numpy(rows.fingerprints(layout.plain), _FINGERPRINT))
    schema = batch_schema([array.type for array in rows.columns.values()], layout)
    return MapBody(pa.RecordBatch.from_arrays(arrays, schema=schema), layout)


def _index(rows: Rows, wanted: Names) -> tuple[pa.Array, pa.Array]:
    """The sorted hashes of rows over some columns, and the row of each."""
    hashes = rows.hashes(wanted)
    order = order_of(hashes)
    return from_numpy(hashes[order], _HASH), from_numpy(order.astype(np.uint32), _ROW)


def batch_schema(columns: Sequence[pa.DataType], layout: Layout, *, hashed: bool = True) -> pa.Schema:
    """The schema of a run's rows; columns are named by position, since their names are not stored."""
    types = [*([_HASH] if hashed else []), *columns, _WEIGHT, *([_HASH, _ROW] * len(layout.indexes))]
    types += [_FINGERPRINT] if layout.fingerprints else []
    return pa.schema([pa.field(str(i), type) for i, type in enumerate(types)])


def to_rows(batch: pa.RecordBatch, layout: Layout) -> Rows:
    """The rows of a batch that has the layout's columns followed by the weight."""
    width = len(layout.columns)
    *columns, weights = batch.columns[: width + 1]
    return Rows(dict(zip(layout.columns, columns, strict=True)), values_of(weights, "i8"))
