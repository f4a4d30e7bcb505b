"""The bodies of a table's runs: Parquet files of inserted or of deleted rows, and recent rows in Arrow.

A row that occurs twice is stored twice, so that Spark can read the files directly. `_hash` is the hash of the whole
row, by which a deletion finds the row that it deletes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from viewlet.columns.arrays import combine, from_numpy, values_of
from viewlet.columns.hash import Hashes
from viewlet.columns.rows import Rows
from viewlet.store.runs.layout import Layout, Names
from viewlet.store.runs.map_run import to_rows
from viewlet.store.runs.runs import ROW_GROUP, Run


def with_sign(rows: Rows, sign: int) -> Rows:
    """The inserted (+1) or deleted (−1) rows, repeated by their weight, each of weight one."""
    picked = rows.filter(rows.weights * sign > 0)
    return picked.weighted(picked.weights * sign).expanded()


def net(rows: Rows) -> Rows:
    """The rows without those that cancel out, which must differ in sign."""
    if not len(rows) or rows.weights.min() > 0 or rows.weights.max() < 0:
        return rows
    return rows.consolidate()


def recent_batch(rows: Rows, layout: Layout) -> pa.RecordBatch | None:
    """Rows as a batch with weights +1 and −1; None if there are none."""
    once = bool((np.abs(rows.weights) == 1).all())
    signed = rows if once else Rows.concat([with_sign(rows, 1), with_sign(rows, -1).negated()])
    if not len(signed):
        return None
    arrays: list[Any] = [*(signed[name] for name in layout.columns), from_numpy(signed.weights, pa.int64())]
    return pa.RecordBatch.from_arrays(arrays, names=[*layout.columns, "_weight"])


def parquet_table(rows: Rows, layout: Layout) -> pa.Table:
    """Rows as written to Parquet: their columns and the hash of the whole row."""
    hashes = from_numpy(rows.hashes(layout.columns).view(np.int64), pa.int64())
    return pa.table({**{name: rows[name] for name in layout.columns}, layout.row_hash: hashes})


def read_rows(run: Run) -> Rows:
    """All rows of a table's run, with weights."""
    if run.ref.is_recent:
        return to_rows(run.body, run.layout)
    table = _file(run).read(columns=list(run.layout.columns))
    columns = {name: combine(table.column(name)) for name in run.layout.columns}
    return Rows(columns, np.full(run.ref.rows, run.ref.sign, dtype=np.int64))


def read_batches(run: Run, columns: Names, size: int) -> Iterator[Rows]:
    """Some columns of a Parquet run's rows, in pieces; the hash column may be among them."""
    for batch in _file(run).iter_batches(batch_size=size, columns=list(columns)):
        yield Rows.of(batch.select(list(columns)), np.full(batch.num_rows, run.ref.sign, dtype=np.int64))


def read_tables(run: Run) -> Iterator[pa.Table]:
    """The rows of a Parquet run as in the file, including hashes, in pieces."""
    for batch in _file(run).iter_batches(batch_size=ROW_GROUP):
        yield pa.Table.from_batches([batch])


def read_hashes(run: Run) -> Hashes:
    """The hashes of all rows of a table's run."""
    if run.ref.is_recent:
        return read_rows(run).hashes()
    column = combine(_file(run).read(columns=[run.layout.row_hash]).column(0))
    return values_of(column, "u8")


def _file(run: Run) -> pq.ParquetFile:
    return pq.ParquetFile(pa.BufferReader(run.body))
