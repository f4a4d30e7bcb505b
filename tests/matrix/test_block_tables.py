"""Matrices in row blocks of a warehouse: loaded, followed, resumed, written anew; in process and on Spark."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import viewlet
from tests.matrix.endurance import endure
from tests.matrix.recipes import INPUTS, Recipe, fitting, recipes
from tests.matrix.streams import STEPS, step
from tests.matrix.test_blocks import follow
from viewlet import matrix
from viewlet.errors import UnsupportedQuery
from viewlet.matrix import Wide, models
from viewlet.matrix.blocks import nodes
from viewlet.matrix.blocks.evaluate import Blocks
from viewlet.matrix.tables import durable, read_blocks
from viewlet.matrix.tables.shelf import blocks_of

N, FEW = 16, 64
"""Rows of a square matrix; entries of one that stays in memory."""
RANDOM = np.random.default_rng(3)


def powers(A: Any) -> dict[str, Any]:
    power = np.linalg.matrix_power(A, 4)
    return {"power": power, "sums": np.sum(power, axis=1, keepdims=True)}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "BLOCK", 128)
    monkeypatch.setattr(read_blocks, "BLOCK", 128)


def create(db: viewlet.Database, A: np.ndarray, **settings: Any) -> None:
    db.create_table("a", "id INT, entries ARRAY<DOUBLE>", primary_key="id", rows=rows_of(A, range(N)))
    program = matrix.program(powers, A=A.shape)
    options = {"strategy": "incremental"}
    db.create_matrix(
        "p", program, A=Wide("a", "entries", row="id"), outputs=["sums"], resident=FEW, options=options, **settings
    )


def rows_of(A: np.ndarray, places: Any) -> list[tuple[int, list[float]]]:
    return [(i, A[i].tolist()) for i in places]


def assert_equal(db: viewlet.Database, A: np.ndarray) -> None:
    wanted = np.linalg.matrix_power(A, 4)
    np.testing.assert_allclose([sums for _, sums in sorted(db.table("p").rows())], wanted.sum(axis=1), atol=1e-13)
    found = db.matrix("p")
    assert (found["A"] == A).all()
    np.testing.assert_allclose(found["power"], wanted, atol=1e-13)


def bases(db: viewlet.Database) -> list[str]:
    """The names under which the blocks of large matrices are stored."""
    return [buffer.base.name for buffer in db.matrix("p")._live.matrices.large.values()]


def blocks_in(db: viewlet.Database) -> list[tuple[str, int]]:
    rows = db._warehouse.store.snapshot().contents("p.state_blocks").consolidated()
    return list(zip(rows["matrix"].to_pylist(), rows["block"].to_pylist(), strict=True))


@pytest.fixture
def A() -> np.ndarray:
    return RANDOM.normal(size=(N, N)) / 6


def test_rows_are_followed_and_resumed(tmp_path: Path, A: np.ndarray) -> None:
    with viewlet.connect(tmp_path / "w") as db:
        create(db, A)
        assert_equal(db, A)
        A[2], A[11] = RANDOM.normal(size=(2, N)) / 6
        db.upsert("a", rows_of(A, (2, 11)))
        assert_equal(db, A)
        assert "factored, rank" in db.history("p")[-1]["views"]["p"]["steps"]["power"]
    with viewlet.connect(tmp_path / "w") as db:
        assert_equal(db, A)
        A[5] = RANDOM.normal(size=N) / 6
        db.upsert("a", rows_of(A, [5]))
        assert_equal(db, A)
        assert " in blocks, " in db.explain("p")
        assert db.check("p").num_rows == 0
        assert max(db.matrix("p").check().values()) < 1e-12


def test_blocks_are_written_anew_once_factors_outgrow_them(
    tmp_path: Path, A: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durable, "LEAST", 0)
    with viewlet.connect(tmp_path / "w") as db:
        create(db, A)
        written = set(bases(db))
        for row in range(8):
            A[row] = RANDOM.normal(size=N) / 6
            db.upsert("a", rows_of(A, [row]))
        assert_equal(db, A)
        assert not set(bases(db)) & written
        assert {name for name, _ in blocks_in(db)} == set(bases(db))
    with viewlet.connect(tmp_path / "w") as db:
        assert_equal(db, A)


def test_rows_come_and_go(tmp_path: Path) -> None:
    """A tall matrix, whose rows have labels of their own: regressions over more rows than memory is to hold."""
    X = {f"r{i}": [1.0, *RANDOM.normal(size=3).tolist()] for i in range(60)}
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("x", "id STRING, a DOUBLE, b DOUBLE, c DOUBLE, y DOUBLE", primary_key="id")
        db.insert("x", [(label, *row) for label, row in X.items()])
        program = matrix.program(models.ols, X=("n", 3), y=("n", 1))
        wide: dict[str, Any] = {"X": Wide("x", ["a", "b", "c"], row="id"), "y": Wide("x", ["y"], row="id")}
        db.create_matrix("fit", program, **wide, resident=FEW)
        for step in range(3):
            gone = list(X)[step]
            del X[gone]
            X[f"new{step}"] = [1.0, *RANDOM.normal(size=3).tolist()]
            with db.epoch() as epoch:
                epoch.delete("x", [(gone,)])
                epoch.insert("x", [(f"new{step}", *X[f"new{step}"])])
            data = np.array(list(X.values()))
            wanted = np.linalg.lstsq(data[:, :3], data[:, 3], rcond=None)[0]
            found = [row[1] for row in sorted(db.table("fit").rows())]
            np.testing.assert_allclose(found, wanted, rtol=1e-9)
        assert "X" in db.matrix("fit")._live.matrices.large


def test_a_table_of_a_matrix_in_blocks_is_refused(tmp_path: Path, A: np.ndarray) -> None:
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("a", "id INT, entries ARRAY<DOUBLE>", primary_key="id", rows=rows_of(A, range(N)))
        program = matrix.program(models.power(2), A=A.shape)
        with pytest.raises(UnsupportedQuery, match="more than 64 entries"):
            db.create_matrix("p", program, A=Wide("a", "entries", row="id"), resident=FEW)


@pytest.mark.spark
def test_tasks_of_spark_give_the_same(tmp_path: Path, A: np.ndarray, spark: Any) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark") as db:
        create(db, A)
        assert_equal(db, A)
        A[7] = RANDOM.normal(size=N) / 6
        db.upsert("a", rows_of(A, [7]))
        assert_equal(db, A)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(
    "rule", ["matmul", "inverse", "tanh", "power", "diagonal", "norm", "iterate", "below", "sum rows"]
)
def test_operators_on_spark(spark: Any, rule: str) -> None:
    """An operator over matrices in blocks of the store, by tasks of Spark, under changes of every kind."""
    places = next(at for name, at in fitting(list(INPUTS.values())) if name == rule and set(at) & {0, 2, 4})
    with on_spark(spark) as blocks:
        follow(Recipe(((rule, places),)), 1, "incremental", STEPS, blocks)


@pytest.mark.slow
@pytest.mark.spark
@settings(max_examples=25)
@given(recipe=recipes(), seed=st.integers(0, 2**32 - 1), strategy=st.sampled_from(["incremental", "hybrid"]))
def test_random_programs_on_spark(spark: Any, recipe: Recipe, seed: int, strategy: str) -> None:
    with on_spark(spark) as blocks:
        follow(recipe, seed, strategy, [step] * 3, blocks)


@pytest.mark.slow
@pytest.mark.spark
def test_a_thousand_rows_on_spark_stay_exact(spark: Any) -> None:
    """In a hundred updates of five rows of two matrices each; tests/matrix/test_blocks.py does ten thousand without Spark."""
    options = {"strategy": "incremental", "model": "exponential"}
    with on_spark(spark) as blocks:
        endure(
            lambda program, given: program.start(**given, options=options, blocks=blocks),
            updates=100,
            rows=5,
            tidy=lambda state: state.rewrite(),
        )


@contextmanager
def on_spark(spark: Any) -> Iterator[Blocks]:
    """Blocks of a warehouse of their own, that tasks of Spark read and write."""
    with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder, spark=spark, engine="spark") as db:
        blocks = blocks_of(db._warehouse, FEW // 8, None)
        assert blocks is not None
        yield blocks


@pytest.mark.slow
@pytest.mark.spark
def test_spark_follows_many_rows_and_nothing_large_is_in_the_driver(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """128 × 128 in blocks of eight rows: the driver makes no array of a matrix's size."""
    n = 128
    A = RANDOM.normal(size=(n, n)) / 14
    monkeypatch.setattr(nodes, "BLOCK", 8 * n)
    monkeypatch.setattr(read_blocks, "BLOCK", 8 * n)
    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark") as db:
        db.create_table("a", "id INT, entries ARRAY<DOUBLE>", primary_key="id")
        db.insert("a", [(i, A[i].tolist()) for i in range(n)])
        program = matrix.program(
            lambda A: {"sums": np.sum(np.linalg.matrix_power(A, 16), axis=1, keepdims=True)}, A=(n, n)
        )
        wide = Wide("a", "entries", row="id")
        db.create_matrix("p", program, A=wide, resident=1000, options={"strategy": "incremental"})
        for row in range(3):
            A[row] = RANDOM.normal(size=n) / 14
            db.upsert("a", [(row, A[row].tolist())])
            wanted = np.linalg.matrix_power(A, 16).sum(axis=1)
            np.testing.assert_allclose([s for _, s in sorted(db.table("p").rows())], wanted, rtol=1e-9, atol=1e-12)
        live = db._warehouse.memory["p"]
        assert len(live.matrices.large) >= 5
        assert live.matrices.nbytes < 8 * n * n
