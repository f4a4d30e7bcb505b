"""A made-up order book: orders come, are executed in part or whole, or are cancelled.

The middle price follows a random walk, and new orders stand at some distance from it. Trades take the best-priced
orders, the oldest first; cancellations take any. The book stays near a given number of live orders, half of them
bids: the more there are, the fewer come and the more leave. The same seed gives the same book and messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

Integers = np.ndarray[Any, np.dtype[np.int64]]
Orders = dict[str, Integers]

TICK = 100
"""The step of prices: a cent, in hundredths of a cent."""
LOWEST, START, HIGHEST = 100_000, 250_000, 5_000_000
"""Where the random walk begins, and what it stays between."""
DISTANCE = 12
"""How many ticks from the middle a new order stands, on average."""
BROKERS = 10
COLUMNS = {
    "t": pa.int64(),
    "id": pa.int64(),
    "broker_id": pa.int32(),
    "price": pa.decimal128(8, 0),
    "volume": pa.decimal128(8, 0),
}


@dataclass(frozen=True, slots=True)
class Changes:
    """What some messages mean for one table: orders that came, that lost volume, and the keys of those that left."""

    insert: pa.Table
    upsert: pa.Table
    delete: pa.Table

    def apply(self, epoch: Any, table: str) -> None:
        """Make these changes part of an epoch."""
        for name in ("insert", "upsert", "delete"):
            rows = getattr(self, name)
            if rows.num_rows:
                getattr(epoch, name)(table, rows)


class Book:
    """An order book of about `live` orders, and the messages that change it."""

    def __init__(self, live: int, seed: int = 1) -> None:
        self.rng = np.random.default_rng(seed)
        self.clock, self.middle, self.sent = 0, START, 0
        self.sides = {"bids": Side(-1, live - live // 2, self.rng), "asks": Side(1, live // 2, self.rng)}
        times, ids, middles = self._next(live)
        is_bid = self.rng.permutation(live) < live - live // 2
        for side, mine in zip(self.sides.values(), (is_bid, ~is_bid), strict=True):
            side.live = side.new_orders(times[mine], ids[mine], np.full_like(middles[mine], self.middle))

    def initial(self) -> tuple[pa.Table, pa.Table]:
        """The bids and the asks that are in the book now."""
        bids, asks = (to_arrow(side.live) for side in self.sides.values())
        return bids, asks

    def messages(self, count: int, bids: float = 0.5) -> dict[str, Changes]:
        """What the next messages, a share of them about bids, mean for each table. No two are about one order."""
        times, ids, middles = self._next(count)
        is_bid = self.rng.random(count) < bids
        return {
            name: side.receive(times[mine], ids[mine], middles[mine])
            for (name, side), mine in zip(self.sides.items(), (is_bid, ~is_bid), strict=True)
        }

    def _next(self, count: int) -> tuple[Integers, Integers, Integers]:
        """The times, numbers and middle prices of the next messages; several may come at the same time."""
        times = self.clock + np.cumsum(self.rng.integers(0, 3, count))
        ids = np.arange(self.sent, self.sent + count)
        steps = self.rng.choice([-TICK, 0, TICK], count, p=[0.005, 0.99, 0.005])
        middles = np.clip(self.middle + np.cumsum(steps), LOWEST, HIGHEST)
        self.clock, self.middle, self.sent = int(times[-1]), int(middles[-1]), self.sent + count
        return times, ids, middles


class Side:
    """The bids (`sign` −1: the highest price is best) or the asks (+1: the lowest is)."""

    def __init__(self, sign: int, target: int, rng: np.random.Generator) -> None:
        self.sign, self.target, self.rng = sign, target, rng
        self.live: Orders = {name: np.empty(0, np.int64) for name in COLUMNS}

    def new_orders(self, times: Integers, ids: Integers, middles: Integers) -> Orders:
        """Orders at geometric distances from the middle, of log-normal volumes, from brokers with Zipf weights."""
        count, weights = len(ids), 1 / np.arange(1, BROKERS + 1)
        return {
            "t": times,
            "id": ids,
            "broker_id": self.rng.choice(BROKERS, count, p=weights / weights.sum()),
            "price": middles + self.sign * TICK * self.rng.geometric(1 / DISTANCE, count),
            "volume": np.clip(self.rng.lognormal(np.log(200), 1, count), 1, 99_999).astype(np.int64),
        }

    def receive(self, times: Integers, ids: Integers, middles: Integers) -> Changes:
        """Carry out a message for each number given; a trade or cancellation that finds no order is none."""
        fill = min(len(self.live["id"]) / max(self.target, 1), 2)
        kind = self.rng.choice(3, len(ids), p=[0.4 * (2 - fill), 0.2 * (1 + fill), 0.2 * fill])
        is_new, trades, cancellations = kind == 0, int((kind == 1).sum()), int((kind == 2).sum())
        by_rank = np.lexsort((self.live["id"], self.sign * self.live["price"]))
        traded, others = by_rank[:trades], by_rank[trades:]
        in_part = (self.rng.random(len(traded)) < 0.5) & (self.live["volume"][traded] > 1)
        cancelled = self.rng.choice(others, min(cancellations, len(others)), replace=False)
        gone = np.concatenate([traded[~in_part], cancelled])
        return self._apply(self.new_orders(times[is_new], ids[is_new], middles[is_new]), traded[in_part], gone)

    def _apply(self, new: Orders, reduced: Integers, gone: Integers) -> Changes:
        """Change the book: new orders, places of orders that lose some volume, and of those that leave."""
        left = self.rng.integers(1, self.live["volume"][reduced])
        self.live["volume"][reduced] = left
        changes = Changes(
            insert=to_arrow(new),
            upsert=to_arrow({name: values[reduced] for name, values in self.live.items()}),
            delete=to_arrow({"id": self.live["id"][gone]}),
        )
        self.live = {name: np.concatenate([np.delete(values, gone), new[name]]) for name, values in self.live.items()}
        return changes


def to_arrow(orders: Orders) -> pa.Table:
    """Orders, or their keys, with the types of the tables."""
    return pa.table({name: _typed(values, COLUMNS[name]) for name, values in orders.items()})


def _typed(values: Integers, kind: pa.DataType) -> pa.Array:
    wide = pa.decimal128(19, 0) if pa.types.is_decimal(kind) else pa.int64()  # 64-bit integers have up to 19 digits
    return pa.array(values).cast(wide).cast(kind)
