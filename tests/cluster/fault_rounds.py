"""Epochs on a standalone cluster while its executors are killed: run in a process of its own, beside the one that kills.

Whatever happens to tasks, an epoch is committed whole or the call fails and nothing of it is there; rows that the test
keeps itself say what views have to show. Speculation lets tasks run twice.
"""

from __future__ import annotations

import importlib
import json
import random
import sys
import time
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import viewlet

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.log.level": "OFF",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.task.maxFailures": "8",
    "spark.stage.maxConsecutiveAttempts": "8",
    "spark.speculation": "true",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.interval": "20ms",
    "spark.sql.session.timeZone": "UTC",
}


def spend_of(rows: dict[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """What the view has to show."""
    found: dict[int, tuple[int, int]] = {}
    for cust, total in rows.values():
        amount, count = found.get(cust, (0, 0))
        found[cust] = amount + total, count + 1
    return found


def change(db: Any, spark: SparkSession, rows: dict[int, tuple[int, int]], chance: random.Random) -> None:
    """One epoch, by tasks: rows that come, or others that go; those that are kept beside it follow if it is committed."""
    if chance.random() < 0.6 or len(rows) < 1000:
        first, count = max(rows, default=-1) + 1, chance.randrange(500, 3000)
        db.insert("orders", spark.range(first, first + count).selectExpr("id", "id % 50 AS cust", "id % 97 AS total"))
        rows.update({i: (i % 50, i % 97) for i in range(first, first + count)})
    else:
        gone = chance.sample(sorted(rows), 300)
        db.delete("orders", spark.createDataFrame([(i,) for i in gone], "id bigint"))
        for i in gone:
            del rows[i]


def main(master: str, path: str, rounds: int, seed: int) -> None:
    builder = SparkSession.builder.master(master).appName("viewlet-faults")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    place: Any = importlib.import_module("viewlet.compile.distribute.place")
    place.SMALL = -1
    chance, rows, failed, slowest = random.Random(seed), dict[int, tuple[int, int]](), 0, 0.0
    with viewlet.connect(path, spark=spark, engine="spark") as db:
        db.sql("CREATE TABLE orders (id BIGINT, cust BIGINT, total BIGINT, PRIMARY KEY (id))")
        db.create_view("spend", "SELECT cust, sum(total) AS total, count(*) AS n FROM orders GROUP BY cust")
        for number in range(rounds):
            before, began = db.status()["epoch"], time.perf_counter()
            sys.stdout.write(f"round {number}\n")  # whoever kills waits for this
            sys.stdout.flush()
            try:
                change(db, spark, rows, chance)
            except (PySparkException, Py4JError):
                failed += 1
                assert db.status()["epoch"] == before, "what failed is not there"
            slowest = max(slowest, time.perf_counter() - began)
            found = {cust: (total, n) for cust, total, n in db.table("spend").rows()}
            assert found == spend_of(rows), f"round {number}"
            assert len(db.table("orders")) == len(rows), f"round {number}"
        assert db.check().num_rows == 0
    spark.stop()
    shown = {"rounds": rounds, "failed": failed, "slowest_seconds": round(slowest, 1), "rows": len(rows)}
    sys.stdout.write(json.dumps(shown) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
