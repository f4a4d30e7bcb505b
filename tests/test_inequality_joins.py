"""Semi, anti and outer joins by an inequality, alone and beside equalities: who has a partner, and who has lost it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.marks import some

CONDITIONS = {
    "lt": "a.x < b.y",
    "ge": "a.x >= b.y",
    "computed": "b.y > length(a.s) AND coalesce(b.w, 1.0) > 0",
    "keyed": "a.g = b.g AND a.x <= b.y",
    "null_safe": "a.g <=> b.g AND b.y < a.x AND b.w > 0 AND a.w IS NOT NULL",
    "doubles": "a.w < b.w",
    "words": "a.s > b.s AND a.g = b.g",
}
JOINS = ("SEMI", "ANTI", "LEFT", "RIGHT", "FULL")


def queries(kinds: tuple[str, ...]) -> dict[str, str]:
    """Some kinds of joins by the conditions."""
    made = {}
    for name, condition in some(2, CONDITIONS.items()):
        for kind in kinds:
            shown = "a.g, a.x, a.w, a.s" if kind in ("SEMI", "ANTI") else "a.g, a.x, a.s, b.y, b.w AS v"
            made[f"{name}_{kind.lower()}"] = f"SELECT {shown} FROM l a {kind} JOIN r b ON {condition}"
    made["exists"] = "SELECT x FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.y > l.x) OR g = 1"
    made["counted"] = "SELECT a.g, count(b.y) AS n, count(*) AS m FROM l a LEFT JOIN r b ON a.x < b.y GROUP BY a.g"
    return made


def made_up(rng: random.Random) -> tuple[Any, ...]:
    pick = rng.choice
    doubles = [None, 0.0, -0.0, 1.5, float("nan"), float("-inf")]
    return pick([1, 2, None]), pick([None, *range(8)]), pick(doubles), pick([None, "", "a", "b"])


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(
    ("engine", "kinds"),
    [
        ("inproc", ("ANTI", "FULL")),
        pytest.param("inproc", JOINS, marks=pytest.mark.slow),
        pytest.param("spark", ("ANTI",), marks=pytest.mark.slow),
    ],
)
def test_partners_by_an_inequality(tmp_path: Path, engine: Any, kinds: tuple[str, ...]) -> None:
    rng = random.Random(2)
    db = viewlet.connect(tmp_path / "warehouse", engine=engine)
    db.sql("CREATE TABLE l (g INT, x INT, w DOUBLE, s STRING)")
    db.sql("CREATE TABLE r (g INT, y INT, w DOUBLE, s STRING)")
    views = queries(kinds)
    for name, query in views.items():
        db.create_view(name, query)
    assert not any("recompute" in db.explain(name) for name in views)
    there: dict[str, list[Any]] = {"l": [], "r": []}
    for number in range(8 if engine == "inproc" else 2):
        with db.epoch() as e:
            for table, rows in there.items():
                gone = [rows.pop(rng.randrange(len(rows))) for _ in range(rng.randrange(len(rows) + 1))]
                new = [made_up(rng) for _ in range(rng.choice([0, 1, 4]))]
                e.delete(table, gone)
                e.insert(table, new)
                rows += new
        if number in some(2, (1, 2, 7)):
            assert db.check().to_pylist() == []
    db.close()
