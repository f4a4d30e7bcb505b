"""Single entries that change while rows and columns come and go, and the journal that repeats it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.matrix.streams import filled
from viewlet import matrix
from viewlet.errors import RejectedEpoch
from viewlet.matrix import Entries, Factored, MaintainedProgram

STRATEGIES = ("incremental", "hybrid", "reevaluate")


def several(X: Any, S: Any) -> dict[str, Any]:
    return {
        "gram": X.T @ X,
        "square": S @ S @ S,
        "inverse": np.linalg.inv(np.eye(S.shape[0], like=S) + S.T @ S),
        "total": np.sum(X),
        "shifted": X - np.mean(X, axis=0, keepdims=True),
    }


PROGRAM = matrix.program(several, X=("n", "m"), S=("k", "k"))


def scattered(random: np.random.Generator, a: Any, added: tuple[int, int], gone: Any) -> tuple[Entries, Any]:
    """Some entries, rows and columns at once; the array is changed in the plainest way."""
    wide = np.zeros([size + more for size, more in zip(a.shape, added, strict=True)])
    wide[: a.shape[0], : a.shape[1]] = a
    staying = [[i for i in range(size) if i not in lost] for size, lost in zip(wide.shape, gone, strict=True)]
    count = int(random.integers(0, 6))
    rows, columns = (random.choice(side, size=count) for side in staying)
    if random.random() < 0.5 and staying[0] and staying[1]:  # a whole row and a whole column
        rows = np.concatenate([rows, [staying[0][0]] * len(staying[1]), staying[0]]).astype(int)
        columns = np.concatenate([columns, staying[1], [staying[1][-1]] * len(staying[0])]).astype(int)
    places = list(dict.fromkeys(zip(rows.tolist(), columns.tolist(), strict=True)))
    values = random.normal(size=len(places))
    for (row, column), value in zip(places, values, strict=True):
        wide[row, column] = value
    at = np.array(places, dtype=np.intp).reshape(-1, 2)
    after = filled(filled(wide, gone[0]).T, gone[1]).T
    return Entries(at[:, 0], at[:, 1], values, added, gone), after


def moves(random: np.random.Generator, size: int) -> tuple[int, list[int]]:
    added = int(random.integers(0, 3))
    gone = random.choice(size, size=int(random.integers(0, min(3, size - 2))), replace=False)
    return added, sorted(gone.tolist())


def step(random: np.random.Generator, X: Any, S: Any) -> tuple[dict[str, Entries], Any, Any]:
    (n, lost_n), (m, lost_m), (k, lost_k) = (moves(random, size) for size in (*X.shape, len(S)))
    of_x, X = scattered(random, X, (n, m), (lost_n, lost_m))
    of_s, S = scattered(random, S, (k, k), (lost_k, lost_k))
    return {"X": of_x, "S": of_s}, X, S


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_entries_and_the_journal_follow_numpy(strategy: str) -> None:
    random = np.random.default_rng(5)
    X, S = random.normal(size=(7, 4)), random.normal(size=(5, 5)) / 3
    state = PROGRAM.start(X=X, S=S, options={"strategy": strategy})
    text, arrays = state.save()
    entries = []
    for number in range(25):
        updates, X, S = step(random, X, S)
        entries.append(state.update(**updates).entry)
        assert (state["X"] == X).all(), number
        assert (state["S"] == S).all(), number
        again = MaintainedProgram.restore(text, {**arrays, "X": X, "S": S}, entries)
        for name, wanted in several(X, S).items():
            for found in (state[name], again[name]):
                assert np.linalg.norm(found - wanted) <= 1e-9 * (1 + np.linalg.norm(wanted)), (number, name)
    if strategy == "incremental":
        kept = [change for entry in entries for change in entry.changes.values()]
        assert sum(change is not None for change in kept) > len(kept) / 2


def test_a_row_and_a_column_are_two_ranks() -> None:
    state = matrix.program(lambda A: {"twice": 2.0 * A}, A=(50, 50)).start(
        A=np.zeros((50, 50)), options={"strategy": "incremental"}
    )
    places = [(7, i) for i in range(50)] + [(i, 9) for i in range(50) if i != 7]
    rows, columns = np.array(places).T
    change = state.update(A=Entries(rows, columns, np.arange(99.0))).changes["twice"]
    assert isinstance(change, Factored)
    assert change.rank == 2


def test_rows_that_go_become_zero_first() -> None:
    A = np.arange(12.0).reshape(4, 3)
    state = matrix.program(lambda A: {"sums": np.sum(A, axis=0, keepdims=True)}, A=("n", 3)).start(A=A)
    none = np.zeros(0, dtype=np.intp)
    state.update(A=Entries(none, none, np.zeros(0), gone=([0], ())))
    np.testing.assert_array_equal(state["A"], A[[3, 1, 2]])
    np.testing.assert_array_equal(state["sums"], A[1:].sum(axis=0, keepdims=True))


def test_an_entry_that_is_no_number_changes_nothing() -> None:
    state = matrix.program(lambda A: A @ A, A=(2, 2)).start(A=np.eye(2))
    at = np.array([0])
    with pytest.raises(RejectedEpoch, match="A is nan"):
        state.update(A=Entries(at, at, np.array([np.nan])))
    assert (state["A"] == np.eye(2)).all()
