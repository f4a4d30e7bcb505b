"""Aggregates that are kept in parts, joined by key: sums, distinct values, states, first rows."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.marks import some

VIEWS = {
    "mixed": "SELECT g, count(*) AS n, sum(x) AS s, max(x) AS m FROM t GROUP BY g",
    "chosen": "SELECT g, min_by(x, id) AS a, max_by(s, d) AS b FROM t GROUP BY g",
    "overall": "SELECT count(*) AS n, sum(x) AS s, max(s) AS m, count(DISTINCT g) AS k FROM t",
    "all_ways": "SELECT g, count(DISTINCT x) AS d, sum(x) AS s, max(s) AS m, min(id) AS i FROM t GROUP BY g "
    "HAVING count(*) > 1",
    "rows": "SELECT g, first(x) AS f, last(s) AS l, any_value(id) AS a, avg(d) AS v FROM t GROUP BY g",
    "truths": "SELECT bool_and(x > 1) AS a, bool_or(x > 3) AS b, max(x) FILTER (WHERE id > 5) AS m FROM t",
    "computed_key": "SELECT g % 2 AS h, avg(x) AS v, max(id) AS m FROM t GROUP BY g % 2",
    "double_key": "SELECT d, avg(x) AS v, max(id) AS m, min(d) AS w FROM t GROUP BY d",
    "two_distinct": "SELECT g, count(DISTINCT x) AS a, sum(DISTINCT id % 7) AS b, max(d) AS m FROM t GROUP BY g",
    "structs": "SELECT g, max(struct(d, s, id)) AS top, min(struct(s, x)) AS low, count(s) AS n FROM t GROUP BY g",
    "joined": "SELECT a.g, max(a.s) AS m, sum(b.x) AS s FROM t a JOIN t b ON a.id = b.x GROUP BY a.g",
    "nothing": "SELECT g, max(x) AS m, sum(x) AS s FROM t WHERE id > 100000 GROUP BY g",
    "over_view": "SELECT n, max(m) AS m, count(*) AS c FROM mixed GROUP BY n",
    "whole": "SELECT g, mode(x) AS d, sum(x) AS s, max(x) AS m FROM t GROUP BY g",
    "sketched": "SELECT g, approx_count_distinct(x) AS a, approx_count_distinct(s, 0.1) AS b, max(x) AS m, count(*) AS n "
    "FROM t GROUP BY g",
    "sketch_overall": "SELECT approx_count_distinct(d) AS a, sum(x) AS s FROM t",
    "by_word": "SELECT s, min(s) AS a, max(d) AS b, sum(id) AS c FROM t GROUP BY s",
}
ON_SPARK = ("mixed", "overall", "all_ways", "rows", "structs", "double_key")


def made_up(rng: random.Random, i: int) -> tuple[Any, ...]:
    pick = rng.choice
    words = [None, "", "a", "a word that is long: 1", "a word that is long: 2", "zz"]
    return i, pick([1, 2, 2, None]), pick([None, 1, 2, 3, 9]), pick(words), pick([0.0, -0.0, float("nan"), None, 1.5])


@pytest.mark.spark
@pytest.mark.parametrize("engine", ["inproc", pytest.param("spark", marks=pytest.mark.slow)])
def test_parts_are_exact(tmp_path: Path, engine: Any) -> None:
    rng = random.Random(5)
    db = viewlet.connect(tmp_path / "warehouse", engine=engine)
    db.sql("CREATE TABLE t (id INT, g INT, x INT, s STRING, d DOUBLE)")
    names = some(2, VIEWS) if engine == "inproc" else list(ON_SPARK)
    for name in names:
        db.create_view(name, VIEWS[name])
    there: list[Any] = []
    for number, size in enumerate((0, 1, 30, 12, 0, 40) if engine == "inproc" else (20, 5)):
        gone = [there.pop(rng.randrange(len(there))) for _ in range(min(len(there), size))] if number != 4 else there
        new = [made_up(rng, 100 * number + j) for j in range(size)]
        with db.epoch() as e:
            e.delete("t", gone)
            e.insert("t", new)
        there = [] if number == 4 else there + new
        if number in (2, 5):
            assert db.check().to_pylist() == []
    db.close()


@pytest.mark.spark
def test_explain_says_what_is_kept_apart(tmp_path: Path) -> None:
    db = viewlet.connect(tmp_path / "warehouse", engine="inproc")
    db.sql("CREATE TABLE t (id INT, g INT, x INT, s STRING, d DOUBLE)")
    for name in ("mixed", "all_ways", "whole"):
        db.create_view(name, VIEWS[name])
    assert "max: only the first rows of a group are read, in order; sums are kept separately" in db.explain("mixed")
    assert "sums and distinct values are kept separately" in db.explain("all_ways")
    assert "is not a sum" in db.explain("whole")
    db.close()
