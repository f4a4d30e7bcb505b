"""ITERATE: rounds that go on from the last result until they settle."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.loops import references
from tests.marks import rounds
from viewlet import loops
from viewlet.errors import EndlessLoop, UnsupportedQuery

pytestmark = pytest.mark.spark

HALVES = """INITIALIZE t(k, x) AS (SELECT k, 0.0D FROM goals)
ITERATE LET near = SELECT goals.k, (t.x + goals.x) / 2 AS x FROM goals LEFT JOIN t ON t.k = goals.k;
        SET t = SELECT k, coalesce(x, 0.0D) AS x FROM near
UNTIL max(abs(new.x - old.x)) < 0.01D ON t BY k{} RETURN SELECT k, x FROM t"""


@pytest.fixture
def db(tmp_path: Path, spark: Any) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as made:
        made.sql("CREATE TABLE goals (k BIGINT, x DOUBLE)")
        yield made


def halves(x: float, goal: float) -> float:
    """What the loop makes of a row, round by round."""
    while True:
        x, before = (x + goal) / 2, x
        if abs(x - before) < 0.01:
            return x


def rounds_of(db: viewlet.Database, view: str) -> dict[str, int]:
    found: dict[str, int] = db.history(view)[-1]["views"][view]["rounds"]
    return found


def test_an_epoch_runs_on_from_the_last_result(db: viewlet.Database, tmp_path: Path, spark: Any) -> None:
    db.insert("goals", [(1, 8.0)])
    db.sql(f"CREATE MATERIALIZED VIEW h AS {HALVES.format('')}")
    first = halves(0.0, 8.0)
    assert db.table("h").rows() == [(1, first)]
    db.close()
    with viewlet.connect(tmp_path / "w", spark=spark) as again:
        with again.epoch() as e:
            e.delete("goals", [(1, 8.0)])
            e.insert("goals", [(1, 9.0)])
        assert again.table("h").rows() == [(1, halves(first, 9.0))]
        assert again.check("h").num_rows == 0
        again.delete("goals", [(1, 9.0)])
        assert again.table("h").rows() == []


def test_only_what_changes_goes_through_a_round(db: viewlet.Database) -> None:
    db.insert("goals", [(k, 1.0 * k) for k in range(100)])
    db.create_view("h", HALVES.format(" HOLD CHANGES WHERE abs(new.x - old.x) < 0.01D"))
    with db.epoch() as e:
        e.delete("goals", [(7, 7.0)])
        e.insert("goals", [(7, 70.0)])
    assert set(rounds_of(db, "h").values()) == {2}  # the old row and the new one of a single key
    found = dict(db.table("h").rows())
    assert found[7] == pytest.approx(70.0, abs=0.02)
    assert all(abs(x - k) < 0.02 for k, x in found.items() if k != 7)
    assert db.check("h").num_rows == 0


def test_a_loop_goes_on_from_its_result_however_much_changes(db: viewlet.Database) -> None:
    db.insert("goals", [(k, 1.0) for k in range(3)])
    db.create_view(
        "h",
        "INITIALIZE t(x) AS (SELECT 0.0D) ITERATE SET t = SELECT greatest(t.x, m.x) AS x FROM t, (SELECT max(x) AS x FROM goals) m"
        " UNTIL FIXPOINT RETURN SELECT x FROM t",
    )
    assert db.table("h").rows() == [(1.0,)]
    with db.epoch() as e:
        e.delete("goals", [(k, 1.0) for k in range(3)])
        e.insert("goals", [(k, -5.0) for k in range(4_000)])
    assert db.table("h").rows() == [(1.0,)]  # and not 0.0, which it would come to from the start
    db.rebuild("h")
    assert db.table("h").rows() == [(0.0,)]


@pytest.mark.slow
def test_changes_that_are_held_back_add_up(db: viewlet.Database) -> None:
    db.insert("goals", [(1, 0.0)])
    db.create_view("h", HALVES.format(" HOLD CHANGES WHERE abs(new.x - old.x) < 0.01D"))
    count = rounds(60, 200)
    for step in range(count):
        with db.epoch() as e:
            e.delete("goals", [(1, step * 0.005)])
            e.insert("goals", [(1, (step + 1) * 0.005)])
    ((_, x),) = db.table("h").rows()
    assert x == pytest.approx(count * 0.005, abs=0.03)  # though no single change was above the threshold


def test_max_stops_and_what_is_left_is_done_later(db: viewlet.Database) -> None:
    db.insert("goals", [(1, 8.0)])
    db.create_view("h", HALVES.format(" MAX 2"))
    assert db.table("h").rows() == [(1, 6.0)]
    db.insert("goals", [(2, 8.0)])
    assert dict(db.table("h").rows())[1] == 7.5


def test_a_loop_that_does_not_settle_says_so(db: viewlet.Database) -> None:
    db.insert("goals", [(1, 1.0)])
    with pytest.raises(EndlessLoop, match=r"round 1000 still changes 2 rows of t, such as \(1, -?1\.0\)"):
        db.create_view(
            "h",
            "INITIALIZE t AS (SELECT k, x FROM goals) ITERATE SET t = SELECT k, -x AS x FROM t UNTIL FIXPOINT RETURN SELECT * FROM t",
        )
    assert db.views == ()


def test_restart_begins_with_the_first_rows_in_every_epoch(db: viewlet.Database) -> None:
    text = """INITIALIZE t(k, x) AS (SELECT k, x FROM goals)
        ITERATE SET t = SELECT k, greatest(x - 1, 0.0D) AS x FROM t WHERE x <> 3 UNTIL FIXPOINT RESTART RETURN SELECT * FROM t"""
    db.insert("goals", [(1, 2.0), (2, 5.0)])
    db.create_view("h", text)
    assert db.table("h").rows() == [(1, 0.0)]
    db.insert("goals", [(3, 1.5)])
    assert sorted(db.table("h").rows()) == [(1, 0.0), (3, 0.0)]
    assert db.check("h").num_rows == 0


def test_a_step_may_need_all_rows_of_its_state(db: viewlet.Database) -> None:
    text = """INITIALIZE t(k, x) AS (SELECT k, x FROM goals)
        ITERATE SET t = SELECT k, x FROM t ORDER BY x, k LIMIT 2 UNTIL FIXPOINT RESTART RETURN SELECT * FROM t"""
    db.insert("goals", [(k, 9.0 - k) for k in range(5)])
    db.create_view("h", text)
    assert sorted(db.table("h").rows()) == [(3, 6.0), (4, 5.0)]
    db.insert("goals", [(9, 1.0)])
    assert sorted(db.table("h").rows()) == [(4, 5.0), (9, 1.0)]
    assert db.check("h").num_rows == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HALVES.replace("BY k", "BY z").format(""), r"BY \(z\) names what is no column of `t`"),
        (HALVES.replace("max(abs(new.x - old.x)) < 0.01D", "sha2(CAST(max(new.x) AS STRING), 256) = ''").format(""), "evaluated by Spark alone"),
        (
            "INITIALIZE t(k, x) AS (SELECT k, CAST(1 AS DECIMAL(2,1)) FROM goals) ITERATE SET t = SELECT k, x + 1.11 AS x FROM t "
            "UNTIL FIXPOINT RETURN SELECT * FROM t",
            "grow with every round",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_iterated_says_why(db: viewlet.Database, text: str, message: str) -> None:
    with pytest.raises(UnsupportedQuery, match=message):
        db.create_view("h", text)


PAPER = """INITIALIZE g AS (SELECT src, dest, score FROM graph),
           n(src, n) AS (SELECT src, count(dest) FROM graph GROUP BY src)
ITERATE SET score = SELECT g.dest, 0.15D + 0.85D * sum(g.score / n.n) AS score FROM g JOIN n ON g.src = n.src GROUP BY g.dest;
        SET g = SELECT m.src, m.dest, score.score FROM g m JOIN score ON m.src = score.dest
UNTIL max(abs(new.score - old.score)) < 1e-10 ON g BY (src, dest) RETURN SELECT DISTINCT src AS v, score FROM g"""


def test_explain_shows_the_invariant_view_and_the_delta_step_of_the_paper(db: viewlet.Database) -> None:
    """OptIQ's example 2.1: the count of each vertex never changes in the loop, and the step runs on what changed."""
    chance = random.Random(2)
    cycle = [(v, (v + 1) % 6) for v in range(6)]  # every vertex has an edge in and one out, as the example assumes
    edges = sorted({*cycle, *((chance.randrange(6), chance.randrange(6)) for _ in range(8))})
    db.create_table("graph", "src BIGINT, dest BIGINT, score DOUBLE", rows=[(a, b, 1.0) for a, b in edges])
    db.create_view("ranks", PAPER)
    expected = references.pagerank([(a, b, 0) for a, b in edges])
    assert dict(db.table("ranks").rows()) == pytest.approx(expected, abs=1e-8)
    text = db.explain("ranks")
    invariant = text.split("  invariant views\n")[1].split("\n  maps\n")[0]
    assert "Sum[" in invariant
    assert "count" in invariant
    assert "round_g" not in invariant
    step = text.split("on ranks.round_g\n")[1].split("result\n")[0]
    assert "Δranks.round_g" in step
    assert "sum(score" in step


def test_ranks_are_off_by_what_is_held_on_average(db: viewlet.Database) -> None:
    """Many vertices hold their changes back from one that all of them lead to: it is off by more than the average may be."""
    chance, tolerance = random.Random(5), 0.05
    edges = sorted({(v, 0) for v in range(1, 60)} | {(v, chance.randrange(60)) for v in range(60) for _ in range(2)})
    db.create_table("edges", "src BIGINT, dst BIGINT", rows=edges)
    db.create_view("ranks", loops.pagerank("edges", tolerance=tolerance))
    for _ in range(6):
        gone = chance.sample([(a, b) for a, b in edges if b], 4)
        edges = [edge for edge in edges if edge not in gone]
        db.delete("edges", gone)
        expected = references.pagerank([(a, b, 0) for a, b in edges])
        off = [abs(rank - expected[v]) for v, rank in db.table("ranks").rows()]
        assert 0 < sum(off) / len(off) < 0.85 / 0.15 * tolerance


def test_rounds_that_reach_most_edges_are_evaluated_in_full_and_say_so(db: viewlet.Database) -> None:
    """From scratch, ranks change everywhere at first; a change of one edge of many reaches few."""
    chance = random.Random(3)
    edges = sorted({(v, chance.randrange(200)) for v in range(200) for _ in range(3)})
    db.create_table("edges", "src BIGINT, dst BIGINT", rows=edges)
    db.create_view("ranks", loops.pagerank("edges", tolerance=0.01))
    assert "in full, all sums anew, where more than one in 8 edges starts at Δranks" in " ".join(
        db.explain("ranks").split()
    )
    done = db.history("ranks")[-1]["views"]["ranks"]
    assert done["in_full"][0] == 1
    assert len(done["in_full"]) < len(done["rounds"])
    first = done["rounds"]["1"]
    assert f"1: {first:,} in full, " in db.explain("ranks")
    db.delete("edges", [edges[0]])
    assert "in_full" not in db.history("ranks")[-1]["views"]["ranks"]
    assert "in full" not in db.explain("ranks").split("last epoch")[1]


def test_the_ready_pagerank_costs_what_a_change_reaches(db: viewlet.Database) -> None:
    """Two parts of a graph that know nothing of each other: a change of one leaves the ranks of the other alone."""
    edges = [(10 * p + a, 10 * p + b) for p in range(20) for a, b in ((0, 1), (1, 2), (2, 0), (0, 2))]
    db.create_table("edges", "src BIGINT, dst BIGINT", rows=edges)
    db.create_view("ranks", loops.pagerank("edges", tolerance=1e-6))
    db.delete("edges", [(0, 2)])
    assert max(rounds_of(db, "ranks").values()) <= 6  # of 60 vertices
    held = db.history("ranks")[-1]["views"]["ranks"]["held"]
    assert 0 < held["most"] < 1e-6
    assert f"held back: {held['rows']} rows changed, by {held['most']:.3g} at most" in db.explain("ranks")
    kept = [(a, b, 0) for a, b in edges if (a, b) != (0, 2)]
    assert dict(db.table("ranks").rows()) == pytest.approx(references.pagerank(kept), abs=1e-4)
