"""Loops as views of a warehouse: made in SQL, refreshed by epochs, opened again, explained, checked."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from py4j.protocol import Py4JJavaError

import viewlet
from tests.marks import rounds
from viewlet import loops
from viewlet.errors import EndlessLoop, EvaluationError, SqlError, UnsupportedQuery
from viewlet.sql import split

pytestmark = pytest.mark.spark

DISTANCES = """WITH RECURSIVE d(v, cost) USING KEY (v) AS (
    SELECT 0, 0 UNION SELECT e.dst, min(d.cost + e.w) FROM d JOIN edges e ON e.src = d.v GROUP BY e.dst)
    SELECT * FROM d"""
REACHABLE = "WITH RECURSIVE t(v) AS (SELECT 0 UNION SELECT dst FROM t JOIN edges ON src = v) SELECT * FROM t"


@pytest.fixture
def db(tmp_path: Path, spark: Any) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as made:
        made.sql("CREATE TABLE edges (src BIGINT, dst BIGINT, w BIGINT)")
        yield made


def rows(db: viewlet.Database, view: str) -> list[Any]:
    return sorted(db.table(view).rows())


def test_a_cycle_that_nothing_leads_to_any_more_goes(db: viewlet.Database) -> None:
    db.insert("edges", [(0, 1, 2), (1, 2, 0), (2, 1, 0), (2, 3, 0), (3, 1, 0)])
    db.sql(f"CREATE MATERIALIZED VIEW dist AS {DISTANCES}")
    db.create_view("reach", REACHABLE)
    assert rows(db, "dist") == [(0, 0), (1, 2), (2, 2), (3, 2)]
    db.delete("edges", [(0, 1, 2)])  # the bridge to a cycle that costs nothing
    assert rows(db, "dist") == [(0, 0)]
    assert rows(db, "reach") == [(0,)]
    db.insert("edges", [(0, 3, 7)])
    assert rows(db, "dist") == [(0, 0), (1, 7), (2, 7), (3, 7)]
    assert db.check().num_rows == 0


def test_batches_do_not_matter(db: viewlet.Database) -> None:
    chance = random.Random(5)
    edges = [(chance.randrange(12), chance.randrange(12), chance.randrange(4)) for _ in range(rounds(15, 40))]
    for name, text in (("dist", DISTANCES), ("reach", REACHABLE)):
        db.create_view(name, text)
    db.insert("edges", edges)
    at_once = rows(db, "dist"), rows(db, "reach")
    db.delete("edges", edges)
    assert rows(db, "dist") == [(0, 0)]
    for edge in edges:
        db.insert("edges", [edge])
    assert (rows(db, "dist"), rows(db, "reach")) == at_once
    for edge in edges[::3]:
        db.delete("edges", [edge])
        db.insert("edges", [edge])
    assert (rows(db, "dist"), rows(db, "reach")) == at_once


def test_a_loop_goes_on_after_it_was_opened_again(db: viewlet.Database, tmp_path: Path, spark: Any) -> None:
    db.insert("edges", [(0, 1, 1), (1, 2, 1)])
    db.sql(f"CREATE MATERIALIZED VIEW dist AS {DISTANCES}")
    db.sql("CREATE MATERIALIZED VIEW far AS SELECT max(cost) AS cost FROM dist")
    db.close()
    with viewlet.connect(tmp_path / "w", spark=spark) as again:
        number = again.insert("edges", [(2, 3, 5), (0, 2, 1)])
        assert rows(again, "dist") == [(0, 0), (1, 1), (2, 1), (3, 6)]
        assert rows(again, "far") == [(6,)]
        found = again.table("dist").changes(since=number - 1).to_pylist()
        assert sorted((c["v"], c["cost"], c["_change_type"]) for c in found) == [
            (2, 1, "insert"), (2, 2, "delete"), (3, 6, "insert"),
        ]  # fmt: skip
        assert "loop" in again.status()["views"]["dist"]["kind"]
        again.drop("far")
        again.drop("dist")
        assert again.views == ()
        assert not [bag for bag in again._warehouse.store.state.bags if bag.startswith("dist")]


def test_a_loop_may_read_views_and_columns_are_carried_along(db: viewlet.Database) -> None:
    db.sql("CREATE MATERIALIZED VIEW cheap AS SELECT src, dst, min(w) AS w FROM edges WHERE w >= 0 GROUP BY src, dst")
    db.sql("""CREATE MATERIALIZED VIEW tree AS WITH RECURSIVE d(v, cost, via) USING KEY (v) AS (
        SELECT 0, 0, CAST(NULL AS BIGINT) UNION
        SELECT e.dst, min(d.cost + e.w), min_by(d.v, d.cost + e.w) FROM d JOIN cheap e ON e.src = d.v GROUP BY e.dst)
        SELECT * FROM d""")
    db.insert("edges", [(0, 1, 9), (0, 1, 4), (0, 2, 1), (2, 1, 2), (1, 3, -5), (0, 5, 2), (5, 6, 1), (2, 6, 2)])
    assert rows(db, "tree") == [(0, 0, None), (1, 3, 2), (2, 1, 0), (5, 2, 0), (6, 3, 2)]  # 6: also by way of 5
    db.delete("edges", [(0, 5, 2)])
    assert rows(db, "tree") == [(0, 0, None), (1, 3, 2), (2, 1, 0), (6, 3, 2)]
    db.delete("edges", [(2, 1, 2)])
    assert rows(db, "tree") == [(0, 0, None), (1, 4, 0), (2, 1, 0), (6, 3, 2)]
    db.insert("edges", [(0, 5, 2)])
    assert db.check("tree").num_rows == 0


def test_without_min_or_max_the_newest_row_of_a_key_stays(db: viewlet.Database) -> None:
    db.sql("""CREATE MATERIALIZED VIEW walk AS WITH RECURSIVE t(k, v, n) USING KEY (k) AS (
        SELECT 'at', 0, 0 UNION SELECT k, dst, n + 1 FROM t JOIN edges ON src = v WHERE n < 5) SELECT * FROM t""")
    db.insert("edges", [(0, 1, 0), (1, 2, 0)])
    assert rows(db, "walk") == [("at", 2, 2)]
    db.insert("edges", [(2, 0, 0)])
    assert rows(db, "walk") == [("at", 2, 5)]
    db.delete("edges", [(1, 2, 0)])
    assert rows(db, "walk") == [("at", 1, 1)]
    assert db.check("walk").num_rows == 0


COUNTED = "WITH RECURSIVE r(v, n){} AS (SELECT src, 1 FROM edges WHERE w > 0 UNION ALL SELECT dst, n + 1 FROM r JOIN edges ON src = v)"


@pytest.mark.slow
def test_union_all_is_what_spark_makes_of_it(db: viewlet.Database) -> None:
    text = f"{COUNTED.format('')} SELECT v, n, count(*) AS c FROM r GROUP BY v, n"
    db.create_view("v", text)
    db.insert("edges", [(1, 2, 1), (1, 2, 0), (2, 3, 1), (3, 4, 0), (2, 4, 0)])
    for change in (db.insert, db.delete):
        change("edges", [(4, 5, 0), (0, 1, 2)])
        own = Counter(tuple(row) for row in db.spark.sql(text).collect())
        assert Counter(db.table("v").rows()) == own
    assert "every round adds its rows" in db.explain("v")


@pytest.mark.parametrize("level", [2, 3])
def test_max_recursion_level_is_sparks(db: viewlet.Database, level: int) -> None:
    db.insert("edges", [(1, 2, 1), (2, 3, 0)])  # rows come in rounds 0, 1 and 2
    text = f"{COUNTED.format(f' MAX RECURSION LEVEL {level}')} SELECT * FROM r"
    if level < 3:
        with pytest.raises(Py4JJavaError, match="RECURSION_LEVEL_LIMIT_EXCEEDED"):
            db.spark.sql(text).collect()
        with pytest.raises(EndlessLoop, match=f"round {level}"):
            db.create_view("v", text)
    else:
        db.create_view("v", text)
        assert rows(db, "v") == sorted(tuple(row) for row in db.spark.sql(text).collect())


def test_a_loop_without_end_names_the_rows_that_keep_changing(db: viewlet.Database) -> None:
    db.create_view("v", f"{COUNTED.format(' MAX RECURSION LEVEL 50')} SELECT v FROM r")
    db.insert("edges", [(1, 2, 1), (2, 3, 0)])
    with pytest.raises(EndlessLoop, match=r"round 50 still changes 1 row of r, such as \(\d, 51, 50\)") as failed:
        db.insert("edges", [(3, 1, 0)])
    assert failed.value.sizes == dict.fromkeys(range(46, 51), 1)
    assert failed.value.rows[0]["n"] == 51
    assert rows(db, "v") == [(1,), (2,), (3,)]  # nothing of the epoch was applied
    db.insert("edges", [(3, 4, 0)])
    assert rows(db, "v") == [(1,), (2,), (3,), (4,)]


def test_a_loop_may_return_at_its_limit(db: viewlet.Database) -> None:
    text = REACHABLE.replace("RECURSIVE t", "RECURSIVE (RETURN AT RECURSION LIMIT 2) t")
    db.create_view("near", text)
    db.insert("edges", [(0, 1, 0), (1, 2, 0), (2, 3, 0)])
    assert rows(db, "near") == [(0,), (1,), (2,)]
    db.insert("edges", [(0, 2, 0)])
    assert rows(db, "near") == [(0,), (1,), (2,), (3,)]
    assert db.check("near").num_rows == 0


def test_check_finds_a_row_that_is_wrong(db: viewlet.Database) -> None:
    db.insert("edges", [(0, 1, 1), (1, 2, 1)])
    db.create_view("reach", REACHABLE)
    with db._warehouse.store.begin() as transaction:
        there = transaction.contents("reach")
        transaction.append("reach", there.consolidated().filter(np.array([True, False, False])).negated(), there.layout)
        transaction.commit({"kind": "damage"})
    assert db.check("reach")["_which"].to_pylist() == ["expected"]
    db.rebuild("reach")
    assert db.check("reach").num_rows == 0


def test_a_loop_over_all_columns_stays_as_it_is_when_there_are_more(db: viewlet.Database) -> None:
    db.insert("edges", [(0, 1, 1), (1, 2, 1)])
    every = "WITH RECURSIVE t AS (SELECT * FROM edges WHERE src = 0 UNION SELECT e.* FROM t JOIN edges e ON e.src = t.dst) SELECT * FROM t"
    db.create_view("all_columns", every)
    db.sql("ALTER TABLE edges ADD COLUMN note STRING")
    db.insert("edges", [(2, 3, 1, "new")])
    assert rows(db, "all_columns") == [(0, 1, 1), (1, 2, 1), (2, 3, 1)]
    assert db.check("all_columns").num_rows == 0


def test_an_epoch_that_reaches_most_rows_begins_again(db: viewlet.Database) -> None:
    star = [(0, i, 1) for i in range(1, 3_000)]
    db.create_view("dist", DISTANCES)
    db.insert("edges", star)
    db.insert("edges", [(7, 3_000, 1)])
    assert db.history("dist")[-1]["views"]["dist"]["technique"].startswith("rounds")
    db.delete("edges", star[1:])
    assert db.history("dist")[-1]["views"]["dist"]["technique"].startswith("from scratch")
    assert rows(db, "dist") == [(0, 0), (1, 1)]


def test_rows_that_never_were_are_not_evaluated(db: viewlet.Database) -> None:
    """An edge out of a vertex that leaves in the same epoch would divide by zero there."""
    db.sql("""CREATE MATERIALIZED VIEW v AS WITH RECURSIVE t(v, x) AS (
        SELECT 0, 60 UNION SELECT dst, x DIV w FROM t JOIN edges ON src = v) SELECT * FROM t""")
    db.insert("edges", [(0, 1, 2), (1, 2, 3)])
    with db.epoch() as e:
        e.delete("edges", [(0, 1, 2)])
        e.insert("edges", [(2, 3, 0)])
    assert rows(db, "v") == [(0, 60)]
    with pytest.raises(EvaluationError, match=r"view v: .*zero"):
        db.insert("edges", [(0, 1, 0)])


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (
            "WITH RECURSIVE t(v) AS (SELECT 0 UNION SELECT max(a.v) FROM t a JOIN t b ON a.v = b.v) SELECT * FROM t",
            UnsupportedQuery,
            "cannot stand over what is recursive: it would see rows of several rounds",
        ),
        (
            "WITH RECURSIVE t(v) AS (SELECT 0 UNION SELECT src FROM edges LEFT JOIN t ON src = v) SELECT * FROM t",
            UnsupportedQuery,
            "rows without a partner in one round",
        ),
        (
            "WITH RECURSIVE t(v, c) USING KEY (k) AS (SELECT 0, 0 UNION SELECT v, c FROM t) SELECT * FROM t",
            UnsupportedQuery,
            "the key of `t` has `k`",
        ),
        (
            "WITH RECURSIVE t(v) AS (SELECT 0 UNION SELECT nothing FROM t) SELECT * FROM t",
            viewlet.ViewletError,
            "nothing",
        ),
        ("WITH RECURSIVE t(v) AS (SELECT 0 UNION SELECT 1, 2 FROM t) SELECT * FROM t", SqlError, "NUM_COLUMNS_MISMATCH"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_loop_says_why(db: viewlet.Database, text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        db.create_view("v", text)
    assert db.views == ()


def test_a_recursion_whose_functions_only_spark_evaluates_is_left_to_it(db: viewlet.Database) -> None:
    step = "SELECT substr(sha2(x, 256), 1, 1), n + 1 FROM r JOIN edges ON src = n"
    text = f"WITH RECURSIVE r(x, n) AS (SELECT 'a', 1L UNION ALL {step}) SELECT x, n FROM r"
    db.create_view("v", text)
    db.insert("edges", [(1, 2, 0), (2, 3, 0)])
    assert db._warehouse.catalog.view("v").kind == "view"
    assert db.check("v").num_rows == 0
    assert len(rows(db, "v")) == 3
    with pytest.raises(UnsupportedQuery, match="evaluated by Spark alone"):
        db.create_view("w", text.replace("UNION ALL", "UNION"))


def test_functions_of_users_belong_into_views(db: viewlet.Database) -> None:
    db.spark.udf.register("twice", lambda x: 2 * x, "bigint")
    with pytest.raises(UnsupportedQuery, match="neither call functions of yours"):
        db.create_view("v", REACHABLE.replace("SELECT dst", "SELECT twice(dst)"))


def test_rounds_can_be_looked_at(db: viewlet.Database) -> None:
    db.insert("edges", [(0, 1, 9), (0, 2, 1), (2, 1, 1)])
    db.create_view("dist", DISTANCES)
    db.create_view("plain", "SELECT src FROM edges")
    found = loops.history(db, "dist").to_pylist()
    assert sorted(tuple(row.values()) for row in found) == [(0, 0, 0), (1, 2, 2), (1, 9, 1), (2, 1, 1)]
    with pytest.raises(viewlet.UnknownName, match="no state named x"):
        loops.history(db, "dist", "x")
    with pytest.raises(viewlet.UnknownName, match="plain is a view, which has no rounds"):
        loops.history(db, "plain")


@pytest.mark.slow
def test_the_result_after_any_round(db: viewlet.Database) -> None:
    db.insert("edges", [(0, 1, 9), (0, 2, 1), (2, 1, 1), (1, 3, 1)])
    texts = {
        "dist": DISTANCES,
        "walks": f"{COUNTED.format('')} SELECT v, n FROM r",
        "near": "REPEAT x = SELECT 0L AS v STEP SELECT e.dst AS v FROM x JOIN edges e ON e.src = x.v LIMIT 3",
        "halves": "INITIALIZE t(k, x) AS (SELECT src, 8.0D FROM edges WHERE w = 9)"
        " ITERATE SET t = SELECT k, x / 2 AS x FROM t UNTIL max(old.x) < 2 ON t BY k RETURN SELECT k, x FROM t",
    }
    for name, text in texts.items():
        db.create_view(name, text)
    found = {
        name: [sorted(map(tuple, (r.values() for r in db.table(name).round(n).to_pylist()))) for n in range(4)]
        for name in texts
    }
    assert found["dist"] == [[(0, 0)], [(0, 0), (1, 9), (2, 1)], [(0, 0), (1, 2), (2, 1), (3, 10)], rows(db, "dist")]
    assert found["walks"][0] == [(0, 1), (0, 1), (1, 1), (2, 1)]
    assert found["walks"][3] == rows(db, "walks")
    assert found["near"] == [[(0,)], [(1,), (2,)], [(1,), (3,)], [(3,)]]
    assert found["halves"] == [[(0, 8.0)], [(0, 4.0)], [(0, 2.0)], [(0, 1.0)]]
    with pytest.raises(viewlet.UnknownName, match="edges is a table, which has no rounds"):
        db.table("edges").round(1)
    assert db.status()["views"]["dist"]["rounds"] == {0: 1, 1: 2, 2: 2, 3: 1}
    axes = loops.plot(db, "dist")
    assert list(axes.get_lines()[0].get_ydata()) == [1, 2, 2, 1]
    with pytest.raises(viewlet.UnknownName, match="no rounds to show"):
        loops.plot(db, "edges")


def test_a_path_whose_value_gets_better_without_end_says_so(db: viewlet.Database) -> None:
    db.create_view("dist", DISTANCES)
    db.insert("edges", [(0, 1, 1), (1, 2, -3)])
    with pytest.raises(EndlessLoop, match=r"the loop does not end: round \d+ still changes 1 row of d") as failed:
        db.insert("edges", [(2, 0, 1)])
    assert "cycle of edges" in str(failed.value.hint)
    assert rows(db, "dist") == [(0, 0), (1, 1), (2, -2)]
    db.insert("edges", [(2, 0, 2)])
    assert rows(db, "dist") == [(0, 0), (1, 1), (2, -2)]


@pytest.mark.slow
def test_explain_names_what_every_round_finds_unchanged(db: viewlet.Database) -> None:
    db.insert("edges", [(0, 1, 1)])
    db.create_view("dist", DISTANCES)
    text = db.explain("dist")
    assert "state d (v, cost): by v, rows with lesser cost" in text
    _before, after = text.split("  invariant views\n")
    assert after.split("\n")[0] == "    dist.edges_d (source, target, w), in memory"
    assert "d ← target, cost + w of Δd ⋈ dist.edges_d, where that is better" in text
    db.create_view(
        "tree",
        DISTANCES.replace("(v, cost)", "(v, cost, via)")
        .replace("0, 0", "0, 0, 0L")
        .replace("e.w)", "e.w), min_by(d.v, d.cost + e.w)"),
    )
    kept = db.explain("tree")  # a column that is carried along depends on the round, so histories are kept
    assert "state d (v, cost, via, _round): by v, rows with lesser cost" in kept
    _before, after = kept.split("  invariant views\n")
    assert after.split("\n")[0].strip().startswith("tree.state_d.m")
    assert "edges → src, dst, w" in after.split("\n")[0]
    assert "computing it from scratch, rows changed by round: 0: 1, 1: 1" in text
    assert "rows with lesser cost" in db.sql(f"EXPLAIN CREATE MATERIALIZED VIEW x AS {DISTANCES}")


PAGE = Path(__file__).parent.parent.parent / "docs" / "loops.md"


@pytest.mark.slow
def test_the_page_about_loops_runs(tmp_path: Path, spark: Any) -> None:
    blocks = re.findall(r"^```(sql|python)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    found = []
    with viewlet.connect(tmp_path / "page", spark=spark) as db:
        names = {"db": db, "__name__": "__main__"}
        for kind, block in blocks:
            if kind == "python":
                exec(block, names)
            else:
                found.append([db.sql(text) for _, text in split(block)][-1].to_pylist())
        dist, two_steps, rank = ({row["v"]: row for row in rows} for rows in found)
        assert {v: row["cost"] for v, row in dist.items()} == {0: 0, 1: 4, 2: 1, 3: 9}
        assert {v: row["ways"] for v, row in two_steps.items()} == {3: 1}
        assert {v: row["r"] for v, row in rank.items()} == pytest.approx(dict(db.table("ranks").rows()), abs=1e-4)
        assert {v for (v,) in db.table("reached").rows()} == {1, 2, 3}
        assert dict(db.table("dist_2").rows()) == {0: 0, 1: 4, 2: 1, 3: 9}
        assert dict(db.table("two_steps_2").rows()) == {3: 1}
        assert dict(db.table("levels").rows()) == pytest.approx({1: 1, 2: 2, 3: 3}, abs=1e-5)
        assert dict(db.table("handled").rows()) == pytest.approx(dict(db.table("ranks").rows()), abs=1e-4)
