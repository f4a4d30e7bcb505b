"""Matrices in row blocks: the promise of test_oracle, where all but the smallest are in blocks of a few rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.matrix.endurance import endure
from tests.matrix.recipes import INPUTS, Recipe, recipes
from tests.matrix.streams import first, step
from tests.matrix.test_oracle import compare
from viewlet import matrix
from viewlet.errors import EvaluationError
from viewlet.matrix import Entries, RowChange, SingularMatrix, models
from viewlet.matrix.blocks import nodes
from viewlet.matrix.blocks.evaluate import Blocks

FEW = 6
"""Entries of a matrix that stays in memory."""


class Memory:
    """Blocks in a dictionary."""

    def __init__(self) -> None:
        self.blocks: dict[tuple[str, int], bytes] = {}

    def write(self, name: str, number: int, block: np.ndarray) -> None:
        self.blocks[name, number] = block.tobytes()

    def hold(self, name: str, written: list[Any]) -> Memory:
        return self

    def release(self, name: str) -> None:
        self.blocks = {key: block for key, block in self.blocks.items() if key[0] != name}

    def block(self, name: str, number: int) -> bytes:
        return self.blocks[name, number]


def one_by_one(work: Any, items: Any) -> list[Any]:
    return [work(item) for item in items]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "BLOCK", 8)


def in_blocks(few: int = FEW) -> Blocks:
    return Blocks(Memory(), one_by_one, {}, few)


def follow(recipe: Recipe, seed: int, strategy: str, steps: list[Any], blocks: Blocks | None = None) -> None:
    random = np.random.default_rng(seed)
    arrays = first(random)
    options = {"strategy": strategy}
    state = matrix.program(recipe, **INPUTS).start(**arrays, options=options, blocks=blocks or in_blocks())
    assert {"X", "S"} <= state.large.keys()
    compare(state, recipe, arrays, "start")
    for change in steps:
        updates, arrays = change(random, arrays)
        state.update(**updates)
        compare(state, recipe, arrays, str(updates))


SEEDS, STRATEGIES = st.integers(0, 2**32 - 1), st.sampled_from(["incremental", "hybrid"])


@settings(max_examples=8)
@given(recipe=recipes(), seed=SEEDS, strategy=STRATEGIES)
def test_outputs_equal_numpy_from_scratch(recipe: Recipe, seed: int, strategy: str) -> None:
    follow(recipe, seed, strategy, [step] * 3)


@pytest.mark.slow
@settings(max_examples=500)
@given(recipe=recipes(), seed=SEEDS, strategy=STRATEGIES)
def test_many_outputs_equal_numpy_from_scratch(recipe: Recipe, seed: int, strategy: str) -> None:
    follow(recipe, seed, strategy, [step] * 4)


@pytest.mark.slow
def test_ten_thousand_updates_stay_exact() -> None:
    options = {"strategy": "incremental", "model": "exponential"}
    endure(
        lambda program, given: program.start(**given, options=options, blocks=in_blocks(few=20)),
        updates=10_000,
        tidy=lambda state: state.rewrite(),
    )


def test_an_update_writes_no_block_and_a_rewrite_all_of_them() -> None:
    A = np.random.default_rng(1).normal(size=(12, 12)) / 4
    state = matrix.program(models.power(8), A=(12, 12)).start(
        A=A, options={"strategy": "incremental"}, blocks=in_blocks()
    )
    bases = {name: buffer.base.name for name, buffer in state.large.items()}
    for row in range(5):
        A[row] = np.linspace(-0.3, 0.2, 12) * row
        state.update(A=RowChange(changed={row: A[row]}))
    assert {name: buffer.base.name for name, buffer in state.large.items()} == bases
    assert all(buffer.since.left is not None for buffer in state.large.values())
    state.rewrite()
    assert all(buffer.since.left is None for buffer in state.large.values())
    np.testing.assert_allclose(state["power"], np.linalg.matrix_power(A, 8), rtol=1e-10, atol=1e-14)
    assert max(state.check().values()) < 1e-12


def test_an_iteration_whose_steps_are_not_kept_leaves_no_blocks_of_them() -> None:
    random = np.random.default_rng(2)
    arrays: dict[str, Any] = {"A": random.normal(size=(12, 12)) / 4, "B": random.normal(size=(12, 5))}
    arrays["T0"] = random.normal(size=(12, 5))
    program = matrix.program(models.general(6), **{name: array.shape for name, array in arrays.items()})
    blocks = in_blocks()
    state = program.start(**arrays, options={"model": "krylov", "strategy": "incremental"}, blocks=blocks)
    assert isinstance(blocks.shelf, Memory)
    names = {name.split("@")[0]: name for name, _ in blocks.shelf.blocks}
    assert len({name for name, _ in blocks.shelf.blocks}) - 1 <= len(names) == 4, "the last but one is still read"
    arrays["A"][3] = arrays["A"][4]
    assert [step.how for step in state.update(A=RowChange(changed={3: arrays["A"][3]})).steps] == ["factored"]
    assert max(state.check().values()) < 1e-12
    np.testing.assert_allclose(state["general"], models.general(6)(**arrays), rtol=1e-10)


def test_inputs_are_what_was_handed_in_to_the_last_digit() -> None:
    A = np.full((8, 8), 1e20)
    state = matrix.program(lambda A: A + A, A=(8, 8)).start(A=A, blocks=in_blocks())
    places = np.arange(8)
    state.update(A=Entries(np.full(8, 3), places, np.full(8, 0.1)))
    assert (state["A"][3] == 0.1).all()


def test_a_matrix_in_blocks_without_an_inverse_changes_nothing() -> None:
    A = np.eye(8) * 2
    inverse = matrix.program(lambda A: np.linalg.inv(A), A=(8, 8))
    with pytest.raises(SingularMatrix, match="no inverse"):
        inverse.start(A=np.ones((8, 8)), blocks=in_blocks())
    state = inverse.start(A=A, options={"strategy": "incremental"}, blocks=in_blocks())
    with pytest.raises(SingularMatrix):
        state.update(A=RowChange(changed={0: np.zeros(8)}))
    state.update(A=RowChange(changed={0: A[0] * 2}))
    np.testing.assert_allclose(state["result"][0, 0], 0.25)


def test_what_is_not_finite_is_found_in_its_block() -> None:
    A = np.ones((8, 4))
    A[5, 2] = 0
    with pytest.raises(EvaluationError, match="inf in row 5, column 2"):
        matrix.program(lambda A: 1 / A, A=(8, 4)).start(A=A, blocks=in_blocks())
