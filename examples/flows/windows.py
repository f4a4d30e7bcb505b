"""View maintenance with windows (§3.3, §2.6): a join that follows its tables, a join by day, and a sliding window.

- `joined` is orders ⋈ payments of all time, for insertions, deletions and updates of both tables.
- `same_day` pairs the orders and payments of one day, a day after the other, by a temporal join.
- `recent` is what each customer ordered in the last three days on which there were orders.
"""

from __future__ import annotations

import datetime as dt
import tempfile
from collections import Counter
from collections.abc import Iterator
from typing import Any

import viewlet
from viewlet import flow

Row = dict[str, Any]
ORDERS = "id BIGINT, customer STRING, day DATE, amount BIGINT"
PAYMENTS = "id BIGINT, order_id BIGINT, day DATE, paid BIGINT"
DAYS = 3


def join_view() -> flow.Flow:
    """Maintains a join of tables `orders` and `payments` as table `joined`."""
    view = flow.Flow("join_view")
    view.source("orders")
    view.source("payments")
    sides = "order_id BIGINT, side STRING, customer STRING, payment BIGINT, paid BIGINT"
    pairs = flow.Output(
        "order_id BIGINT, customer STRING, payment BIGINT, paid BIGINT, _change_type STRING", table="joined"
    )
    view.stage(
        inputs={"orders": "id", "payments": "order_id"},
        outputs={"pairs": pairs},
        state=flow.State(sides, route_by="order_id"),
        runnable=flow.any_input(),
    )(join)
    return view


def join(key: int, inputs: dict[str, list[Row]], state: list[Row]) -> Iterator[tuple[str, Any]]:
    """The pairs of a key after its changes, less those before."""
    orders = Counter(row["customer"] for row in state if row["side"] == "order")
    payments = Counter((row["payment"], row["paid"]) for row in state if row["side"] == "payment")
    before = pairs(orders, payments)
    for row in inputs["orders"]:
        orders[row["customer"]] += sign(row)
    for row in inputs["payments"]:
        payments[row["id"], row["paid"]] += sign(row)
    for pair, n in (pairs(orders, payments) - before).items():
        yield from [("pairs", (key, *pair, "insert"))] * n
    for pair, n in (before - pairs(orders, payments)).items():
        yield from [("pairs", (key, *pair, "delete"))] * n
    yield from (("state", (key, "order", customer, None, None)) for customer in orders.elements())
    yield from (("state", (key, "payment", None, *payment)) for payment in payments.elements())


def pairs(orders: Counter[str], payments: Counter[tuple[int, int]]) -> Counter[tuple[str, int, int]]:
    return Counter({(o, *p): m * n for o, m in orders.items() for p, n in payments.items()})


def sign(row: Row) -> int:
    return -1 if row["_change_type"] in ("delete", "update_preimage") else 1


def same_day() -> flow.Flow:
    """Pairs two flows day by day; days come in order, and a day is complete when the next one begins."""
    days = flow.Flow("same_day")
    days.source("orders", schema=ORDERS)
    days.source("payments", schema=PAYMENTS)
    matched = flow.Output("day DATE, order_id BIGINT, payment BIGINT", table="matched")
    days.stage(
        inputs={
            "orders": flow.Input("id", framing=flow.by_day("day")),
            "payments": flow.Input("order_id", framing=flow.by_day("day")),
        },
        outputs={"matched": matched},
        runnable=flow.temporal_join(),
    )(match)
    return days


def match(key: int, inputs: dict[str, list[Row]], state: None) -> Iterator[tuple[dt.date, int, int]]:
    for order in inputs["orders"]:
        for payment in inputs["payments"]:
            yield order["day"], order["id"], payment["id"]


def recent() -> flow.Flow:
    """A window of the last days that slides by a day: the state holds the days that are in it."""
    window = flow.Flow("recent")
    window.source("orders", schema=ORDERS)
    sums = flow.Output("day DATE, customer STRING, amount BIGINT", table="recent_sums", primary_key=("day", "customer"))
    window.stage(
        inputs={"orders": flow.Input((), framing=flow.by_day("day"))},
        outputs={"sums": sums},
        state=flow.State("day DATE, customer STRING, amount BIGINT", order_by="day"),
    )(slide)
    return window


def slide(key: tuple[()], inputs: dict[str, list[Row]], state: list[Row]) -> Iterator[tuple[str, Any]]:
    today = inputs["orders"][0]["day"]
    sums = {(row["day"], row["customer"]): row["amount"] for row in state}
    for row in inputs["orders"]:
        sums[today, row["customer"]] = sums.get((today, row["customer"]), 0) + row["amount"]
    days = sorted({day for day, _ in sums})[-DAYS:]
    total: Counter[str] = Counter()
    for (day, customer), amount in sums.items():
        if day in days:
            yield "state", (day, customer, amount)
            total[customer] += amount
    for customer, amount in total.items():
        yield "sums", (today, customer, amount)


def main() -> None:
    """A join that follows its tables, and a window that slides by a day."""
    day = dt.date(2026, 1, 1)
    with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder) as db:
        db.create_table("orders", ORDERS, primary_key="id")
        db.create_table("payments", PAYMENTS, primary_key="id")
        db.create_flow(join_view())
        db.create_flow(recent())
        db.insert("orders", [(1, "ann", day, 50), (2, "bob", day, 20)])
        db.insert("payments", [(7, 1, day, 30), (8, 1, day, 20), (9, 2, day, 20)])
        db.run_flow("join_view")
        db.delete("payments", [(8,)])
        db.run_flow("join_view")
        print("joined:", sorted(db.table("joined").rows()))
        for number in range(5):
            db.run_flow("recent", {"orders": [(number, "ann", day + dt.timedelta(days=number), 10**number)]})
        print("the last days of ann:", [amount for _, _, amount in sorted(db.table("recent_sums").rows())])


if __name__ == "__main__":
    main()
