"""Overlap-add: places arrays on the time axis, the last number of each at its own time, and merges overlaps."""

from __future__ import annotations

import numpy as np

from viewlet.errors import EvaluationError
from viewlet.signal.plan.functions import Function
from viewlet.signal.plan.nodes import OverlapAdd
from viewlet.signal.samples.ragged import Ints, Ragged, Values, spread

MERGES = {"sum": (np.add, 0.0), "mean": (np.add, 0.0), "min": (np.minimum, np.inf), "max": (np.maximum, -np.inf)}
"""The function that merges two numbers, and its neutral element."""


def overlap_add(node: OverlapAdd, arrays: Ragged) -> Ragged:
    """Merge arrays; those that touch or overlap form a contiguous piece of the result."""
    pieces = _by_time(arrays.values, node.width)
    width, ends = pieces.shape[2], arrays.times // node.period
    segments = arrays.segments
    new = np.ones(len(ends), dtype=np.bool_)
    new[1:] = (np.diff(ends) > width) | (np.diff(segments) != 0)
    begin = np.flatnonzero(new)
    stretch = np.cumsum(new) - 1
    first = ends[begin] - width + 1
    spans = np.concatenate([ends[begin[1:] - 1], ends[-1:]]) - first + 1
    starts = np.cumsum(spans) - spans
    places = (ends - width + 1 - first[stretch] + starts[stretch])[:, None] + np.arange(width)
    times = spread(first, spans) * node.period + (np.repeat(arrays.times[begin], spans) % node.period)
    values = _merged(node.merge, pieces, places, int(spans.sum()))
    if node.width is not None:
        values = values.reshape(len(values), values.shape[1] // node.width, node.width)
    return Ragged.of(np.repeat(segments[begin], spans), len(arrays), times, values)


def _by_time(values: Values, width: int | None) -> Values:
    """Arrays with one number for each time; if `width` numbers belong to a time, each becomes a channel."""
    if width is None:
        return values
    count, channels, numbers = values.shape
    times = numbers // width
    return values.reshape(count, channels, times, width).swapaxes(2, 3).reshape(count, channels * width, times)


def _merged(how: str | Function, values: Values, places: Ints, size: int) -> Values:
    if isinstance(how, Function):
        flat = values.swapaxes(1, 2).reshape(-1, values.shape[1])
        return np.stack([_by_function(how, column, places.ravel(), size) for column in flat.T], axis=1)
    merge, zero = MERGES[how]
    result = np.full((size, values.shape[1]), zero, dtype=values.dtype)
    for channel in range(values.shape[1]):
        column = np.full(size, zero, dtype=values.dtype)
        merge.at(column, places.ravel(), values[:, channel].ravel())
        result[:, channel] = column
    return result / np.bincount(places.ravel(), minlength=size)[:, None] if how == "mean" else result


def _by_function(how: Function, values: Values, places: Ints, size: int) -> Values:
    """Merge by a user function of rows: the numbers that overlap at each place, padded with NaN."""
    order = np.argsort(places, kind="stable")
    counts = np.bincount(places, minlength=size)
    table = np.full((size, int(counts.max(initial=1))), np.nan, dtype=values.dtype)
    table[places[order], spread(np.zeros(size, dtype=np.int64), counts)] = values[order]
    found = np.asarray(how(table))
    if found.shape != (size,):
        raise EvaluationError(f"{how.name} gave an array of {found.shape}, not a number for each of {size} rows")
    return found
