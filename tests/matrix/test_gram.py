"""Programs whose rows are only added up: the same results from sums over rows, which no row is kept for."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import viewlet
from viewlet import matrix
from viewlet.errors import InUse, NameTaken, RejectedEpoch, UnsupportedQuery
from viewlet.matrix import MatrixProgram, ShapeError, Wide, models
from viewlet.matrix.algebra.ops import Declared
from viewlet.matrix.compile.gram import over_moments

RANDOM = np.random.default_rng(4)
P, SIZES = 3, {"p": 3}
SPANS = {"X": (1, 1 + P), "y": (1 + P, 2 + P)}
MOMENTS = Declared("moments", (2 + P, 2 + P))


def centred(X: Any, y: Any) -> dict[str, Any]:
    """An intercept, centred columns, residuals and their length, all through rows that are never seen."""
    ones = np.ones((X.shape[0], 1), like=X)
    design = np.hstack([ones, X - np.mean(X, axis=0, keepdims=True)])
    beta = np.linalg.solve(design.T @ design, design.T @ y)
    residual = y - design @ beta
    return {
        "beta": beta,
        "length": np.linalg.norm(residual),
        "per row": np.sum(residual.T @ residual) / (X.shape[0] - X.shape[1] - 1),
        "sums": np.sum(X, axis=1, keepdims=True).T @ y,
        "columns": np.sum(X.T, axis=1, keepdims=True),
        "all": np.sum(2.0 * X.T) + np.mean(y),
        "slices": X[:, 1:].T @ X[:, :2],
        "beside": np.vstack([X.T, y.T]) @ (X + y) - 0.5 * (np.full((X.shape[0], X.shape[1] + 1), 2.0, like=X).T @ X),
        "weighted": (np.eye(X.shape[1], like=X) @ X.T - 3 * X.T) @ y,
        "scaled": (np.sum(y) * X).T @ y,
    }


def descent(X: Any, y: Any) -> Any:
    return models.gradient_descent(12, 0.01)(X, y, np.full((X.shape[1], 1), 0.0, like=X))


@pytest.mark.parametrize("function", [centred, descent, models.ols, models.ridge(0.5)])
def test_moments_are_enough(function: Callable[..., Any]) -> None:
    program = matrix.program(function, X=("n", "p"), y=("n", 1)).source
    over = MatrixProgram(over_moments(program, "n", SPANS, MOMENTS, SIZES))
    assert [i.name for i in over.source.inputs] == ["moments"]
    X, y = RANDOM.normal(size=(40, P)), RANDOM.normal(size=(40, 1))
    Z = np.hstack([np.ones((40, 1)), X, y])
    found = over.evaluate(moments=Z.T @ Z)
    wanted = function(X, y)
    for name, value in (wanted if isinstance(wanted, dict) else {"descent": wanted}).items():
        np.testing.assert_allclose(found[name], np.reshape(value, found[name].shape), rtol=1e-9, err_msg=name)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda X, y: X @ X.T, "reads rows one by one"),
        (lambda X, y: np.exp(X).T @ y, r"exp\(X\) reads rows one by one"),
        (lambda X, y: X @ (X.T @ y), "has a row for each row that is summed up"),
        (lambda X, y: X[1:].T @ X[1:], "reads rows one by one"),
        (lambda X, y: np.trace(np.eye(X.shape[0], like=X)), "reads rows one by one"),
    ],
)
def test_programs_that_read_rows_need_their_key(function: Callable[..., Any], said: str) -> None:
    program = matrix.program(function, X=("n", "p"), y=("n", 1)).source
    with pytest.raises(UnsupportedQuery, match=said):
        over_moments(program, "n", SPANS, MOMENTS, SIZES)


QUERY = "SELECT 1 AS one, price, size, units FROM sales JOIN shops USING (shop)"
OLS = matrix.program(models.predicting(models.ols), X=("sale", "term"), y=("sale", 1), Z=("question", "term"))


def expected(db: viewlet.Database) -> tuple[dict[str, float], dict[str, float], dict[int, float]]:
    """Coefficients, their standard errors and predictions, from the rows of the tables."""
    sizes = dict(db.table("shops").rows())
    rows = [(1, price, sizes[shop], units) for _, shop, price, units in db.table("sales").rows() if shop in sizes]
    data = np.array(rows, dtype=float)
    X, y = data[:, :3], data[:, 3]
    beta, rest, *_ = np.linalg.lstsq(X, y, rcond=None)
    errors = np.sqrt(rest[0] / (len(y) - 3) * np.diag(np.linalg.inv(X.T @ X)))
    named = [dict(zip(("one", "price", "size"), v.tolist(), strict=True)) for v in (beta, errors)]
    return named[0], named[1], {row[0]: float(np.dot(row[1:], beta)) for row in db.table("questions").rows()}


def compare(db: viewlet.Database) -> None:
    beta, errors, predictions = expected(db)
    found = {row[0]: row[1:] for row in db.table("fit").rows()}
    assert {term: values[0] for term, values in found.items()} == pytest.approx(beta, rel=1e-8)
    assert {term: values[1] for term, values in found.items()} == pytest.approx(errors, rel=1e-8)
    assert dict(db.table("guesses").rows()) == pytest.approx(predictions, rel=1e-8)


@pytest.mark.spark
def test_a_regression_over_a_join_keeps_no_row(tmp_path: Path, spark: Any) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.create_table("sales", "id BIGINT, shop INT, price DECIMAL(8,2), units INT", primary_key="id")
        db.create_table("shops", "shop INT, size SMALLINT", primary_key="shop", rows=[(i, i * i) for i in range(6)])
        db.create_table("questions", "id BIGINT, one INT, price DOUBLE, size DOUBLE", rows=[(1, 1, 2.5, 3.0)])
        shops, prices = RANDOM.integers(7, size=300).tolist(), RANDOM.normal(size=300).tolist()
        db.insert("sales", [(i, shops[i], f"{prices[i]:.2f}", int(RANDOM.integers(90))) for i in range(300)])
        given: dict[str, Any] = {
            "X": Wide(QUERY, ["one", "price", "size"]),
            "y": Wide(QUERY, ["units"]),
            "Z": Wide("questions", ["one", "price", "size"], row="id"),
        }
        outputs = ["coefficients", "standard_errors", "r_squared"]
        db.create_matrix("fit", OLS, **given, outputs=outputs)
        db.create_matrix("guesses", OLS, **given, outputs=["prediction"])
        assert db.views == ("fit_moments", "fit", "guesses_moments", "guesses")
        compare(db)
        db.insert("sales", [(1000, 2, "9.50", 400), (1001, 6, "1.00", 3)])
        with db.epoch() as e:
            e.upsert("shops", [(2, 100), (6, 7)])
            e.delete("sales", [(i,) for i in range(50)])
            e.insert("questions", [(2, 1, 0.0, 1.0)])
        compare(db)
        assert db.check().num_rows == 0
        assert "sums of products in fit_moments of 1, one, price, size, units; no row is kept" in db.explain("fit")
        kept = [db._warehouse.store.snapshot().contents(bag) for bag in db._warehouse.catalog.view("fit_moments").bags]
        assert max(contents.consolidated().weights.size for contents in kept) <= 7, "sums by shop, and no rows"
        with pytest.raises(RejectedEpoch, match="price is NULL in 1 row"):
            db.insert("sales", [(2000, 2, None, 4)])
        with pytest.raises(InUse, match="fit read"):
            db.drop("fit_moments")
        db.create_table("other_moments", "x INT")
        with pytest.raises(NameTaken, match="already a table named other_moments"):
            db.create_matrix("other", OLS, **given, outputs=outputs)
        db.drop("fit")
        db.create_matrix("fit", OLS, **given, outputs=outputs)
        assert db.views == ("fit_moments", "guesses_moments", "guesses", "fit")
        compare(db)
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.delete("questions", [(1, 1, 2.5, 3.0)])
        db.insert("sales", [(2001, 3, "4.00", 4)])
        compare(db)


FIVE = """SELECT 1 AS one, price, size, wealth, weight, off, units FROM sales
    JOIN shops USING (shop) JOIN regions USING (region) JOIN items USING (item) JOIN promotions USING (promotion)"""
SMALL = {"shops": 4, "regions": 3, "items": 5, "promotions": 3}
"""Rows of the tables that say more about sales."""


def create_five(db: viewlet.Database, count: int) -> None:
    sales = "id INT, shop INT, item INT, promotion INT, price INT, units INT"
    db.create_table("sales", sales, primary_key="id", rows=[sale(i) for i in range(count)])
    for table, columns in (("shops", "shop INT, region INT, size INT"), ("regions", "region INT, wealth INT")):
        db.create_table(table, columns, primary_key=table[:-1])
    for table, column in (("items", "weight"), ("promotions", "off")):
        db.create_table(table, f"{table[:-1]} INT, {column} INT", primary_key=table[:-1])
    db.insert("shops", [(i, i % 3, 5 + i * i) for i in range(SMALL["shops"])])
    for table in ("regions", "items", "promotions"):
        db.insert(table, [(i, int(RANDOM.integers(1, 40))) for i in range(SMALL[table])])


def sale(number: int) -> tuple[int, ...]:
    keys = [int(RANDOM.integers(SMALL[table])) for table in ("shops", "items", "promotions")]
    return (number, *keys, *RANDOM.integers(1, 50, size=2).tolist())


def joined(db: viewlet.Database) -> Any:
    """The rows of the join, from plain dictionaries."""
    shops = {shop: (region, size) for shop, region, size in db.table("shops").rows()}
    wealth, weight, off = (dict(db.table(table).rows()) for table in ("regions", "items", "promotions"))
    return np.array(
        [
            (1, price, shops[shop][1], wealth[shops[shop][0]], weight[item], off[promotion], units)
            for _, shop, item, promotion, price, units in db.table("sales").rows()
            if shop in shops and shops[shop][0] in wealth and item in weight and promotion in off
        ],
        dtype=float,
    )


@pytest.mark.slow
@pytest.mark.spark
def test_a_regression_over_a_join_of_five_tables(tmp_path: Path, spark: Any) -> None:
    """Every table changes; what is kept has a row for each combination of keys, not for each sale."""
    terms = ["one", "price", "size", "wealth", "weight", "off"]
    program = matrix.program(models.ols, X=("sale", "term"), y=("sale", 1))
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        create_five(db, 600)
        db.create_matrix("fit", program, X=Wide(FIVE, terms), y=Wide(FIVE, "units"))
        for epoch in range(4):
            rows = joined(db)
            wanted = np.linalg.lstsq(rows[:, :-1], rows[:, -1], rcond=None)[0]
            found = {row[0]: row[1] for row in db.table("fit").rows()}
            np.testing.assert_allclose([found[term] for term in terms], wanted, rtol=1e-8)
            with db.epoch() as e:
                e.delete("sales", [(number,) for number in range(30 * epoch, 30 * epoch + 30)])
                e.insert("sales", [sale(1000 * epoch + 1000 + i) for i in range(20)])
                e.upsert("shops", [(epoch % 4, epoch % 3, 50 + epoch)])
                e.upsert("items", [(epoch, 60 + 7 * epoch)])
                e.upsert("regions", [(epoch % 3, 90 - 5 * epoch)])
        assert db.check().num_rows == 0
        kept = [db._warehouse.store.snapshot().contents(bag) for bag in db._warehouse.catalog.view("fit_moments").bags]
        combinations = SMALL["shops"] * SMALL["items"] * SMALL["promotions"]
        assert max(contents.consolidated().weights.size for contents in kept) <= combinations


@pytest.mark.spark
def test_rows_without_a_key_come_from_one_table(tmp_path: Path, spark: Any) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.create_table("t", "k INT, a DOUBLE, b DOUBLE", rows=[(1, 1.0, 2.0), (1, 1.0, 2.0), (2, 4.0, 3.0)])
        db.create_table("u", "k INT, a DOUBLE", rows=[(1, 1.0)])
        dot = matrix.program(
            lambda A, B: {"dot": A.T @ B, "n": np.sum(np.ones((A.shape[0], 1), like=A))}, A=("n", 1), B=("n", 1)
        )
        with pytest.raises(UnsupportedQuery, match="A and B both have n rows or columns, which no key identifies"):
            db.create_matrix("d", dot, A=Wide("t", "a"), B=Wide("u", "a"))
        with pytest.raises(UnsupportedQuery, match="A and B both have n rows"):
            db.create_matrix("d", dot, A=Wide("t", "a"), B=Wide("t", "a", row="k"))
        with pytest.raises(ShapeError, match="A is declared with 1 columns, and given 2"):
            db.create_matrix("d", dot, A=Wide("t", ["a", "b"]), B=Wide("t", "a"))
        with pytest.raises(UnsupportedQuery, match="has a row for each row"):
            db.create_matrix("d", matrix.program(lambda A: 2.0 * A, A=("n", 1)), A=Wide("t", "a"))
        assert db.views == ()
        db.create_matrix("d", dot, A=Wide("t", "a"), B=Wide("t", "b"))
        assert db.table("d").rows() == [(16.0, 3.0)]
        db.delete("t", [(1, 1.0, 2.0)])
        assert db.table("d").rows() == [(14.0, 2.0)]
        db.delete("t", [(1, 1.0, 2.0), (2, 4.0, 3.0)])
        assert db.table("d").rows() == [(0.0, 0.0)]


@pytest.mark.slow
@pytest.mark.spark
def test_the_example_runs(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "08_regression.py"), run_name="__main__")
    shown = capsys.readouterr().out
    assert "week  9: price  -3.5" in shown
    assert "sure of: one, price, promoted, size" in shown
