"""A DataFrame larger than what the driver may hold, put into a table with a view: run in a process of its own.

The driver's JVM has 1 GB and may be sent 2 MB; this process may grow by 400 MB. `python -m tests.cluster.large_frame
FOLDER 60000000 --narrow` leaves out the column of 64 characters.
"""

from __future__ import annotations

import json
import resource
import sys
import time

from pyspark.sql import SparkSession

import viewlet

SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.driver.maxResultSize": "2m",
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
}
GROUPS = 1000


def memory() -> int:
    """The most that this process has held so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def main(path: str, rows: int, *, narrow: bool = False) -> None:
    builder = SparkSession.builder.master("local[2]").appName("viewlet-large")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    with viewlet.connect(path, spark=spark, engine="spark") as db:
        note = () if narrow else ("sha2(CAST(id AS STRING), 256) AS note",)
        wide = "" if narrow else ", note STRING"
        db.sql(f"CREATE TABLE orders (id BIGINT, cust BIGINT, total DECIMAL(12,2){wide}, PRIMARY KEY (id))")
        db.create_view("spend", "SELECT cust, sum(total) AS total, count(*) AS n FROM orders GROUP BY cust")
        columns = (
            f"id % {GROUPS} AS cust",
            "CAST(id % 100 AS DECIMAL(12,2)) AS total",
            *note,
        )
        began, before = time.perf_counter(), memory()
        db.insert("orders", spark.range(rows).selectExpr("id", *columns))
        seconds, grown = time.perf_counter() - began, memory() - before
        sys.stderr.write(f"{rows:,} rows in {seconds:.1f} s; the driver grew by {grown >> 20} MB\n")
        count, total = db.table("orders").spark().selectExpr("count(*)", "sum(total)").first() or (0, 0)
        found = {cust: (int(total), n) for cust, total, n in db.table("spend").rows()}
        record = db.history()[-1]
    spark.stop()
    size = rows // GROUPS
    assert (count, int(total)) == (rows, sum(range(100)) * rows // 100)
    assert found == {cust: (cust % 100 * size, size) for cust in range(GROUPS)}
    assert grown < 400 << 20, f"the driver grew by {grown >> 20} MB"
    shown = {"rows": rows, "seconds": round(seconds, 1), "driver_grew_mb": grown >> 20, "jobs": record["jobs"]}
    sys.stdout.write(json.dumps(shown) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), narrow="--narrow" in sys.argv)
