"""What pages leave to the reader: tables that the text speaks of, servers, files; and what tests have in their place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

OPEN = "import viewlet\ndb = viewlet.connect('warehouse')\n"
SALES = """
db.sql("CREATE TABLE sales (id BIGINT, shop BIGINT, one DOUBLE, price DOUBLE, ads DOUBLE, units DOUBLE)")
db.insert("sales", [(i, i % 3, 1.0, i % 7, i % 5, 90.0 - i % 7 + i % 3) for i in range(30)])
db.sql("CREATE TABLE shops (shop BIGINT, size DOUBLE)")
db.insert("shops", [(0, 1.0), (1, 2.5), (2, 4.0)])
db.sql("CREATE TABLE links (source STRING, target STRING)")
db.insert("links", [("a", "b"), ("b", "a"), ("b", "c"), ("c", "a")])
"""
MATRICES = "import numpy\nX, y = numpy.random.default_rng(1).random((9, 3)), numpy.arange(9.0)[:, None]\nrow = [1.0, 2.0, 3.0]\n"
SPEND = """
db.sql("CREATE TABLE o (cust BIGINT, total DECIMAL(12,2))")
db.insert("o", [(7, "80.00"), (7, "40.00"), (9, "15.50")])
db.sql("CREATE MATERIALIZED VIEW spend AS SELECT cust, sum(total) AS total FROM o GROUP BY cust")
"""
LANDING = """
from pathlib import Path
import pyarrow.parquet
for name in ("sales", "refunds", "clicks"):
    Path("landing", name).mkdir(parents=True)
"""
FILES = """
import pyarrow.parquet
db.create_table("lineitem", "id BIGINT")
pyarrow.parquet.write_table(pyarrow.table({"id": [1, 2]}), "lineitem.parquet")
db.create_table("sales", "id BIGINT")
open("sales.csv", "w").write("id\\n7\\n")
"""
RECEIVED = """
from decimal import Decimal
db.sql("CREATE TABLE balance (cust BIGINT, total DECIMAL(12,2))")
db.insert("balance", [(7, "120.00")])
"""
SHOP = """
import psycopg
with psycopg.connect("{postgres}", autocommit=True) as shop:
    shop.execute("CREATE TABLE orders (id bigint PRIMARY KEY, cust bigint, total numeric(12,2), at timestamptz)")
    shop.execute("INSERT INTO orders VALUES (1, 7, 80.00, now()), (2, 9, 15.50, now())")
"""
CHANGED = """
assert len(db.table("spend")) == 2
with psycopg.connect("{postgres}", autocommit=True) as shop:
    shop.execute("INSERT INTO orders VALUES (3, 8, 1.00, now())")
"""
FOLLOWED = """
with psycopg.connect("{postgres}") as shop:
    found = sorted(shop.execute("SELECT cust, total FROM spend").fetchall())
assert found == sorted(db.table("spend").rows()) and len(found) == 3, found
"""
TOPICS = """
import json
from pathlib import Path
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": "{kafka}"})
event = {"op": "c", "before": None, "after": {"id": 1, "total": "80.00", "at": 1767225600000000}}
producer.produce("shop.public.orders", json.dumps(event), json.dumps({"id": 1}))
producer.produce("clicks", json.dumps({"user": "ann", "at": 1767225600000}))
assert producer.flush(10) == 0
Path("events").mkdir()
Path("events", "1.json").write_text(json.dumps({"op": "c", "before": None, "after": {"id": 1, "n": 2}}) + "\\n")
"""
READ = "assert [len(db.table(name)) for name in ('orders', 'clicks', 'lines')] == [1, 1, 1]\n"
LAKE = """
from decimal import Decimal
from pathlib import Path
import deltalake, pyarrow
from pyiceberg.catalog import load_catalog
Path("lake").mkdir()
orders = pyarrow.table({"id": pyarrow.array([1]), "total": pyarrow.array([Decimal("80.00")], pyarrow.decimal128(12, 2))})
deltalake.write_deltalake("lake/orders", orders, configuration={"delta.enableChangeDataFeed": "true"})
prod = load_catalog("prod", type="sql", uri="sqlite:///{folder}/lake/catalog.db")
prod.create_namespace("shop", {"location": "file://{folder}/lake/shop"})
items = pyarrow.table({"id": pyarrow.array([1]), "n": pyarrow.array([2], pyarrow.int32())})
prod.create_table("shop.items", items.schema).append(items)
"""
RATES = """
import datetime
rates = db.spark.createDataFrame([(datetime.date(2026, 1, 1), "EUR", 1.1)], "day DATE, currency STRING, rate DOUBLE")
rates.write.jdbc("jdbc:derby:memory:viewlet_page;create=true", "rates", mode="overwrite", properties={"user": "viewlet", "password": "secret"})
"""
CLICKS = """
assert len(db.table("rates")) == 1
db.sql("CREATE TABLE clicks (user STRING, at TIMESTAMP)")
Path("landing/clicks/1.json").write_text('{"user": "ann", "at": "2026-01-01T00:00:00Z"}\\n')
"""


@dataclass(frozen=True)
class Setting:
    """What surrounds the blocks of a page."""

    before: Mapping[int, str] = field(default_factory=dict)
    """Code before some blocks, by their numbers; the one after the last block runs at the end."""
    replaced: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    """Fixtures: servers, whose addresses stand for their names in braces, as the page's folder for `{folder}`."""
    environment: Mapping[str, str] = field(default_factory=dict)


FED = """
from pathlib import Path

Path("landing").mkdir()
db.sql("CREATE TABLE landed (id BIGINT) FROM FOLDER 'landing' FORMAT CSV")
"""
"""A table with a source, to watch."""

COMMANDS = {
    "DIR ui": "warehouse ui --port 0",
    "DIR watch --metrics 9100": "warehouse watch --seconds 0 --metrics 0",
    "DIR watch": "warehouse watch --seconds 0",
    "DIR": "warehouse",
    "--epoch 40": "--epoch 2",
}
"""Commands with an end, on ports that are free; the example's warehouse is the page's."""
POSTGRES = {"host=db.example dbname=shop user=viewlet": "{postgres}"}
SETTINGS: dict[str, Setting] = {
    "aggregates.md": Setting({0: OPEN}),
    "folders.md": Setting({0: OPEN + LANDING, 1: "db.drop('sales')\n", 2: SPEND}),
    "kafka.md": Setting(
        {0: OPEN + TOPICS, 1: READ + SPEND, 3: "assert db.send_sinks() == {'feed': 1}\n"},
        {"broker:9092": "{kafka}"},
        ("kafka",),
    ),
    "lakes.md": Setting(
        {0: OPEN + LAKE, 1: "assert len(db.table('orders')) == len(db.table('items')) == 1\n" + SPEND,
         3: "assert db.send_sinks() == {'lake': 1}\nassert len(prod.load_table('shop.spend').scan().to_arrow()) == 2\n"},
        {"/lake/": "{folder}/lake/"},
    ),
    "late.md": Setting({0: OPEN}),
    "matrix.md": Setting(
        {
            0: MATRICES,
            1: OPEN + SALES,
            2: "db.drop('fit')\nprogram = matrix.program(models.ols, X=('n', 'term'), y=('n', 1))\n",
            4: "size = 4\ndb.create_table('rows', 'i INT, entries ARRAY<DOUBLE>', primary_key='i', rows=[(i, [0.1] * 4) for i in range(4)])\n",
        }
    ),
    "notebooks.md": Setting(replaced=COMMANDS),
    "operations.md": Setting({0: OPEN + SPEND + FED + "db.close()\n", 1: "import shutil\nshutil.rmtree('warehouse')\n"}, COMMANDS),
    "page.md": Setting({0: OPEN, 1: OPEN}, COMMANDS),
    "postgres.md": Setting({0: OPEN + SHOP, 1: CHANGED, 3: FOLLOWED, 4: "assert db.send_sinks() == {'crm': 1}\n"}, POSTGRES, ("postgres",)),
    "projects.md": Setting(replaced={"--refresh a,b": "--refresh orders,spend", "--full-refresh a ": "--full-refresh orders "}),
    "signals.md": Setting({1: "import numpy\n"}),
    "sources.md": Setting({0: OPEN + LANDING, 5: RECEIVED}),
    "spark-sources.md": Setting(
        {0: OPEN + LANDING + RATES, 1: CLICKS, 2: "query.processAllAvailable()\nquery.stop()\nassert len(db.table('clicks')) == 1\n"},
        {
            "jdbc:postgresql://db.example/shop": "jdbc:derby:memory:viewlet_page",
            '"/landing': '"{folder}/landing',
            '"/checkpoints': '"{folder}/checkpoints',
        },
        environment={"RATES_PASSWORD": "secret"},
    ),
    "warehouse.md": Setting(
        {0: "from datetime import timedelta\n" + OPEN + FILES, 2: "db.close()\n"}, {"s3://bucket": "{bucket}", **COMMANDS}, ("bucket",)
    ),
}  # fmt: skip
