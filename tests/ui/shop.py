"""A warehouse with something of every kind, for the page to show."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import viewlet
from viewlet import flow, matrix
from viewlet.matrix import Wide, models

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime(2026, 1, 1, tzinfo=UTC)
COUNTRIES = ("AT", "DE", "FR", "IT", "PL")

TABLES = (
    "CREATE TABLE customers (id BIGINT, name STRING, country STRING, PRIMARY KEY (id))",
    "CREATE TABLE orders (id BIGINT, customer BIGINT, placed DATE, PRIMARY KEY (id))",
    """CREATE TABLE order_lines (order_id BIGINT, product BIGINT, quantity INT, price DECIMAL(10, 2),
         CONSTRAINT some CHECK (quantity >= 0) ON VIOLATION KEEP ASIDE)""",
    "CREATE TABLE products (id BIGINT, category STRING) FROM FOLDER '{landing}' FORMAT CSV OPTIONS (header = 'true')",
    "CREATE TABLE roads (src BIGINT, dst BIGINT, km BIGINT)",
    "CREATE TABLE vibration (machine STRING, at TIMESTAMP, mm DOUBLE, PRIMARY KEY (machine, at))",
    "CREATE TABLE sales (id BIGINT, one DOUBLE, price DOUBLE, units DOUBLE, PRIMARY KEY (id))",
    "CREATE TABLE payments (id BIGINT, card STRING, amount BIGINT) APPEND ONLY",
)
VIEWS = {
    "order_totals": """SELECT o.id, o.customer, sum(l.quantity * l.price) AS total
        FROM orders o JOIN order_lines l ON l.order_id = o.id GROUP BY o.id, o.customer""",
    "spend_by_country": """SELECT c.country, count(*) AS orders, sum(t.total) AS total
        FROM order_totals t JOIN customers c ON c.id = t.customer GROUP BY c.country""",
    "top_customers": """SELECT * FROM (SELECT customer, total, rank() OVER (ORDER BY total DESC) AS place
        FROM (SELECT customer, sum(total) AS total FROM order_totals GROUP BY customer)) WHERE place <= 10""",
    "revenue_by_category": """SELECT p.category, sum(l.quantity * l.price) AS revenue, max(l.price) AS dearest
        FROM order_lines l JOIN products p ON p.id = l.product GROUP BY p.category""",
    "price_share": "SELECT order_id, product, 100 / quantity AS share FROM order_lines",
    "distances": """WITH RECURSIVE d(town, km) USING KEY (town) AS (
        SELECT 0, 0 UNION SELECT r.dst, min(d.km + r.km) FROM d JOIN roads r ON r.src = d.town GROUP BY r.dst)
        SELECT * FROM d""",
    "alerts_by_card": "SELECT card, count(*) AS alerts FROM alerts GROUP BY card",
    "alarms": "SELECT machine, max(mm) AS loudest FROM loudness WHERE mm > 1 GROUP BY machine",
}


def make_shop(folder: Path, spark: SparkSession, epochs: int = 12) -> viewlet.Database:
    """The warehouse, open for writing, after some epochs, the last of which failed."""
    landing = folder / "landing"
    landing.mkdir(parents=True)
    (landing / "products.csv").write_text("id,category\n" + "".join(f"{i},{'abc'[i % 3] * 3}\n" for i in range(40)))
    db = viewlet.connect(folder / "shop", spark=spark)
    for statement in TABLES:
        db.sql(statement.format(landing=landing))
    db.read_sources()
    _define(db)
    random = np.random.default_rng(7)
    for number in range(epochs):
        with db.epoch() as e:
            for table, rows in _changes(random, number).items():
                e.insert(table, rows)
    db.run_flow("watch")
    db.deliver("top_customers", "crm", lambda epoch, changes: None)
    fail(db)
    return db


def fail(db: viewlet.Database) -> None:
    """An epoch that a view cannot follow."""
    with contextlib.suppress(viewlet.EvaluationError):
        db.insert("order_lines", [(0, 1, 0, "9.99")])


def _define(db: viewlet.Database) -> None:
    watch = flow.Flow("watch")
    watch.source("payments")

    @watch.stage(
        inputs={"payments": flow.Input("card", order_by="id")},
        outputs={"alerts": flow.Output("id BIGINT, card STRING", table="alerts", primary_key="id")},
    )
    def judge(card: str, inputs: dict[str, list[Any]], state: None) -> Any:
        yield from ((p["id"], card) for p in inputs["payments"] if p["amount"] > 900)

    db.create_flow(watch)
    loudness = db.signal("vibration", by="machine", time="at", value="mm").sample("100 ms", max_gap="1 s")
    db.create_signal("loudness", loudness.windows(50).reduce("rms"))
    db.insert("sales", [(-1 - i, 1.0, i % 7, 90.0 - 7 * (i % 7) + i % 3) for i in range(20)])  # none, no regression
    fit = matrix.program(models.ols, X=("sale", "term"), y=("sale", 1))
    db.create_matrix("fit", fit, X=Wide("sales", ["one", "price"], row="id"), y=Wide("sales", ["units"], row="id"))
    for name, query in VIEWS.items():
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")


def _changes(random: np.random.Generator, number: int) -> dict[str, list[tuple[Any, ...]]]:
    """What an epoch brings."""
    first = number * 60
    ids = range(first, first + 60)
    customers = [(i, f"customer {i}", COUNTRIES[i % 5]) for i in range(number * 5, number * 5 + 5)]
    orders = [(i, int(random.integers(number * 5 + 5)), START.date()) for i in ids]
    lines = [(i, int(random.integers(40)), int(random.integers(1, 9)), f"{random.uniform(1, 90):.2f}") for i in ids]
    times = [START + timedelta(milliseconds=100 * t) for t in range(first, first + 60)]
    hums = [("press", t, float(random.normal(0, 1))) for t in times] + [
        ("saw", t, float(random.normal(0, 3))) for t in times
    ]
    prices = random.uniform(1, 9, 10)
    sales = [(first + i, 1.0, float(p), float(90 - 7 * p + random.normal())) for i, p in enumerate(prices)]
    changes: dict[str, list[tuple[Any, ...]]] = {"customers": customers, "orders": orders, "order_lines": lines}
    return changes | {
        "vibration": hums,
        "sales": sales,
        "roads": [(int(random.integers(number + 1)), number + 1, int(random.integers(5, 90)))],
        "payments": [(i, "ABCD"[i % 4], int(random.integers(1000))) for i in ids],
    }
