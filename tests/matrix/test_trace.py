"""Programs as they are written, printed, stored, and refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tests.matrix.recipes import INPUTS, Recipe, recipes
from viewlet import matrix
from viewlet.errors import EvaluationError, ViewletError
from viewlet.matrix import ShapeError, UntraceableError, iterate


def ols(X: Any, y: Any) -> dict[str, Any]:
    beta = np.linalg.inv(X.T @ X) @ X.T @ y
    residual = y - X @ beta
    return {"beta": beta, "rmse": np.linalg.norm(residual) / (X.shape[0] - X.shape[1])}


def descent(X: Any, Y: Any, T0: Any) -> Any:
    return iterate(16, lambda T: T - X.T @ (X @ T - Y), T0)


def test_a_program_prints_with_one_name_for_each_intermediate() -> None:
    assert str(matrix.program(ols, X=("n", "m"), y=("n", 1))).splitlines() == [
        "program(X: n × m, y: n × 1) → beta, rmse",
        "  t1 := X.T            m × n",
        "  t2 := t1 @ X         m × m",
        "  t3 := inv(t2)        m × m",
        "  t4 := t3 @ t1        m × n",
        "  beta := t4 @ y       m × 1",
        "  t5 := X @ beta       n × 1",
        "  t6 := y - t5         n × 1",
        "  t7 := inner(t6, t6)  number",
        "  t8 := sqrt(t7)       number",
        "  t9 := size n - m     number",
        "  t10 := 1 / t9        number",
        "  rmse := t10 * t8     number",
    ]


def test_a_loop_prints_its_body() -> None:
    assert str(matrix.program(descent, X=("n", "m"), Y=("n", "p"), T0=("m", "p"))).splitlines() == [
        "program(X: n × m, Y: n × p, T0: m × p) → descent",
        "  t1 := X.T                                       m × n",
        "  descent := iterate 16 times T1 := T1.4 from T0  m × p",
        "    T1.1 := X @ T1                                n × p",
        "    T1.2 := T1.1 - Y                              n × p",
        "    T1.3 := t1 @ T1.2                             m × p",
        "    T1.4 := T1 - T1.3                             m × p",
    ]


@given(recipes())
def test_programs_are_stored_as_json_and_print_the_same(recipe: Recipe) -> None:
    program = matrix.program(recipe, **INPUTS)
    again = matrix.MatrixProgram.from_json(program.to_json())
    assert again == program
    assert str(again) == str(program) == str(matrix.program(recipe, **INPUTS))


def test_a_program_of_another_version_is_refused() -> None:
    text = matrix.program(ols, X=("n", 3), y=("n", 1)).to_json().replace('"version": 1', '"version": 2')
    with pytest.raises(ViewletError, match="version 2"):
        matrix.MatrixProgram.from_json(text)


def test_equal_expressions_are_computed_once() -> None:
    program = matrix.program(lambda X: (X.T @ X) + np.linalg.inv(X.T @ X), X=("n", 3))
    assert str(program).count("@") == 1


def test_chains_of_products_take_the_cheapest_order() -> None:
    program = matrix.program(ols, X=("n", 3), y=("n", 1))
    text = program.explain({"n": 1000})
    assert "3 × 1,000 " not in text.replace("t1 := X.T                           3 × 1,000 ", "")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda X, y: X @ y, r"size 3 is different from n"),
        (lambda X, y: X + X.T, r"could not be broadcast together with shapes X \(n × 3\) and t1 \(3 × n\)"),
        (lambda X, y: np.linalg.inv(X), r"must be square, and X is n × 3"),
        (lambda X, y: np.linalg.solve(X.T @ X, y), r"size 3 is different from n"),
        (lambda X, y: np.hstack([X, X.T]), r"same number of rows"),
        (lambda X, y: iterate(3, lambda T: X.T @ T, y), r"iterate: a step makes n × 1 into 3 × 1"),
        (lambda X, y: X + np.ones(3), r"an array of 1 dimensions"),
        (lambda X, y: np.linalg.matrix_power(X, 2), r"must be square"),
    ],
)
def test_shapes_that_do_not_fit_are_a_value_error(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(ShapeError, match=said) as caught:
        matrix.program(function, X=("n", 3), y=("n", 1))
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, ViewletError)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda X: X if X.sum() > 0 else -X, "np.greater cannot be traced"),
        (lambda X: np.linalg.svd(X), "np.svd"),
        (lambda X: X[0], "only slices"),
        (lambda X: X.sum(axis=0), "gives a vector"),
        (lambda X: np.asarray(X), "the entries of X"),
        (lambda X: np.add.reduce(X), "np.add.reduce"),
        (lambda X: list(X), "iterating"),
        (lambda X: np.diag(X @ X.T), "the diagonal is a vector"),
        (lambda X: {}, "returns a matrix"),
    ],
)
def test_what_cannot_be_traced_says_so(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(UntraceableError, match=said):
        matrix.program(function, X=("n", 3))


def test_a_division_by_zero_is_an_error_of_the_evaluation() -> None:
    for function in (lambda A: A / 0, lambda A: A.sum() / 0.0, lambda A: A / (A.shape[0] - 2), lambda A: 1 / (A - A)):
        with pytest.raises(EvaluationError, match="is inf in row 0, column 0"):
            matrix.program(function, A=(2, 2)).start(A=np.ones((2, 2)))


def test_a_program_of_numpys_functions_is_what_numpy_gives() -> None:
    def everything(A: Any) -> dict[str, Any]:
        return {
            "eye": A + np.eye(A.shape[0], like=A) - np.identity(4),
            "like": np.zeros_like(A) + np.ones_like(A) * 2 - np.full_like(A, 3.0),
            "made": np.ones((4, 1)) + np.zeros((4, A.shape[0]), like=A) @ A + np.full((4, 4), 2.0, like=A),
            "chain": np.linalg.multi_dot([A, A.T, A]) + np.dot(A, A) + A.dot(A),
            "powers": np.linalg.matrix_power(A, 3) + np.linalg.matrix_power(A, 0) + np.linalg.matrix_power(A, -2),
            "sums": A.sum() + A.mean() + A.trace() + np.sum(A, axis=1, keepdims=True) + A.sum(keepdims=True),
            "stacked": np.concatenate([A, A], axis=1) @ np.vstack([A, A]) + np.transpose(A),
            "entries": np.exp(A) / (1 + np.abs(A)) + np.maximum(A, 0.1) + A**3 + (+A) - (-A) + 2 / (3 + A * A),
            "constant": A @ np.arange(16.0).reshape(4, 4),
            "loop": iterate(3, lambda T: np.sqrt(1 + (A @ T) ** 2), np.ones((4, 2))),
            "input": A,
        }

    A = np.random.default_rng(1).normal(size=(4, 4))
    state = matrix.program(everything, A=(4, 4)).start(A=A)
    for name, wanted in everything(A).items():
        np.testing.assert_allclose(state[name], wanted, rtol=1e-10, atol=1e-12, err_msg=name)
