"""Failures that were found and mended, each with the smallest case that showed it."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import viewlet
from viewlet.columns.differences import close
from viewlet.columns.rows import Rows
from viewlet.errors import (
    EvaluationError,
    NameTaken,
    RejectedEpoch,
    SqlError,
    StoreError,
    UnsupportedQuery,
)
from viewlet.views.view import sql_view

pytestmark = pytest.mark.spark


@pytest.fixture
def db(request: Any, tmp_path: Path, spark: Any) -> Iterator[viewlet.Database]:
    """A warehouse on the engine that the test is marked with, or in process."""
    with viewlet.connect(tmp_path / "w", spark=spark, engine=getattr(request, "param", "inproc")) as db:
        yield db


both_engines = pytest.mark.parametrize("db", ["inproc", pytest.param("spark", marks=pytest.mark.slow)], indirect=True)


@both_engines
def test_a_row_that_left_a_join_is_not_evaluated_again(db: viewlet.Database) -> None:
    db.create_table("a", "k INT, x DOUBLE")
    db.create_table("b", "k INT, y DOUBLE")
    db.create_view("v", "SELECT a.k, x / y AS r FROM a JOIN b ON a.k = b.k")
    db.insert("b", [(1, 0.0)])
    db.delete("b", [(1, 0.0)])
    db.insert("b", [(1, 2.0)])
    db.insert("a", [(1, 10.0)])
    assert db.table("v").rows() == [(1, 5.0)]


@both_engines
def test_a_pair_that_never_was_is_not_evaluated(db: viewlet.Database) -> None:
    db.create_table("a", "k INT, x DOUBLE")
    db.create_table("b", "k INT, y DOUBLE, PRIMARY KEY (k)")
    db.create_view("v", "SELECT a.k, x / y AS r FROM a JOIN b ON a.k = b.k")
    db.create_view("w", "SELECT a.k FROM a JOIN b ON a.k = b.k AND x / y > 1")
    db.insert("b", [(1, 0.0)])
    with db.epoch() as e:
        e.insert("a", [(1, 10.0)])
        e.upsert("b", [(1, 2.0)])
    assert db.table("v").rows() == [(1, 5.0)]
    assert db.check().num_rows == 0


@both_engines
def test_names_that_begin_like_the_compilers_own(db: viewlet.Database) -> None:
    db.create_table("t", "a INT, v BIGINT")
    db.create_view("x", "SELECT _x0, sum(v) AS s FROM (SELECT a AS _x0, v FROM t) GROUP BY _x0")
    db.create_view("k", "SELECT _key, max(v) AS _weight FROM (SELECT a AS _key, v FROM t) GROUP BY _key")
    db.create_view("s", "SELECT _slot, avg(v) AS _a0 FROM (SELECT a AS _slot, v FROM t) GROUP BY _slot")
    db.insert("t", [(1, 5), (1, 6), (2, 7), (None, None)])
    db.delete("t", [(1, 6)])
    for name in ("x", "k", "s"):
        assert db.check(name).num_rows == 0, name
    assert sorted(db.table("k").rows(), key=str) == [(1, 5), (2, 7), (None, None)]


def test_a_replaced_view_may_read_a_younger_one(db: viewlet.Database) -> None:
    db.create_table("t", "a INT")
    db.create_view("v1", "SELECT a FROM t")
    db.create_view("v2", "SELECT a + 1 AS a FROM t")
    db.create_view("V1", "SELECT * FROM v2", replace=True)
    db.insert("t", [(1,)])
    assert db.table("v1").rows() == [(2,)]
    db.drop("t", cascade=True)
    assert db._warehouse.catalog.names() == ()


def test_one_epoch_at_a_time(db: viewlet.Database) -> None:
    db.create_table("t", "k INT, v INT, PRIMARY KEY (k)")
    with db.epoch() as e:
        e.upsert("t", [(1, 1)])
        with pytest.raises(StoreError, match="an epoch is open"):
            db.insert("t", [(1, 2)])
        with pytest.raises(StoreError, match="an epoch is open"):
            db.drop("t")
    with pytest.raises(RejectedEpoch, match="has ended"):
        e.insert("t", [(2, 2)])
    assert db.table("t").rows() == [(1, 1)]


def test_a_dropped_table_cannot_be_read(db: viewlet.Database) -> None:
    db.create_table("t", "a INT")
    db.insert("t", [(1,)])
    assert db.sql("SELECT * FROM t").num_rows == 1
    db.drop("t")
    with pytest.raises(SqlError):
        db.sql("SELECT * FROM t")


def test_infinity_is_close_to_nothing_else() -> None:
    assert close(float("inf"), float("inf"))
    assert close(float("nan"), float("nan"))
    assert not close(float("inf"), 5.0)
    assert not close(float("inf"), float("-inf"))
    assert close(1.0, 1.0 + 1e-12)


def test_rows_with_one_hash_stay_apart() -> None:
    """Two decimals whose 64-bit hashes are the same."""
    values = [Decimal("36893488147419103232"), Decimal("4233148493373801447")] * 2
    rows = Rows.of(pa.table({"d": pa.array(values, pa.decimal128(38, 0))}))
    forced = Rows(rows.columns, rows.weights)
    forced.learn(("d",), np.zeros(len(rows), dtype=np.uint64))
    assert sorted(forced.consolidate()["d"].to_pylist()) == sorted(set(values))
    assert sorted(rows.consolidate()["d"].to_pylist()) == sorted(set(values))


def test_schemas_and_statements_that_say_too_much(db: viewlet.Database) -> None:
    db.create_table("t", "id BIGINT, v INT, PRIMARY KEY (id)")
    assert db._warehouse.catalog.table("t").primary_key == ("id",)
    with pytest.raises(SqlError, match="named twice"):
        db.sql("INSERT INTO t (id, id) VALUES (1, 2)")
    with pytest.raises(SqlError, match="refresh policy"):
        db.create_view("v", "SELECT 1 AS x", policy="INCREMENTAL_STRICT")
    with pytest.raises(EvaluationError, match="DIVIDE_BY_ZERO"):
        db.sql("SELECT 1 / 0 AS x")
    with pytest.raises(SqlError, match="uint64"):
        db.create_table("u", pa.schema([("x", pa.uint64())]))
    db.sql("CREATE TABLE IF NOT EXISTS T (x INT)")
    with pytest.raises(NameTaken):
        db.create_table("T", "x INT")


@both_engines
def test_distinct_aggregates_that_spark_must_finish(db: viewlet.Database) -> None:
    db.create_table("t", "k INT, v INT")
    db.create_view("a", "SELECT k, format_number(count(DISTINCT v), 2) AS n FROM t GROUP BY k")
    db.create_view("b", "SELECT k, approx_count_distinct(DISTINCT v) AS n FROM t GROUP BY k")
    db.create_view("c", "SELECT k, count(DISTINCT k) AS n FROM t GROUP BY k")
    db.insert("t", [(1, 1), (1, 1), (1, 2), (2, None)])
    db.delete("t", [(1, 2)])
    for name in "abc":
        assert db.check(name).num_rows == 0, name


def test_many_small_changes_in_one_epoch(db: viewlet.Database) -> None:
    db.create_table("t", "k INT, v INT, PRIMARY KEY (k)")
    with db.epoch() as e:
        for i in range(300):
            e.insert("t", [(i, i)])
        for i in range(0, 300, 3):
            e.upsert("t", [(i, -i)])
        for i in range(1, 300, 3):
            e.delete("t", [(i,)])
    assert len(db.table("t")) == 200


def test_checking_views_whose_columns_do_not_go_together(db: viewlet.Database) -> None:
    db.create_table("t", "a INT, b STRING")
    db.create_view("x", "SELECT a AS c, a AS view FROM t")
    db.create_view("y", "SELECT named_struct('b', b) AS c FROM t")
    db.insert("t", [(1, "x")])
    assert db.check().num_rows == 0


def test_a_leaf_that_spark_uses_twice_gets_its_rows_twice(db: viewlet.Database) -> None:
    """Spark pushes the IN into both sides of EXCEPT ALL, with one and the same leaf; the plan's ties are decided."""
    db.create_table("t", "id INT, a INT")
    db.create_table("u", "c INT")
    inner = "SELECT id AS d, a AS e FROM t EXCEPT ALL SELECT id, a FROM t"
    top = f"SELECT d, e, row_number() OVER (PARTITION BY d ORDER BY d) AS r FROM ({inner}) WHERE e IN (SELECT c FROM u)"
    db.create_view("v", top)
    db.create_view("w", f"SELECT * FROM ({inner}) WHERE e IN (SELECT c FROM u)", policy="FULL")
    db.insert("u", [(3,), (7,), (1,)])
    db.insert("t", [(12, 3), (0, 7), (36, 1)])
    assert sql_view(db._warehouse.catalog, "v").is_stabilized
    assert db.table("v").rows() == []
    assert db.table("w").rows() == []
    assert db.check("v").num_rows == 0


def test_a_struct_with_two_fields_of_one_name_is_refused(db: viewlet.Database) -> None:
    db.create_table("t", "a INT")
    with pytest.raises(UnsupportedQuery, match="`c` holds a struct with two fields named `a`"):
        db.create_view("v", "SELECT collect_list(struct(a, a)) AS c FROM t")


@both_engines
def test_a_recursive_query_that_reads_no_table(db: viewlet.Database) -> None:
    db.create_table("t", "a INT")
    numbers = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 4)"
    db.create_view("v", f"{numbers} SELECT n, a FROM r JOIN t ON n = a")
    db.insert("t", [(2,), (4,), (9,)])
    db.delete("t", [(4,)])
    assert db.table("v").rows() == [(2, 2)]
    assert db.check("v").num_rows == 0


def test_a_limit_below_a_correlated_subquery_keeps_its_order(db: viewlet.Database) -> None:
    db.sql("CREATE TABLE t (id INT, v INT)")
    db.insert("t", [(32, 7), (19, None), (6, 0), (30, None), (21, 0)])
    db.create_view(
        "v",
        "SELECT q.id, (SELECT sum(b.v) FROM t AS b WHERE b.v = q.v) AS s "
        "FROM (SELECT id, v FROM t ORDER BY id LIMIT 2) AS q",
    )
    assert sorted(db.table("v").rows()) == [(6, 0), (19, None)]
    assert db.check("v").num_rows == 0
