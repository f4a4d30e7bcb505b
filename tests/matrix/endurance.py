"""Ten thousand changed rows through powers, an iteration and a regression, beside NumPy from scratch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from viewlet import matrix
from viewlet.matrix import MaintainedProgram, MatrixProgram, RowChange, iterate

SQUARE, TALL = 12, 30
"""Rows of the matrices that change."""
Start = Callable[[MatrixProgram, dict[str, Any]], MaintainedProgram]


def several(A: Any, B: Any, X: Any, y: Any) -> dict[str, Any]:
    return {
        "power": np.linalg.matrix_power(A, 16),
        "general": iterate(16, lambda T: A @ T + B, B),
        "ols": np.linalg.inv(X.T @ X) @ X.T @ y,
    }


def endure(start: Start, updates: int, rows: int = 1, tidy: Callable[[MaintainedProgram], None] | None = None) -> None:
    """So many updates, each of so many rows of two matrices; now and then the state is tidied up."""
    random = np.random.default_rng(8)
    given: dict[str, Any] = {"A": random.normal(size=(SQUARE, SQUARE)) / SQUARE, "B": random.normal(size=(SQUARE, 2))}
    given |= {"X": random.normal(size=(TALL, 4)), "y": random.normal(size=(TALL, 1))}
    state = start(matrix.program(several, **{name: array.shape for name, array in given.items()}), given)
    for number in range(updates):
        state.update(A=changed(random, given["A"], rows, 1 / SQUARE), X=changed(random, given["X"], rows, 1.0))
        if tidy is not None and number % 50 == 49:
            tidy(state)
    for name, wanted in several(**given).items():
        assert np.linalg.norm(state[name] - wanted) <= 1e-8 * np.linalg.norm(wanted), name


def changed(random: np.random.Generator, array: np.ndarray, rows: int, size: float) -> RowChange:
    """Some rows are others from now on."""
    at = random.choice(len(array), size=rows, replace=False)
    array[at] = random.normal(size=(rows, array.shape[1])) * size
    return RowChange(changed={int(row): array[row].copy() for row in at})
