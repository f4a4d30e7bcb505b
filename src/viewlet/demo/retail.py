"""Retail data, made from a seed: the same seed gives the same rows on every machine.

Some products sell far better than others, some customers buy far more often, sales rise towards the end of
the year, one customer in twelve has no segment and one order in thirty no customer (a guest's).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import from_numpy

Ints = np.ndarray[Any, np.dtype[np.int64]]
MONEY = pa.decimal128(12, 2)
REGIONS = ("North", "South", "East", "West", "Overseas")
SEGMENTS = ("Consumer", "Home office", "Small business", "Corporate")
CATEGORIES = (
    "Books", "Garden", "Kitchen", "Lighting", "Music", "Office", "Outdoor", "Pets", "Sport", "Tools", "Toys", "Travel",
)  # fmt: skip
REASONS = ("damaged", "late", "wrong item", "changed mind")
FIRST_DAY = (date(2023, 1, 1) - date(1970, 1, 1)).days
DAYS = 730


@dataclass(frozen=True, slots=True)
class Retail:
    """The first state of the warehouse: a table for each name, and where each order's lines begin."""

    tables: dict[str, pa.Table]
    first_line: Ints
    """Of the i-th order, the position of its first line; one more entry than there are orders."""
    amounts: Ints
    """Of each line, its amount in cents."""
    prices: Ints
    """Of each product, its price in cents."""


def make_retail(lines: int = 1_000_000, seed: int = 1) -> Retail:
    """A retail data set with about this many order lines."""
    rng = np.random.default_rng(seed)
    count = max(lines * 3 // 10, 1)
    customers, products = max(count // 15, 10), max(count // 150, 24)
    prices = np.round(np.exp(rng.normal(3.2, 0.9, products)) * 100).astype(np.int64) + 99
    lengths = 1 + rng.poisson(lines / count - 1, count)
    first_line = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    made = make_lines(rng, np.arange(1, count + 1), lengths, prices)
    totals = np.add.reduceat(made.amounts, first_line[:-1])
    tables = {
        "customers": _customers(rng, customers),
        "products": _products(rng, prices),
        "orders": make_orders(rng, np.arange(1, count + 1), customers, totals),
        "lines": made.table,
        "returns": make_returns(rng, made.table, made.amounts, rng.random(len(made.amounts)) < 0.03),
    }
    return Retail(tables, first_line, made.amounts, prices)


def money(cents: Ints) -> pa.Array:
    """Amounts in cents as DECIMAL(12,2): the 128-bit integers that Arrow keeps."""
    return from_numpy(np.stack([cents, cents >> 63], axis=1), MONEY)


def pick(rng: np.random.Generator, words: tuple[str, ...], count: int, missing: float = 0.0) -> pa.Array:
    """Words, some more often than others; a share of them missing."""
    weights = 1.0 / np.arange(1, len(words) + 1) ** 0.6
    at = rng.choice(len(words), count, p=weights / weights.sum())
    mask = rng.random(count) < missing
    return pa.DictionaryArray.from_arrays(pa.array(at, pa.int32(), mask=mask), pa.array(words)).cast(pa.string())


def skewed(rng: np.random.Generator, among: int, count: int, skew: float) -> Ints:
    """Numbers from 1 to `among`, the low ones far more often."""
    return 1 + np.floor(among * rng.random(count) ** skew).astype(np.int64)


def dates(rng: np.random.Generator, count: int) -> pa.Array:
    """Days of two years, more of them late in a year."""
    year = rng.integers(0, 2, count) * 365
    day = np.floor(365 * rng.random(count) ** 0.75).astype(np.int64)
    return from_numpy((FIRST_DAY + year + day).astype(np.int32), pa.date32())


def _customers(rng: np.random.Generator, count: int) -> pa.Table:
    ids = np.arange(1, count + 1)
    return pa.table({
        "id": ids,
        "name": pa.array([f"Customer {i:06d}" for i in ids.tolist()]),
        "region": pick(rng, REGIONS, count),
        "segment": pick(rng, SEGMENTS, count, missing=1 / 12),
        "joined": dates(rng, count),
    })  # fmt: skip


def _products(rng: np.random.Generator, prices: Ints) -> pa.Table:
    ids = np.arange(1, len(prices) + 1)
    category = pick(rng, CATEGORIES, len(prices))
    names = pa.array([f"{c} item {i:05d}" for c, i in zip(category.to_pylist(), ids.tolist(), strict=True)])
    return pa.table({"id": ids, "name": names, "category": category, "price": money(prices)})


def make_orders(rng: np.random.Generator, ids: Ints, customers: int, totals: Ints) -> pa.Table:
    """Orders with these identities and totals."""
    guest = rng.random(len(ids)) < 1 / 30
    return pa.table({
        "id": ids,
        "customer": pa.array(skewed(rng, customers, len(ids), 1.8), mask=guest),
        "region": pick(rng, REGIONS, len(ids)),
        "day": dates(rng, len(ids)),
        "total": money(totals),
    })  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lines:
    """Order lines, and their amounts in cents."""

    table: pa.Table
    amounts: Ints


def make_lines(rng: np.random.Generator, orders: Ints, lengths: Ints, prices: Ints) -> Lines:
    """So many lines for each order, numbered from 1."""
    count = int(lengths.sum())
    starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    product = skewed(rng, len(prices), count, 2.5)
    quantity = rng.geometric(0.55, count)
    amounts = prices[product - 1] * quantity
    table = pa.table({
        "order_id": np.repeat(orders, lengths),
        "line": (np.arange(count) - starts + 1).astype(np.int32),
        "product": product,
        "quantity": quantity.astype(np.int32),
        "amount": money(amounts),
    })  # fmt: skip
    return Lines(table, amounts)


def make_returns(rng: np.random.Generator, lines: pa.Table, amounts: Ints, chosen: np.ndarray[Any, Any]) -> pa.Table:
    """Returns of the chosen lines; the refund is the amount, or half of it."""
    at = np.flatnonzero(chosen)
    taken = lines.take(pa.array(at))
    refunds = amounts[at] // rng.integers(1, 3, len(at))
    return pa.table({
        "order_id": taken["order_id"],
        "line": taken["line"],
        "day": dates(rng, len(at)),
        "reason": pick(rng, REASONS, len(at), missing=0.2),
        "refund": money(refunds),
    })  # fmt: skip
