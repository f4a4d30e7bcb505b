"""Users' data in pieces of some hundred thousand rows, so that large data and streams are never wholly in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from viewlet.errors import RejectedEpoch
from viewlet.intake.to_columns import is_table, package_of, refuse_streaming

PIECE = 1 << 18
"""Rows per piece: enough to outweigh the overhead, few enough for memory."""
COLLECTED = 64 << 20
"""DataFrames up to this many bytes, by Spark's estimate, are collected at once."""


def in_pieces(table: str, data: Any) -> Iterator[Any] | None:
    """The data in pieces that can be taken in separately; None if they are small enough to be taken at once."""
    if isinstance(data, pa.Table | pa.RecordBatch):
        return _slices(data) if data.num_rows > PIECE else None
    if isinstance(data, Path):
        return _regrouped(parquet_batches(table, data))
    if isinstance(data, pa.RecordBatchReader):
        return _read(data)
    if type(data).__module__ == "pyarrow._dataset":
        return _read((data if hasattr(data, "to_reader") else data.scanner()).to_reader())
    if package_of(data) == "pandas" and hasattr(data, "iloc"):
        return _frame_slices(data) if len(data) > PIECE else None
    if package_of(data) == "pyspark" and hasattr(data, "toArrow"):
        return _from_spark(table, data)
    if isinstance(data, list | tuple | str | bytes | Mapping):
        is_long = isinstance(data, list) and (len(data) > PIECE or any(map(is_table, data[:1])))
        return _parts(iter(data)) if is_long else None
    if hasattr(data, "__arrow_c_stream__"):
        return _from_stream(data)
    return _parts(iter(data)) if isinstance(data, Iterator) else None


def count_rows(data: Any) -> int | None:
    """The number of rows, if it is known without reading them."""
    if isinstance(data, pa.Table | pa.RecordBatch):
        return int(data.num_rows)
    if isinstance(data, Path):
        import pyarrow.parquet as pq

        return sum(pq.read_metadata(file).num_rows for file in _files(data))
    is_counted = isinstance(data, list) or (package_of(data) == "pandas" and hasattr(data, "iloc"))
    return len(data) if is_counted and not any(map(is_table, data[:1])) else None


def parquet_batches(table: str, path: Path) -> Iterator[pa.RecordBatch]:
    """The rows of a Parquet file, or of all Parquet files in a folder."""
    import pyarrow.parquet as pq

    files = _files(path)
    if not files or not all(file.exists() for file in files):
        raise RejectedEpoch(f"table {table}: there is no Parquet file {path}", hint="name one, or a folder of them")
    for file in files:
        try:
            with pq.ParquetFile(file) as opened:
                yield from opened.iter_batches(batch_size=PIECE)
        except pa.ArrowInvalid as reason:
            raise RejectedEpoch(
                f"table {table}: {file} cannot be read as Parquet: {reason}",
                hint="give text files with their format: db.load(…, format='csv')",
            ) from None


def _files(path: Path) -> list[Path]:
    return sorted(path.glob("*.parquet")) if path.is_dir() else [path]


def _slices(data: pa.Table | pa.RecordBatch) -> Iterator[Any]:
    return (data.slice(start, PIECE) for start in range(0, data.num_rows, PIECE))


def _frame_slices(data: Any) -> Iterator[Any]:
    return (data.iloc[start : start + PIECE] for start in range(0, len(data), PIECE))


def _read(batches: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """A stream in pieces; an empty first batch makes its columns known even if it has no rows."""
    return _regrouped(chain([pa.RecordBatch.from_pylist([], schema=batches.schema)], batches))


def _regrouped(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches of any size regrouped into pieces."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        while count >= PIECE:
            whole = pa.Table.from_batches(waiting)
            yield whole.slice(0, PIECE)
            waiting, count = whole.slice(PIECE).to_batches(), count - PIECE
    if waiting:
        yield pa.Table.from_batches(waiting)


def _from_spark(table: str, data: Any) -> Iterator[pa.Table] | None:
    """The rows of a large DataFrame, partition by partition; None for a small one, which is faster as a whole."""
    from viewlet.spark.session.arrow_frames import streamed, without_months
    from viewlet.spark.session.handles import estimated_bytes, has_plan

    refuse_streaming(table, data)
    is_large = has_plan(data) and estimated_bytes(data) > COLLECTED
    return _regrouped(streamed(without_months(data))) if is_large else None


def _from_stream(data: Any) -> Iterator[pa.Table] | None:
    """Another library's table; None for other Arrow data, such as a column."""
    try:
        return _read(pa.RecordBatchReader.from_stream(data))
    except pa.ArrowInvalid:
        return None


def _parts(rows: Iterator[Any]) -> Iterator[Any]:
    """Single rows, or tables, as pieces."""
    for first in rows:
        if is_table(first):
            yield from chain.from_iterable(in_pieces("", part) or [part] for part in chain([first], rows))
        else:
            yield [first, *islice(rows, PIECE - 1)]
