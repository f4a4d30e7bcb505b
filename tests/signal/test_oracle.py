"""The promise: after any changes, the result is what a slow and obvious computation gives on readings the test keeps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.signal.naive import Naive
from tests.signal.recipes import READINGS, SAMPLE, SOURCE, STEPS, Recipe, recipes
from viewlet.signal import scans
from viewlet.signal.memory import Changes, Online, Series, evaluate_all
from viewlet.signal.refresh import Difference


@pytest.fixture(autouse=True, scope="module")
def close_checkpoints() -> Iterator[None]:
    """Checkpoints every few samples, so that short signals have many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scans, "CLOSEST", 4)
        patch.setattr(scans, "SHARE", 0)
        yield


Readings = dict[tuple[int, int], float]
"""By group and time."""
Result = dict[tuple[int, int], Any]


def naive_result(recipe: Recipe, readings: Readings) -> Result:
    found: Result = {}
    for group in {g for g, _ in readings}:
        own = Naive({t: x for (g, t), x in sorted(readings.items()) if g == group})
        found.update({(group, t): x for t, x in recipe(own).samples.items()})
    return found


def compare(found: Result, wanted: Result, told: str) -> None:
    """Equal to 1e-9 of the greatest number of the group."""
    assert found.keys() == wanted.keys(), (
        f"{told}: more at {sorted(found.keys() - wanted.keys())[:5]}, less at {sorted(wanted.keys() - found.keys())[:5]}"
    )
    for group in {g for g, _ in wanted}:
        own = [at for at in wanted if at[0] == group]
        scale = max(float(np.abs(wanted[at]).max()) for at in own)
        for at in own:
            error = float(np.abs(found[at] - wanted[at]).max())
            assert error <= 1e-9 * max(scale, 1e-3), f"{told}: {found[at]} at {at}, not {wanted[at]}"


def random_epoch(random: np.random.Generator, readings: Readings, clock: int) -> tuple[Changes, Readings]:
    """New readings at the end of each group, late ones, corrected ones and deleted ones."""
    after = dict(readings)
    for group in range(3):
        if random.random() < 0.7:
            beats = clock + 3 + 10 * np.flatnonzero(random.random(10) < random.choice([0.3, 0.95]))
            after.update({(group, int(t)): float(random.normal()) for t in beats})
        if random.random() < 0.2:
            after[group, clock + int(random.choice([5, 44, 800]))] = float(random.normal())
        if random.random() < 0.4:
            after[group, int(random.integers(0, clock + 1))] = float(random.normal())
    known = sorted(readings)
    for i in random.permutation(len(known))[: random.integers(0, 4)]:
        after[known[i]] = float(random.normal())
    for i in random.permutation(len(known))[: random.integers(0, 4)]:
        del after[known[i]]
    touched = {at for at in readings.keys() | after.keys() if readings.get(at) != after.get(at)}
    return changes_of(readings, after, touched), after


def changes_of(before: Readings, after: Readings, touched: set[tuple[int, int]]) -> Changes:
    at = sorted(t for t in touched if t in before or t in after)
    groups, times = (np.array([x[i] for x in at], dtype=np.int64) for i in (0, 1))
    values = np.array([[after.get(t, 0.0)] for t in at]).reshape(-1, 1)
    return Changes(groups, times, values, np.array([t not in after for t in at], dtype=np.bool_))


def follow(result: Result, difference: Difference) -> Result:
    """A reader downstream, who knows nothing but the differences."""
    after, groups = dict(result), difference.spans.groups
    gone, come = difference.gone, difference.come
    for segment, time, value in zip(gone.segments, gone.times, gone.values, strict=True):
        old = after.pop((int(groups[segment]), int(time)))
        assert np.array_equal(old, value[0]), "what goes must be what came"
    for segment, time, value in zip(come.segments, come.times, come.values, strict=True):
        at = (int(groups[segment]), int(time))
        assert at not in after, f"{at} comes twice"
        assert at not in result or not np.array_equal(result[at], value[0]), f"{at} goes and comes back the same"
        after[at] = value[0]
    return after


def follow_epochs(recipe: Recipe, seed: int, epochs: int, tolerance: float = 1e-12) -> None:
    random = np.random.default_rng(seed)
    online, readings, result = Online(recipe(READINGS).node, tolerance), Readings(), Result()
    for epoch in range(epochs):
        changes, readings = random_epoch(random, readings, epoch * 100)
        if len(changes.groups):
            result = follow(result, online.update({SOURCE: changes}))
        compare(result, naive_result(recipe, readings), f"{recipe.steps}, seed {seed}, epoch {epoch}")


@pytest.mark.parametrize("step", sorted(STEPS))
def test_every_operator_follows_every_kind_of_change(step: str) -> None:
    for seed, first in enumerate(("sample none 35", "sample linear 35")):
        follow_epochs(Recipe((step,) if step in SAMPLE else (first, step)), seed, 6)


@settings(max_examples=30)
@given(recipe=recipes(), seed=st.integers(0, 2**32 - 1))
def test_random_pipelines_equal_a_computation_from_scratch(recipe: Recipe, seed: int) -> None:
    follow_epochs(recipe, seed, 4)


@pytest.mark.slow
@settings(max_examples=1500)
@given(recipe=recipes(), seed=st.integers(0, 2**32 - 1), tolerance=st.sampled_from([0.0, 1e-12, 1e-11]))
def test_many_random_pipelines(recipe: Recipe, seed: int, tolerance: float) -> None:
    follow_epochs(recipe, seed, 8, tolerance)


@settings(max_examples=10)
@given(recipe=recipes(), seed=st.integers(0, 2**32 - 1), cuts=st.integers(2, 6))
def test_any_cut_into_epochs_equals_offline(recipe: Recipe, seed: int, cuts: int) -> None:
    random = np.random.default_rng(seed)
    at = np.unique(random.integers(0, [3, 900], size=(120, 2)), axis=0)
    values = random.normal(size=(len(at), 1))
    offline = evaluate_all(recipe(READINGS).node, {SOURCE: Series(at[:, 0], at[:, 1], values)})
    online = Online(recipe(READINGS).node)
    for part in np.array_split(random.permutation(len(at)), cuts):
        online.update({SOURCE: Changes(at[part, 0], at[part, 1], values[part], np.zeros(len(part), dtype=np.bool_))})
    one = {(int(g), int(t)): x[0] for g, t, x in zip(*_columns(offline), strict=True)}
    other = {(int(g), int(t)): x[0] for g, t, x in zip(*_columns(online.series), strict=True)}
    compare(other, one, str(recipe.steps))


def _columns(series: Series) -> tuple[Any, Any, Any]:
    return series.groups, series.times, series.values


@pytest.mark.parametrize("step", ["iir", "iir band", "own filter"])
def test_a_checkpoint_after_a_deleted_reading_is_forgotten(step: str) -> None:
    """With a checkpoint at every fourth sample: the reading at one goes, then the next is corrected."""
    recipe = Recipe(("sample none 35", step))
    online, readings, result = Online(recipe(READINGS).node), Readings(), Result()
    epochs: list[Readings] = [{(0, 10 * i + 3): 1.0 / (i + 1) for i in range(20)}, {(0, 73): np.nan}, {(0, 83): 5.0}]
    for epoch in epochs:
        after = {at: x for at, x in (readings | epoch).items() if not np.isnan(x)}
        result = follow(result, online.update({SOURCE: changes_of(readings, after, set(epoch))}))
        readings = after
        compare(result, naive_result(recipe, readings), step)
