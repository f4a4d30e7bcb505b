"""Pointwise operators, of one signal or of two at equal times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from viewlet.errors import EvaluationError
from viewlet.signal.operators.transforms import as_channels
from viewlet.signal.plan.kinds import kind_of
from viewlet.signal.plan.nodes import Combine, Modulate, Scale, Select, Wave, Where
from viewlet.signal.samples.ragged import FOREVER, Ints, Ragged, Values

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "hypot": lambda a, b: np.sqrt(np.abs(a) ** 2 + np.abs(b) ** 2),
    "zip": lambda a, b: np.concatenate([a, b], axis=1),
}


def where(node: Where, signal: Ragged) -> Ragged:
    kept = np.asarray(node.function(*_channels(signal.values)))
    if kept.shape != signal.times.shape or kept.dtype != np.bool_:
        raise EvaluationError(f"{node.function.name} did not return true or false for each sample")
    return signal.filter(kept)


def select(node: Select, signal: Ragged) -> Ragged:
    given = _channels(signal.values)
    return signal.with_values(
        as_channels(node.function, node.form, *([signal.times, *given] if node.is_timed else given))
    )


def _channels(values: Values) -> list[Values]:
    return [values[:, i] for i in range(values.shape[1])]


def scale(node: Scale, signal: Ragged) -> Ragged:
    return signal.with_values(signal.values * node.factor + node.plus)


def modulate(node: Modulate, signal: Ragged) -> Ragged:
    wave = at_times(node.wave, signal.times).reshape(-1, *(1,) * (signal.values.ndim - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return signal.with_values(OPERATORS[node.operator](signal.values, wave))


def at_times(wave: Wave, times: Ints) -> Values:
    """Sample a continuous signal."""
    if wave.function is not None:
        return np.asarray(wave.function(times), dtype=np.float64)
    return wave.amplitude * np.cos(2 * np.pi * (times % wave.period) / wave.period + wave.phase)


def combine(node: Combine, left: Ragged, right: Ragged) -> Ragged:
    """Combine samples at the times that both have."""
    grid = kind_of(node.left).grid
    period = 1 if grid is None else grid.period
    if np.array_equal(left.offsets, right.offsets) and np.array_equal(left.times, right.times):
        at, to = np.arange(len(left.times)), np.arange(len(right.times))
    else:
        at, to = common(left, right, period)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = OPERATORS[node.operator](left.values[at], right.values[to])
    return Ragged.of(left.segments[at], len(left), left.times[at], values)


def common(left: Ragged, right: Ragged, period: int = 1) -> tuple[Ints, Ints]:
    """The positions of equal segments and times in both; all times are multiples of the period apart."""
    base, size = _places(left, right, period)
    at, to = (np.repeat(base, one.lengths) + one.times // period for one in (left, right))
    if size > 4 * (len(at) + len(to)):
        found = np.searchsorted(to, at)
        found[found == len(to)] = 0
        met = np.flatnonzero(to[found] == at) if len(to) else found[:0]
        return met, found[met]
    where = np.full(size, -1)
    where[to] = np.arange(len(to))
    found = where[at]
    met = np.flatnonzero(found >= 0)
    return met, found[met]


def _places(left: Ragged, right: Ragged, period: int) -> tuple[Ints, int]:
    """Offsets that make the indexes of all segments distinct, and the number of indexes."""
    first, last = np.full(len(left), FOREVER), np.full(len(left), -FOREVER)
    for one in (left, right):
        there = np.flatnonzero(one.lengths)
        first[there] = np.minimum(first[there], one.times[one.offsets[there]] // period)
        last[there] = np.maximum(last[there], one.times[one.offsets[there + 1] - 1] // period)
    widths = np.maximum(last - first + 1, 0)
    return np.cumsum(widths) - widths - first, int(widths.sum())
