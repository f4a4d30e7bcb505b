"""Values that settle over a graph: the same as the rounds of the compiled step give, whatever comes and goes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.loops.harness import LoopStore, compiled, stored
from tests.marks import rounds, some
from viewlet import loops

pytestmark = pytest.mark.spark

UNTIL = "UNTIL max(abs(new.x - old.x)) < 1e-9D ON t BY v"
TEXTS = {
    "ranks": loops.pagerank("edges", tolerance=1e-9),
    "personal": loops.pagerank("edges", tolerance=1e-9, hold=False, teleport="SELECT a, c FROM s WHERE a IS NOT NULL"),
    "figure_5": """INITIALIZE it AS (SELECT src, dst FROM edges), t(v, x) AS (SELECT DISTINCT src, 1.0D FROM edges),
            counts(src, n) AS (SELECT src, count(*) FROM it GROUP BY src)
        ITERATE SET t = SELECT it.dst AS v, 0.15D + 0.5D * sum(t.x / counts.n) AS x FROM t, it, counts
            WHERE t.v = it.src AND it.src = counts.src GROUP BY it.dst
        UNTIL max(abs(new.x - old.x)) < 1e-9D ON t BY v RETURN SELECT v, x FROM t""",
    "arrived": f"""INITIALIZE n(v, n) AS (SELECT src, count(*) FROM edges GROUP BY src), t(v, x) AS (SELECT DISTINCT src, 1.0D FROM edges)
        ITERATE SET t = SELECT e.dst AS v, 0.15D + 0.5D * sum(t.x / n.n) AS x
            FROM t JOIN n ON n.v = t.v JOIN edges e ON e.src = t.v GROUP BY e.dst {UNTIL} RETURN SELECT v, x FROM t""",
    "weighted": f"""INITIALIZE t(x, v) AS (SELECT 1.0D, a FROM r GROUP BY a)
        ITERATE SET t = SELECT 1.0D + 0.01D * given.x AS x, b.v FROM (SELECT a AS v, max(b) AS b FROM r GROUP BY a) b
            JOIN (SELECT e.dst AS v, sum(t.x * e.w) AS x FROM t JOIN edges e ON e.src = t.v GROUP BY e.dst) given ON given.v = b.v
        {UNTIL} RETURN SELECT v, x FROM t""",
}  # fmt: skip
TEXTS["held_weights"] = TEXTS["weighted"].replace(UNTIL, f"{UNTIL} HOLD CHANGES WHERE abs(new.x - old.x) < 1e-11D")
"""Differences are added along edges that have weights."""
TEXTS = dict(some(3, TEXTS.items()))
AS_PROGRAMS = {f"{name}_program": text for name, text in TEXTS.items()}


def epoch(store: LoopStore, chance: random.Random) -> None:
    """Some rows come and some go, NULLs and rows that are there already among them."""
    node = [None, *range(7)]
    pick = chance.choice
    inserted: Any = {
        "edges": [(pick(node), pick(node), pick([None, 0, 1, 2])) for _ in range(pick([1, 6]))],
        "r": [(pick(range(7)), pick(node)) for _ in range(pick([0, 2]))],
        "s": [(pick(node), pick([1, 2, None])) for _ in range(pick([0, 1]))],
    }
    inserted["edges"] += [pick(store.tables["edges"])] if store.tables["edges"] else []
    share = pick([0.0, 0.1, 0.4])
    deleted = {name: [row for row in rows if chance.random() < share] for name, rows in store.tables.items()}
    store.change(deleted, inserted)


def values(store: LoopStore, view: str) -> dict[Any, Any]:
    rows = store.rows(view)
    assert set(rows.values()) <= {1}
    return dict(rows.keys())


@pytest.mark.slow
def test_rounds_along_edges_are_those_of_the_step(spark: Any, tmp_path: Path) -> None:
    both = [compiled(spark, name, text) for name, text in TEXTS.items()]
    assert all(loop.gathered is not None for loop in both)
    both += [compiled(spark, name, text, relaxes=False) for name, text in AS_PROGRAMS.items()]
    assert not any(loop.gathered for loop in both[len(TEXTS) :])
    chance = random.Random(12)
    with stored(tmp_path / "s", both) as store:
        for turn in range(rounds(2, 20)):
            epoch(store, chance)
            if turn % 2 == 0:
                store.forget()  # the next epoch finds the graph by what is stored
            for name in TEXTS:
                found, expected = values(store, name), values(store, f"{name}_program")
                assert found.keys() == expected.keys(), (turn, name)
                assert found == pytest.approx(expected, abs=1e-7, nan_ok=True), (turn, name)
