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
from viewlet.signal.change.reach import distance, fades, propagate, reach
from viewlet.signal.operators.pointwise import common
from viewlet.signal.plan.nodes import Node, Scan
from viewlet.signal.samples.ragged import LATEST, Ints, Mask, Ragged, Spans, Values

PATIENCE = (4, 16)
"""How many times as long as usual filters rerun if a change has not faded; after that, to the end of the group."""
FAINT = 100
"""By so many tolerances the last samples of a rerun may differ: what is left of a change has faded by then."""
END = 32
"""The samples of the last such part of a rerun tell, or the very last one."""


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
    for until, patience in ((tolerance, 1), *((tolerance, more) for more in PATIENCE), (0.0, 1)):
        changed = together(groups, times, distance(node, until, patience))
        reached = _reach(node, changed, kept, until, patience)
        new, old = evaluate(node, reached, kept), kept.result(reached)
        if not fades(node, until) or _has_faded(old, new, changed, reached, kept, tolerance):
            break
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


def _has_faded(old: Ragged, new: Ragged, changed: Spans, reached: Spans, kept: KeptResult, tolerance: float) -> bool:
    """Whether the result goes on after a rerun as it did before.

    Filters rerun for as long as an impulse takes to fade beside its own peak. A far greater reading, such as a spike that
    is corrected, is still heard then among small samples: the last ones of the rerun differ, and more follow.
    """
    at, to = common(old, new)
    segments, rerun = old.segments[at], reached.stop - changed.stop
    last = old.times[at] >= (reached.stop - rerun // END)[segments]
    last[segments.searchsorted(segments, "right") - 1] = True
    before, after, own = old.values[at[last]], new.values[to[last]], segments[last]
    far, size = np.zeros((2, len(old)))
    np.maximum.at(far, own, _size(before - after))
    np.maximum.at(size, own, np.minimum(_size(before), _size(after)))
    loud = np.flatnonzero((far > FAINT * tolerance * size) & (reached.stop < LATEST))
    if not loud.size:
        return True
    more = reached.take(loud)
    return not kept.result(Spans(more.groups, more.stop, more.stop + rerun[loud])).times.size


def _reach(node: Node, changed: Spans, kept: KeptResult, tolerance: float, patience: int = 1) -> Spans:
    """The times of the result that changes affect; drops checkpoints on the way."""

    def step(at: Node, spans: Spans) -> Spans:
        reached = reach(at, spans, partial(widen, kept), tolerance, patience)
        if isinstance(at, Scan):
            kept.forget(at, reached)
        return reached

    return propagate(node, changed, step)[node]


def unchanged(old: Ragged, new: Ragged, tolerance: float) -> tuple[Mask, Mask]:
    """Masks of the samples that are the same before and after: at the same time, equal within the tolerance.

    The tolerance is relative to the sample itself, not to greater ones around it: if those went later, a change that
    they had hidden would be missing.
    """
    at, to = common(old, new)
    before, after = old.values[at], new.values[to]
    equal = _size(before - after) <= tolerance * np.minimum(_size(before), _size(after))
    same_old, same_new = np.zeros(len(old.times), dtype=np.bool_), np.zeros(len(new.times), dtype=np.bool_)
    same_old[at[equal]], same_new[to[equal]] = True, True
    return same_old, same_new


def _size(values: Values) -> Values:
    """The greatest absolute value of each sample."""
    return np.abs(values).max(axis=tuple(range(1, values.ndim)), initial=0.0)
