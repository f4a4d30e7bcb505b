"""Several DISTINCT aggregates beside others: kept as sums where the others are, and what Spark says."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.marks import rounds
from viewlet.errors import SqlError

VIEWS = {
    "by_key": "SELECT g, count(DISTINCT a) AS x, count(DISTINCT b) AS y, sum(d) AS s, avg(p) AS m, count(*) AS n "
    "FROM t GROUP BY g",
    "of_all": "SELECT count(DISTINCT a) AS x, count(DISTINCT b) AS y, sum(a) AS s, variance(d) AS v, sum(q) AS w FROM t",
    "beside_max": "SELECT g, sum(DISTINCT a) AS x, count(DISTINCT b, a) AS y, max(b) AS s, min(p) AS m FROM t GROUP BY g",
    "filtered": "SELECT g, count(DISTINCT a) FILTER (WHERE p > 0) AS x, count(DISTINCT b) AS y, "
    "sum(a) FILTER (WHERE a > 1) AS s FROM t GROUP BY g",
}


@pytest.mark.spark
@pytest.mark.parametrize("engine", ["inproc", pytest.param("spark", marks=pytest.mark.slow)])
def test_several_distinct_aggregates(tmp_path: Path, engine: Any) -> None:
    rng = random.Random(3)
    db = viewlet.connect(tmp_path / "warehouse", engine=engine)
    db.sql("CREATE TABLE t (g INT, a INT, b STRING, d DOUBLE, p DECIMAL(10, 2), q DECIMAL(38, 2))")
    for name, query in VIEWS.items():
        db.create_view(name, query)
    assert all("keyed" not in db.explain(name) for name in ("by_key", "of_all"))
    doubles = [None, -0.0, 1.5, -2.5, float("inf"), float("nan")]
    decimals = [None, Decimal("1.25"), Decimal("-3.50")]
    there: list[Any] = []
    apart = rounds(8, 4)
    for number in range(16):
        gone = [there.pop(rng.randrange(len(there))) for _ in range(min(len(there), rng.choice([0, 1, 3])))]
        new = [
            (
                rng.choice([None, 1, 2]),
                rng.choice([None, 1, 2, 3]),
                rng.choice([None, "a", "b"]),
                rng.choice(doubles if number > 9 else doubles[:4]),
                rng.choice(decimals),
                rng.choice([None, Decimal("9" * 30), Decimal("-1.00")]),
            )
            for _ in range(rng.choice([0, 2, 5]))
        ]
        with db.epoch() as epoch:
            epoch.delete("t", gone)
            epoch.insert("t", new)
        there += new
        if number % apart == apart - 1:
            assert {name: db.check(name).to_pylist() for name in VIEWS} == {name: [] for name in VIEWS}
    db.close()


@pytest.mark.spark
def test_lists_of_texts_beside_several_distinct(spark: Any, tmp_path: Path) -> None:
    """Spark spreads the values of several DISTINCT over rows of their own, and then fails on a listagg with an order."""
    calls = "listagg(DISTINCT s, ',') AS a, count(DISTINCT w, k) AS n, listagg(s) AS b, listagg(DISTINCT s) FILTER (WHERE w > 1) AS c"
    rows = [(1, "b", 1, 1), (1, "a", 2, 1), (1, "b", 2, 1), (1, None, 3, None), (2, None, 1, 1)]
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as db:
        db.create_table("texts", "g INT, s STRING, w INT, k INT")
        db.create_view("lists", f"SELECT g, {calls} FROM texts GROUP BY g")
        for row in rows:
            db.insert("texts", [row])
        assert sorted(db.table("lists").rows()) == [(1, "a,b", 2, "abb", "ab"), (2, None, 1, None, None)]
        assert db.check().num_rows == 0
        with pytest.raises(SqlError, match="Spark itself fails on the query"):
            db.create_view("bad", f"SELECT {calls}, listagg(DISTINCT s) WITHIN GROUP (ORDER BY s) AS d FROM texts")
