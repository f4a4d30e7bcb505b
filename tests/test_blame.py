"""Where a view fails on some row, the error names the view, the expression, its values and the row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from viewlet import Database, EvaluationError

pytestmark = pytest.mark.spark

LINES = "CREATE TABLE lines (id BIGINT, price INT, parts INT, label STRING, PRIMARY KEY (id))"
PRODUCTS = "CREATE TABLE products (label STRING, tax INT)"
GOOD = [(i, 10 * i, i + 1, str(i)) for i in range(50)]


@pytest.fixture
def db(request: pytest.FixtureRequest, tmp_path: Path, spark: Any) -> Any:
    with Database(tmp_path / "w", spark=spark, engine=getattr(request, "param", "inproc")) as opened:
        opened.sql(LINES)
        opened.sql(PRODUCTS)
        yield opened


def failure(db: Database, rows: list[Any], table: str = "lines") -> EvaluationError:
    """The error of an epoch of rows; nothing of it is applied."""
    before = db._warehouse.store.epoch
    with pytest.raises(EvaluationError) as caught:
        db.insert(table, rows)
    assert db._warehouse.store.epoch == before
    return caught.value


@pytest.mark.parametrize(
    ("query", "bad", "reason", "values"),
    [
        ("SELECT id, price div parts AS x FROM lines", (99, 7, 0, "z"), "DIVIDE_BY_ZERO", {"price": 7, "parts": 0}),
        ("SELECT sum(CAST(label AS INT)) AS x FROM lines", (99, 7, 1, "seven"), "CAST_INVALID_INPUT", {"label": "seven"}),
        ("SELECT id FROM lines WHERE price + 1 > 0", (99, 2147483647, 1, "z"), "OVERFLOW", {"price": 2147483647}),
    ],
)  # fmt: skip
def test_the_row_that_fails(db: Database, query: str, bad: Any, reason: str, values: dict[str, Any]) -> None:
    db.create_view("v", query)
    error = failure(db, [*GOOD[:30], bad, *GOOD[30:]])
    assert (error.view, error.table) == ("v", "table lines")
    assert reason in str(error)
    assert error.row == dict(zip(("id", "price", "parts", "label"), bad, strict=True))
    assert error.values == values
    assert error.expression
    assert all(text in str(error) for text in ("view v: ", error.expression, f"id={bad[0]}", "hint"))
    assert db.insert("lines", GOOD)
    assert db.check("v").num_rows == 0


@pytest.mark.parametrize("db", ["inproc", pytest.param("spark", marks=pytest.mark.slow)], indirect=True)
def test_the_row_behind_a_join_and_a_view(db: Database) -> None:
    db.create_view("joined", "SELECT id, price, tax FROM lines JOIN products USING (label)")
    db.create_view("shares", "SELECT id, price div tax AS share FROM joined")
    db.insert("products", [("1", 5), ("2", 0)])
    error = failure(db, GOOD)
    assert (error.view, error.row["id"]) == ("shares", 2)
    assert error.values == {"price": 20, "tax": 0}


@pytest.mark.parametrize("db", ["inproc", pytest.param("spark", marks=pytest.mark.slow)], indirect=True)
def test_a_sum_that_takes_several_rows_names_none(db: Database) -> None:
    db.sql("CREATE TABLE big (n BIGINT)")
    db.create_view("total", "SELECT sum(n) AS n FROM big")
    error = failure(db, [(2**62 - 1,), (2**62,), (2**62 + 1,)], "big")
    assert (error.view, error.table, error.row) == ("total", "", {})
    assert "OVERFLOW" in str(error)
    db.insert("big", [(2**62,)])
    assert failure(db, [(1,), (2**62,), (2,)], "big").row == {"n": 2**62}


def test_a_view_over_rows_that_are_there(db: Database) -> None:
    db.insert("lines", [*GOOD, (99, 7, 0, "z")])
    with pytest.raises(
        EvaluationError, match=r"view v: .*DIVIDE_BY_ZERO.* parts=0, price=7; .*row \(id=99, .*of table lines"
    ) as caught:
        db.create_view("v", "SELECT id, price div parts AS x FROM lines")
    assert "v" not in db._warehouse.catalog.views
    assert caught.value.row["id"] == 99


def test_a_function_of_the_users(db: Database) -> None:
    db.spark.udf.register("inverse", lambda n: 1 / n, "double")
    db.create_view("v", "SELECT id, inverse(parts) AS x FROM lines")
    error = failure(db, [*GOOD[:5], (99, 7, 0, "z"), *GOOD[5:10]])
    assert "ZeroDivisionError" in str(error)
    assert "inverse(" in error.expression
    assert (error.view, error.table, error.row["id"]) == ("v", "table lines", 99)
    assert error.values["parts"] == 0


MOMENTS = ["corr", "covar_samp", "covar_pop", "regr_slope", "regr_intercept", "regr_r2", "regr_sxx", "regr_sxy"]


@pytest.mark.parametrize("function", MOMENTS)
def test_a_group_that_does_not_vary_fails_as_in_spark_and_is_named(db: Database, function: str, spark: Any) -> None:
    """Only `corr` divides by the spread of both sides; the others have a value, which is Spark's."""
    query = f"SELECT label, {function}(price, parts) AS f FROM lines GROUP BY label"
    db.sql(f"CREATE MATERIALIZED VIEW v AS {query}")
    db.insert("lines", [(1, 1, 1, "a"), (2, 2, 3, "a")])
    same = [(11, 1, 5, "b"), (12, 1, 7, "b"), (13, 1, 8, "c")]
    frame = spark.createDataFrame(
        [(1, 1, 1, "a"), (2, 2, 3, "a"), *same], "id BIGINT, price INT, parts INT, label STRING"
    )
    frame.createOrReplaceTempView("lines_of_spark")
    judged = spark.sql(query.replace("FROM lines", "FROM lines_of_spark"))
    try:
        expected = sorted(map(tuple, judged.collect()))
    except PySparkException as refusal:
        if "DIVIDE_BY_ZERO" not in str(refusal):
            raise
        error = failure(db, same)
        assert error.view == "v"
        assert error.group == {"label": "b"}
        assert "DIVIDE_BY_ZERO: corr of values that do not vary" in str(error)
        assert ", in the group label='b'" in str(error)
        assert "try_divide(covar_pop(x, y), stddev_pop(x) * stddev_pop(y))" in str(error)
    else:
        db.insert("lines", same)
        assert sorted(db.table("v").rows()) == expected


def test_what_the_hint_says_instead_of_a_correlation(db: Database) -> None:
    instead = "try_divide(covar_pop(price, parts), stddev_pop(price) * stddev_pop(parts))"
    db.sql(f"CREATE MATERIALIZED VIEW v AS SELECT label, {instead} AS f FROM lines GROUP BY label")
    db.insert("lines", [(1, 1, 5, "b"), (2, 1, 7, "b")])
    assert db.table("v").rows() == [("b", None)]
    assert db.check("v").num_rows == 0


def test_a_view_over_a_group_that_does_not_vary(db: Database) -> None:
    db.insert("lines", [(1, 1, 5, "b"), (2, 1, 7, "b")])
    with pytest.raises(EvaluationError, match=r"view v: DIVIDE_BY_ZERO: .*, in the group label='b'"):
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT label, corr(price, parts) AS f FROM lines GROUP BY label")
