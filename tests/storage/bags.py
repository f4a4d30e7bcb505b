"""Small bags of a store, for the tests of it: layouts, rows from Python values, rows as a dictionary."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.rows import Rows
from viewlet.store import Layout, Limits, Store

TYPES = {"k": pa.int64(), "v": pa.string()}
MAP = Layout(("k", "v"), ("k",), indexes=(("v",),))
SUMS = Layout(("k", "s"), ("k",), sums=("s",))
TABLE = Layout(("k", "v"), (), form="table")
FEED = Layout(("k", "v"), ("k",), feed=True)
TINY = Limits(inline_bytes=3_000, segment_bytes=8_000, first_level_rows=4, commit_merge_rows=40, recent_rows=30)


def make(weights: list[int] | None = None, **columns: Any) -> Rows:
    """Rows of some Python values, of weight one unless weights are given."""
    arrays = {n: v if isinstance(v, pa.Array) else pa.array(v) for n, v in columns.items()}
    size = len(next(iter(arrays.values())))
    return Rows(arrays, np.array([1] * size if weights is None else weights, dtype=np.int64))


def bag(rows: Rows) -> Counter[Any]:
    """Rows as a dictionary from contents to weight."""
    result: Counter[Any] = Counter()
    for row, weight in zip(
        zip(*(c.to_pylist() for c in rows.columns.values()), strict=True), rows.weights, strict=True
    ):
        result[row] += int(weight)
    return Counter({row: weight for row, weight in result.items() if weight})


def commit(store: Store, name: str, rows: Rows, layout: Layout) -> int:
    transaction = store.begin()
    transaction.append(name, rows, layout)
    return transaction.commit({})
