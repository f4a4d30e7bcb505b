"""Uniform signals from readings at any time: those on the beat as they are, the others interpolated.

Between two readings that follow each other, so close that the policy bridges them, there is a value for each beat. It
depends on a few readings before and after; where there are not as many, or one of them is too far, there is none.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from viewlet.signal.nodes import Policy, Sample
from viewlet.signal.ragged import FOREVER, Ints, Mask, Ragged, Spans, Values, spread


def sample(node: Sample, readings: Ragged, spans: Spans) -> Ragged:
    """The samples within spans."""
    segments = readings.segments
    last = np.full(len(readings.times), -FOREVER)
    last[:-1] = np.where(_bridged(node.policy, readings, segments), readings.times[1:], -FOREVER)
    start = np.maximum(readings.times, np.repeat(spans.start, readings.lengths))
    stop = np.minimum(np.maximum(last, readings.times + 1), np.repeat(spans.stop, readings.lengths))
    first = -((node.offset - start) // node.period)  # the first beat at or after the reading
    counts = np.maximum(-((node.offset - stop) // node.period) - first, 0)
    reading = np.repeat(np.arange(len(counts)), counts)
    times = spread(first, counts) * node.period + node.offset
    values = readings.values[reading]
    between = np.flatnonzero(times != readings.times[reading])
    if len(between):
        values[between] = _estimate(node.policy, readings, reading[between], times[between])
    return Ragged.of(segments[reading], len(readings), times, values)


def _bridged(policy: Policy, readings: Ragged, segments: Ints) -> Mask:
    """Whether there is something between a reading and the next one."""
    near = np.diff(segments) == 0
    if policy.max_gap is not None:
        near &= np.diff(readings.times) <= policy.max_gap
    if policy.kind == "none":
        return np.zeros_like(near)
    bridged = near.copy()
    for i in range(1, policy.before):
        bridged[i:] &= near[:-i]
        bridged[:i] = False
    for i in range(1, policy.after):
        bridged[:-i] &= near[i:]
        bridged[len(near) - i :] = False
    return bridged


def _estimate(policy: Policy, readings: Ragged, at: Ints, times: Ints) -> Values:
    """The values at some times, each right after the reading `at` a position."""
    if policy.kind == "constant":
        return np.full((len(at), *readings.values.shape[1:]), policy.value)
    around = at[:, None] + np.arange(1 - policy.before, policy.after + 1)
    known = readings.values[around]
    since = (readings.times[around] - times[:, None]).astype(np.float64)  # times, seen from the one that is asked for
    if policy.kind == "user":
        assert policy.function is not None
        columns = [policy.function(since, known[:, :, channel]) for channel in range(known.shape[2])]
        return np.stack(columns, axis=1)
    return POLYNOMIALS[policy.kind](since, known)


def _lagrange(since: Values, known: Values) -> Values:
    """The polynomial through all points, where the time is 0."""
    result = np.zeros(known.shape[::2], dtype=known.dtype)
    for i in range(since.shape[1]):
        weight = np.ones(len(since))
        for j in range(since.shape[1]):
            if i != j:
                weight *= -since[:, j] / (since[:, i] - since[:, j])
        result += weight[:, None] * known[:, i]
    return result


def _linear(since: Values, known: Values) -> Values:
    share = -since[:, 0] / (since[:, 1] - since[:, 0])
    return known[:, 0] + (known[:, 1] - known[:, 0]) * share[:, None]


def _step(since: Values, known: Values) -> Values:
    return np.where((since[:, 1] < -since[:, 0])[:, None], known[:, 1], known[:, 0])


POLYNOMIALS: dict[str, Callable[[Values, Values], Values]] = {
    "last": lambda since, known: known[:, 0],
    "step": _step,
    "linear": _linear,
    "quadratic": _lagrange,
    "cubic": _lagrange,
}
