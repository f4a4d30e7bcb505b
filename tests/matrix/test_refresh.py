"""What a refresh promises beside its result: no large intermediate, all or nothing, and health."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.matrix.endurance import endure
from viewlet import matrix
from viewlet.errors import EvaluationError, RejectedEpoch, UnknownName
from viewlet.matrix import Border, ColumnChange, Factored, LowRank, Machine, Replace, RowChange, SingularMatrix

RANDOM = np.random.default_rng(5)


def ols(X: Any, y: Any) -> Any:
    return np.linalg.inv(X.T @ X) @ X.T @ y


def contents(state: matrix.MaintainedProgram) -> dict[str, np.ndarray]:
    """Everything that is kept, bit by bit."""
    return {name: buffer.array.copy() for name, buffer in state._buffers.items()}


def peak_of(work: Callable[[], object]) -> int:
    """The most memory that some work had at once beyond what was there."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("strategy", ["incremental", "reevaluate"])
def test_no_intermediate_is_as_large_as_a_matrix(strategy: str) -> None:
    """A row of A changes, and A, A², A⁴, A⁸ and an inverse with it: 3.9 MB each, and half a megabyte at a time is enough."""
    size = 700
    A = RANDOM.normal(size=(size, size)) / 30 + np.eye(size)
    program = matrix.program(lambda A: np.linalg.matrix_power(A, 8) + np.linalg.inv(A.T), A=(size, size))
    state = program.start(A=A, options={"strategy": strategy, "model": "exponential"})
    change = RowChange(changed={3: A[3] * 1.01})
    state.update(A=RowChange(changed={5: A[5] * 1.01}))
    peak = peak_of(lambda: state.update(A=change))
    if strategy == "incremental":
        assert peak < 8 * size * size / 2
        assert state.last is not None
        assert {s.how for s in state.last.steps} == {"factored"}
    else:
        assert peak > 8 * size * size


def test_a_row_of_a_tall_matrix_costs_no_pass_over_it() -> None:
    """A regression over 200,000 rows: what is read and made has the size of the row, not of the matrix.

    Without probes, which pass over the matrix, but only as often as they have been paid for.
    """
    X, y = RANDOM.normal(size=(200_000, 4)), RANDOM.normal(size=(200_000, 1))
    state = matrix.program(ols, X=("n", 4), y=("n", 1)).start(X=X, y=y, probes=0)
    state.update(X=RowChange(new=X[:1]), y=RowChange(new=y[:1]))
    assert peak_of(lambda: state.update(X=RowChange(changed={7: X[8]}))) < 100_000
    assert peak_of(lambda: state.update(X=RowChange(new=X[:1]), y=RowChange(new=y[:1]))) < 100_000
    assert max(state.check().values()) < 1e-10


@pytest.mark.parametrize("strategy", ["incremental", "hybrid", "reevaluate"])
def test_a_singular_update_changes_nothing(strategy: Any) -> None:
    A = np.eye(4) * 2
    program = matrix.program(lambda A, b: {"x": np.linalg.solve(A, b), "w": np.linalg.inv(A)}, A=(4, 4), b=(4, 1))
    state = program.start(A=A, b=np.ones((4, 1)), options={"strategy": strategy})
    before = contents(state)
    with pytest.raises(SingularMatrix, match="no inverse") as caught:
        state.update(A=RowChange(changed={2: np.zeros(4)}), b=Replace(np.arange(4.0)))
    assert isinstance(caught.value, np.linalg.LinAlgError)
    assert all((contents(state)[n] == v).all() for n, v in before.items())
    state.update(A=RowChange(changed={2: [0, 0, 4, 0]}))
    np.testing.assert_allclose(state["w"], np.diag([0.5, 0.5, 0.25, 0.5]))


def test_a_matrix_that_becomes_singular_by_what_goes_changes_nothing() -> None:
    """Fewer rows than columns: rows that came before the failure are taken away again."""
    X, y = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=(4, 1))
    state = matrix.program(ols, X=("n", 3), y=("n", 1)).start(X=X, y=y, options={"strategy": "incremental"})
    before = contents(state)
    with pytest.raises(SingularMatrix):
        state.update(X=RowChange(new=X[:1], gone=[0, 1, 2]), y=RowChange(new=y[:1], gone=[0, 1, 2]))
    after = contents(state)
    assert all(after[n].shape == v.shape and (after[n] == v).all() for n, v in before.items())
    assert state.sizes == {"n": 4}
    state.update(X=RowChange(new=X[1:2]), y=RowChange(new=y[1:2]))
    np.testing.assert_allclose(state["X"], np.vstack([X, X[1:2]]))
    assert max(state.check().values()) < 1e-10


def test_a_result_that_is_not_finite_changes_nothing() -> None:
    program = matrix.program(lambda A: np.log(A.sum(axis=0, keepdims=True)) @ A, A=("n", "n"))
    state = program.start(A=np.ones((3, 3)))
    before = contents(state)
    with pytest.raises(EvaluationError, match=r"is nan in row 0, column 0"):
        state.update(A=RowChange(changed={0: [-9, 1, 1]}))
    assert all((contents(state)[n] == v).all() for n, v in before.items())


@pytest.mark.parametrize(
    ("updates", "said"),
    [
        ({"X": RowChange(changed={1: [1, np.nan, 3]})}, r"X\[1\] is nan in row 0, column 1"),
        ({"X": RowChange(changed={9: [1, 2, 3]})}, r"X: 9 cannot change: .* one of 5"),
        ({"X": RowChange(changed={0: [1, 2]})}, r"X\[0\]: shape \(2,\) instead of \(1, 3\)"),
        ({"X": RowChange(new=[[1, 2, np.inf]]), "y": RowChange(new=[1])}, r"X is inf in row 0, column 2"),
        ({"X": RowChange(new=[[1, 2, 3]])}, r"X and y both have n rows or columns, but X gets 1 new"),
        ({"X": RowChange(gone=[5]), "y": RowChange(gone=[5])}, r"X: \[5\] cannot be deleted: there are 5"),
        ({"X": RowChange(gone=[1, 1]), "y": RowChange(gone=[1, 1])}, r"each can be deleted once"),
        ({"X": RowChange({1: [1, 2, 3]}, gone=[1]), "y": RowChange(gone=[1])}, r"X: 1 cannot change: it is deleted"),
        ({"X": ColumnChange(changed={2: [1, 1, np.nan, 1, 1]})}, r"X\[:, 2\].T is nan in row 0, column 2"),
        ({"X": ColumnChange(gone=[0])}, r"X has exactly 3 columns; none can be added"),
        ({"X": LowRank(np.ones(4), np.ones(3))}, r"X, u: shape \(4,\) instead of \(5, 1\)"),
        ({"X": Replace(np.ones((5, 4)))}, r"X: shape \(5, 4\) instead of \(5, 3\)"),
        ({"X": Replace([["a"]])}, r"X: could not convert"),
        ({"S": Border(rows=[[1, 2, 3]], columns=[[1], [2], [3]])}, r"S, columns: shape \(3, 1\) instead of \(2, 1\)"),
        ({"S": RowChange(new=[[1, 2]])}, r"S and S both have k rows or columns"),
    ],
)
def test_changes_that_do_not_fit_are_rejected_and_change_nothing(updates: dict[str, Any], said: str) -> None:
    program = matrix.program(lambda X, y, S: {"a": X.T @ y, "b": S @ S}, X=("n", 3), y=("n", 1), S=("k", "k"))
    state = program.start(X=np.ones((5, 3)), y=np.ones((5, 1)), S=np.eye(2))
    before = contents(state)
    with pytest.raises(RejectedEpoch, match=said):
        state.update(**updates)
    after = contents(state)
    assert all(after[n].shape == v.shape and (after[n] == v).all() for n, v in before.items())


def test_plain_lists_are_rows_columns_or_entries_of_a_vector() -> None:
    program = matrix.program(lambda X, y: X.T @ y, X=("n", "m"), y=("n", 1))
    state = program.start(X=[[1, 2], [3, 4]], y=[5, 6])
    state.update(X=RowChange(new=[[5, 6], [7, 8]]), y=RowChange(new=[7, 8]))
    state.update(X=RowChange(new=[9, 10]), y=RowChange({0: 1}, new=[9]))
    state.update(X=ColumnChange({0: [1, 1, 1, 1, 1]}, new=[1, 2, 3, 4, 5]))
    assert state["X"].tolist() == [[1, 2, 1], [1, 4, 2], [1, 6, 3], [1, 8, 4], [1, 10, 5]]
    assert state["y"].ravel().tolist() == [1, 6, 7, 8, 9]
    np.testing.assert_allclose(state["result"], state["X"].T @ state["y"])


def test_an_update_of_nothing_changes_nothing() -> None:
    state = matrix.program(lambda A: A @ A, A=(2, 2)).start(A=np.eye(2))
    assert state.update().changed == ()
    assert (state["result"] == np.eye(2)).all()


def test_names_that_are_not_there() -> None:
    state = matrix.program(lambda A: A @ A, A=(2, 2)).start(A=np.eye(2))
    with pytest.raises(UnknownName, match="no input B"):
        state.update(B=Replace(np.eye(2)))
    with pytest.raises(UnknownName, match="no output t9"):
        state["t9"]


def test_what_is_handed_out_and_in_is_not_shared() -> None:
    A = np.eye(2)
    state = matrix.program(lambda A: A + A, A=(2, 2)).start(A=A)
    A[0, 0] = 7
    state["A"][0, 0] = 9
    assert state["A"][0, 0] == 1
    assert max(state.check().values()) == 0


@pytest.mark.parametrize("strategy", ["incremental", "hybrid"])
def test_a_result_that_has_drifted_is_found_and_evaluated_anew(strategy: Any) -> None:
    """An intermediate is bent by one part in a million: the refresh says so, and everything is right again."""
    size = 80
    A = RANDOM.normal(size=(size, size)) / 9 + 2 * np.eye(size)
    program = matrix.program(lambda A: {"w": np.linalg.inv(A) @ A.T, "p": np.linalg.matrix_power(A, 4)}, A=(size, size))
    state = program.start(A=A, options={"strategy": strategy})
    kept = [n for n in state._buffers if n != "A"]
    for name in kept:
        array = state._buffers[name].array
        array += 1e-6 * np.abs(array).max() * RANDOM.normal(size=array.shape)
    assert max(state.check().values()) > 1e-7
    record = state.update(A=RowChange(changed={1: A[1] * 1.01}))
    assert {s.name for s in record.reevaluated} == set(kept)
    known = ("beyond 1e-08", "less work", "keeps no inverse")
    assert all(any(reason in s.reason for reason in known) for s in record.reevaluated)
    assert max(state.check().values()) < 1e-12


def test_residuals_are_small_and_recorded() -> None:
    size = 60
    A = RANDOM.normal(size=(size, size)) / 9 + 2 * np.eye(size)
    state = matrix.program(lambda A: np.linalg.inv(A @ A), A=(size, size)).start(
        A=A, options={"strategy": "incremental"}
    )
    record = state.update(A=LowRank(A[0], A[1] / 5))
    assert all(s.residual is not None and s.residual < 1e-12 for s in record.steps)


def test_a_check_that_costs_more_than_refreshes_waits() -> None:
    """XᵀX of a tall X: a check reads all of it, a changed row does not."""
    X = RANDOM.normal(size=(200_000, 3))
    state = matrix.program(lambda X: X.T @ X, X=("n", 3)).start(
        X=X, options={"strategy": "incremental", "machine": Machine()}
    )
    checked = [state.update(X=RowChange(changed={i: X[i + 1]})).steps[0].residual is not None for i in range(60)]
    assert 1 <= sum(checked) < 20


def test_float32_stays_float32() -> None:
    A = (RANDOM.normal(size=(20, 20)) / 9 + np.eye(20)).astype(np.float32)
    state = matrix.program(lambda A: np.linalg.inv(A) @ np.exp(A) * 2.0 + 1, A=(20, 20)).start(A=A)
    state.update(A=RowChange(changed={2: A[3] / 2 + A[2]}))
    A[2] += A[3] / 2
    assert state["result"].dtype == np.float32
    np.testing.assert_allclose(state["result"], np.linalg.inv(A) @ np.exp(A) * 2 + 1, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="complex128 are not maintained"):
        matrix.program(lambda A: A, A=(1, 1)).start(A=[[1j]])


def test_batches_have_the_rank_of_what_changed() -> None:
    """A thousand changes of five rows have rank five; a low rank that is written with many has few."""
    A = RANDOM.normal(size=(50, 50))
    state = matrix.program(lambda A: 2 * A, A=(50, 50)).start(A=A, options={"strategy": "incremental"})
    u = np.zeros((50, 1000))
    u[RANDOM.integers(0, 5, 1000), np.arange(1000)] = 1
    assert state.update(A=LowRank(u, RANDOM.normal(size=(50, 1000)))).steps[0].rank == 5
    u = np.zeros((50, 1000))
    u[np.arange(1000) % 30, np.arange(1000)] = 1
    assert state.update(A=LowRank(u, RANDOM.normal(size=(50, 1000)))).steps[0].rank == 30
    left, right = RANDOM.normal(size=(50, 3)), RANDOM.normal(size=(3, 20))
    assert state.update(A=LowRank(left @ right, RANDOM.normal(size=(50, 20)))).steps[0].rank == 3
    assert state.update(A=Replace(state["A"])).steps[0].rank == 0


@pytest.mark.parametrize("strategy", ["incremental", "reevaluate"])
def test_inputs_are_what_was_handed_in_to_the_last_digit(strategy: Any) -> None:
    """1e16 + (1 − 1e16) is not 1."""
    state = matrix.program(lambda A: A @ A, A=(3, 3)).start(A=np.full((3, 3), 1e16), options={"strategy": strategy})
    state.update(A=RowChange(changed={1: [1.0, 2.0, 3.0]}))
    state.update(A=ColumnChange(changed={2: [4.0, 5.0, 6.0]}))
    assert state["A"].tolist() == [[1e16, 1e16, 4.0], [1.0, 2.0, 5.0], [1e16, 1e16, 6.0]]
    state.update(A=Replace(np.arange(9.0).reshape(3, 3)))
    assert state["A"].tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_a_change_that_overflows_changes_nothing() -> None:
    state = matrix.program(lambda A: 0.1 * A, A=(2, 2)).start(A=np.full((2, 2), 1e308))
    with pytest.raises(RejectedEpoch, match="more than a float64 can hold"):
        state.update(A=RowChange(changed={0: [-1e308, 0]}))
    assert (state["A"] == 1e308).all()


def test_a_state_goes_on_where_it_was_saved() -> None:
    """Through text and arrays, as a store would keep them."""
    X, y = RANDOM.normal(size=(30, 3)), RANDOM.normal(size=(30, 1))
    state = matrix.program(ols, X=("n", 3), y=("n", 1)).start(X=X, y=y, options={"strategy": "incremental"})
    state.update(X=RowChange(new=X[:2] + 1), y=RowChange(new=y[:2]))
    again = matrix.MaintainedProgram.restore(*state.save())
    assert again.explain() == matrix.MaintainedProgram.restore(*again.save()).explain()
    for other in (state, again):
        other.update(X=RowChange(changed={31: X[4]}, gone=[0]), y=RowChange(gone=[0]))
    for name, kept in contents(state).items():
        np.testing.assert_allclose(contents(again)[name], kept, rtol=1e-11, err_msg=name)
    np.testing.assert_allclose(again["X"], np.vstack([X[1:], X[:1] + 1, X[4:5]]))


def test_a_saved_state_with_a_matrix_missing_is_refused() -> None:
    text, arrays = matrix.program(lambda A: A @ A, A=(2, 2)).start(A=np.eye(2)).save()
    del arrays["A"]
    with pytest.raises(UnknownName, match="A is missing"):
        matrix.MaintainedProgram.restore(text, arrays)


def test_the_record_says_which_outputs_changed_and_by_what() -> None:
    A, B = RANDOM.normal(size=(6, 6)), RANDOM.normal(size=(6, 2))
    program = matrix.program(lambda A, B: {"a": A @ B, "t": A.T, "b": 2 * B, "e": np.exp(A @ B)}, A=(6, 6), B=(6, 2))
    state = program.start(A=A, B=B, options={"strategy": "incremental"})
    before = state["a"]
    record = state.update(A=LowRank(A[0], A[1]))
    assert record.changed == ("a", "t", "e")
    assert set(record.changes) == {"a", "t"}
    change = record.changes["a"]
    assert isinstance(change, Factored)
    np.testing.assert_allclose(change.left.dense() @ change.right.dense().T, state["a"] - before, atol=1e-12)


@pytest.mark.slow
def test_ten_thousand_updates_stay_exact() -> None:
    options = {"strategy": "incremental", "model": "exponential"}
    endure(lambda program, given: program.start(**given, options=options), 10_000)
