"""Refreshing a pipeline after changes of readings: computes the exact difference of its result.

New, late, corrected and deleted readings are one case: times of a group at which something changed. These are
propagated up the pipeline to the times of the result that they can affect; there the result is recomputed and compared
with the stored one. Checkpoints that a change affects are dropped first, so filters resume from the last one before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from viewlet.signal.change.evaluate import Inputs, evaluate, widen
from viewlet.signal.change.reach import distance, propagate, reach
from viewlet.signal.operators.pointwise import common
from viewlet.signal.plan.nodes import Node, Scan
from viewlet.signal.samples.ragged import Ints, Mask, Ragged, Spans, Values


class KeptResult(Inputs, Protocol):
    """Inputs after a change, and the stored result before it."""

    def forget(self, node: Scan, spans: Spans) -> None:
        """Drop checkpoints within spans."""
        ...

    def result(self, spans: Spans) -> Ragged:
        """The result before the change, within spans."""
        ...


@dataclass(frozen=True, slots=True)
class Difference:
    """Deleted and inserted samples, within spans."""

    spans: Spans
    gone: Ragged
    come: Ragged


def refresh(node: Node, groups: Ints, times: Ints, kept: KeptResult, tolerance: float) -> Difference:
    """The change of the result after readings changed at these times of these groups."""
    changed = together(groups, times, distance(node, tolerance))
    reached = _reach(node, changed, kept, tolerance)
    new, old = evaluate(node, reached, kept), kept.result(reached)
    same_old, same_new = unchanged(old, new, tolerance)
    return Difference(reached, old.filter(~same_old), new.filter(~same_new))


def together(groups: Ints, times: Ints, distance: int) -> Spans:
    """Times of changes as spans; those of a group within `distance` of each other become one."""
    order = np.lexsort((times, groups))
    groups, times = groups[order], times[order]
    new = np.ones(len(times), dtype=np.bool_)
    new[1:] = (np.diff(groups) != 0) | (np.diff(times) > distance)
    begin = np.flatnonzero(new)
    ends = np.append(begin[1:], len(times))[: len(begin)] - 1
    return Spans(groups[begin], times[begin], times[ends] + 1)


def _reach(node: Node, changed: Spans, kept: KeptResult, tolerance: float) -> Spans:
    """The times of the result that changes affect; drops checkpoints on the way."""

    def step(at: Node, spans: Spans) -> Spans:
        reached = reach(at, spans, partial(widen, kept), tolerance)
        if isinstance(at, Scan):
            kept.forget(at, reached)
        return reached

    return propagate(node, changed, step)[node]


def unchanged(old: Ragged, new: Ragged, tolerance: float) -> tuple[Mask, Mask]:
    """Masks of the samples that are the same before and after: at the same time, equal within the tolerance.

    The tolerance is relative to the greatest sample of the segment, as is the rounding of a transform or of a fading
    filter; if that differs before and after, to the smaller one.
    """
    at, to = common(old, new)
    scale = np.minimum(_greatest(old), _greatest(new))
    far = _size(old.values[at] - new.values[to])
    equal = far <= tolerance * scale[old.segments[at]]
    same_old, same_new = np.zeros(len(old.times), dtype=np.bool_), np.zeros(len(new.times), dtype=np.bool_)
    same_old[at[equal]], same_new[to[equal]] = True, True
    return same_old, same_new


def _greatest(samples: Ragged) -> Values:
    """The greatest absolute value of each segment."""
    found = np.zeros(len(samples))
    np.maximum.at(found, samples.segments, _size(samples.values))
    return found


def _size(values: Values) -> Values:
    """The greatest absolute value of each sample."""
    return np.abs(values).max(axis=tuple(range(1, values.ndim)), initial=0.0)
