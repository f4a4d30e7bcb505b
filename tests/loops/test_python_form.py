"""Loops given in Python, over DataFrames: the same rows as the references give, epoch by epoch, and after opening again."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.loops import references
from viewlet import loops
from viewlet.errors import UnsupportedQuery, UntrustedCode

pytestmark = pytest.mark.spark
Edge = tuple[int, int, int]


@pytest.fixture
def db(tmp_path: Path, spark: Any) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as made:
        made.sql("CREATE TABLE edges (src BIGINT, dst BIGINT, w BIGINT)")
        yield made


def distances(db: viewlet.Database) -> loops.PythonLoop:
    from pyspark.sql import functions as F

    edges = db.spark.table("edges")
    first = db.spark.sql("SELECT 0 AS v, 0 AS cost")  # the steps make these BIGINT
    return loops.recursion(
        loops.Recursive(
            "d",
            first,
            lambda d: d.join(edges, d.v == edges.src).groupBy("dst").agg(F.min(d.cost + edges.w)),
            key="v",
        )
    )


def ranks(db: viewlet.Database) -> loops.PythonLoop:
    """PageRank, each vertex with the shares that its neighbours give: a table that the loop changes as well."""
    from pyspark.sql import functions as F

    edges = db.spark.table("edges")
    outward = edges.groupBy("src").agg(F.count("*").alias("n"))
    vertices = edges.selectExpr("src AS v").union(edges.selectExpr("dst")).distinct()
    return loops.iteration(
        loops.Iterated(
            "given",
            db.spark.sql("SELECT 0L AS v, 0.0D AS share WHERE false"),
            lambda rank: (
                rank.join(outward, rank.v == outward.src)
                .join(edges, "src")
                .groupBy("dst")
                .agg(F.sum(rank.rank / outward.n))
            ),
        ),
        loops.Iterated(
            "rank",
            vertices.selectExpr("v", "1.0D AS rank"),
            lambda given: vertices.join(given, "v", "left").selectExpr(
                "v", "0.15D + 0.85D * coalesce(share, 0.0D) AS rank"
            ),
        ),
        until="max(abs(new.rank - old.rank)) < 1e-10",
        on="rank",
        by="v",
        result=lambda rank: rank.select("v", "rank"),
    )


def walks(db: viewlet.Database) -> loops.PythonLoop:
    from pyspark.sql import functions as F

    edges = db.spark.table("edges")
    first = db.spark.sql("SELECT 0L AS v, 1L AS ways")

    def step(walk: Any) -> Any:
        return walk.join(edges, walk.v == edges.src).groupBy("dst").agg(F.sum("ways"))

    return loops.repetition("walk", first, step, rounds=2)


def two_steps(edges: list[Edge]) -> Counter[int]:
    return Counter(d for a, b, _ in edges if a == 0 for c, d, _ in edges if c == b)


@pytest.mark.slow
def test_every_loop_is_what_the_reference_gives(db: viewlet.Database, tmp_path: Path, spark: Any) -> None:
    chance = random.Random(3)
    edges = [(chance.randrange(9), chance.randrange(9), chance.randrange(5)) for _ in range(20)]
    db.insert("edges", edges)
    for name, loop in (("dist", distances(db)), ("walks", walks(db))):
        db.create_view(name, loop)
    for turn in range(4):
        if turn == 2:  # what is stored is enough to go on, and to check
            db.close()
            db = viewlet.connect(tmp_path / "w", spark=spark, engine="inproc")
        if turn:
            gone, new = edges[:3], [(chance.randrange(9), chance.randrange(9), 1) for _ in range(3)]
            with db.epoch() as e:
                e.delete("edges", gone)
                e.insert("edges", new)
            edges = edges[3:] + new
        assert dict(db.table("dist").rows()) == references.distances(edges, [0])
        assert dict(db.table("walks").rows()) == two_steps(edges)
    db.close()


@pytest.mark.slow
def test_check_runs_the_plans_that_are_stored(db: viewlet.Database, tmp_path: Path, spark: Any) -> None:
    edges = [(0, 1, 2), (1, 2, 0), (2, 0, 1), (2, 3, 4)]
    db.insert("edges", edges)
    for name, loop in (("dist", distances(db)), ("ranks", ranks(db)), ("walks", walks(db))):
        db.create_view(name, loop)
    db.close()
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as again:
        again.insert("edges", [(0, 3, 1)])
        expected = references.pagerank([*edges, (0, 3, 1)])
        assert dict(again.table("ranks").rows()) == pytest.approx(expected, abs=1e-8)
        assert again.check().num_rows == 0


@pytest.mark.slow
def test_states_may_read_each_other_and_end_at_a_limit(db: viewlet.Database) -> None:
    db.insert("edges", [(n, n + 1, 0) for n in range(9)])
    edges = db.spark.table("edges")
    even = loops.Recursive("even", "SELECT 0L AS v", lambda odd: odd.join(edges, odd.v == edges.src).select("dst"))
    odd = loops.Recursive(
        "odd", "SELECT 99L AS v", lambda even: even.join(edges, even.v == edges.src).select("dst"), all=True
    )
    db.create_view("both", loops.recursion(even, odd, result=lambda even, odd: even.unionByName(odd)))
    assert sorted(db.table("both").rows()) == [*((n,) for n in range(10)), (99,)]
    db.create_view("near", loops.recursion(even, odd, limit=4, at_limit="return"))
    assert sorted(db.table("near").rows()) == [(0,), (2,), (4,)]


def test_what_is_wrong_is_said(db: viewlet.Database) -> None:
    first = db.spark.sql("SELECT 0L AS v")
    seven: Any = lambda t: 7  # noqa: E731
    cases = [
        (loops.Recursive("t", first, lambda u: u), r"`_t_step` asks for `u`, which is no state"),
        (loops.Recursive("t", first, seven), r"gives is 7, an int"),
        (loops.Recursive("edges", first, lambda edges: edges), "`edges` is a table or view already"),
    ]
    for state, message in cases:
        with pytest.raises(UnsupportedQuery, match=message):
            db.create_view("v", loops.recursion(state))
    with pytest.raises(UnsupportedQuery, match="does not see what the steps before it"):
        loops.iteration(loops.Iterated("a", first, "SELECT 1"), loops.Iterated("b", first, lambda a: a))
    assert db.views == ()


@pytest.mark.slow
def test_stored_plans_run_only_where_they_are_trusted(db: viewlet.Database, tmp_path: Path, spark: Any) -> None:
    db.insert("edges", [(0, 1, 2)])
    db.create_view("dist", distances(db))
    db.close()
    with viewlet.connect(tmp_path / "w", spark=spark, trust=False) as again:
        again.insert("edges", [(1, 2, 2)])  # the rounds run none of them
        assert dict(again.table("dist").rows()) == {0: 0, 1: 2, 2: 4}
        with pytest.raises(UntrustedCode, match="view dist runs code"):
            again.check("dist")
