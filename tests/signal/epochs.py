"""Random readings in epochs: new ones at the end of groups, late ones, corrected ones and deleted ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.signal.naive import Naive
from tests.signal.recipes import Recipe

At = tuple[int, int]
"""A group and a time."""
Readings = dict[At, float]
Result = dict[At, Any]


def reading(random: np.random.Generator) -> float:
    """A number; now and then a spike, as of a broken sensor, which is corrected or deleted later."""
    return float(random.normal() * (1e9 if random.random() < 0.01 else 1))


def next_readings(random: np.random.Generator, readings: Readings, clock: int) -> Readings:
    """The readings after an epoch that begins at a time."""
    after = dict(readings)
    for group in range(3):
        if random.random() < 0.7:
            beats = clock + 3 + 10 * np.flatnonzero(random.random(10) < random.choice([0.3, 0.95]))
            after.update({(group, int(t)): reading(random) for t in beats})
        if random.random() < 0.2:
            after[group, clock + int(random.choice([5, 44, 800]))] = reading(random)
        if random.random() < 0.4:
            after[group, int(random.integers(0, clock + 1))] = reading(random)
    known = sorted(readings)
    for i in random.permutation(len(known))[: random.integers(0, 4)]:
        after[known[i]] = reading(random)
    for i in random.permutation(len(known))[: random.integers(0, 4)]:
        del after[known[i]]
    return after


def touched(before: Readings, after: Readings) -> list[At]:
    """Where something changed."""
    return sorted(at for at in before.keys() | after.keys() if before.get(at) != after.get(at))


def naive_result(recipe: Recipe, readings: Readings) -> Result:
    """What a recipe gives, computed slowly and obviously."""
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
