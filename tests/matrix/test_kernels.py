"""Products in one pass over a large matrix, beside those of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from viewlet.matrix import RowChange, models, program
from viewlet.matrix.arrays import kernels
from viewlet.matrix.delta.changes import Factored
from viewlet.matrix.delta.compress import compress
from viewlet.matrix.delta.factors import Factor

RANDOM = np.random.default_rng(5)


def near(dtype: Any) -> dict[str, Any]:
    return {"rtol": 1e-3, "atol": 1e-3} if dtype is np.float32 else {"rtol": 1e-10, "atol": 1e-11}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "LARGE", 100)
    monkeypatch.setattr(kernels, "BLOCK", 7 * 250)
    monkeypatch.setattr(kernels, "PIECE", 7 * 20)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("count", [0, 1, 2, 4, 5])
def test_few_vectors_meet_a_matrix_block_by_block(dtype: Any, count: int) -> None:
    whole = RANDOM.normal(size=(300, 250)).astype(dtype)
    for matrix in (whole, np.asfortranarray(whole), whole[::2], whole[:, ::2], whole[:, :100], whole.T, whole.T[:9]):
        vectors = RANDOM.normal(size=(matrix.shape[1], count)).astype(dtype)
        found = kernels.times(matrix, vectors)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, matrix @ vectors, **near(dtype))


@pytest.mark.parametrize(("count", "other"), [(1, 2), (4, 4), (3, 5), (0, 1)])
def test_a_matrix_and_its_transpose_meet_vectors_in_one_pass(count: int, other: int) -> None:
    whole = RANDOM.normal(size=(300, 250))
    for matrix in (whole, whole[:, :100], np.asfortranarray(whole), whole.T):
        vectors, turned = RANDOM.normal(size=(matrix.shape[1], count)), RANDOM.normal(size=(len(matrix), other))
        down, across = kernels.both_times(matrix, vectors, turned)
        np.testing.assert_allclose(down, matrix @ vectors, **near(np.float64))
        np.testing.assert_allclose(across, matrix.T @ turned, **near(np.float64))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(30, 20), (1, 20), (30, 1), (0, 20), (30, 0)])
def test_a_product_is_added_in_place(dtype: Any, order: Any, shape: tuple[int, int]) -> None:
    target = RANDOM.normal(size=shape).astype(dtype)
    for rank in (0, 1, 3):
        left, right = (np.array(RANDOM.normal(size=(size, rank)), dtype=dtype, order=order) for size in shape)
        wanted = target + left @ right.T
        kernels.add_product(target, left, right)
        np.testing.assert_allclose(target, wanted, **near(dtype))


def test_large_products_are_left_to_the_blas_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """SciPy's has threads of its own, and the two would compete for the cores."""
    import scipy.linalg

    asked = list[Any]()
    monkeypatch.setattr(scipy.linalg, "get_blas_funcs", lambda *names, **_: asked.append(names))
    A = RANDOM.normal(size=(60, 60)) / 8
    state = program(models.power(16), A=(60, 60)).start(A=A, options={"strategy": "incremental"})
    record = state.update(A=RowChange(changed={3: A[4]}))
    assert {step.how for step in record.steps} == {"factored"}
    assert asked == []


def test_ranks_that_count_are_kept_and_others_are_not() -> None:
    """Columns of very different lengths count; one that is the sum of others does not."""
    columns, others = RANDOM.normal(size=(40, 3)) * [1, 1e-6, 1e4], RANDOM.normal(size=(30, 4))
    assert compress(Factored(Factor(40, columns), Factor(30, others[:, :3]))).rank == 3
    depending = np.column_stack([columns, columns @ [1, 1e3, 0]])
    found = compress(Factored(Factor(40, depending), Factor(30, others)))
    assert found.rank == 3
    np.testing.assert_allclose(found.left.dense() @ found.right.dense().T, depending @ others.T, atol=1e-9)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_columns_whose_squares_no_number_can_hold(size: float) -> None:
    columns, others = RANDOM.normal(size=(40, 2)) * size, RANDOM.normal(size=(30, 2))
    with np.errstate(all="ignore"):
        found = compress(Factored(Factor(40, columns), Factor(30, others)))
    np.testing.assert_allclose(found.left.dense() @ found.right.dense().T, columns @ others.T, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F", "cut"])
def test_solves_equal_numpy_in_any_order(order: str, dtype: Any) -> None:
    whole: Any = RANDOM.normal(size=(9, 9)).astype(dtype)
    ways: dict[str, Any] = {"C": np.ascontiguousarray, "F": np.asfortranarray, "cut": lambda a: a[1:8, 2:9]}
    matrix = ways[order](whole)
    right: Any = RANDOM.normal(size=(len(matrix), 3)).astype(dtype)
    found = kernels.solve_sides(matrix, np.array(right, order="F"))
    assert found is not None
    assert found.dtype == dtype
    np.testing.assert_allclose(found, np.linalg.solve(matrix, right), rtol=1e-3 if dtype is np.float32 else 1e-10)
    assert kernels.solve_sides(np.zeros((3, 3)), np.ones((3, 1), order="F")) is None
