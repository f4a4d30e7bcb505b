"""approx_count_distinct as sums over registers: Spark's own estimates, kept as tables change."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import viewlet
from tests.marks import THOROUGH, quickly, rounds, some
from viewlet.columns.kernels.sketches import Estimate
from viewlet.views.view import sql_view

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ERRORS = {0.39: 4, 0.2: 5, 0.15: 6, 0.1: 7, 0.05: 9, 0.01: 14}
"""The relative error that a query asks for, and the bits of a register's number that it means."""
SIZES = (
    1,
    2,
    3,
    5,
    7,
    12,
    15,
    20,
    33,
    50,
    79,
    80,
    81,
    120,
    200,
    260,
    400,
    550,
    700,
    1_000,
    1_500,
    2_300,
    3_000,
    9_000,
    25_000,
)


def test_estimates_of_all_sizes(spark: SparkSession, tmp_path: Path) -> None:
    """Groups for which empty registers are counted, biases are taken off, and neither."""
    groups = np.repeat(np.arange(len(SIZES)), SIZES)
    values = np.random.default_rng(1).integers(-(2**62), 2**62, len(groups))
    with viewlet.connect(tmp_path / "warehouse", spark=spark, engine="inproc") as db:
        db.sql("CREATE TABLE t (g BIGINT, x BIGINT)")
        db.insert("t", pa.table({"g": groups, "x": values}))
        for error, bits in some(3, reversed(ERRORS.items())):
            name = f"by_{bits}_bits"
            db.create_view(name, f"SELECT g, approx_count_distinct(x, {error}) AS n FROM t GROUP BY g")
            assert f"{64 - bits}" in db.explain(name)
        assert db.check().to_pylist() == []
        sizes = dict(zip(range(len(SIZES)), SIZES, strict=True))
        estimates = dict(db.table("by_14_bits").rows())
        assert all(abs(estimates[g] - size) <= 0.05 * size + 1 for g, size in sizes.items())


@pytest.mark.parametrize("bits", [4, 5, 6, 7, 8, 9, 10, 11, 12])
def test_every_number_of_empty_registers(spark: SparkSession, bits: int) -> None:
    """Java's logarithm and NumPy's come to the same count."""
    registers = 1 << bits
    estimate = Estimate(np.array([bits, 6, float("inf")]).tobytes())
    java: Any = spark._jvm
    used = np.arange(registers, dtype=np.int64)
    ours = estimate(used.astype(np.float64) * 0.25, used)
    math = java.java.lang.Math
    assert ours.tolist() == [math.round(registers * math.log(registers / float(registers - n))) for n in used.tolist()]


KINDS = {
    "boolean": "n % 2 = 0", "tinyint": "cast(n % 100 AS TINYINT)", "int": "cast(n AS INT)", "bigint": "n * 10000000000",
    "float": "cast(n / 7 AS FLOAT)", "double": "n / 7", "string": "repeat(concat('é', n), int(n % 9))",
    "binary": "cast(repeat('x', int(n)) AS BINARY)", "date": "date_add(DATE'1970-01-01', int(n))",
    "timestamp": "timestamp_seconds(n)", "timestamp_ntz": "cast(timestamp_seconds(n) AS TIMESTAMP_NTZ)",
    "decimal(9,2)": "cast(n / 4 AS DECIMAL(9,2))", "decimal(38,3)": "cast(n * 1e20 - 5e20 AS DECIMAL(38,3))",
}  # fmt: skip


def test_types(spark: SparkSession, tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "warehouse", spark=spark, engine="inproc") as db:
        columns = {f"c{i}": (kind, text) for i, (kind, text) in enumerate(some(2, KINDS.items()))}
        db.sql(f"CREATE TABLE t (g INT, {', '.join(f'{c} {kind}' for c, (kind, _) in columns.items())})")
        chosen = [f"if(n % 11 = 0, NULL, {text}) AS {c}" for c, (_, text) in columns.items()]
        rows = spark.range(-60, 60).selectExpr("id AS n").selectExpr("int(n % 3) AS g", *chosen)
        db.insert("t", rows)
        for c in columns:
            db.create_view(f"v_{c}", f"SELECT g, approx_count_distinct({c}) AS n FROM t GROUP BY g")
            assert "on Spark" not in db.explain(f"v_{c}")
        assert db.check().to_pylist() == []


VIEWS = {
    "by_key": "SELECT g, approx_count_distinct(s) AS n FROM t GROUP BY g",
    "of_all": "SELECT approx_count_distinct(d, 0.2) + 1 AS n FROM t",
    "filtered": "SELECT g, approx_count_distinct(a) FILTER (WHERE d > 0) AS n FROM t GROUP BY g HAVING approx_count_distinct(a) FILTER (WHERE d > 0) > 0",
    "distinct": "SELECT d, approx_count_distinct(DISTINCT a) AS n FROM t GROUP BY d",
    "nothing": "SELECT approx_count_distinct(a) AS n FROM t WHERE a > 1000",
    "computed": "SELECT a % 2 AS k, approx_count_distinct(concat(s, a)) AS n FROM t GROUP BY a % 2",
    "joined": "SELECT t.g, approx_count_distinct(u.a) AS n FROM t JOIN t AS u ON t.s = u.s GROUP BY t.g",
}


BESIDE = {
    "others": "SELECT g, approx_count_distinct(a) AS x, approx_count_distinct(s, 0.3) AS y, max(a) AS z FROM t GROUP BY g",
    "beside_sums": "SELECT approx_count_distinct(d) FILTER (WHERE a > 2) AS x, sum(a) AS y FROM t",
    "windows": "SELECT g, a, s, approx_count_distinct(d) OVER (PARTITION BY g ORDER BY a) AS x FROM t",
}
ON_SPARK = ("by_key", "filtered", "others")


def row(chosen: random.Random) -> tuple[Any, ...]:
    doubles = (None, float("nan"), 0.0, -0.0, 1.5, float("-inf"))
    return (
        chosen.choice((None, 1, 2)),
        chosen.choice((None, *range(9))),
        chosen.choice((None, "", "a", "é")),
        chosen.choice(doubles),
    )


@pytest.mark.parametrize("grows", quickly(1, [False, True]))
@pytest.mark.parametrize("engine", ["inproc", pytest.param("spark", marks=pytest.mark.slow)])
def test_views(spark: SparkSession, tmp_path: Path, engine: Any, grows: bool) -> None:
    chosen, there = random.Random(5), list[Any]()
    with viewlet.connect(tmp_path / "warehouse", spark=spark, engine=engine) as db:
        db.sql(f"CREATE TABLE t (g INT, a INT, s STRING, d DOUBLE){' APPEND ONLY' * grows}")
        for name, query in (VIEWS | BESIDE).items():
            if engine == "inproc" or name in ON_SPARK:
                db.create_view(name, query)
                assert "on Spark" not in db.explain(name), name
        if THOROUGH:
            assert db.check().to_pylist() == []
        apart = rounds(9, 3)
        for number in range(9 if engine == "inproc" else 3):
            some = 0 if grows else min(len(there), chosen.choice((0, 1, 6)))
            gone = [there.pop(chosen.randrange(len(there))) for _ in range(some)]
            new = [row(chosen) for _ in range(chosen.choice((0, 3, 9)))]
            with db.epoch() as epoch:
                if gone:
                    epoch.delete("t", gone)
                epoch.insert("t", new)
            there += new
            if number % apart == apart - 1:
                assert db.check().to_pylist() == []


@pytest.mark.parametrize("grows", [False, True])
def test_what_is_kept(spark: SparkSession, tmp_path: Path, grows: bool) -> None:
    """Registers alone where rows are only added; otherwise their shares, of which there are few."""
    with viewlet.connect(tmp_path / "warehouse", spark=spark, engine="inproc") as db:
        db.sql(f"CREATE TABLE t (g BIGINT, x BIGINT){' APPEND ONLY' * grows}")
        db.create_view("v", "SELECT g, approx_count_distinct(x, 0.2) AS n FROM t GROUP BY g")
        for at in range(4):
            db.insert("t", pa.table({"g": np.arange(20_000) % 2, "x": np.arange(20_000) + at * 20_000}))
        snapshot, maps = (
            db._warehouse.store.snapshot(),
            [m for m in sql_view(db._warehouse.catalog, "v").program.maps if m.stored],
        )
        rows = sum(len(snapshot.contents(m.name).consolidated()) for m in maps)
        assert rows <= 2 * 32 + 20 if grows else rows <= 2 * 32 * 30
        assert ("its input only grows: the state of min is kept, no rows" in db.explain("v")) == grows
        assert db.check("v").to_pylist() == []
        if not grows:
            db.delete("t", pa.table({"g": np.arange(9_000) % 2, "x": np.arange(9_000) + 20_000}))
            assert db.check("v").to_pylist() == []
