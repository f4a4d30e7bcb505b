"""Aggregates of a group's values in order: mode, percentiles, listagg and lists beside each other, without Spark."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import viewlet
from tests.marks import rounds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

VIEWS = {
    "modes": "SELECT g, mode(a) AS x, mode(s) AS y, mode() WITHIN GROUP (ORDER BY d DESC) AS z FROM t GROUP BY g",
    "percentiles": "SELECT g, percentile_disc(0.4) WITHIN GROUP (ORDER BY a) AS x, "
    "percentile_disc(array(0.1, 0.9)) WITHIN GROUP (ORDER BY d DESC) FILTER (WHERE a > 1) AS y, "
    "percentile_cont(0.3) WITHIN GROUP (ORDER BY a DESC) AS z, percentile(d, array(0.0, 0.5)) AS m FROM t GROUP BY g",
    "texts": "SELECT g, listagg(s, ', ') AS x, listagg(s) WITHIN GROUP (ORDER BY a DESC NULLS LAST, s) AS y FROM t GROUP BY g",
    "distinct": "SELECT g, listagg(DISTINCT s, '-') WITHIN GROUP (ORDER BY s DESC) AS x FROM t GROUP BY g",
    "lists": "SELECT g, collect_list(a) AS x, collect_list(s) AS y, first(a) AS z FROM t GROUP BY g",
    "of_all": "SELECT mode(a) AS x, listagg(s, ',') AS y, percentile_disc(0.5) WITHIN GROUP (ORDER BY d) AS z FROM t",
}


def row(random: random.Random) -> tuple[Any, ...]:
    """A row that may well be there already."""
    doubles = (None, float("nan"), 0.0, -0.0, 1.5, float("-inf"))
    words = (None, "", "a", "b", "é")
    return random.choice((None, 1, 2)), random.choice((None, 1, 2, 3)), random.choice(words), random.choice(doubles)


@pytest.mark.parametrize("engine", ["inproc", pytest.param("spark", marks=pytest.mark.slow)])
def test_kept_in_process(spark: SparkSession, tmp_path: Path, engine: Any) -> None:
    chosen, there = random.Random(5), list[Any]()
    with viewlet.connect(tmp_path / "warehouse", spark=spark, engine=engine) as db:
        db.sql("CREATE TABLE t (g INT, a INT, s STRING, d DOUBLE)")
        for name, query in VIEWS.items():
            db.create_view(name, query)
            assert "on Spark" not in db.explain(name), name
        apart = rounds(12, 4)
        for number in range(12):
            gone = [there.pop(chosen.randrange(len(there))) for _ in range(min(len(there), chosen.choice((0, 1, 4))))]
            new = [row(chosen) for _ in range(chosen.choice((0, 3, 9)))]
            with db.epoch() as epoch:
                epoch.delete("t", gone)
                epoch.insert("t", new)
            there += new
            if number % apart == apart - 1:
                assert db.check().to_pylist() == []
