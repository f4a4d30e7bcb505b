"""percentile_approx is answered exactly: as Spark does for small groups, and within its error for large ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import viewlet
from tests.marks import THOROUGH, quickly
from tests.test_ordered_aggregates import row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SHARES = (0.0, 0.00001, 0.1, 0.25, 1 / 3, 0.5, 0.7, 0.9999, 0.99995, 1.0)
KINDS = (
    "bigint", "double", "decimal(9,2)", "timestamp", "tinyint", "smallint", "int", "float", "decimal(30,4)", "date",
    "timestamp_ntz",
)  # fmt: skip


@pytest.fixture
def ours(spark: SparkSession) -> Iterator[Callable[[str], list[Any]]]:
    """What a query over the temporary view `given` gives with one answer, in Spark."""
    from viewlet.spark.rewrite.stabilize import stabilize
    from viewlet.spark.session.jvm import Jvm

    jvm = Jvm(spark)
    yield lambda query: jvm.frame(stabilize(jvm, spark.sql(query)._jdf.queryExecution().analyzed())).collect()
    spark.catalog.dropTempView("given")


def value_of(kind: str) -> str:
    """A value of a type, from the column `n`."""
    match kind:
        case "date":
            return "date_add(DATE'1970-01-01', int(n))"
        case "timestamp" | "timestamp_ntz":
            return f"cast(timestamp_micros(n * 1234567) AS {kind})"
        case "float" | "double":
            return f"cast(n / 7 AS {kind})"
        case "tinyint":
            return "cast(n % 100 AS tinyint)"
    return f"cast(n % 20000 AS {kind})"


@pytest.mark.parametrize("kind", quickly(4, KINDS))
def test_small_groups(spark: SparkSession, ours: Callable[[str], list[Any]], kind: str) -> None:
    """Groups of 1, 2, 3 … rows and one of nearly 3,000, with NULLs, in several partitions."""
    rows = spark.range(9_000).selectExpr("id % 97 AS g", "(id * 7919) % 9000 - 4500 AS n")
    rows = rows.selectExpr(
        "if(g < 50, int(sqrt(abs(n))), if(n % 3 = 0, NULL, -1)) AS g", f"if(n % 11 = 0, NULL, {value_of(kind)}) AS x"
    )
    rows.where("g IS NOT NULL").repartition(3).createOrReplaceTempView("given")
    calls = [f"percentile_approx(x, {share}d) AS s{i}" for i, share in enumerate(SHARES)]
    calls += [f"percentile_approx(x, array({', '.join(f'{s}d' for s in SHARES)}), 10000) AS several"]
    calls += ["percentile_approx(x, 0.4) FILTER (WHERE g > 3) AS some"]
    query = f"SELECT g, count(x) AS n, {', '.join(calls)} FROM given GROUP BY g ORDER BY g"
    expected = spark.sql(query).collect()
    assert max(r.n for r in expected) > 2_500
    assert ours(query) == expected


@pytest.mark.parametrize("accuracy", quickly(2, [1, 100, 2, 5, 1_000]))
def test_ends_are_those_of_spark(spark: SparkSession, ours: Callable[[str], list[Any]], accuracy: int) -> None:
    """Within the accuracy of an end Spark gives the end itself, whatever the size of the group."""
    spark.range(20_000).selectExpr("(id * 7919) % 20000 AS x").repartition(3).createOrReplaceTempView("given")
    shares = (0.0, 1 / accuracy, 1 - 1 / accuracy, 1.0)
    query = f"SELECT percentile_approx(x, array({', '.join(f'{s}d' for s in shares)}), {accuracy}) AS r FROM given"
    assert ours(query) == spark.sql(query).collect()


@pytest.mark.parametrize("accuracy", quickly(1, [50, 10, 1_000]))
def test_large_groups_are_within_the_error(
    spark: SparkSession, ours: Callable[[str], list[Any]], accuracy: int
) -> None:
    """Of 30,000 values: ours has the very rank, and Spark's is as far off as it may be, at the most."""
    values = np.random.default_rng(accuracy).permutation(30_000)
    spark.createDataFrame([(int(v),) for v in values], "x bigint").createOrReplaceTempView("given")
    shares = (0.2, 0.37, 0.5, 0.81)
    query = f"SELECT percentile_approx(x, array({', '.join(f'{s}d' for s in shares)}), {accuracy}) AS r FROM given"
    exact, sketched = ours(query)[0].r, spark.sql(query).collect()[0].r
    assert exact == [int(np.ceil(s * 30_000)) - 1 for s in shares]
    assert all(abs(a - b) <= 30_000 / accuracy for a, b in zip(exact, sketched, strict=True))


VIEWS = {
    "ints": "SELECT g, percentile_approx(a, 0.5) AS x, percentile_approx(a, array(0.1, 0.9), 3) AS y FROM t GROUP BY g",
    "doubles": "SELECT g, approx_percentile(d, 0.3) AS x, percentile_approx(DISTINCT a, 0.5) AS y FROM t GROUP BY g",
    "all": "SELECT percentile_approx(d, 0.5) AS x, percentile_approx(a, 0.5) FILTER (WHERE s > 'a') AS y FROM t",
    "windows": "SELECT g, a, s, percentile_approx(a, 0.6) OVER (PARTITION BY g ORDER BY a) AS x FROM t",
}


@pytest.mark.parametrize("engine", ["inproc", pytest.param("spark", marks=pytest.mark.slow)])
def test_views(spark: SparkSession, tmp_path: Path, engine: Any) -> None:
    chosen = random.Random(7)
    with viewlet.connect(tmp_path / "warehouse", spark=spark, engine=engine) as db:
        db.sql("CREATE TABLE t (g INT, a INT, s STRING, d DOUBLE)")
        for name, query in VIEWS.items():
            db.create_view(name, query)
            assert "on Spark" not in db.explain(name)
            assert "percentile_disc" in db.explain(name)
            assert "Spark leaves an answer open" in db.explain(name)
        there = [row(chosen) for _ in range(20)]
        db.insert("t", there)
        if THOROUGH:
            assert db.check().to_pylist() == []
        with db.epoch() as epoch:
            epoch.delete("t", there[5:12])
            epoch.insert("t", [row(chosen) for _ in range(9)])
        assert db.check().to_pylist() == []


@pytest.mark.slow
def test_intervals(spark: SparkSession, tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "warehouse", spark=spark, engine="inproc") as db:
        db.sql("CREATE TABLE t (g INT, d INTERVAL DAY TO SECOND, m INTERVAL YEAR TO MONTH)")
        db.create_view(
            "v", "SELECT g, percentile_approx(d, 0.5) AS x, percentile_approx(m, 0.5) AS y FROM t GROUP BY g"
        )
        texts = ("INTERVAL '1 02' DAY TO HOUR", "INTERVAL '-3' SECOND", "INTERVAL '9' MINUTE")
        months = ("INTERVAL '1-2' YEAR TO MONTH", "INTERVAL '-3' MONTH", "NULL")
        rows = [f"SELECT 1 AS g, {d} AS d, {m} AS m" for d, m in zip(texts, months, strict=True)]
        db.insert("t", spark.sql(" UNION ALL ".join(rows)))
        assert db.check("v").to_pylist() == []
        assert db.table("v").rows()[0][2] == -3
