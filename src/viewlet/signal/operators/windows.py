"""Hopping windows over all groups at once: frames are cut from runs and processed in batches.

Window j has the samples of indexes j·hop to j·hop + size − 1, regardless of the first reading of its group, so a late
reading affects only the windows that contain it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from viewlet.signal.operators.transforms import take_step
from viewlet.signal.plan.kinds import grid_of, kind_of
from viewlet.signal.plan.nodes import Form, Running, Windows
from viewlet.signal.samples.ragged import Ints, Mask, Ragged, Values, spread
from viewlet.signal.samples.uniform_runs import Dense, dense, interpolated, runs_of

BATCH = 1 << 17
"""How many numbers are processed at once: enough to amortize calls, few enough to fit the caches."""


@dataclass(frozen=True, slots=True)
class Frames:
    """Windows as positions in an array of values, with the segment and time of each."""

    values: Values
    places: Ints
    """The start of each window."""
    segments: Ints
    times: Ints
    numbers: Ints
    """The number j of each window."""
    is_next: Mask
    """Whether each window's number follows that of the window before it."""


def window(node: Windows, signal: Ragged) -> Ragged:
    """The windows after their steps, as samples."""
    frames, kind, width = cut(node, signal.flat), kind_of(node), kind_of(node.of).width
    values, done = empty(Form(kind.width, kind.is_complex), len(frames.places), len(kind.channels)), 0
    for batch in _batches(frames, node.size):
        rows = _by_number(batch, width)
        for step in node.steps:
            rows = take_step(step, rows)
        values[done : done + len(batch)] = _by_window(rows, width)
        done += len(batch)
    return Ragged.of(frames.segments, len(signal), frames.times, values)


def _by_number(batch: Values, width: int | None) -> Values:
    """Windows of arrays as windows of numbers: `width` times as many, in the order of numbers."""
    if width is None:
        return batch
    count, numbers, size = batch.shape
    channels = numbers // width
    return batch.reshape(count, channels, width, size).swapaxes(1, 2).reshape(count * width, channels, size)


def _by_window(rows: Values, width: int | None) -> Values:
    """The results of windows of numbers as samples that are arrays, with the numbers of one place adjacent."""
    if width is None:
        return rows
    each = np.moveaxis(rows.reshape(len(rows) // width, width, *rows.shape[1:]), 1, -1)
    return each.reshape(*each.shape[:2], math.prod(each.shape[2:]))


def cut(node: Windows | Running, signal: Ragged) -> Frames:
    """All windows without missing samples, or with these filled in by the policy."""
    gaps, grid = node.gaps, grid_of(node.of)
    pad = node.size - 1 if gaps == "zero" else 0  # windows may start before a run and end after it
    runs = runs_of(signal, grid, 1 if gaps == "invalid" else node.size - 1)
    laid = dense(signal, runs, pad)
    first = -((pad - runs.first) // node.hop)  # the least j with j·hop ≥ first − pad
    last = (runs.first + runs.spans + pad - node.size) // node.hop
    counts = np.maximum(last - first + 1, 0)
    number, run = spread(first, counts), np.repeat(np.arange(len(runs)), counts)
    places = number * node.hop - runs.first[run] + laid.starts[run]
    times = grid.offset + (number * node.hop + node.size - 1) * grid.period
    values = interpolated(laid) if gaps == "interpolate" else laid.values
    is_next = np.zeros(len(run), dtype=np.bool_)
    is_next[1:] = np.diff(run) == 0
    frames = Frames(values, places, runs.segments[run], times, number, is_next)
    return _between_samples(frames, laid, node.size) if gaps == "interpolate" else frames


def _between_samples(frames: Frames, laid: Dense, size: int) -> Frames:
    """The windows whose first and last samples are not missing."""
    if laid.places is None:
        return frames
    kept = laid.has_sample(frames.places) & laid.has_sample(frames.places + size - 1)
    is_next = frames.is_next.copy()
    is_next[1:] &= kept[:-1]
    places, segments, times, numbers = (
        column[kept] for column in (frames.places, frames.segments, frames.times, frames.numbers)
    )
    return Frames(frames.values, places, segments, times, numbers, is_next[kept])


def _batches(frames: Frames, size: int) -> Iterator[Values]:
    """Batches of frames, with the axes window, channel, sample."""
    rows = max(1, BATCH // (size * frames.values.shape[1]))
    for start in range(0, len(frames.places), rows):
        places = frames.places[start : start + rows]
        step = int(places[1] - places[0]) if len(places) > 1 else 1
        if step > 0 and (np.diff(places) == step).all():  # evenly spaced windows need no copy
            view = np.lib.stride_tricks.sliding_window_view(frames.values, size, axis=0)
            yield view[places[0] : places[-1] + 1 : step]
        else:
            yield frames.values[places[:, None] + np.arange(size)].swapaxes(1, 2)


def empty(form: Form, count: int, channels: int) -> Values:
    shape = (count, channels) if form.width is None else (count, channels, form.width)
    return np.empty(shape, dtype=np.complex128 if form.is_complex else np.float64)
