"""A process that is killed in the middle of epochs leaves a matrix program as its last committed epoch had it."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import viewlet
from tests.matrix.crash_writer import Rows, replay
from tests.test_crash import run_and_kill
from viewlet import matrix
from viewlet.matrix import Wide

COLUMNS = ["a", "b", "c"]
PROGRAM = matrix.program(lambda X: {"inverse": np.linalg.inv(X.T @ X)}, X=("item", "column"))
WRITER = "tests.matrix.crash_writer"


@pytest.mark.parametrize(
    ("rounds", "resident"),
    [(2, None), pytest.param(40, None, marks=pytest.mark.slow), pytest.param(20, 9, marks=pytest.mark.slow)],
)
def test_kill_at_random_moments(tmp_path: Path, rounds: int, resident: int | None) -> None:
    """With matrices in memory, and with those of more than nine entries in blocks."""
    path, rng = tmp_path / "w", random.Random(3)
    start: Rows = {i: tuple(np.random.default_rng(i).normal(size=3).tolist()) for i in range(6)}
    with viewlet.connect(path) as db:
        rows = [(k, *v) for k, v in start.items()]
        db.create_table("items", "k BIGINT, a DOUBLE, b DOUBLE, c DOUBLE", primary_key="k", rows=rows)
        options = {"strategy": "incremental"}
        items = Wide("items", COLUMNS, row="k")
        db.create_matrix("inverse", PROGRAM, X=items, wide=True, options=options, resident=resident)
        first = db.status()["epoch"] + 1
    last = first - 1
    for _ in range(rounds):
        said = run_and_kill(path, first, rng.uniform(0, 0.2), WRITER) or last
        with viewlet.connect(path) as db:
            last = db.status()["epoch"]
            assert last in (said, said + 1), f"{said} was committed, {last} was found"
            rows_now = replay(first, last, start)
            assert {r[0]: r[1:] for r in db.table("items").rows()} == rows_now
            x = np.array([rows_now[k] for k in sorted(rows_now)])
            found = {row[0]: row[1:] for row in db.table("inverse").rows()}
            np.testing.assert_allclose([found[c] for c in COLUMNS], np.linalg.inv(x.T @ x), rtol=1e-8)
            assert max(db.matrix("inverse").check().values()) < 1e-8
    assert last > first
