"""ITERATE: rounds that go on from the last result until they settle."""

from __future__ import annotations

import random
from collections import Counter
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


FIGURE_5 = """INITIALIZE it AS (SELECT src, dest FROM graph),
           score(dest, score) AS (SELECT DISTINCT src, 1.0D FROM graph),
           n(src, n) AS (SELECT src, count(dest) FROM it GROUP BY src),
           it_count AS (SELECT it.src, it.dest, n.n FROM it, n WHERE it.src = n.src)
ITERATE SET score = SELECT ic.dest, 0.25D + 0.5D * sum(sc.score / ic.n) AS score FROM score sc, it_count ic WHERE sc.dest = ic.src GROUP BY ic.dest
UNTIL max(abs(new.score - old.score)) < 1e-4D ON score BY (dest) HOLD CHANGES WHERE abs(new.score - old.score) < 1e-12D
RETURN SELECT dest AS v, score FROM score"""
"""OptIQ's query once its table is decomposed and its subqueries are lifted; ψ is so small that it holds nothing back."""


def figure_8(edges: list[tuple[int, int]], epsilon: float) -> tuple[dict[int, float], list[int]]:
    """OptIQ's incremental query, line by line, with our damping: the scores, and how many of them each round changes."""
    count = Counter(src for src, _ in edges)
    it_count = [(src, dest, count[src]) for src, dest in edges]

    def gathered(of: dict[int, float]) -> dict[int, float]:
        found: dict[int, float] = {}
        for src, dest, n in it_count:
            if src in of:
                found[dest] = found.get(dest, 0.0) + of[src] / n
        return found

    score = dict.fromkeys(count, 1.0)
    d_score = {dest: 0.25 + 0.5 * total - score[dest] for dest, total in gathered(score).items()}
    sizes = []
    while True:
        d_score = {dest: change for dest, change in d_score.items() if change}
        score |= {dest: score[dest] + change for dest, change in d_score.items()}
        sizes.append(len(d_score))
        if max(map(abs, d_score.values()), default=0.0) < epsilon:
            return score, sizes
        d_score = {dest: 0.5 * total for dest, total in gathered(d_score).items()}


FIGURE_4 = FIGURE_5.replace(
    "score sc, it_count ic WHERE sc.dest = ic.src", "score sc, it ic, n WHERE sc.dest = ic.src AND n.src = ic.src"
).replace("ic.n)", "n.n)")
"""The same before the last subquery is lifted: the count is looked up beside the edges."""


@pytest.mark.parametrize("text", [FIGURE_5, FIGURE_4], ids=["with IT_Count", "with IT and Count"])
def test_rounds_are_those_that_the_paper_derives(db: viewlet.Database, text: str) -> None:
    """OptIQ's figure 8: the same rows change in each round. Counts are powers of two, so that nothing is rounded."""
    chance = random.Random(4)
    ends = {v: {(v + 1) % 60, chance.randrange(60)} if v < 40 else {(v + 1) % 60} for v in range(60)}
    edges = [(v, to) for v, some in ends.items() for to in some]
    db.create_table("graph", "src BIGINT, dest BIGINT, score DOUBLE", rows=[(a, b, 1.0) for a, b in edges])
    db.create_view("ranks", text)
    score, sizes = figure_8(edges, 1e-4)
    assert 5 < len(sizes) < 20
    assert min(sizes) < len(score), "some rounds change just some rows"
    assert dict(db.table("ranks").rows()) == score
    assert [size / 2 for size in rounds_of(db, "ranks").values()] == sizes, "a row that changes goes and comes"


@pytest.mark.parametrize(
    ("text", "views", "along"),
    [
        (FIGURE_5, ["ranks.edges_score (source, target, n)"], "ranks.edges_score"),
        (
            FIGURE_4,
            ["ranks.edges_score (source, target)", "ranks.sources_score (source, n)"],
            "ranks.sources_score ⋈ ranks.edges_score",
        ),
    ],
    ids=["with IT_Count", "with IT and Count"],
)
def test_explain_shows_it_count_and_the_step_on_d_score(
    db: viewlet.Database, text: str, views: list[str], along: str
) -> None:
    """Line 7 of the paper's figure 8, IT_Count; and lines 26 to 30, dScore: sums of dScore ⋈ IT_Count by dest."""
    db.create_table("graph", "src BIGINT, dest BIGINT, score DOUBLE", rows=[(0, 1, 1.0), (1, 0, 1.0)])
    db.create_view("ranks", text)
    invariant, step = db.explain("ranks").split("  invariant views\n")[1].split("  on Δscore\n")
    listed = [
        line.strip().removesuffix(", in memory") for line in invariant.split("\n") if line.endswith(", in memory")
    ]
    assert listed == views
    assert "] := Sum[src_2](count(dest_3))" in invariant, "the count is kept, too"
    assert "round_score" not in invariant, "nothing of it changes from round to round"
    first, *_ = step.split("\n")
    assert first.strip() == f"sum += sum(score / cast(n AS double)) of Δscore ⋈ {along}, by target"
    assert "\n    score ← 0.25 + 0.5 * sum\n" in step


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
    (in_full,) = (line for line in db.explain("ranks").split("\n") if line.startswith("    in full, sum := "))
    assert in_full.endswith("where more than one in 8 edges starts at Δranks")
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
