"""Ingests micro-batches of Spark's Structured Streaming as epochs, each exactly once.

Spark repeats a batch, with the same number, if it does not know that the batch was ingested. The number of a stream's
last batch is part of the epoch that ingested it, so repeated batches are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from viewlet.columns.rows import Rows
from viewlet.store import Layout, Snapshot, Transaction
from viewlet.warehouse.epoch.open_epoch import open_epoch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from viewlet.warehouse.warehouse import Warehouse

BAG = "streams.positions"
TYPES: dict[str, pa.DataType] = {"stream": pa.string(), "name": pa.string(), "batch": pa.int64()}
LAYOUT = Layout(columns=tuple(TYPES), key=("stream", "name"))


def batch_writer(warehouse: Warehouse, table: str, stream: str, *, upsert: bool) -> Callable[[DataFrame, int], None]:
    """A function for `foreachBatch` that ingests a stream's batches into a table."""
    name = warehouse.catalog.table(table).name

    def take(rows: DataFrame, batch: int) -> None:
        with warehouse.writing():
            last = last_batch(warehouse.store.snapshot(), stream, name)
            if last is None or batch > last:
                with open_epoch(warehouse, partial(_advance, stream, name, last, batch)) as epoch:
                    (epoch.upsert if upsert else epoch.insert)(name, rows)

    return take


def last_batch(snapshot: Snapshot, stream: str, name: str) -> int | None:
    """The number of a stream's last batch in a table."""
    if not snapshot.has(BAG):
        return None
    rows = snapshot.contents(BAG).consolidated().arrow().to_pylist()
    return next((row["batch"] for row in rows if (row["stream"], row["name"]) == (stream, name)), None)


def _advance(stream: str, name: str, last: int | None, batch: int, transaction: Transaction) -> Mapping[str, Any]:
    """Record the number of the batch in its commit."""
    batches = [batch] if last is None else [batch, last]
    columns = [[stream] * len(batches), [name] * len(batches), batches]
    arrays = {c: pa.array(values, kind) for (c, kind), values in zip(TYPES.items(), columns, strict=True)}
    transaction.append(BAG, Rows(arrays, np.array([1, -1][: len(batches)], dtype=np.int64)), LAYOUT)
    return {"stream": {"name": stream, "batch": batch}}
