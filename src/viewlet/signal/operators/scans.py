"""Filters with feedback: runs are filtered in pieces, with a state after each piece.

A state is the filter's memory after a sample: the `zi` of SciPy's sections, or the last inputs and outputs. States at
multiples of the spacing, and near the end, are checkpoints: a run that continues, or is repeated because of a late
reading, starts from the last one before. SciPy filters sample by sample, so the result is the same to the bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from scipy import signal as scipy_signal

from viewlet.signal.plan.kinds import Grid, grid_of, kind_of
from viewlet.signal.plan.nodes import Feedback, Iir, Running, Scan
from viewlet.signal.samples.ragged import FOREVER, LATEST, Ints, Mask, Ragged, Values
from viewlet.signal.samples.uniform_runs import Dense, Runs, dense, indexes, runs_of

Filter: TypeAlias = Iir | Feedback

NEGLIGIBLE = 1e-15
"""The relative impulse response below which a filter counts as settled, so that longer gaps need not be filtered."""
CLOSEST, SHARE = 4096, 64
"""The least distance of checkpoints in samples: in general, and for each number of their states."""
LONGEST = 1 << 20
"""A filter that has not settled after this many samples counts as one that never does."""


@dataclass(frozen=True, slots=True)
class States:
    """A state for each segment, and the time of its last sample; −FOREVER for no state."""

    at: Ints
    states: Values

    @staticmethod
    def none(node: Scan, count: int) -> States:
        return States(np.full(count, -FOREVER), np.zeros((count, state_size(node))))


@dataclass(frozen=True, slots=True)
class Recorded:
    """States recorded during a run, with their segments and times."""

    segments: Ints
    at: Ints
    states: Values


def state_size(node: Scan) -> int:
    """The number of doubles in a state."""
    kind = kind_of(node)
    numbers = len(kind.channels) * (kind.width or 1) * (2 if kind.is_complex else 1)
    match node:
        case Iir(sections=sections):
            return 2 * len(sections) * numbers
        case Feedback(forward=forward, backward=backward):
            return (forward + backward) * numbers
        case Running(of, state=state):
            each = (state.width or 1) * (2 if state.is_complex else 1)
            return len(kind.channels) * (kind_of(of).width or 1) * each


def spacing(node: Filter) -> int:
    """The distance of checkpoints in samples: large enough that they take little space compared to readings."""
    return max(CLOSEST, SHARE * state_size(node))


def is_due(node: Scan, times: Ints) -> Mask:
    """Whether a checkpoint is kept after later ones; for running windows it is not, as these are renewed."""
    if isinstance(node, Running):
        return np.zeros(len(times), dtype=np.bool_)
    return (indexes(times, grid_of(node)) + 1) % spacing(node) == 0


@lru_cache(maxsize=256)
def settling(sections: tuple[tuple[float, ...], ...], tolerance: float) -> int | None:
    """After how many samples the impulse response, relative to its peak, stays below the tolerance; None if unknown."""
    if tolerance <= 0:
        return None
    length = 256
    while length <= LONGEST:
        impulse = np.zeros(length)
        impulse[0] = 1.0
        answer = np.abs(scipy_signal.sosfilt(np.array(sections), impulse))
        heard = np.flatnonzero(answer > tolerance * answer.max())
        if heard[-1] < length // 2:
            return int(heard[-1]) + 2 * len(sections) + 1
        length *= 4
    return None


def scan(node: Filter, signal: Ragged, resume: States, lookback: int) -> tuple[Ragged, Recorded]:
    """The filtered signal, resumed from states, and its checkpoints.

    Checkpoints are at the spacing, and about `lookback` samples before the end, where the next update starts.
    """
    grid = grid_of(node.of)
    runs, states = _continue(node, signal, grid, resume)
    laid = dense(signal, runs, 0)
    filtered = np.zeros(laid.values.shape, dtype=laid.values.dtype)
    last = before_end(runs.first + runs.spans, lookback)
    passed = list(_pieces(node, laid, runs, states, filtered, last))
    return signal.with_values(laid.of_samples(filtered)), _at_checkpoints(node, grid, runs, laid, passed, last)


def before_end(ends: Ints, lookback: int) -> Ints:
    """The indexes just after the last checkpoints, given the ends; rounded, so that not every sample moves them."""
    step = max(1, lookback // 4)
    return (ends - lookback) // step * step


def _continue(node: Filter, signal: Ragged, grid: Grid, resume: States) -> tuple[Runs, Values]:
    """The runs and their initial states; a run that resumes starts right after its checkpoint."""
    reach = _longest_gap(node)
    runs = runs_of(signal, grid, reach)
    known = indexes(resume.at, grid)[runs.segments]
    leads = np.ones(len(runs), dtype=np.bool_)
    leads[1:] = np.diff(runs.segments) != 0
    goes_on = leads & (resume.at[runs.segments] > -LATEST) & (runs.first - known <= reach)
    lead = np.where(goes_on, runs.first - known - 1, 0)
    states = np.where(goes_on[:, None], resume.states[runs.segments], 0.0)
    return replace(runs, first=runs.first - lead, spans=runs.spans + lead), states


def _longest_gap(node: Filter) -> int:
    """The greatest distance of consecutive samples in a run."""
    if isinstance(node, Feedback):
        return node.through + 1
    if node.missing == "restart":
        return 1
    settled = settling(node.sections, NEGLIGIBLE)
    assert settled is not None, "the builder refuses such a filter"
    return settled


def _pieces(
    node: Filter, laid: Dense, runs: Runs, states: Values, filtered: Values, last: Ints
) -> Iterator[tuple[Ints, Ints, Values]]:
    """Filter all runs together, piece by piece; yield the runs, their indexes reached, and the states there."""
    at, end, step = runs.first.copy(), runs.first + runs.spans, spacing(node)
    while len(which := np.flatnonzero(at < end)):
        stop = np.minimum(end[which], (at[which] // step + 1) * step)
        stop = np.where(at[which] < last[which], np.minimum(stop, last[which]), stop)
        starts = laid.starts[which] + at[which] - runs.first[which]
        states[which] = _filter(node, laid.values, filtered, starts, stop - at[which], states[which])
        at[which] = stop
        yield which, stop, states[which]


def _at_checkpoints(
    node: Filter, grid: Grid, runs: Runs, laid: Dense, passed: list[tuple[Ints, Ints, Values]], last: Ints
) -> Recorded:
    """The states to record: those at the spacing, and the last ones of segments."""
    if not passed:
        return Recorded(*(np.zeros(0, dtype=np.int64),) * 2, np.zeros((0, state_size(node))))
    which, end, states = (np.concatenate(parts) for parts in zip(*passed, strict=True))
    ends_segment = np.ones(len(runs), dtype=np.bool_)
    ends_segment[:-1] = np.diff(runs.segments) != 0
    is_kept = (end % spacing(node) == 0) | ((end == last[which]) & ends_segment[which])
    if isinstance(node, Feedback):  # a checkpoint must be at a sample, from which missing ones are counted
        is_kept &= laid.has_sample(laid.starts[which] + end - 1 - runs.first[which])
    kept = np.flatnonzero(is_kept)
    at = grid.offset + (end[kept] - 1) * grid.period
    return Recorded(runs.segments[which[kept]], at, states[kept])


def _filter(node: Filter, values: Values, filtered: Values, starts: Ints, lengths: Ints, states: Values) -> Values:
    """Filter pieces of different lengths; return the states after them."""
    match node:
        case Iir(sections=sections):
            return _by_binary_lengths(np.array(sections), values, filtered, starts, lengths, states)
        case Feedback():
            return _sample_by_sample(node, values, filtered, starts, lengths, states)


def _by_binary_lengths(
    sections: Values, values: Values, filtered: Values, starts: Ints, lengths: Ints, states: Values
) -> Values:
    """Filter a piece of 13 samples as pieces of 8, 4 and 1; SciPy filters all pieces of one length in one call."""
    at, states = starts.copy(), states.copy()
    for bit in reversed(range(int(lengths.max(initial=0)).bit_length())):
        which = np.flatnonzero(lengths >> bit & 1)
        if len(which):
            places = at[which, None] + np.arange(1 << bit)
            zi = _as_zi(states[which], len(sections), values)
            filtered[places], zi = scipy_signal.sosfilt(sections, values[places], axis=1, zi=zi)
            states[which] = _from_zi(zi)
            at[which] += 1 << bit
    return states


def _as_zi(states: Values, sections: int, values: Values) -> Values:
    """States in SciPy's shape: (sections, pieces, 2, channels)."""
    channels = values.shape[1]
    return np.ascontiguousarray(states).view(values.dtype).reshape(-1, sections, 2, channels).transpose(1, 0, 2, 3)


def _from_zi(zi: Values) -> Values:
    pieces = zi.shape[1]
    return np.ascontiguousarray(zi.transpose(1, 0, 2, 3)).reshape(pieces, -1).view(np.float64)


def _sample_by_sample(
    node: Feedback, values: Values, filtered: Values, starts: Ints, lengths: Ints, states: Values
) -> Values:
    """Advance all pieces together, sample by sample; the function gets a row for each channel of each piece."""
    channels = values.shape[1]
    memory = np.ascontiguousarray(states).view(values.dtype).reshape(len(starts), channels, -1)
    forward, backward = memory[:, :, : node.forward].copy(), memory[:, :, node.forward :].copy()
    for step in range(int(lengths.max(initial=0))):
        live = np.flatnonzero(lengths > step)
        newest = values[starts[live] + step]
        forward[live] = np.concatenate([forward[live, :, 1:], newest[:, :, None]], axis=2)
        rows = node.function(_rows(forward[live]), _rows(backward[live]))
        result = np.asarray(rows, dtype=values.dtype).reshape(len(live), channels)
        filtered[starts[live] + step] = result
        if node.backward:
            backward[live] = np.concatenate([backward[live, :, 1:], result[:, :, None]], axis=2)
    return np.ascontiguousarray(np.concatenate([forward, backward], axis=2)).reshape(len(starts), -1).view(np.float64)


def _rows(memory: Values) -> Values:
    pieces, channels, length = memory.shape  # the length may be 0
    return memory.reshape(pieces * channels, length)
