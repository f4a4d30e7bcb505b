"""The promise: after any changes, the result is what a slow and obvious computation gives on readings the test keeps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.signal.epochs import Readings, Result, compare, naive_result, next_readings, touched
from tests.signal.payloads import PAYLOADS, Payload
from tests.signal.recipes import READINGS, SAMPLE, SOURCE, STEPS, Recipe, recipes
from viewlet.signal import Signal
from viewlet.signal.change.online import Changes, Online, evaluate_all
from viewlet.signal.change.refresh import Difference
from viewlet.signal.operators import scans
from viewlet.signal.samples.series import Series


@pytest.fixture(autouse=True, scope="module")
def close_checkpoints() -> Iterator[None]:
    """Checkpoints every few samples, so that short signals have many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scans, "CLOSEST", 4)
        patch.setattr(scans, "SHARE", 0)
        yield


NUMBER = PAYLOADS["number"]


def changes_of(before: Readings, after: Readings, payload: Payload = NUMBER) -> Changes:
    at = touched(before, after)
    groups, times = (np.array([x[i] for x in at], dtype=np.int64) for i in (0, 1))
    values = np.array([payload.values(after.get(t, 0.0)) for t in at])
    return Changes(groups, times, values, np.array([t not in after for t in at], dtype=np.bool_))


def follow(result: Result, difference: Difference) -> Result:
    """A reader downstream, who knows nothing but the differences."""
    after, groups = dict(result), difference.spans.groups
    gone, come = difference.gone, difference.come
    for segment, time, value in zip(gone.segments, gone.times, gone.values, strict=True):
        old = after.pop((int(groups[segment]), int(time)))
        assert np.array_equal(old, _sample(value)), "what goes must be what came"
    for segment, time, value in zip(come.segments, come.times, come.values, strict=True):
        at = (int(groups[segment]), int(time))
        assert at not in after, f"{at} comes twice"
        assert at not in result or not np.array_equal(result[at], _sample(value)), f"{at} comes back the same"
        after[at] = _sample(value)
    return after


def _sample(channels: Any) -> Any:
    """The only channel, or all of them."""
    return channels[0] if len(channels) == 1 else channels


def follow_epochs(recipe: Recipe, seed: int, epochs: int, tolerance: float = 1e-12, payload: Payload = NUMBER) -> None:
    random, signal = np.random.default_rng(seed), recipe(Signal(payload.source))
    online, readings, result = Online(signal.node, tolerance), Readings(), Result()
    for epoch in range(epochs):
        before, readings = readings, next_readings(random, readings, epoch * 100)
        changes = changes_of(before, readings, payload)
        if len(changes.groups):
            result = follow(result, online.update({payload.source: changes}))
        compare(result, payload.wanted(recipe, readings), f"{recipe.steps}, seed {seed}, epoch {epoch}")


@pytest.mark.parametrize("step", sorted(STEPS))
def test_every_operator_follows_every_kind_of_change(step: str) -> None:
    for seed, first in enumerate(("sample none 35", "sample linear 35")):
        follow_epochs(Recipe((step,) if step in SAMPLE else (first, step)), seed, 6)


@settings(max_examples=30)
@given(recipe=recipes(), seed=st.integers(0, 2**32 - 1))
def test_random_pipelines_equal_a_computation_from_scratch(recipe: Recipe, seed: int) -> None:
    follow_epochs(recipe, seed, 4)


@pytest.mark.parametrize(("fourth", "tolerance"), [("carrier", 1e-11), ("denoise", 1e-12)])
def test_samples_follow_after_a_far_greater_one_has_gone(fourth: str, tolerance: float) -> None:
    """What is small beside it need not be small beside what stays."""
    steps = ("carrier", "sample own None", "carrier", fourth, "times itself shifted", "times itself shifted")
    follow_epochs(Recipe(steps), 1, 8, tolerance)


def test_a_change_is_not_hidden_by_a_far_greater_sample_that_goes_later() -> None:
    """Squares of squares: beside the greatest of them, a change of a thousand is less than the tolerance."""
    follow_epochs(Recipe(("sample own None", "spectrum max", "times itself shifted", "times itself shifted")), 3, 8)


@pytest.mark.parametrize("spike", [1e6, 1e15])
@pytest.mark.parametrize("step", ["iir", "iir quick", "iir slow", "iir band"])
def test_filters_forget_a_spike_that_is_corrected(step: str, spike: float) -> None:
    """It is heard among small samples far longer than an impulse is beside its own peak."""
    recipe, random = Recipe(("sample none 35", step)), np.random.default_rng(1)
    online, readings, result = Online(recipe(Signal(NUMBER.source)).node), Readings(), Result()
    right = {(group, 10 * i + 3): float(random.normal()) for group in (0, 1) for i in range(1500)}
    later = right | {(0, 10 * i + 3): 1.0 for i in range(1500, 1510)}
    for after in (right | {(0, 303): spike, (0, 9003): -spike}, right, later):
        before, readings = readings, Readings(after)
        result = follow(result, online.update({NUMBER.source: changes_of(before, readings)}))
        compare(result, NUMBER.wanted(recipe, readings), f"{step}, a spike of {spike:g}")


@pytest.mark.parametrize("kind", ["channels", "arrays", "complex"])
@settings(max_examples=4)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_random_pipelines_of_other_payloads(kind: str, data: st.DataObject, seed: int) -> None:
    follow_epochs(data.draw(recipes(without=PAYLOADS[kind].others)), seed, 3, payload=PAYLOADS[kind])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["channels", "arrays", "complex"])
def test_every_operator_takes_every_payload(kind: str) -> None:
    for step in sorted(STEPS.keys() - PAYLOADS[kind].others):
        first = () if step in SAMPLE else ("sample linear 35",)
        follow_epochs(Recipe((*first, step)), 1, 5, payload=PAYLOADS[kind])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["channels", "arrays", "complex"])
@settings(max_examples=150)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_many_random_pipelines_of_other_payloads(kind: str, data: st.DataObject, seed: int) -> None:
    follow_epochs(data.draw(recipes(without=PAYLOADS[kind].others)), seed, 5, payload=PAYLOADS[kind])


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
        result = follow(result, online.update({SOURCE: changes_of(readings, after)}))
        readings = after
        compare(result, naive_result(recipe, readings), step)
