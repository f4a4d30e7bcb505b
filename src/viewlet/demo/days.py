"""The shop's days: epochs of new orders, cancellations, corrections and returns.

Every order of the first state is touched at most once, so each epoch is right on whatever came before it
without looking at the warehouse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from viewlet.demo.retail import CATEGORIES, Ints, Retail, make_lines, make_orders, make_returns, money, pick

Action = Literal["insert", "delete", "upsert"]
SIZES = (10, 1_000, 50_000)
ORDER_ROWS = 4.3
"""An order and its lines: so many rows on the average."""


@dataclass(frozen=True, slots=True)
class Change:
    """Rows for one table; a deletion names the keys alone."""

    action: Action
    table: str
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class ShopEpoch:
    """Changes that belong together, and how many rows they were meant to have."""

    size: int
    changes: tuple[Change, ...]

    @property
    def rows(self) -> int:
        return sum(change.rows.num_rows for change in self.changes)


def make_stream(retail: Retail, sizes: tuple[int, ...] = SIZES, rounds: int = 3, seed: int = 2) -> list[ShopEpoch]:
    """Epochs of all sizes in turn, in each round four of the smaller ones for one of the largest."""
    shop = _Shop(retail, np.random.default_rng(seed))
    order = [*(sizes[:-1] * 4), sizes[-1]]
    return [shop.recategorize(), *(shop.day(size) for _ in range(rounds) for size in order)]


class _Shop:
    """What the stream has used up so far: orders not yet touched, returns not yet withdrawn, the next identity."""

    def __init__(self, retail: Retail, rng: np.random.Generator) -> None:
        self.retail, self.rng = retail, rng
        self.orders, self.lines = retail.tables["orders"], retail.tables["lines"]
        returned = self.retail.tables["returns"]["order_id"].to_numpy()
        untouched = np.setdiff1d(np.arange(len(self.orders)), returned - 1)
        self.untouched = iter(rng.permutation(untouched).tolist())
        self.withdrawable = iter(rng.permutation(len(returned)).tolist())
        self.next_id = len(self.orders) + 1

    def day(self, size: int) -> ShopEpoch:
        """Some of everything that happens in a shop, in about `size` rows."""
        share = max(size / 100, 0.1)
        changes = (
            *self.sell(_some(40 * share / ORDER_ROWS)),
            *self.cancel(_some(25 * share / ORDER_ROWS)),
            *self.correct(_some(10 * share)),
            *self.take_back(_some(10 * share)),
            *self.withdraw(_some(5 * share)),
        )
        return ShopEpoch(size, changes)

    def sell(self, count: int) -> Iterator[Change]:
        """New orders with their lines."""
        ids = np.arange(self.next_id, self.next_id + count)
        self.next_id += count
        lengths = 1 + self.rng.poisson(2.3, count)
        made = make_lines(self.rng, ids, lengths, self.retail.prices)
        totals = np.add.reduceat(made.amounts, np.cumsum(lengths) - lengths)
        yield Change("insert", "orders", make_orders(self.rng, ids, len(self.retail.tables["customers"]), totals))
        yield Change("insert", "lines", made.table)

    def cancel(self, count: int) -> Iterator[Change]:
        """Orders that are taken out again, with their lines."""
        at = _take(self.untouched, count)
        spans = [np.arange(self.retail.first_line[i], self.retail.first_line[i + 1]) for i in at.tolist()]
        lines = np.concatenate([np.zeros(0, np.int64), *spans])
        yield Change("delete", "lines", _rows(self.lines.select(["order_id", "line"]), lines))
        yield Change("delete", "orders", _rows(self.orders.select(["id"]), at))

    def correct(self, count: int) -> Iterator[Change]:
        """Orders whose first line turns out to be one item more: the line and the total change together."""
        at = _take(self.untouched, count)
        first = self.retail.first_line[at]
        lines = _rows(self.lines, first)
        quantity = lines["quantity"].to_numpy().astype(np.int64)
        price = self.retail.amounts[first] // np.maximum(quantity, 1)
        amounts = self.retail.amounts[first] + price
        totals = np.array([self._total(i) for i in at.tolist()], np.int64) + price
        yield Change(
            "upsert", "lines", _set(_set(lines, "quantity", (quantity + 1).astype(np.int32)), "amount", money(amounts))
        )
        yield Change("upsert", "orders", _set(_rows(self.orders, at), "total", money(totals)))

    def _total(self, order: int) -> int:
        return int(self.retail.amounts[self.retail.first_line[order] : self.retail.first_line[order + 1]].sum())

    def take_back(self, count: int) -> Iterator[Change]:
        """New returns, of the first lines of some orders."""
        first = self.retail.first_line[_take(self.untouched, count)]
        everything = np.ones(len(first), np.bool_)
        yield Change(
            "insert",
            "returns",
            make_returns(self.rng, _rows(self.lines, first), self.retail.amounts[first], everything),
        )

    def withdraw(self, count: int) -> Iterator[Change]:
        """Returns that did not happen after all."""
        keys = self.retail.tables["returns"].select(["order_id", "line"])
        yield Change("delete", "returns", _rows(keys, _take(self.withdrawable, count)))

    def recategorize(self) -> ShopEpoch:
        """A few products move to another category: few rows, and all their lines count elsewhere."""
        products = self.retail.tables["products"]
        at = self.rng.choice(len(products), 5, replace=False)
        moved = _set(_rows(products, at), "category", pick(self.rng, CATEGORIES[::-1], len(at)))
        return ShopEpoch(10, (Change("upsert", "products", moved),))


def _some(count: float) -> int:
    return max(round(count), 1)


def _take(source: Iterator[int], count: int) -> Ints:
    """The next few of what is left."""
    return np.array([i for i, _ in zip(source, range(count), strict=False)], np.int64)


def _rows(table: pa.Table, at: Ints) -> pa.Table:
    return table.take(pa.array(at, pa.int64()))


def _set(table: pa.Table, name: str, values: Any) -> pa.Table:
    """The table with the values of a column replaced."""
    at = table.column_names.index(name)
    return table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type))
