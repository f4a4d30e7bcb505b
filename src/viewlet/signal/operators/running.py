"""Windows that a user-defined operator updates: all chains of windows, of all groups, advance together.

A chain starts with a window computed from scratch (the first after a gap, or one due for renewal) or resumes from a
checkpoint. Where chains start depends only on the samples, so the result is the same to the bit however epochs are cut.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from viewlet.signal.operators.scans import Recorded, States, before_end, state_size
from viewlet.signal.operators.windows import Frames, cut, empty
from viewlet.signal.plan.kinds import grid_of
from viewlet.signal.plan.nodes import Running
from viewlet.signal.samples.ragged import Ints, Mask, Ragged, Values


def run_windows(node: Running, signal: Ragged, resume: States, lookback: int) -> tuple[Ragged, Recorded]:
    """The results of the windows after given states, and the states from which later windows resume."""
    frames = cut(node, signal.flat)
    states = empty(node.state, len(frames.places), frames.values.shape[1])
    known = resume.at[frames.segments]
    is_new, is_chained = frames.times > known, frames.is_next & (frames.numbers % node.renewal != 0)
    goes_on = np.flatnonzero(is_chained & (frames.times - grid_of(node).period == known))
    states[goes_on - 1] = _as_states(resume.states[frames.segments[goes_on]], states)
    for which, is_first in _levels(is_new, is_chained, goes_on):
        _advance(node, frames, states, which[is_first], which[~is_first])
    at = np.flatnonzero(is_new)
    values = _as_samples(_results(node, states[at]), signal)
    result = Ragged.of(frames.segments[at], len(signal), frames.times[at], values)
    return result, _recorded(node, frames, states, at, lookback)


def _levels(is_new: Mask, is_chained: Mask, goes_on: Ints) -> Iterator[tuple[Ints, Mask]]:
    """The first windows of all chains, then the second ones, and so on, with masks of those computed from scratch."""
    at = np.flatnonzero(is_new)
    begins = ~is_chained
    begins[goes_on] = True
    starts = np.flatnonzero(begins[at])
    lengths = np.diff(np.append(starts, len(at)))
    for level in range(int(lengths.max(initial=0))):
        which = at[starts[lengths > level] + level]
        yield which, ~is_chained[which]


def _advance(node: Running, frames: Frames, states: Values, scratch: Ints, updated: Ints) -> None:
    """Compute the states of windows, from scratch or from the preceding window."""
    for channel in range(states.shape[1]):
        values = frames.values[:, channel]
        if len(scratch):
            states[scratch, channel] = node.operator(_window(node, frames, values, scratch), method="recompute")
        if len(updated):
            window = _window(node, frames, values, updated)
            left = values[frames.places[updated, None] - node.hop + np.arange(node.hop)]
            before, come = states[updated - 1, channel], window[:, -node.hop :]
            states[updated, channel] = node.operator(before, window, left, come, method="update")


def _window(node: Running, frames: Frames, values: Values, which: Ints) -> Values:
    return values[frames.places[which, None] + np.arange(node.size)]


def _results(node: Running, states: Values) -> Values:
    """The results of windows, from their states."""
    if not hasattr(node.operator.code, "result"):
        return states
    values = empty(node.result, len(states), states.shape[1])
    for channel in range(states.shape[1]):
        values[:, channel] = node.operator(states[:, channel], method="result")
    return values


def _as_samples(results: Values, signal: Ragged) -> Values:
    """Results for each number combined into samples that are arrays, if those of the signal are."""
    if signal.values.ndim == 2:
        return results
    channels, width = signal.values.shape[1:]
    each = np.moveaxis(results.reshape(len(results), channels, width, *results.shape[2:]), 2, -1)
    return each.reshape(len(results), channels, math.prod(each.shape[2:]))


def _recorded(node: Running, frames: Frames, states: Values, at: Ints, lookback: int) -> Recorded:
    """The state of one window of each segment, about `lookback` windows before its last."""
    segments, numbers = frames.segments[at], frames.numbers[at]
    last = np.flatnonzero(np.append(np.diff(segments) != 0, True)[: len(at)])
    wanted = before_end(numbers[last] + 1, lookback) - 1
    found = np.maximum(last - (numbers[last] - wanted), 0)
    there = (segments[found] == segments[last]) & (numbers[found] == wanted)
    which = at[found[there]]
    flat = np.ascontiguousarray(states[which]).view(np.float64).reshape(len(which), state_size(node))
    return Recorded(frames.segments[which], frames.times[which], flat)


def _as_states(flat: Values, states: Values) -> Values:
    """Stored states converted to the dtype and shape of states."""
    return np.ascontiguousarray(flat).view(states.dtype).reshape(len(flat), *states.shape[1:])
