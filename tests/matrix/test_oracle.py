"""The promise: after any changes, every output is what plain NumPy gives on matrices that the test keeps itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.marks import rounds
from tests.matrix.recipes import INPUTS, RULES, Recipe, fitting, grown, recipes
from tests.matrix.streams import STEPS, first, step
from viewlet import matrix

OPTIONS = [
    {"strategy": "incremental", "model": "linear"},
    {"strategy": "incremental", "model": "exponential"},
    {"strategy": "incremental", "model": "skip-2"},
    {"strategy": "hybrid", "model": "skip-4"},
    {"strategy": "incremental", "model": "krylov"},
    {"strategy": "reevaluate", "model": "exponential"},
    {},
]
LARGE = 100
"""Where entries are beyond this, inverses may be ill-conditioned: deltas alone cannot be expected to hold them."""


def compare(state: matrix.MaintainedProgram, recipe: Recipe, arrays: dict[str, np.ndarray], told: str) -> None:
    for name, wanted in recipe(**arrays).items():
        error = np.linalg.norm(np.asarray(state[name]) - wanted)
        assert np.shape(state[name]) == np.shape(wanted), f"{name} after {told}"
        assert error <= 1e-9 * (1 + np.linalg.norm(wanted)), f"{name} is off by {error} after {told}\n{state.explain()}"


def kept(state: matrix.MaintainedProgram, name: str) -> np.ndarray:
    return state._buffers[name].array


def follow(recipe: Recipe, seed: int, options: dict[str, str], steps: list[Any]) -> None:
    random = np.random.default_rng(seed)
    arrays = first(random)
    state = matrix.program(recipe, **INPUTS).start(**arrays, options=options)
    compare(state, recipe, arrays, "start")
    for change in steps:
        updates, arrays = change(random, arrays)
        record = state.update(**updates)
        repaired = [s for s in record.steps if "residual" in s.reason and np.abs(kept(state, s.name)).max() > 1e-9]
        grew = any(np.abs(value).max(initial=0) > LARGE for value in recipe(**arrays).values())
        assert grew or not repaired, f"a delta was wrong, and only the check of residuals saved it: {repaired[0]}"
        compare(state, recipe, arrays, str(updates))


GROWING = Recipe((("iterate", (2, 2)), ("descend", (5, 2)), ("matmul", (2, 6)), ("solve", (6, 7))))
"""The condition of what it solves jumps to 50,000."""


@example(recipe=GROWING, seed=103608589, options=OPTIONS[0])
@given(recipe=recipes(), seed=st.integers(0, 2**32 - 1), options=st.sampled_from(OPTIONS))
def test_outputs_equal_numpy_from_scratch(recipe: Recipe, seed: int, options: dict[str, str]) -> None:
    follow(recipe, seed, options, [step] * 4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_random_programs_stay_exact_through_ten_thousand_updates(seed: int) -> None:
    """Five operators on top of each other, under changes of every kind."""
    random = np.random.default_rng(seed)
    recipe = grown(5, lambda found: picked(random, found))
    arrays = first(random)
    state = matrix.program(recipe, **INPUTS).start(**arrays, options=OPTIONS[seed % len(OPTIONS)])
    for number in range(10_000):
        updates, arrays = step(random, arrays)
        state.update(**updates)
        if number % 100 == 99:
            compare(state, recipe, arrays, str(number))


def picked(random: np.random.Generator, found: list[Any]) -> Any:
    """A step: each operator as likely as any other, however many operands fit it."""
    rule = random.choice(sorted({name for name, _ in found}))
    steps = [step for step in found if step[0] == rule]
    return steps[random.integers(len(steps))]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("options", OPTIONS[:5], ids=lambda o: "-".join(o.values()))
def test_every_operator_under_every_kind_of_change(rule: str, options: dict[str, str]) -> None:
    """Each operator on inputs and on results of others, and a norm that reads every entry of its own result."""
    recipe = Recipe(
        (("mean", (0,)), ("sum rows", (0,)), ("mean columns", (0,)), ("inverse", (2,)), ("transpose", (0,)))
    )
    steps = [(rule, places) for name, places in fitting(recipe.shapes()) if name == rule][:10]
    assert steps, "no operands fit"
    recipe = Recipe((*recipe.steps, *steps))
    shapes = recipe.shapes()
    read = [("norm", (place,)) for place in range(len(shapes) - len(steps), len(shapes)) if shapes[place]]
    for seed in range(rounds(1, 2)):
        follow(Recipe((*recipe.steps, *read)), seed, options, STEPS * rounds(1, 2))
