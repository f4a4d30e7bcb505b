"""Rows of DataFrames brought together by hash in tasks, without passing through the driver.

    rows → cut: (slice, Arrow bytes) → exchange, sorted by slice → one slice after the other → names and counts

A slice is a range of hashes, and a partition has several. Spark sorts a partition by slice, spilling to disk if
necessary, so a task holds one slice at a time, however many rows there are. Several DataFrames can share an exchange;
those with the same slice numbers meet in them.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from viewlet.columns.hash import Hashes
from viewlet.columns.rows import Rows
from viewlet.engine.cluster.exchange import cut, pack, partition_of, unpack
from viewlet.spark.session.reused_worker import settle

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PIECES = "slice int, frame int, note binary, data binary"
_NOTES = "note binary"
_NAMES = ["slice", "frame", "note", "data"]
_ROWS, _BYTES = 1 << 18, 32 << 20
"""The rows and bytes that a task cuts at once, enough to avoid tiny pieces."""
_SLICE = 32 << 20
"""The estimated bytes of a slice, which a task holds at once."""
_MOST = 4096
"""The most slices: Spark's estimates for joins can be far too large."""
BATCH = {"spark.sql.execution.arrow.maxBytesPerBatch": str(_BYTES)}
"""Session settings with which pieces reach tasks in batches that fit into memory."""


@dataclass(frozen=True, slots=True)
class ToSlices:
    """Rows to be brought together by hash."""

    rows: Rows
    hashes: Hashes


@dataclass(frozen=True, slots=True)
class ToDriver:
    """A note that goes to the driver instead."""

    note: Any


Read = Callable[[Iterator[pa.Table]], Iterator[ToSlices | ToDriver]]
"""Turns the tables that Spark gives to a task into rows for slices and notes."""
Slice = Mapping[int, Rows]
"""The rows of a slice by frame number, ascending."""
Take = Callable[[Iterator[Slice]], Iterator[Any]]
"""Processes slices, one after the other; what it yields goes to the driver."""


def slices_for(size: int, parts: int) -> int:
    """The number of slices for a size in bytes and a number of partitions: a power of two."""
    wanted = max(parts, min(size // _SLICE, _MOST))
    return 1 << (wanted - 1).bit_length()


@dataclass(frozen=True)
class Cutting:
    """A frame to be cut into slices: their number, the first one, and the frame's own number."""

    frame: DataFrame
    read: Read
    slices: int
    first: int = 0
    number: int = 0


def take_slices(cuttings: Sequence[Cutting], take: Take, parts: int) -> list[Any]:
    """Bring rows of frames in one session together in slices, and process these in tasks; returns their notes."""
    from viewlet.spark.session.arrow_frames import collected

    cut = [c.frame.mapInArrow(CutTask(c.read, c.slices, c.first, c.number), _PIECES) for c in cuttings]
    pieces = reduce(lambda a, b: a.unionAll(b), cut).repartitionById(parts, "slice")
    slices = max(c.first + c.slices for c in cuttings)
    ordered = pieces.sortWithinPartitions("slice") if slices > parts else pieces  # one slice needs no sorting
    notes = collected(ordered.mapInArrow(SliceTask(take), _NOTES))
    return [pickle.loads(note) for note in notes["note"].to_pylist()]


@dataclass(frozen=True)
class CutTask:
    """Cuts rows into slices, for `mapInArrow`."""

    read: Read
    slices: int
    first: int = 0
    """The number of the first slice."""
    number: int = 0
    """The number of the frame."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle()
        for found in self.read(_gathered(batches)):
            if isinstance(found, ToDriver):
                yield self._pieces([0], pickle.dumps(found.note), [None])
            else:
                shares = list(cut(found.rows, partition_of(found.hashes, self.slices)))
                yield self._pieces([number for number, _ in shares], None, [pack(share) for _, share in shares])

    def _pieces(self, slices: Sequence[int], note: bytes | None, data: Sequence[bytes | None]) -> pa.RecordBatch:
        numbers = pa.array([self.first + number for number in slices], pa.int32())
        frames = pa.array([self.number] * len(slices), pa.int32())
        notes = pa.array([note] * len(slices), pa.binary())
        return pa.RecordBatch.from_arrays([numbers, frames, notes, pa.array(data, pa.binary())], names=_NAMES)


@dataclass(frozen=True)
class SliceTask:
    """Processes pieces sorted by slice and returns notes for the driver, for `mapInArrow`."""

    take: Take

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle()
        notes: list[bytes] = []
        pieces = chain.from_iterable(map(_unpacked, batches))
        slices = (found for _, own in groupby(pieces, _number) if (found := _together(own, notes)))
        for note in self.take(slices):
            yield pa.RecordBatch.from_pydict({"note": [pickle.dumps(note)]})
        if notes:
            yield pa.RecordBatch.from_pydict({"note": notes})


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches combined into fewer, larger tables."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _ROWS or size >= _BYTES:
            yield pa.Table.from_batches(waiting)
            waiting, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(waiting)


_Piece = tuple[int, int, bytes | None, bytes | None]


def _unpacked(batch: pa.RecordBatch) -> Iterator[_Piece]:
    for slice_, frame, note, data in zip(*batch.columns, strict=True):
        yield slice_.as_py(), frame.as_py(), note.as_py(), data.as_py()


def _number(piece: _Piece) -> int:
    return piece[0]


def _together(pieces: Iterable[_Piece], notes: list[bytes]) -> Slice:
    """The rows of a slice; notes among the pieces are added to `notes`."""
    rows: dict[int, list[Rows]] = {}
    for _, frame, note, data in pieces:
        if data is not None:
            rows.setdefault(frame, []).append(unpack(data))
        if note is not None:
            notes.append(note)
    return {frame: Rows.concat(rows[frame]) for frame in sorted(rows)}
