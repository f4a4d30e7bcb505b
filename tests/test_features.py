"""Every feature of SQL that docs/sql.md lists, shown: a view is made, the tables change, Spark SQL agrees.

The page is made from what is seen here. To rewrite it after a change that was meant: `make docs-sql`, and read the
difference.
"""

from __future__ import annotations

import datetime as dt
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.features import FAMILIES
from tests.features.page import PAGE, row, section, sections
from viewlet import Database

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ORDERS = (
    "id BIGINT, cust INT, product STRING, qty INT, price DECIMAL(10,2), weight DOUBLE, day DATE, ts TIMESTAMP, tags ARRAY<INT>, "
    "attrs MAP<STRING, INT>, ship STRUCT<city: STRING, zip: INT>, lines ARRAY<STRUCT<x: INT, y: STRING>>, doc STRING, PRIMARY KEY (id)"
)  # fmt: skip
CUSTOMERS = "cust INT, name STRING, region STRING, vip BOOLEAN"
TARGETS = "product STRING, low INT, high INT"


def order(i: int, shift: int = 0) -> tuple[Any, ...]:
    """An order; some values are NULL, and few differ from the others."""
    day = dt.date(2024, 2, 25 + i % 4)
    time = dt.datetime(2024, 2, 28, i % 24, 7 * i % 60, tzinfo=dt.UTC)
    lines = [{"x": i % 3, "y": "a"}, None][: i % 3]
    doc = f'{{"x": {i % 5}, "y": "b"}}' if i % 4 else "{broken"
    return (
        i, None if i % 11 == 0 else (i + shift) % 7, f"p{(i + shift) % 4}", None if i % 9 == 0 else (i * 5 + shift) % 8,
        Decimal(i * 137 % 1000) / 100, i % 6 / 4, day, time, None if i % 7 == 0 else [i % 3, None, 2][: i % 4],
        {"a": i % 3, "b": None}, {"city": f"c{i % 3}", "zip": i % 2}, lines, doc,
    )  # fmt: skip


def customer(i: int) -> tuple[Any, ...]:
    return (None if i == 5 else i, f"n{i}", f"r{i % 2}", i % 2 == 0)


@pytest.fixture
def db(tmp_path: Path, spark: Any) -> Any:
    """A warehouse with a few dozen orders."""
    with Database(tmp_path / "w", spark=spark, engine="inproc") as made:
        for name, schema in (("orders", ORDERS), ("customers", CUSTOMERS), ("targets", TARGETS)):
            made.create_table(name, schema)
        made.insert("orders", [order(i) for i in range(60)])
        made.insert("customers", [customer(i) for i in range(6)])
        made.insert("targets", [("p0", 1, 3), ("p1", 2, 6), ("p1", 4, 4), (None, 7, 9)])
        yield made


def change(db: Database) -> None:
    """Insertions, deletions and updates of every table, in one epoch."""
    with db.epoch() as e:
        e.upsert("orders", [order(i, shift=3) for i in range(5, 9)])
        e.insert("orders", [order(60), order(61)])
        e.delete("orders", [(20,), (21,)])
        e.insert("customers", [customer(9), customer(2)])
        e.delete("customers", [customer(5), customer(0)])
        e.insert("targets", [("p2", 0, 2)])
        e.delete("targets", [("p1", 4, 4)])


def restore(db: Database) -> None:
    """All back as it was."""
    with db.epoch() as e:
        e.upsert("orders", [order(i) for i in (5, 6, 7, 8, 20, 21)])
        e.delete("orders", [(60,), (61,)])
        e.insert("customers", [customer(5), customer(0)])
        e.delete("customers", [customer(9), customer(2)])
        e.insert("targets", [("p1", 4, 4)])
        e.delete("targets", [("p2", 0, 2)])


def shown(db: Database, feature: str, sql: str) -> str:
    """A view that has the feature, through two epochs; what the page says of it."""
    db.create_view("v", sql)
    try:
        before = sorted(map(repr, db.table("v").rows()))
        change(db)
        assert db.check("v").num_rows == 0, f"{feature}\n{db.explain('v')}"
        restore(db)
        assert db.check("v").num_rows == 0, f"{feature}\n{db.explain('v')}"
        assert sorted(map(repr, db.table("v").rows())) == before
        return row(db, "v", feature, sql)
    finally:
        db.drop("v")


@pytest.mark.parametrize("family", FAMILIES)
def test_features(db: Database, family: str) -> None:
    made = section(family, [shown(db, feature, sql) for feature, sql in FAMILIES[family].items()])
    if os.environ.get("VIEWLET_GOLDEN") == "write":
        put(PAGE, family, made)
    assert sections(PAGE.read_text(encoding="utf-8")).get(family, "").strip() == made.strip()


HEAD = """# What a view can say

Made by `make docs-sql` from the views of tests/features: each was created, changed (insertions, deletions and updates of
all its tables) and compared with Spark SQL. The tier is that of the worst operator of the view: *ring* is maintained by
the product rule, *keyed* group by group, *recompute* from its maps on every change that reaches it. The rows of the maps
are those that they hold for 60 orders, 6 customers and 4 targets, beside the view itself. The cost is what a change of
`orders` sets off, beside handling the changed rows themselves.

"""


def put(path: Path, family: str, made: str) -> None:
    """Write a section of the page, in the order of the families."""
    known = sections(path.read_text(encoding="utf-8")) if path.exists() else {}
    known[family] = made
    path.write_text(HEAD + "\n".join(known[f].strip() + "\n" for f in FAMILIES if f in known), encoding="utf-8")
