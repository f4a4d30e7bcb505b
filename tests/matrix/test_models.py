"""Ready programs against other ways to the same numbers: QR, SVD, eigenvectors, plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from viewlet import matrix
from viewlet.errors import RejectedEpoch
from viewlet.matrix import LowRank, RowChange, ShapeError, models

STRATEGIES: list[Any] = ["incremental", "hybrid", "reevaluate", "auto"]


class Rows:
    """A regression's rows, which the test keeps itself."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.X, self.y = self.make(40)

    def make(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        X = np.hstack([np.ones((count, 1)), self.random.normal(size=(count, 3))])
        return X, X @ [[1.0], [2.0], [-1.0], [0.5]] + self.random.normal(size=(count, 1))

    def move(self) -> dict[str, RowChange]:
        """Two rows come, one goes, one changes."""
        X, y = self.make(3)
        gone, changed = self.random.choice(len(self.X), 2, replace=False)
        self.X[changed], self.y[changed] = X[2], y[2]
        updates = {
            "X": RowChange({int(changed): X[2]}, X[:2], [int(gone)]),
            "y": RowChange({int(changed): y[2]}, y[:2], [int(gone)]),
        }
        self.X, self.y = np.vstack([np.delete(self.X, gone, 0), X[:2]]), np.vstack([np.delete(self.y, gone, 0), y[:2]])
        return updates


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_ols_follows_its_rows(strategy: Any) -> None:
    rows = Rows(1)
    Z = np.array([[1.0, 0.1, 0.2, 0.3], [1.0, -1.0, 0.0, 1.0]])
    program = matrix.program(models.predicting(models.ols), X=("n", 4), y=("n", 1), Z=(2, 4))
    state = program.start(X=rows.X, y=rows.y, Z=Z, options={"strategy": strategy})
    for _ in range(20):
        state.update(**rows.move())
        q, r = np.linalg.qr(rows.X)
        beta = np.linalg.solve(r, q.T @ rows.y)
        residual = rows.y - rows.X @ beta
        variance = (residual**2).sum() / (len(rows.X) - 4)
        errors = np.sqrt(variance * (np.linalg.inv(r) ** 2).sum(axis=1, keepdims=True))
        np.testing.assert_allclose(state["coefficients"], beta, rtol=1e-9)
        np.testing.assert_allclose(state["standard_errors"], errors, rtol=1e-9)
        np.testing.assert_allclose(state["variance"], variance, rtol=1e-9)
        np.testing.assert_allclose(
            state["r_squared"], 1 - (residual**2).sum() / (len(rows.y) * rows.y.var()), rtol=1e-9
        )
        np.testing.assert_allclose(state["prediction"], Z @ beta, rtol=1e-9)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_ridge_is_least_squares_with_more_rows(strategy: Any) -> None:
    """√λ·I below X and zeros below y: the textbook's other way to write it."""
    rows = Rows(2)
    state = matrix.program(models.ridge(3.0), X=("n", 4), y=("n", 1)).start(
        X=rows.X, y=rows.y, options={"strategy": strategy}
    )
    for _ in range(10):
        state.update(**rows.move())
        below = np.vstack([rows.X, np.sqrt(3.0) * np.eye(4)])
        wanted = np.linalg.lstsq(below, np.vstack([rows.y, np.zeros((4, 1))]), rcond=None)[0]
        np.testing.assert_allclose(state["coefficients"], wanted, rtol=1e-9)
        residual = ((rows.y - rows.X @ wanted) ** 2).sum()
        np.testing.assert_allclose(state["r_squared"], 1 - residual / (len(rows.y) * rows.y.var()), rtol=1e-9)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_errors_of_a_ridge_are_those_of_its_singular_values(strategy: Any) -> None:
    """β = V·(s / (s² + λ))·Uᵀ·y, of which each entry varies as y does; the fit is U·(s² / (s² + λ))·Uᵀ·y."""
    rows = Rows(3)
    program = matrix.program(models.ridge(3.0), X=("n", 4), y=("n", 1))
    state = program.start(X=rows.X, y=rows.y, options={"strategy": strategy})
    for _ in range(10):
        state.update(**rows.move())
        u, s, v = np.linalg.svd(rows.X, full_matrices=False)
        kept = s**2 / (s**2 + 3.0)
        residual = rows.y - u * kept @ (u.T @ rows.y)
        hat = u * kept @ u.T
        variance = (residual**2).sum() / np.trace((np.eye(len(hat)) - hat).T @ (np.eye(len(hat)) - hat))
        errors = np.sqrt(variance * ((v.T * (kept / s)) ** 2).sum(axis=1, keepdims=True))
        np.testing.assert_allclose(state["variance"], variance, rtol=1e-9)
        np.testing.assert_allclose(state["standard_errors"], errors, rtol=1e-9)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("model", ["linear", "exponential", "skip-4", "krylov"])
def test_iterations_equal_their_loops(strategy: Any, model: str) -> None:
    random = np.random.default_rng(3)
    A, B, T0 = random.normal(size=(8, 8)) / 5, random.normal(size=(8, 3)), random.normal(size=(8, 3))
    X, Y = random.normal(size=(12, 8)), random.normal(size=(12, 3))
    options = {"strategy": strategy, "model": model}
    power = matrix.program(models.power(13), A=(8, 8)).start(A=A, options=options)
    sums = matrix.program(models.sum_of_powers(13), A=(8, 8)).start(A=A, options=options)
    general = matrix.program(models.general(13), A=(8, 8), B=(8, 3), T0=(8, 3)).start(A=A, B=B, T0=T0, options=options)
    shapes = {"X": (12, 8), "Y": (12, 3), "T0": (8, 3)}
    descent = matrix.program(models.gradient_descent(13, 0.02), **shapes).start(X=X, Y=Y, T0=T0, options=options)
    for i in range(4):
        A[i], X[i] = random.normal(size=8) / 5, random.normal(size=8)
        for state in (power, sums, general):
            state.update(A=RowChange({i: A[i]}))
        descent.update(X=RowChange({i: X[i]}))
        P, S, T, D = np.eye(8), np.zeros((8, 8)), T0, T0
        for _ in range(13):
            P, S, T, D = A @ P, A @ S + np.eye(8), A @ T + B, D - 0.02 * X.T @ (X @ D - Y)
        for state, name, wanted in (
            (power, "power", P),
            (sums, "sum_of_powers", S),
            (general, "general", T),
            (descent, "gradient_descent", D),
        ):
            np.testing.assert_allclose(state[name], wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max(), err_msg=name)


def eigenvector(links: set[tuple[int, int]], pages: int) -> np.ndarray:
    """The ranks as the stationary distribution of the whole matrix of Google."""
    M = np.zeros((pages, pages))
    for source, target in links:
        M[target, source] = 1
    M[:, M.sum(axis=0) == 0] = 1
    G = 0.85 * M / M.sum(axis=0) + 0.15 / pages
    values, vectors = np.linalg.eig(G)
    found = np.real(vectors[:, np.argmax(np.real(values))])
    return found / found.sum()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_pagerank_follows_its_links(strategy: Any) -> None:
    random = np.random.default_rng(4)
    links = {(int(a), int(b)) for a, b in random.integers(0, 12, (30, 2)) if a != b}
    ranking = models.PageRank(12, links, steps=150, options={"strategy": strategy, "model": "exponential"})
    np.testing.assert_allclose(ranking.ranks, eigenvector(links, 12), rtol=1e-9)
    for _ in range(6):
        gone = set(sorted(links)[:2])
        links -= gone
        added = {(int(random.integers(12)), 3)} - links - gone
        links |= added
        ranking.update(add=added, remove=gone)
        np.testing.assert_allclose(ranking.ranks, eigenvector(links, 12), rtol=1e-9)
    before = ranking.ranks
    with pytest.raises(RejectedEpoch, match="is there already"):
        ranking.update(add=[sorted(links)[0]])
    with pytest.raises(RejectedEpoch, match="no page 12"):
        ranking.update(add=[(0, 12)])
    assert (ranking.ranks == before).all()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_principal_components_are_those_of_the_svd(strategy: Any) -> None:
    random = np.random.default_rng(6)
    scales = np.array([9, 5, 3, 1, 0.7, 0.5, 0.3, 0.2])
    X = random.normal(size=(60, 8)) * scales + 1000
    pca = models.PrincipalComponents(X, 3, options={"strategy": strategy})
    cold = pca.steps
    for _ in range(8):
        row, new = random.normal(size=8) * scales + 1000, random.normal(size=(2, 8)) * scales + 1000
        pca.update(changed={4: row}, new=new, gone=[0])
        X[4] = row
        X = np.vstack([X[1:], new])
        centred = X - X.mean(axis=0)
        _, sigma, directions = np.linalg.svd(centred, full_matrices=False)
        np.testing.assert_allclose(pca.variances, sigma[:3] ** 2 / (len(X) - 1), rtol=1e-9)
        np.testing.assert_allclose(np.abs(np.einsum("ij,ij->i", pca.components, directions[:3])), 1, rtol=1e-9)
        np.testing.assert_allclose(pca.mean, X.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(pca.transform(X), centred @ pca.components.T, rtol=1e-8, atol=1e-9)
        assert pca.steps <= cold, "the last basis is a better start than a random one"


def test_components_without_a_gap_are_decomposed() -> None:
    pca = models.PrincipalComponents(np.vstack([np.eye(20), -np.eye(20)]), 2)
    np.testing.assert_allclose(pca.variances, 2 / 39, rtol=1e-12)
    with pytest.raises(ShapeError, match="20 columns do not have 21 components"):
        models.PrincipalComponents(np.eye(20), 21)


def test_a_perfect_fit_has_no_negative_variance() -> None:
    X = np.hstack([np.ones((6, 1)), np.arange(6.0)[:, None]])
    state = matrix.program(models.ols, X=("n", 2), y=("n", 1)).start(X=X, y=X @ [[1.0], [2.0]])
    state.update(X=LowRank(np.zeros(6), np.zeros(2)))
    assert 0 <= state["variance"] < 1e-12
    assert abs(state["r_squared"] - 1) < 1e-12
