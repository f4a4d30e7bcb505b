"""Ready programs as views, through epochs, against scikit-learn, SciPy and NetworkX on rows that the test keeps itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy import linalg, optimize, stats
from sklearn.decomposition import PCA  # type: ignore[import-untyped]
from sklearn.linear_model import LinearRegression, Ridge  # type: ignore[import-untyped]

import viewlet
from viewlet import matrix
from viewlet.matrix import Long, Wide, models

TERMS = ["one", "a", "b", "c"]
EPOCHS = 4


class Sales:
    """A table of numbers, kept twice: in a warehouse, and here."""

    def __init__(self, db: viewlet.Database) -> None:
        self.db, self.random = db, np.random.default_rng(5)
        self.rows = {i: self.row() for i in range(30)}
        db.create_table("sales", "id INT, one INT, a DOUBLE, b DOUBLE, c DOUBLE, y DOUBLE", primary_key="id")
        db.insert("sales", [(i, *row) for i, row in self.rows.items()])

    def row(self) -> tuple[float, ...]:
        a, b, c, noise = (self.random.normal(size=4) * [3, 2, 1, 0.5]).tolist()
        return 1, a, b, c, 2.0 + 0.5 * a - b + noise

    def epochs(self) -> Iterator[np.ndarray]:
        """After each of some epochs, in which rows come, change and go, all rows."""
        for epoch in range(EPOCHS):
            gone, changed = list(self.rows)[:2]
            del self.rows[gone]
            new = {100 + epoch: self.row(), changed: self.row()}
            self.rows |= new
            with self.db.epoch() as e:
                e.delete("sales", [(gone,)])
                e.upsert("sales", [(i, *row) for i, row in new.items()])
            yield np.array(list(self.rows.values()))


@pytest.fixture
def db(tmp_path: Path) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w") as db:
        yield db


def fitted(db: viewlet.Database, name: str) -> dict[str, tuple[float, ...]]:
    return {row[0]: row[1:] for row in db.table(name).rows()}


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-10)


def regression(terms: list[str]) -> dict[str, Any]:
    return {"X": Wide("sales", terms, row="id"), "y": Wide("sales", ["y"], row="id")}


def test_least_squares_is_that_of_scikit_learn_with_the_errors_of_scipy(db: viewlet.Database) -> None:
    sales = Sales(db)
    program = matrix.program(models.ols, X=("sale", "term"), y=("sale", 1))
    db.create_matrix("fit", program, **regression(TERMS))
    db.create_matrix("line", program, **regression(["one", "a"]))
    for rows in sales.epochs():
        X, y = rows[:, 1:4], rows[:, 4]
        wanted = LinearRegression().fit(X, y)
        found = fitted(db, "fit")
        close([found[t][0] for t in TERMS], [wanted.intercept_, *wanted.coef_])
        close(found["a"][3], wanted.score(X, y))
        close([found[t][1] for t in TERMS], errors_of_scipy(rows[:, :4], y))
        line, other = fitted(db, "line"), stats.linregress(rows[:, 1], y)
        close(line["a"][:2], [other.slope, other.stderr])
        close(line["one"][:2], [other.intercept, other.intercept_stderr])
        close(line["a"][3], other.rvalue**2)


def errors_of_scipy(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The standard errors of a fit that knows nothing of a line but its slope."""
    _, covariance = optimize.curve_fit(lambda X, *b: X @ b, X, y, np.zeros(X.shape[1]), jac=lambda X, *b: X)
    return np.sqrt(np.diag(covariance))


def test_ridge_and_its_prediction_are_those_of_scikit_learn(db: viewlet.Database) -> None:
    sales = Sales(db)
    db.create_table("wanted", "id INT, one INT, a DOUBLE, b DOUBLE, c DOUBLE", primary_key="id")
    Z = np.array([[1, 0.5, 1.0, -1.0], [1, -2.0, 0.0, 3.0]])
    db.insert("wanted", [(i, *row) for i, row in enumerate(Z.tolist())])
    program = matrix.program(models.predicting(models.ridge(0.7)), X=("sale", "term"), y=("sale", 1), Z=("q", "term"))
    Zs = Wide("wanted", TERMS, row="id")
    db.create_matrix(
        "fit", program, **regression(TERMS), Z=Zs, outputs=["coefficients", "standard_errors", "r_squared"]
    )
    db.create_matrix("guess", program, **regression(TERMS), Z=Zs, outputs=["prediction"])
    for rows in sales.epochs():
        wanted = Ridge(alpha=0.7, fit_intercept=False).fit(rows[:, :4], rows[:, 4])
        found = fitted(db, "fit")
        close([found[t][0] for t in TERMS], wanted.coef_)
        close(found["a"][2], wanted.score(rows[:, :4], rows[:, 4]))
        close([found[t][1] for t in TERMS], errors_of_ridge(wanted, rows[:, :4], rows[:, 4]))
        close([guess for _, guess in sorted(db.table("guess").rows())], wanted.predict(Z))


def errors_of_ridge(model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How far scikit-learn's coefficients vary with y: it is asked for those of each unit vector."""
    units = np.eye(len(y))
    weights = Ridge(alpha=model.alpha, fit_intercept=False).fit(X, units).coef_.T
    rest = units - X @ weights
    variance = np.sum((rest @ y) ** 2) / np.sum(rest**2)
    return np.sqrt(variance * np.sum(weights**2, axis=1))


def test_principal_components_are_those_of_scikit_learn(db: viewlet.Database) -> None:
    sales = Sales(db)
    program = matrix.program(models.principal_components(2), X=("sale", "term"))
    X = Wide("sales", TERMS[1:], row="id")
    db.create_matrix("components", program, X=X, outputs=["components"])
    db.create_matrix("spread", program, X=X, outputs=["variances"])
    for rows in sales.epochs():
        wanted = PCA(2).fit(rows[:, 1:4])
        axes = {(term, int(k)): value for term, k, value in db.table("components").rows()}
        found = np.array([[axes[term, k] for term in TERMS[1:]] for k in range(2)])
        signs = np.sign(wanted.components_[np.arange(2), np.abs(wanted.components_).argmax(axis=1)])
        close(found, wanted.components_ * signs[:, None])
        close([v for _, v in sorted(db.table("spread").rows())], wanted.explained_variance_)
        assert db.check("components").num_rows == 0
    steps = db.history("components")[-1]["views"]["components"]["steps"]
    assert any("resumes from the last" in told for told in steps.values())


def test_pagerank_is_that_of_networkx(db: viewlet.Database) -> None:
    random = np.random.default_rng(2)
    names = list("abcdefgh")
    links = {(s, t) for s in names for t in names if s != t and random.random() < 0.5} | set(
        zip(names, [*names[1:], "a"], strict=True)
    )
    db.create_table("steps", "target STRING, source STRING, chance DOUBLE", primary_key=["target", "source"])
    db.insert("steps", chances(links))
    program = matrix.program(models.pagerank(128), M=("page", "page"))
    db.create_matrix("ranks", program, M=Long("steps", "target", "source", "chance"))
    for gone in sorted(links - set(zip(names, [*names[1:], "a"], strict=True)))[:EPOCHS]:
        before = chances(links)
        links = links - {gone}
        after = chances(links)
        with db.epoch() as epoch:
            epoch.delete("steps", [row[:2] for row in before if row[:2] not in {r[:2] for r in after}])
            epoch.upsert("steps", after)
        wanted = nx.pagerank(nx.DiGraph(sorted(links)), alpha=0.85, tol=1e-14, max_iter=1000)
        found = dict(db.table("ranks").rows())
        close([found[name] for name in names], [wanted[name] for name in names])


def chances(links: set[tuple[str, str]]) -> list[tuple[str, str, float]]:
    out = {source: sum(1 for s, _ in links if s == source) for source, _ in links}
    return [(target, source, 1.0 / out[source]) for source, target in sorted(links)]


def test_powers_and_iterations_are_those_of_scipy(db: viewlet.Database) -> None:
    """Aᵏ from the eigenvectors; T ← A·T + B from a solve; gradient descent from how near it is to the least squares."""
    random = np.random.default_rng(9)
    A = random.normal(size=(4, 4)) / 5
    db.create_table("a", "i INT, j INT, v DOUBLE", primary_key=["i", "j"])
    db.insert("a", [(i, j, A[i, j]) for i in range(4) for j in range(4)])
    B = random.normal(size=(4, 1))
    given: dict[str, Any] = {"A": Long("a", "i", "j", "v")}
    db.create_matrix("power", matrix.program(models.power(6), A=(4, 4)), **given)
    db.create_matrix("sums", matrix.program(models.sum_of_powers(64), A=(4, 4)), **given)
    iterated = matrix.program(models.general(64), A=(4, 4), B=(4, 1), T0=(4, 1))
    db.create_matrix("fixed", iterated, **given, B=B, T0=np.zeros((4, 1)))
    sales = Sales(db)
    descent = matrix.program(models.gradient_descent(32, 0.004), X=("sale", 3), Y=("sale", 1), T0=(3, 1))
    rows: dict[str, Any] = {"X": Wide("sales", TERMS[1:], row="id"), "Y": Wide("sales", ["y"], row="id")}
    db.create_matrix("descent", descent, **rows, T0=np.zeros((3, 1)))
    for data in sales.epochs():
        i, j = random.integers(4, size=2).tolist()
        A[i, j] = random.normal() / 5
        db.upsert("a", [(i, j, A[i, j])])
        values, vectors = linalg.eig(A)
        close(square(db, "power"), (vectors * values**6 @ linalg.inv(vectors)).real)
        close(square(db, "sums"), linalg.inv(np.eye(4) - A))
        close([t for _, t in sorted(db.table("fixed").rows())], linalg.solve(np.eye(4) - A, B)[:, 0])
        squares, turn = linalg.eigh(data[:, 1:4].T @ data[:, 1:4])
        reached = turn * (1 - (1 - 0.004 * squares) ** 32) @ turn.T
        wanted = reached @ linalg.lstsq(data[:, 1:4], data[:, 4])[0]
        close([t for _, t in sorted(db.table("descent").rows())], wanted)


def square(db: viewlet.Database, name: str) -> np.ndarray:
    return np.array([value for _, _, value in sorted(db.table(name).rows())]).reshape(4, 4)
