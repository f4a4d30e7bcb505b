"""A process that is killed in the middle of epochs leaves a matrix program as its last committed epoch had it."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from itertools import count
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


START: Rows = {i: tuple(np.random.default_rng(i).normal(size=3).tolist()) for i in range(6)}
EPOCHS = 5


def create(path: Path, resident: int | None) -> int:
    """A warehouse with a program in it; the number of its next epoch."""
    with viewlet.connect(path) as db:
        rows = [(k, *v) for k, v in START.items()]
        db.create_table("items", "k BIGINT, a DOUBLE, b DOUBLE, c DOUBLE", primary_key="k", rows=rows)
        options = {"strategy": "incremental"}
        items = Wide("items", COLUMNS, row="k")
        db.create_matrix("inverse", PROGRAM, X=items, wide=True, options=options, resident=resident)
        return int(db.status()["epoch"]) + 1


def compare(path: Path, first: int, said: int) -> int:
    """What is found is what NumPy gives for the rows that were committed; the last epoch."""
    with viewlet.connect(path) as db:
        last = int(db.status()["epoch"])
        assert last in (said, said + 1), f"{said} was committed, {last} was found"
        rows = replay(first, last, START)
        assert {r[0]: r[1:] for r in db.table("items").rows()} == rows
        x = np.array([rows[k] for k in sorted(rows)])
        found = {row[0]: row[1:] for row in db.table("inverse").rows()}
        np.testing.assert_allclose([found[c] for c in COLUMNS], np.linalg.inv(x.T @ x), rtol=1e-8)
        assert max(db.matrix("inverse").check().values()) < 1e-8
        assert db.check().num_rows == 0
        return last


@pytest.mark.parametrize(
    ("rounds", "resident"),
    [(2, None), pytest.param(40, None, marks=pytest.mark.slow), pytest.param(20, 9, marks=pytest.mark.slow)],
)
def test_kill_at_random_moments(tmp_path: Path, rounds: int, resident: int | None) -> None:
    """With matrices in memory, and with those of more than nine entries in blocks."""
    path, rng = tmp_path / "w", random.Random(3)
    first = create(path, resident)
    last = first - 1
    for _ in range(rounds):
        said = run_and_kill(path, first, rng.uniform(0, 0.2), WRITER) or last
        last = compare(path, first, said)
    assert last > first


@pytest.mark.parametrize(
    ("numbers", "resident"),
    [
        ((17,), None),
        pytest.param(count(1), None, marks=pytest.mark.slow),
        pytest.param(count(1), 9, marks=pytest.mark.slow),
    ],
    ids=["one write", "every write", "every write of blocks"],
)
def test_kill_at_a_write(tmp_path: Path, numbers: Iterable[int], resident: int | None) -> None:
    """Whatever was written last, half of it or all: what was committed is there, and goes on from there."""
    whole, first = tmp_path / "w", create(tmp_path / "w", resident)
    for number in numbers:
        path = tmp_path / str(number)
        shutil.copytree(whole, path)
        committed = killed_at_write(path, first, number)
        if committed is None:
            break
        last = compare(path, first, max([first - 1, *committed]))
        killed_at_write(path, first, sys.maxsize)
        assert compare(path, first, last + EPOCHS) == last + EPOCHS
        shutil.rmtree(path)
    assert number > 3 * EPOCHS, "an epoch is more than a few writes"


def killed_at_write(path: Path, first: int, number: int) -> list[int] | None:
    """Some epochs, killed at a write; those that it said were committed, or None where it had no such write."""
    command = [sys.executable, "-m", WRITER, str(path), str(first), str(EPOCHS), str(number)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
    return [int(line) for line in ended.stdout.split()] if ended.returncode else None
