"""Moving rows between tasks: split by partition, packed as Arrow streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from viewlet.columns.hash import Hashes
from viewlet.columns.rows import Rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Piece = tuple[int, bytes]
"""The number of a partition, and what is sent there."""
PIECES = "part int, data binary"
"""The columns of a DataFrame of pieces."""
WEIGHT = "_weight"


@dataclass(frozen=True, slots=True)
class Target:
    """Where rows go next: to the partition of some columns' hash, to every partition, or anywhere."""

    columns: tuple[str, ...] = ()
    everywhere: bool = False
    keyed: bool = False
    """Whether rows must meet on one partition even if there are no columns to hash."""


def partition_of(hashes: Hashes, parts: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The partition of each hash: its highest bits, as in `Contents.partition`; `parts` is a power of two."""
    bits = parts.bit_length() - 1
    return (hashes >> np.uint64(64 - bits)).astype(np.int64) if bits else np.zeros(len(hashes), dtype=np.int64)


def by_partition(rows: Rows, target: Target, parts: int) -> list[Piece]:
    """The rows as packed pieces for their partitions."""
    if target.everywhere:
        packed = pack(rows)
        return [(part, packed) for part in range(parts)]
    if target.columns or target.keyed:
        numbers = partition_of(rows.hashes(target.columns), parts)
    else:
        numbers = np.arange(len(rows)) * parts // max(len(rows), 1)
    return [(part, pack(piece)) for part, piece in cut(rows, numbers)]


def by_number(part: int) -> int:
    """The partition of what is already keyed by the number of its partition, for Spark's `partitionBy`."""
    return part


def cut(rows: Rows, numbers: np.ndarray[Any, np.dtype[np.int64]]) -> Iterator[tuple[int, Rows]]:
    """The rows of each number, in their original order."""
    order = np.argsort(numbers, kind="stable")
    ordered, sorted_rows = numbers[order], rows.take(order)
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    for start, end in pairwise([*starts.tolist(), len(rows)]):
        yield int(ordered[start]), sorted_rows.slice(start, end - start)


def piece_batch(pieces: Sequence[Piece]) -> pa.RecordBatch:
    """Pieces as tasks send them."""
    parts, data = [p for p, _ in pieces], [d for _, d in pieces]
    return pa.RecordBatch.from_arrays(
        [pa.array(parts, pa.int32()), pa.array(data, pa.binary())], names=["part", "data"]
    )


def piece_frame(spark: SparkSession, pieces: Sequence[Piece]) -> DataFrame:
    """Pieces that the driver sends."""
    return spark.createDataFrame(pa.Table.from_batches([piece_batch(pieces)]), PIECES)


def pack(rows: Rows) -> bytes:
    arrays = [*rows.columns.values(), pa.array(rows.weights)]
    batch = pa.RecordBatch.from_arrays(arrays, names=[*rows.names, WEIGHT])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as out:
        out.write_batch(batch)
    return sink.getvalue().to_pybytes()


def unpack(data: bytes) -> Rows:
    """The inverse of `pack`; empty bytes give no rows."""
    if not data:
        return Rows({}, np.zeros(0, dtype=np.int64))
    table = pa.ipc.open_stream(data).read_all()
    rows = Rows.of(table)
    weights = rows.columns.pop(WEIGHT).to_numpy()
    return Rows(rows.columns, weights)
