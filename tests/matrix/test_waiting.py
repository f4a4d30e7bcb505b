"""Programs over empty tables wait for rows; a program can take the place of another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import viewlet
from viewlet import matrix
from viewlet.errors import EvaluationError, InUse, NameTaken
from viewlet.matrix import SingularMatrix, Wide, models

OLS = matrix.program(models.ols, X=("sale", "term"), y=("sale", 1))
ROWS = [(1, 1, 2.0, 3.0), (2, 1, 3.0, 5.0), (3, 1, 4.0, 5.5), (4, 1, 3.5, 5.0)]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("sales", "id BIGINT, one INT, price DOUBLE, units DOUBLE", primary_key="id")
        yield db


def create(db: viewlet.Database, program: Any = OLS, terms: tuple[str, ...] = ("one", "price"), **more: Any) -> None:
    db.create_matrix("fit", program, X=Wide("sales", terms, row="id"), y=Wide("sales", ["units"], row="id"), **more)


def coefficients(db: viewlet.Database) -> list[float]:
    return [row[1] for row in sorted(db.table("fit").rows())]


def least_squares(rows: list[tuple[Any, ...]]) -> list[float]:
    data = np.array(rows, dtype=float)
    return np.linalg.lstsq(data[:, 1:3], data[:, 3], rcond=None)[0].tolist()


def technique(db: viewlet.Database) -> str:
    return str(db.history("fit")[-1]["views"]["fit"]["technique"])


def test_a_regression_over_no_rows_waits_for_them(db: viewlet.Database, tmp_path: Path) -> None:
    create(db)
    assert db.table("fit").rows() == []
    assert "not determined yet: view fit: Singular matrix" in db.explain("fit")
    with pytest.raises(EvaluationError, match="fit is not determined yet"):
        db.matrix("fit")
    db.insert("sales", ROWS[:1])
    assert technique(db).startswith("not determined yet")
    assert db.check("fit").num_rows == 0
    db.close()
    with viewlet.connect(tmp_path / "w") as db:
        db.insert("sales", ROWS[1:3])
        np.testing.assert_allclose(coefficients(db), least_squares(ROWS[:3]), rtol=1e-9)
        db.insert("sales", ROWS[3:])
        np.testing.assert_allclose(coefficients(db), least_squares(ROWS), rtol=1e-9)
        assert db.check("fit").num_rows == 0
        with pytest.raises(EvaluationError, match="view fit"):
            db.delete("sales", [row[:1] for row in ROWS])
        np.testing.assert_allclose(coefficients(db), least_squares(ROWS), rtol=1e-9)


def test_rows_without_a_result_are_refused_at_once(db: viewlet.Database) -> None:
    db.insert("sales", [(i, 1, 2.0, float(i)) for i in range(4)])
    with pytest.raises(SingularMatrix, match="no inverse"):
        create(db)


def test_a_program_takes_the_place_of_another(db: viewlet.Database) -> None:
    db.insert("sales", ROWS)
    create(db)
    with pytest.raises(NameTaken):
        create(db)
    names = ("coefficients", "standard_errors", "variance", "r_squared")
    create(db, terms=("price", "one"), replace=True, outputs=names, dtype="float32")
    np.testing.assert_allclose(coefficients(db), least_squares(ROWS), rtol=1e-4)
    double = matrix.program(lambda C: {"double": 2 * C}, C=("term", 1))
    db.create_matrix("twice", double, C=Wide("fit", ["coefficients"], row="term"))
    create(db, replace=True)
    np.testing.assert_allclose([v for _, v in sorted(db.table("twice").rows())], 2 * np.array(least_squares(ROWS)))
    create(db, matrix.program(models.ridge(1.0), X=("sale", "term"), y=("sale", 1)), replace=True)
    solved = matrix.program(
        lambda X, y: {"solved": np.linalg.solve(X.T @ X, X.T @ y)}, X=("sale", "term"), y=("sale", 1)
    )
    with pytest.raises(InUse, match="twice read fit"):
        create(db, solved, replace=True)


@pytest.mark.spark
@pytest.mark.slow
def test_views_of_sums_are_replaced_with_their_program(db: viewlet.Database) -> None:
    joined = "SELECT one, price, units FROM sales WHERE price > 0"
    given: dict[str, Any] = {"X": Wide(joined, ["one", "price"]), "y": Wide(joined, ["units"])}
    db.create_matrix("fit", OLS, **given)
    assert db.table("fit").rows() == []
    db.insert("sales", ROWS)
    np.testing.assert_allclose(coefficients(db), least_squares(ROWS), rtol=1e-9)
    other = "SELECT one, price, units FROM sales WHERE id < 4"
    db.create_matrix("fit", OLS, X=Wide(other, ["one", "price"]), y=Wide(other, ["units"]), replace=True)
    np.testing.assert_allclose(coefficients(db), least_squares(ROWS[:3]), rtol=1e-9)
    assert db.table("fit_moments").rows()[0][0] == 3
