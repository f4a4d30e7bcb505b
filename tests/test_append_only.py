"""Append-only tables: what is kept of them is a state for each key, and no rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import viewlet
from tests.marks import some
from viewlet.errors import RejectedEpoch
from viewlet.views.refresh import CHANGED
from viewlet.views.view import sql_view

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

VIEWS = {
    "extremes": "SELECT k, min(x) AS low, max(x) AS high, max(s) AS word FROM t GROUP BY k",
    "truths": "SELECT k, bool_and(x > 0) AS every, bool_or(x > 9) AS some FROM t GROUP BY k",
    "bits": "SELECT k, bit_and(x) AS a, bit_or(x) AS o, bit_xor(x) AS e FROM t GROUP BY k",
    "chosen": "SELECT k, max_by(s, x) AS at_high, min_by(x, s) AS at_low FROM t GROUP BY k",
    "filtered": "SELECT k, max(x) FILTER (WHERE d > 0) AS high, min(d) AS low FROM t WHERE x < 90 GROUP BY k HAVING min(d) < 1",
    "overall": "SELECT max(x) - min(x) AS span, max(d) AS d FROM t",
    "none": "SELECT max(x) AS high FROM t WHERE x > 1000",
    "both": "SELECT k, count(*) AS n, sum(x) AS total, avg(d) AS mean, max(x) AS high FROM t GROUP BY k",
    "both_overall": "SELECT count(*) AS n, sum(d) AS total, min(s) AS low FROM t",
    "by_double": "SELECT d, max(x) AS high FROM t GROUP BY d",
    "joined": "SELECT u.name, max(t.x) AS high, count(*) AS n FROM t JOIN u ON t.k = u.k GROUP BY u.name",
    "leading": "SELECT k, x, s FROM t WHERE x IS NOT NULL ORDER BY x DESC, s LIMIT 3 OFFSET 1",
    "distinct": "SELECT DISTINCT k, s FROM t",
    "over_distinct": "SELECT k, max(s) AS word FROM distinct GROUP BY k",
    "over_union": "SELECT k, min(x) AS low FROM (SELECT k, x FROM t UNION ALL SELECT k, -k AS x FROM u) GROUP BY k",
    "semi": "SELECT max(x) AS high FROM t WHERE k IN (SELECT k FROM u)",
}
ON_SPARK = ["extremes", "filtered", "none", "both", "leading"]
TIERS = dict.fromkeys(VIEWS, "monoid") | {"distinct": "ring"}


def rows_of(seed: int, count: int) -> list[tuple[Any, ...]]:
    """Rows of t with NULLs, NaN, both zeros, and rows that occur twice."""
    random = np.random.default_rng(seed)
    doubles = [None, float("nan"), 0.0, -0.0, 1.5, -2.25, float("inf")]
    words = [None, "", "a", "b", "ß", "zz"]
    rows = [
        (
            None if random.random() < 0.1 else int(random.integers(4)),
            None if random.random() < 0.2 else int(random.integers(-50, 100)),
            words[int(random.integers(len(words)))],
            doubles[int(random.integers(len(doubles)))],
        )
        for _ in range(count)
    ]
    return rows + rows[:2]


@pytest.fixture(params=["inproc", pytest.param("spark", marks=pytest.mark.slow)])
def db(request: Any, spark: SparkSession, tmp_path: Path) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "warehouse", spark=spark, engine=request.param) as db:
        db.sql("CREATE TABLE t (k BIGINT, x BIGINT, s STRING, d DOUBLE) APPEND ONLY")
        db.sql("CREATE TABLE u (k BIGINT, name STRING) APPEND ONLY")
        yield db


def test_states_are_exact(db: viewlet.Database) -> None:
    names = some(2, VIEWS) if db.engine == "inproc" else ON_SPARK
    for name in names:
        db.create_view(name, VIEWS[name])
    assert {n: db.history(n)[0]["views"][n]["technique"] for n in names} == {n: TIERS[n] for n in names}
    assert db.check().to_pylist() == []
    for seed, count in enumerate((1, 8, 3, 20) if db.engine == "inproc" else (1, 20)):
        with db.epoch() as e:
            e.insert("t", rows_of(seed, count))
            e.insert("u", [(seed, f"name {seed % 2}"), (None, None)])
        if seed % 2:
            assert db.check().to_pylist() == []


@pytest.mark.parametrize("db", ["inproc"], indirect=True)
def test_no_rows_are_kept(db: viewlet.Database) -> None:
    db.create_view("extremes", VIEWS["extremes"])
    db.create_view("leading", VIEWS["leading"])
    db.create_view("both", VIEWS["both"])
    for at in range(5):
        db.insert("t", [(i % 10, at * 400 + i, f"{i}", 0.5) for i in range(400)])
    snapshot = db._warehouse.store.snapshot()
    kept = {v: [m for m in sql_view(db._warehouse.catalog, v).program.maps if m.stored] for v in db.views}
    rows = {name: sum(len(snapshot.contents(m.name).consolidated()) for m in maps) for name, maps in kept.items()}
    assert rows["extremes"] == 20  # ten states and the ten rows of the view
    assert rows["leading"] <= 12
    assert rows["both"] <= 100
    assert "its input only grows: the state of min, max is kept, no rows" in db.explain("extremes")
    assert "its input only grows: the first 4 rows are kept, no others" in db.explain("leading")
    assert db.check().to_pylist() == []


@pytest.mark.parametrize("db", ["inproc"], indirect=True)
def test_a_large_epoch_and_another_opening(
    db: viewlet.Database, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CHANGED, "inproc", 2)  # a table that only grows is never worth a rebuild
    for name in ("extremes", "overall", "leading"):
        db.create_view(name, VIEWS[name])
    db.insert("t", rows_of(0, 5))
    db.insert("t", rows_of(1, 2000))
    assert db.history("extremes")[-1]["views"]["extremes"]["technique"].startswith("recompute")
    db.close()
    with viewlet.connect(db.path, spark=spark, engine=db.engine) as again:
        again.insert("t", [(1, 99, "zzz", 2.5), (9, -99, None, None)])
        assert again.check().to_pylist() == []


@pytest.mark.parametrize("db", ["inproc"], indirect=True)
def test_rows_cannot_be_taken_away(db: viewlet.Database) -> None:
    db.sql("CREATE TABLE keyed (k BIGINT, PRIMARY KEY (k)) APPEND ONLY")
    db.insert("keyed", [(1,)])
    for change in (db.delete, db.upsert):
        with pytest.raises(RejectedEpoch, match=r"table keyed is append-only: .* is not possible .*hint"):
            change("keyed", [(1,)])
    assert db.table("keyed").rows() == [(1,)]


@pytest.mark.parametrize("db", ["inproc"], indirect=True)
def test_what_may_shrink_is_regrouped(db: viewlet.Database) -> None:
    db.sql("CREATE TABLE other (k BIGINT, x BIGINT)")
    db.create_view("high", "SELECT k, max(x) AS high FROM other GROUP BY k")
    db.create_view("left_join", "SELECT t.k, max(other.x) AS high FROM t LEFT JOIN other ON t.k = other.k GROUP BY t.k")
    db.create_view("counts", "SELECT k, count(*) AS n FROM t GROUP BY k")
    db.create_view("most", "SELECT max(n) AS most FROM counts")
    techniques = [db.history(n)[0]["views"][n]["technique"] for n in ("high", "left_join", "counts", "most")]
    assert techniques == ["keyed", "keyed", "ring", "keyed"]
    db.insert("t", rows_of(3, 9))
    db.insert("other", [(1, 2), (1, 5)])
    db.delete("other", [(1, 5)])
    assert db.check().to_pylist() == []


SHRINKING = {
    "padded": "SELECT t.k, max(coalesce(u.name, 'zz')) AS y FROM t LEFT JOIN u ON t.k = u.k GROUP BY t.k",
    "unmatched": "SELECT max(x) AS y FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
    "except": "SELECT max(k) AS y FROM (SELECT k FROM t EXCEPT SELECT k FROM u)",
    "ranked": "SELECT max(x) AS y FROM (SELECT x, rank() OVER (PARTITION BY k ORDER BY x) AS r FROM t) WHERE r = 1",
}


@pytest.mark.parametrize("db", ["inproc"], indirect=True)
def test_what_shrinks_as_its_tables_grow(db: viewlet.Database) -> None:
    for name, query in SHRINKING.items():
        db.create_view(name, query)
    assert not {"monoid"} & {db.history(n)[0]["views"][n]["technique"] for n in SHRINKING}
    db.insert("t", [(1, 10, "a", 0.5), (2, 20, "b", 0.5)])
    db.insert("u", [(2, "name")])
    db.insert("t", [(1, 5, "c", 0.5)])
    assert db.check().to_pylist() == []
