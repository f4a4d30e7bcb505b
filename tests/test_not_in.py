"""NOT IN with NULL on either side: kept in the ring, and what Spark says."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.marks import rounds

VIEWS = {
    "plain": "SELECT a, s FROM l WHERE a NOT IN (SELECT b FROM r)",
    "computed": "SELECT a, s FROM l WHERE a + 1 NOT IN (SELECT b FROM r WHERE t = 'x') AND s IS NOT NULL",
    "counted": "SELECT count(*) AS n FROM l WHERE s NOT IN (SELECT t FROM r)",
}


@pytest.mark.spark
@pytest.mark.parametrize("engine", ["inproc", pytest.param("spark", marks=pytest.mark.slow)])
def test_not_in_follows_both_sides(tmp_path: Path, engine: Any) -> None:
    rng = random.Random(5)
    db = viewlet.connect(tmp_path / "warehouse", engine=engine)
    db.sql("CREATE TABLE l (a INT, s STRING)")
    db.sql("CREATE TABLE r (b INT, t STRING)")
    for name, query in VIEWS.items():
        db.create_view(name, query)
        assert "recompute" not in db.explain(name)
    there: dict[str, list[Any]] = {"l": [], "r": []}
    for number in range(24):
        with db.epoch() as epoch:
            for table, rows in there.items():
                gone = [rows.pop(rng.randrange(len(rows))) for _ in range(min(len(rows), rng.choice([0, 1, 3])))]
                new = [
                    (rng.choice([None, 1, 2, 3]), rng.choice([None, "x", "y"])) for _ in range(rng.choice([0, 1, 3]))
                ]
                epoch.delete(table, gone)
                epoch.insert(table, new)
                rows += new
        if number % rounds(11, 3) == 0:
            assert {name: db.check(name).to_pylist() for name in VIEWS} == {name: [] for name in VIEWS}
    db.close()
