"""A view fails only where Spark fails on the user's text: on rows that a condition leaves out, nothing is computed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.marks import THOROUGH, some
from viewlet import Database
from viewlet.errors import EvaluationError

pytestmark = pytest.mark.spark

TABLES = {"t": "c INT, d INT, s STRING", "u": "k INT, d INT"}
EPOCHS: list[dict[str, list[tuple[Any, ...]]]] = [
    {"t": [(1, 0, "x")]},
    {"t": [(2, 7, "7"), (14, 7, "8"), (3, 1, "y"), (5, 2, "2")]},
    {"u": [(1, 0), (1, 1), (9, 3), (9, 4)]},
    {"t": [(100, 3, "11")], "u": [(2, 5), (14, 1), (3, 0)]},
]
ANSWERED = [
    "SELECT * FROM t WHERE c / d > 1 AND d = 7",
    "SELECT d, sum(c / d) FILTER (WHERE d <> 0) AS x, count(c / d) FILTER (WHERE d <> 0) AS n FROM t GROUP BY d",
    "SELECT sum(c / d) FILTER (WHERE d = 7) AS x, stddev(c / d) FILTER (WHERE d <> 0) AS y FROM t",
    "SELECT x FROM (SELECT c / d AS x, d FROM t) WHERE d = 7",
    "SELECT d FROM (SELECT c / d AS x, d FROM t)",
    "SELECT c FROM t WHERE CAST(s AS INT) > 0 AND s = '7'",
    "SELECT * FROM (SELECT d, c, sum(c / d) OVER (PARTITION BY d) AS n FROM t) WHERE d = 7",
    "SELECT CASE WHEN d = 0 THEN -1 ELSE c / d END AS x, if(d = 0, NULL, c / d) AS y FROM t WHERE d = 0 OR c / d > 0",
    "SELECT c, (SELECT d FROM u WHERE u.k = t.c) AS x FROM t WHERE d = 7",
    "SELECT sum((SELECT d FROM u WHERE u.k = t.c)) AS x FROM t WHERE d = 7",
    "SELECT c FROM t WHERE d = 7 AND c = (SELECT d FROM u WHERE u.k = t.c)",
    "SELECT t.c FROM t JOIN u ON t.c = u.k WHERE u.d / t.d > 0 AND t.d = 7",
    "SELECT c FROM t WHERE c NOT IN (SELECT k FROM u WHERE k / d > 0 AND d = 7)",
]  # fmt: skip
"""Queries that Spark answers on these rows, read from files, whatever it does first."""

OPEN = [
    "SELECT c FROM t WHERE c / d > 1 AND d <> 0",
    "SELECT c FROM t WHERE CAST(s AS INT) > 0 AND length(s) = 1 AND s NOT IN ('x', 'y')",
    "SELECT t.c FROM t JOIN u ON t.c = u.k AND u.d / t.d > 0 AND t.d <> 0",
]
"""Queries that Spark answers or fails on, depending on how the rows are laid out in files."""


REJECTED = [
    "SELECT count(*) AS n FROM t WHERE c IN (SELECT k FROM u WHERE d = (SELECT d FROM u))",
    "SELECT (SELECT max(d) FROM u WHERE u.k > (SELECT d FROM u)) AS x FROM t",
    "SELECT max((SELECT d FROM u)) AS m FROM t",
    "SELECT max(CASE WHEN c > 100 THEN (SELECT d FROM u) ELSE 0 END) AS m FROM t",
]
"""Queries with a subquery of several rows that Spark asks even while t is empty."""


def make(folder: Path, spark: Any, queries: list[str]) -> Database:
    db = Database(folder, spark=spark, engine="inproc")
    for name, columns in TABLES.items():
        db.create_table(name, columns)
    for i, query in enumerate(queries):
        db.sql(f"CREATE MATERIALIZED VIEW v{i} AS {query}")
    return db


def as_bag(rows: Any) -> Counter[str]:
    """Rows, whatever their order; doubles to twelve digits, since Spark's own sums depend on the order of rows."""
    return Counter(repr([round(v, 12) if isinstance(v, float) else v for v in row]) for row in rows)


def test_what_is_left_out_fails_nowhere(tmp_path: Path, spark: Any) -> None:
    plain, kept = spark.newSession(), {name: list[tuple[Any, ...]]() for name in TABLES}
    queries = some(2, ANSWERED)
    with make(tmp_path / "w", spark, queries) as db:
        for number, epoch in enumerate(EPOCHS):
            with db.epoch() as e:
                for name, rows in epoch.items():
                    e.insert(name, rows)
                    kept[name] += rows
            if not THOROUGH and number < len(EPOCHS) - 1:
                continue
            for name, columns in TABLES.items():
                path = str(tmp_path / f"{name}{number}")
                plain.createDataFrame(kept[name], columns).coalesce(1).write.parquet(path)
                plain.read.parquet(path).createOrReplaceTempView(name)
            for i, query in enumerate(queries):
                assert as_bag(db.table(f"v{i}").rows()) == as_bag(plain.sql(query).collect()), query
        assert db.check().num_rows == 0
        assert db.sql(ANSWERED[0]).num_rows == 1


def test_where_spark_may_fail_or_answer_views_and_check_answer(tmp_path: Path, spark: Any) -> None:
    with make(tmp_path / "w", spark, OPEN) as db:
        for epoch in EPOCHS:
            with db.epoch() as e:
                for name, rows in epoch.items():
                    e.insert(name, rows)
        assert [sorted(db.table(f"v{i}").rows()) for i in range(3)] == [
            [(3,), (5,), (14,), (100,)],
            [(2,), (5,), (14,)],
            [(2,), (14,)],
        ]
        assert db.check().num_rows == 0


@pytest.mark.slow
def test_a_subquery_of_several_rows_fails_where_spark_asks_it_for_no_row(tmp_path: Path, spark: Any) -> None:
    plain, rows = spark.newSession(), [(1, 0), (1, 1), (9, 3)]
    for name, kept in {"t": [], "u": rows}.items():
        plain.createDataFrame(kept, TABLES[name]).coalesce(1).write.parquet(str(tmp_path / name))
        plain.read.parquet(str(tmp_path / name)).createOrReplaceTempView(name)
    for i, query in enumerate(some(2, REJECTED)):
        with pytest.raises(Exception, match="SCALAR_SUBQUERY_TOO_MANY_ROWS"):
            plain.sql(query).collect()
        with (
            make(tmp_path / f"w{i}", spark, [query]) as db,
            pytest.raises(EvaluationError, match="SCALAR_SUBQUERY_TOO_MANY_ROWS"),
        ):
            db.insert("u", rows)


def test_what_no_condition_leaves_out_fails(tmp_path: Path, spark: Any) -> None:
    with make(tmp_path / "w", spark, ["SELECT c FROM t WHERE c / d > 1 AND s = 'x'"]) as db:
        with pytest.raises(EvaluationError, match="DIVIDE_BY_ZERO"):
            db.insert("t", [(1, 0, "x")])
        db.insert("t", [(1, 0, "y")])
        assert db.check("v0").num_rows == 0
