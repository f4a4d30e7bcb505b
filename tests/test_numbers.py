"""Numerical health: what came and went leaves no trace, and what does not fit behaves as in Spark, on both engines."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import viewlet
from viewlet import check
from viewlet.errors import EvaluationError

pytestmark = pytest.mark.spark

ANSI = "spark.sql.ansi.enabled"
ENGINES = ["inproc", pytest.param("spark", marks=pytest.mark.slow)]
both_engines = pytest.mark.parametrize("db", ENGINES, indirect=True)


@pytest.fixture
def db(request: Any, tmp_path: Path, spark: Any) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w", spark=spark, engine=getattr(request, "param", "inproc")) as db:
        yield db


@pytest.fixture
def legacy(spark: Any) -> Iterator[None]:
    """Spark without ANSI: what does not fit is NULL, or wraps around."""
    spark.conf.set(ANSI, "false")
    yield
    spark.conf.unset(ANSI)


def agrees(db: viewlet.Database) -> None:
    wrong = db.check()
    assert not wrong.num_rows, wrong.to_pylist()


MOMENTS = {
    "by_key": """SELECT k, var_pop(x) AS a, stddev(i) AS b, variance(d) AS c, skewness(x) AS e, kurtosis(y) AS f,
        covar_samp(x, y) AS g, regr_slope(y, x) AS h, regr_intercept(y, x) AS i, regr_r2(y, x) AS j, regr_sxy(y, x) AS l,
        regr_count(y, x) AS m, regr_sxx(y, x) AS n, regr_syy(y, x) AS o, corr(x, z) FILTER (WHERE k > 0) AS p
        FROM t GROUP BY k""",
    "of_all": "SELECT stddev_pop(x) AS a, covar_pop(x, i) AS b, kurtosis(x) FILTER (WHERE i > 3) AS c FROM t",
    "of_different": "SELECT k, var_samp(DISTINCT i) AS a, skewness(DISTINCT i) AS b FROM t GROUP BY k",
    "rolled_up": "SELECT k, i, var_pop(x) AS a, covar_pop(x, y) AS b FROM t GROUP BY ROLLUP (k, i)",
    "joined": "SELECT a.k, stddev(a.x) AS a, covar_pop(a.x, b.i) AS b FROM t a JOIN t b ON a.k = b.k GROUP BY a.k",
    "outliers": """SELECT t.k, t.i FROM t JOIN (SELECT k, avg(z) AS m, stddev(z) AS s, stddev(i) AS r FROM t GROUP BY k) q
        ON t.k = q.k AND t.z > m + s AND r > 0""",
}  # fmt: skip


def measured(rng: random.Random) -> tuple[Any, ...]:
    """A row of t: x and y with gaps and of several sizes, i small, z always there."""
    x = rng.choice([None, rng.gauss(1e6, 1), round(rng.random(), 1)]) if rng.random() < 0.3 else rng.gauss(5, 3)
    y = None if rng.random() < 0.1 else 2 * (x or 0) + rng.gauss(0, 1)
    return (rng.randrange(3), x, y, rng.gauss(0, 1), rng.randrange(10), Decimal(rng.randrange(10**6)) / 100)


@both_engines
def test_moments_are_sums(db: viewlet.Database) -> None:
    db.create_table("t", "k INT, x DOUBLE, y DOUBLE, z DOUBLE, i INT, d DECIMAL(10,2)")
    for name, text in MOMENTS.items():
        db.create_view(name, text)
        assert not {"keyed", "recompute"} & set(db.explain(name).split()), name
    rng, rows = random.Random(4), [measured(random.Random(i)) for i in range(40)]
    db.insert("t", rows)
    new = [measured(rng) for _ in range(12)]
    with db.epoch() as e:
        e.delete("t", rows[:25])
        e.insert("t", new)
    agrees(db)


def test_one_map_of_powers_serves_all_moments_of_a_column(db: viewlet.Database) -> None:
    db.create_table("t", "k INT, x DOUBLE")
    db.create_view("v", "SELECT k, var_pop(x) AS a, stddev(x) AS b FROM t GROUP BY k")
    db.create_view("w", "SELECT k, stddev_pop(x) AS a, var_samp(x) AS b FROM t GROUP BY k")
    db.insert("t", [(1, 0.5), (1, 2.5), (2, 7.0)])
    assert "shared with w" in db.explain("v")
    agrees(db)
    assert sorted(db.table("w").rows()) == [(1, 1.0, 2.0), (2, 0.0, None)]


NOT_FINITE = {
    "sums": "SELECT k, sum(x) AS s, avg(x) AS a, var_pop(x) AS v, corr(x, y) AS r, regr_slope(y, x) AS l FROM t GROUP BY k",
    "ends": "SELECT k, min(x) AS a, max(x) AS b FROM t GROUP BY k",
    "windows": """SELECT id, sum(x) OVER w AS s, avg(x) OVER w AS a, stddev(x) OVER (PARTITION BY k) AS v, max(x) OVER w AS m
        FROM t WINDOW w AS (PARTITION BY k ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)""",
}  # fmt: skip


@both_engines
def test_what_is_not_finite_leaves_a_group_finite(db: viewlet.Database) -> None:
    db.create_table("t", "id INT, k INT, x DOUBLE, y DOUBLE, PRIMARY KEY (id)")
    for name, text in NOT_FINITE.items():
        db.create_view(name, text)
    db.insert("t", [(i, i % 2, 0.1 * i * i, 1.0 * i) for i in range(10)])
    before = {name: sorted(db.table(name).rows()) for name in NOT_FINITE}
    db.insert("t", [(10, 0, math.nan, 1.0), (11, 0, math.inf, 2.0), (12, 0, -math.inf, 3.0), (13, 1, math.inf, 4.0)])
    agrees(db)
    db.upsert("t", [(10, 0, -math.inf, math.nan), (11, 0, None, math.inf)])
    agrees(db)
    db.delete("t", [(10,), (11,), (12,), (13,)])
    agrees(db)
    assert {name: sorted(db.table(name).rows()) for name in NOT_FINITE} == before


@both_engines
def test_check_knows_rounding_from_a_difference(db: viewlet.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    db.create_table("t", "k INT, x DOUBLE, y DOUBLE")
    db.create_view("v", "SELECT k, sum(x) AS s, regr_intercept(y, x) AS i, skewness(x) AS w FROM t GROUP BY k")
    big = [(1, 1e16, 3e16), (1, 0.7, 2.1), (1, -1e16, -3e16), (1, 1e9 / 3, 1e9)]
    small = [(2, i / 7, 3 * i / 7) for i in range(-9, 10)]
    db.insert("t", big + small)
    agrees(db)
    assert {k: s for k, s, *_ in db.table("v").rows()}[1] == math.fsum(x for _, x, _ in big)
    short = db.spark.sql(
        "SELECT k, sum(x) AS s, regr_intercept(y, x) AS i, skewness(x) AS w FROM (SELECT * FROM t LIMIT 22) GROUP BY k"
    )
    monkeypatch.setattr(check, "recomputed", lambda database, view: short)
    assert db.check("v").num_rows == 2


OVERFLOWS = {
    "sum(bigint)": ("v BIGINT", "SELECT k, sum(v) AS s FROM t GROUP BY k", 2**63 - 1),
    "sum(decimal(38))": ("v DECIMAL(38,0)", "SELECT k, sum(v) AS s FROM t GROUP BY k", Decimal(10**38 - 1)),
    "avg(decimal(38))": ("v DECIMAL(38,0)", "SELECT k, avg(v) AS s FROM t GROUP BY k", Decimal(10**37)),
    "cast": ("v BIGINT", "SELECT k, CAST(v AS INT) AS s FROM t", 2**40),
    "cast of a decimal": ("v DECIMAL(20,2)", "SELECT k, CAST(v AS DECIMAL(5,2)) AS s FROM t", Decimal("12345.67")),
    "division": ("v INT", "SELECT k, 10 / (v - 7) AS s FROM t", 7),
    "division of sums": ("v INT", "SELECT k, 10 / (sum(v) - 11) AS s FROM t GROUP BY k", 10),
    "corr": ("v INT", "SELECT k, corr(v, v * 2.0D) AS s FROM t GROUP BY k", 1),
    "corr in a CASE": ("v INT", "SELECT k, CASE WHEN stddev(v) > 0 THEN corr(v, v * 2.0D) END AS s FROM t GROUP BY k", 1),
    "product": ("v DECIMAL(38,10)", "SELECT k, v * v AS s FROM t", Decimal(10**27)),
    "window": ("v BIGINT", "SELECT k, sum(v) OVER (PARTITION BY k) AS s FROM t", 2**63 - 1),
}  # fmt: skip


@both_engines
@pytest.mark.parametrize("case", OVERFLOWS)
def test_what_does_not_fit_rejects_the_epoch(db: viewlet.Database, case: str) -> None:
    columns, text, large = OVERFLOWS[case]
    db.create_table("t", f"k INT, {columns}")
    db.create_view("other", "SELECT k, count(*) AS n FROM t GROUP BY k")
    db.create_view("v", text)
    db.insert("t", [(1, 1), (2, 3), (2, 4)])
    before = {name: sorted(db.table(name).rows()) for name in ("t", "other", "v")}
    epoch = db.status()["epoch"]
    with pytest.raises(EvaluationError, match=r"\bv\b"):
        db.insert("t", [(3, 1), (1, large)])
    assert {name: sorted(db.table(name).rows()) for name in ("t", "other", "v")} == before
    assert db.status()["epoch"] == epoch
    db.insert("t", [(3, 1), (1, 2)])
    agrees(db)
    assert (1, 2) in db.table("t").rows()


@both_engines
@pytest.mark.parametrize("case", OVERFLOWS)
def test_without_ansi_what_does_not_fit_is_as_in_spark(legacy: None, db: viewlet.Database, case: str) -> None:
    columns, text, large = OVERFLOWS[case]
    db.create_table("t", f"k INT, {columns}")
    db.create_view("v", text)
    db.insert("t", [(1, 1), (2, 3), (2, 4)])
    before = sorted(db.table("v").rows())
    db.insert("t", [(3, 1), (1, large)])
    agrees(db)
    assert sorted(db.table("v").rows(), key=str) != sorted(before, key=str)
    db.delete("t", [(3, 1), (1, large)])
    agrees(db)
    assert sorted(db.table("v").rows()) == before


def drawn(rng: np.random.Generator, first: int, count: int) -> pa.Table:
    """Rows of w: x of all magnitudes, y of those whose squares are doubles, v of one."""
    sign = rng.choice([-1.0, 1.0], (2, count))
    x = sign[0] * rng.uniform(1, 10, count) * 10.0 ** rng.uniform(-300, 300, count).round()
    y = sign[1] * rng.uniform(1, 10, count) * 10.0 ** rng.uniform(-150, 150, count).round()
    ids, keys = np.arange(first, first + count), rng.integers(0, 20, count)
    return pa.table({"id": ids, "k": keys, "x": x, "y": y, "v": rng.normal(1000, 1, count)})


@pytest.mark.slow
def test_a_million_updates(db: viewlet.Database) -> None:
    """Sums, averages and variances stay what they are from scratch, and forget the large values that left."""
    db.create_table("w", "id BIGINT, k BIGINT, x DOUBLE, y DOUBLE, v DOUBLE, PRIMARY KEY (id)")
    db.create_view("sums", "SELECT k, sum(x) AS s, avg(x) AS a, sum(v) AS t, count(*) AS n FROM w GROUP BY k")
    db.create_view("spread", "SELECT k, var_pop(y) AS y, var_samp(v) AS v, covar_pop(v, y) AS c FROM w GROUP BY k")
    rng, size = np.random.default_rng(7), 20_000
    db.insert("w", drawn(rng, -200_000, 200_000).set_column(1, "k", [pa.array([-1] * 200_000)]))  # so epochs are small
    batches = [drawn(rng, at * size, size) for at in range(50)]
    for at, new in enumerate(batches):
        with db.epoch() as e:
            e.insert("w", new)
            if at >= 3:
                e.delete("w", batches[at - 3])
    agrees(db)
    rows = [row for batch in batches[-3:] for row in batch.to_pylist()]
    left = [row for row in rows if abs(row["x"]) < 1e-280]
    db.delete("w", [tuple(row.values()) for row in rows if abs(row["x"]) >= 1e-280])
    agrees(db)
    techniques = [record["views"]["sums"]["technique"] for record in db.history("w") if "views" in record]
    assert len(techniques) > 50
    assert not any(technique.startswith("recompute") for technique in techniques[1:])
    for k, total, mean, *_ in db.table("sums").rows():
        exact = [row["x"] for row in left if row["k"] == k]
        if k >= 0:
            assert math.isclose(total, math.fsum(exact), rel_tol=1e-15)
            assert math.isclose(mean, math.fsum(exact) / len(exact), rel_tol=1e-15)
