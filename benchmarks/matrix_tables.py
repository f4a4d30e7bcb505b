"""Matrix programs in a warehouse: what a durable epoch of changed rows costs, beside reading the tables into NumPy.

Least squares over a table by its key, and over a join as sums that SQL keeps; powers of a matrix whose rows are arrays.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import viewlet
from benchmarks.measure import measured, say, timed
from viewlet import matrix
from viewlet.matrix import Wide, models

RANDOM = np.random.default_rng(1)
TERMS = [f"x{i}" for i in range(8)]
SHOPS = 100


@dataclass
class Case:
    """A program of a warehouse, rows that replace others by their keys, and what NumPy runs in its place."""

    name: str
    table: str
    rows: Callable[[int], pa.Table]
    scratch: Callable[[], Any]
    counts: tuple[int, ...] = (1, 100, 1000)
    """Rows of an epoch."""


def least_squares(X: Any, y: Any) -> Any:
    return np.linalg.solve(X.T @ X, X.T @ y)


def regressions(db: viewlet.Database, rows: int) -> Iterator[Case]:
    """The same table twice: by its rows, and joined with another as sums."""
    columns = ", ".join(f"{x} DECIMAL(8,2)" for x in TERMS)
    db.create_table("sales", f"id BIGINT, shop INT, {columns}, units INT", primary_key="id", rows=sales(rows, rows))
    db.create_table("shops", "shop INT, size INT", primary_key="shop", rows=[(i, i % 7) for i in range(SHOPS)])
    program = matrix.program(models.ols, X=("sale", "term"), y=("sale", 1))
    db.create_matrix("by_key", program, X=Wide("sales", TERMS, row="id"), y=Wide("sales", "units", row="id"))
    yield Case(
        f"least squares by key, {rows:,} × {len(TERMS)}",
        "sales",
        lambda count: sales(count, rows),
        lambda: least_squares(*read_sales(db)[:2]),
    )
    db.drop("by_key")
    joined = f"SELECT {', '.join(TERMS)}, size, units FROM sales JOIN shops USING (shop)"
    db.create_matrix("by_sums", program, X=Wide(joined, [*TERMS, "size"]), y=Wide(joined, "units"))
    yield Case(
        f"least squares of a join as sums, {rows:,} × {len(TERMS) + 1}",
        "sales",
        lambda count: sales(count, rows),
        lambda: read_and_join(db),
    )
    db.drop("by_sums_moments", cascade=True)


def read_sales(db: viewlet.Database) -> tuple[Any, Any, Any]:
    """The predictors, the response, and the shops."""
    table = db.table("sales").arrow()
    X = np.column_stack([table[x].cast(pa.float64()).to_numpy() for x in TERMS])
    return X, table["units"].to_numpy().astype(float), table["shop"].to_numpy()


def read_and_join(db: viewlet.Database) -> Any:
    X, y, shop = read_sales(db)
    sizes = dict(db.table("shops").rows())
    return least_squares(np.column_stack([X, [sizes[i] for i in shop.tolist()]]), y)


def sales(count: int, among: int) -> pa.Table:
    """Sales with other values, under some of the keys."""
    keys = np.arange(count) if count == among else RANDOM.choice(among, size=count, replace=False)
    hundredths = {x: pa.array(RANDOM.integers(-300, 300, size=count)) for x in TERMS}
    scaled = {x: v.cast(pa.decimal128(20, 0)).cast(pa.decimal128(8, 2)) for x, v in hundredths.items()}
    shops, units = (RANDOM.integers(most, size=count).astype(np.int32) for most in (SHOPS, 50))
    return pa.table({"id": keys.astype(np.int64), "shop": shops, **scaled, "units": units})


def power(db: viewlet.Database, size: int) -> Iterator[Case]:
    """A¹⁶, of which the table shows the sum."""
    A = RANDOM.normal(size=(size, size)) / np.sqrt(size)
    db.create_table("a", "i INT, entries ARRAY<DOUBLE>", primary_key="i", rows=vectors(np.arange(size), A))
    program = matrix.program(lambda A: {"total": np.sum(np.linalg.matrix_power(A, 16))}, A=(size, size))
    db.create_matrix("power", program, A=Wide("a", "entries", row="i"))

    def changed(count: int) -> pa.Table:
        at = RANDOM.choice(size, size=count, replace=False)
        return vectors(at, A[at - 1])

    yield Case(f"A¹⁶, n = {size:,}", "a", changed, lambda: np.linalg.matrix_power(read_matrix(db), 16), (1, 10, 100))


def read_matrix(db: viewlet.Database) -> Any:
    table = db.table("a").arrow().sort_by("i")
    return table["entries"].combine_chunks().flatten().to_numpy().reshape(len(table), -1)


def vectors(at: Any, rows: Any) -> pa.Table:
    kind = pa.list_(pa.field("element", pa.float64()))
    ends = pa.array(np.arange(0, rows.size + 1, rows.shape[1]), pa.int32())
    arrays = pa.ListArray.from_arrays(ends, pa.array(rows.ravel()), type=kind)
    return pa.table({"i": pa.array(at.astype(np.int32)), "entries": arrays})


def run(db: viewlet.Database, case: Case, times: int) -> Iterator[list[str]]:
    """A line for each size of an epoch."""
    scratch = statistics.median(measured(lambda: timed(case.scratch), min(times, 3)))
    for count in case.counts:
        say(f"{case.name}: {count:,} rows")
        spent = statistics.median(measured(partial(epoch, db, case, count), times))
        yield [case.name, f"{count:,}", f"{scratch:,.1f}", f"{spent:,.1f}", f"{scratch / spent:,.1f}"]


def epoch(db: viewlet.Database, case: Case, count: int) -> float:
    """What an epoch of so many rows takes, in milliseconds, without making them."""
    rows = case.rows(count)
    return timed(lambda: db.upsert(case.table, rows))


def in_warehouse(rows: int, size: int, times: int) -> Iterator[list[str]]:
    """A line for each program and size of an epoch."""
    with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder) as db:
        for kind in (regressions(db, rows), power(db, size)):
            for case in kind:
                yield from run(db, case, times)
