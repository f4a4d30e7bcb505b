"""Samples readings at arbitrary times on a uniform grid: readings on the grid are kept, others interpolated.

Between two consecutive readings that are close enough for the policy there is a value at each grid time. It depends on
a few readings before and after; if there are not enough, or one is too far, there is no value.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from viewlet.signal.plan.nodes import Policy, Sample
from viewlet.signal.samples.ragged import FOREVER, Ints, Mask, Ragged, Spans, Values, spread

AT_ONCE = 1 << 15
"""How many times are compared at once."""


def sample(node: Sample, readings: Ragged, spans: Spans) -> Ragged:
    """The samples within spans."""
    if node.policy.kind == "none":
        return _on_beat(node, readings)
    segments = readings.segments
    last = np.full(len(readings.times), -FOREVER)
    if node.policy.kind == "held":
        last = readings.times + readings.values[:, -1].astype(np.int64)
    else:
        last[:-1] = np.where(_bridged(node.policy, readings, segments), readings.times[1:], -FOREVER)
    start = np.maximum(readings.times, np.repeat(spans.start, readings.lengths))
    stop = np.minimum(np.maximum(last, readings.times + 1), np.repeat(spans.stop, readings.lengths))
    first = -((node.offset - start) // node.period)  # the first grid index at or after the reading
    counts = np.maximum(-((node.offset - stop) // node.period) - first, 0)
    times = spread(first, counts) * node.period + node.offset
    at = np.repeat(np.arange(len(counts)), counts)
    return Ragged.of(segments[at], len(readings), times, _values(node.policy, readings, at, times))


def _values(policy: Policy, readings: Ragged, at: Ints, times: Ints) -> Values:
    """The value at each time, at or after the reading at position `at`."""
    values = readings.values[at]
    if policy.kind == "held":
        return values[:, :-1]
    if policy.kind == "last":
        return values
    since = times - readings.times[at]
    if policy.kind == "linear":
        return values + _slopes(readings)[at] * since[:, None]
    between = np.flatnonzero(since)
    if len(between):
        values[between] = _estimate(policy, readings, at[between], times[between])
    return values


def _slopes(readings: Ragged) -> Values:
    """The slope per tick from each reading to the next."""
    slopes = np.zeros_like(readings.values)
    slopes[:-1] = np.diff(readings.values, axis=0) / np.maximum(np.diff(readings.times), 1)[:, None]
    return slopes


def _on_beat(node: Sample, readings: Ragged) -> Ragged:
    """The readings on the grid; regular readings are recognized without dividing."""
    starts = readings.offsets[:-1][readings.lengths > 0]
    is_first = not ((readings.times[starts] - node.offset) % node.period).any()
    if is_first and _is_regular(readings.times, starts, node.period):
        return readings
    return readings.filter((readings.times - node.offset) % node.period == 0)


def _is_regular(times: Ints, starts: Ints, period: int) -> bool:
    """Whether the times of each segment are a period apart; compared in pieces that fit the caches."""
    regular = sum(
        np.count_nonzero(np.diff(times[at : at + AT_ONCE + 1]) == period) for at in range(0, len(times), AT_ONCE)
    )
    between = starts[1:]
    return regular - np.count_nonzero(times[between] - times[between - 1] == period) == len(times) - len(starts)


def _bridged(policy: Policy, readings: Ragged, segments: Ints) -> Mask:
    """Whether the policy interpolates between each reading and the next."""
    near = np.diff(segments) == 0
    if policy.max_gap is not None:
        near &= np.diff(readings.times) <= policy.max_gap
    bridged = near.copy()
    for i in range(1, policy.before):
        bridged[i:] &= near[:-i]
        bridged[:i] = False
    for i in range(1, policy.after):
        bridged[:-i] &= near[i:]
        bridged[len(near) - i :] = False
    return bridged


def _estimate(policy: Policy, readings: Ragged, at: Ints, times: Ints) -> Values:
    """The values at times, each between the reading at position `at` and the next."""
    if policy.kind == "constant":
        return np.full((len(at), *readings.values.shape[1:]), policy.value)
    around = [at + i for i in range(1 - policy.before, policy.after + 1)]
    known = [readings.values[places] for places in around]
    since = [(readings.times[places] - times).astype(np.float64) for places in around]  # relative to the wanted time
    if policy.kind != "user":
        return ESTIMATES[policy.kind](since, known)
    assert policy.function is not None
    at_once = np.stack(since, axis=1)
    columns = [policy.function(at_once, np.stack(part, axis=1)) for part in zip(*(k.T for k in known), strict=True)]
    return np.stack(columns, axis=1)


def _lagrange(since: list[Values], known: list[Values]) -> Values:
    """The value at time 0 of the polynomial through all points."""
    result = np.zeros_like(known[0])
    for i, values in enumerate(known):
        weight = np.ones(len(values))
        for j, other in enumerate(since):
            if i != j:
                weight *= -other / (since[i] - other)
        result += weight[:, None] * values
    return result


def _step(since: list[Values], known: list[Values]) -> Values:
    return np.where((since[1] < -since[0])[:, None], known[1], known[0])


ESTIMATES: dict[str, Callable[[list[Values], list[Values]], Values]] = {
    "step": _step,
    "quadratic": _lagrange,
    "cubic": _lagrange,
}
"""Functions of the times of readings, relative to the time to interpolate, and of their values."""
