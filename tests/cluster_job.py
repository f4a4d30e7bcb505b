"""What the cluster test runs in a process of its own: views kept fresh by tasks of a standalone cluster."""

from __future__ import annotations

import importlib
import sys
from decimal import Decimal
from typing import Any

from pyspark.sql import SparkSession

import viewlet
from tests.cluster.standalone import SETTINGS


def session(master: str) -> Any:
    """A session on a cluster whose executors have one core each."""
    builder = SparkSession.builder.master(master).appName("viewlet-cluster")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def main(master: str, path: str) -> None:
    spark = session(master)
    place: Any = importlib.import_module("viewlet.compile.distribute.place")
    place.SMALL = -1  # else maps would be kept at the driver
    with viewlet.connect(path, spark=spark, engine="spark") as db:
        db.sql("CREATE TABLE orders (id BIGINT, cust BIGINT, total DECIMAL(12,2), PRIMARY KEY (id))")
        db.sql("CREATE TABLE customers (cust BIGINT, name STRING)")
        db.create_view("spend", "SELECT name, sum(total) AS t FROM orders JOIN customers USING (cust) GROUP BY name")
        db.create_view("best", "SELECT cust, max(total) AS m FROM orders GROUP BY cust")
        db.insert("customers", [(i, f"customer {i}") for i in range(20)])
        db.insert("orders", [(i, i % 20, Decimal(i)) for i in range(500)])
        db.delete("orders", [{"id": i} for i in range(0, 500, 7)])
        assert db.check().num_rows == 0
        assert db.history()[-1]["engine"] == "spark"
        assert db.history()[-1]["jobs"][0]["shuffled_bytes"] > 0
        found = set(spark.sparkContext.parallelize(range(2), 2).map(lambda _: viewlet.__file__).collect())
        assert all("viewlet-" in file and ".zip" in file for file in found), found
        executors = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
    spark.stop()
    sys.stdout.write(f"well, on {executors} executors\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
