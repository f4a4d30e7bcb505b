"""What a test runs in a process of its own: a session of the user's own, where nobody says which Python workers run."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

import viewlet


def main(path: str) -> None:
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    assert spark.sparkContext.pythonExec == "python3"
    with viewlet.connect(path, spark=spark, engine="inproc") as db:
        db.sql("CREATE TABLE t (a BIGINT, b BIGINT)")
        db.create_view("v", "SELECT a, sum(b) AS s FROM t GROUP BY a")
        db.engine = "spark"
        db.insert("t", [(1, 2), (1, 3), (2, 4)])
        assert sorted(db.table("v").rows()) == [(1, 5), (2, 4)]
        assert db.history()[-1]["jobs"]
    assert spark.sparkContext.pythonExec == "python3"
    spark.stop()
    sys.stdout.write("well\n")


if __name__ == "__main__":
    main(sys.argv[1])
