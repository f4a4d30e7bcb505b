"""The reach of changes: which times an operator must read to compute given times, and which a change affects.

For most operators both are fixed distances, so a change costs only its surroundings. For some they depend on the data:
an interpolation without a maximal gap uses the next readings, however far; an operator with a state reads from its last
checkpoint; and a filter with feedback is affected until it has settled, or to the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import assert_never

import numpy as np

from viewlet.signal.operators.scans import settling
from viewlet.signal.plan.kinds import grid_of, length_laid_out
from viewlet.signal.plan.nodes import (
    Combine,
    Crossings,
    Feedback,
    Fir,
    Iir,
    Modulate,
    Node,
    OverlapAdd,
    Peaks,
    Running,
    Sample,
    Scale,
    Scan,
    Select,
    Shift,
    Source,
    Where,
    Windows,
    children,
    in_order,
)
from viewlet.signal.samples.ragged import FOREVER, Ints, Spans, later

Widen = Callable[[Sample, Spans, int, int], Spans]
"""Extends spans by numbers of readings before and after them."""


def needs(node: Node, spans: Spans, widen: Widen) -> Spans:
    """The times of its inputs that an operator reads to compute `spans`; for a scan, without its past."""
    match node:
        case Source() | Where() | Select() | Scale() | Modulate() | Combine() | Iir() | Feedback():
            return spans
        case Shift(by=by):
            return spans.moved(-by, -by)
        case Sample(policy=policy):
            if policy.max_gap is None:
                return widen(node, spans, policy.before, policy.after)
            return spans.moved(-policy.before * policy.max_gap, policy.after * policy.max_gap)
        case Fir(of, taps, ahead):
            period = grid_of(of).period
            return spans.moved(-(len(taps) - 1 - ahead) * period, ahead * period)
        case Windows(of, size):
            return spans.moved(-(size - 1) * grid_of(of).period, 0)
        case Running(of):
            return spans.moved(-_chain(node) * grid_of(of).period, 0)
        case OverlapAdd(period=period):
            return spans.moved(0, (length_laid_out(node) - 1) * period)
        case Peaks(of, radius):
            return spans.moved(-radius * grid_of(of).period, radius * grid_of(of).period)
        case Crossings(of):
            return spans.moved(-grid_of(of).period, 0)
        case _:
            assert_never(node)


def reach(node: Node, changed: Spans, widen: Widen, tolerance: float, patience: int = 1) -> Spans:
    """The times of its result that a change of its inputs within spans can affect.

    `patience`: how many times as long as an impulse takes to fade a filter reruns.
    """
    match node:
        case Source() | Where() | Select() | Scale() | Modulate() | Combine():
            return changed
        case Shift(by=by):
            return changed.moved(by, by)
        case Sample(policy=policy):
            if policy.max_gap is None:
                return widen(node, changed, policy.after, policy.before)
            return changed.moved(-policy.after * policy.max_gap, policy.before * policy.max_gap)
        case Fir(of, taps, ahead):
            period = grid_of(of).period
            return changed.moved(-ahead * period, (len(taps) - 1 - ahead) * period)
        case Windows(of, size):
            return changed.moved(0, (size - 1) * grid_of(of).period)
        case Running(of):
            return changed.moved(0, _chain(node) * grid_of(of).period)
        case OverlapAdd(period=period):
            return changed.moved(-(length_laid_out(node) - 1) * period, 0)
        case Peaks(of, radius):
            return changed.moved(-radius * grid_of(of).period, radius * grid_of(of).period)
        case Crossings(of):
            return changed.moved(0, grid_of(of).period)
        case Iir(of, sections) if (samples := settling(sections, tolerance)) is not None:
            return changed.moved(0, patience * samples * grid_of(of).period)
        case Iir() | Feedback():
            return Spans(changed.groups, changed.start, np.full(len(changed), FOREVER))
        case _:
            assert_never(node)


def needs_from(node: Scan, spans: Spans, past: Ints) -> Spans:
    """The times of its input that an operator with a state reads, given the times of its states."""
    if not isinstance(node, Running):
        return Spans(spans.groups, later(past, 1), spans.stop)
    window = later(past, -(node.size - 1) * grid_of(node.of).period)  # samples that leave the window are read again
    fresh = spans.moved(-_chain(node) * grid_of(node.of).period, 0)
    return Spans(spans.groups, np.maximum(window, fresh.start), spans.stop)


def _chain(node: Running) -> int:
    """The samples from the start of a window computed from scratch to the end of the last one of its chain."""
    return node.size - 1 + (node.renewal - 1) * node.hop


def propagate(node: Node, changed: Spans, step: Callable[[Node, Spans], Spans]) -> dict[Node, Spans]:
    """Propagate spans of changed readings up the pipeline, operator by operator."""
    found: dict[Node, Spans] = {}
    for one in in_order(node):
        below = [found[child] for child in children(one)]
        spans = below[0] if below else changed
        for other in below[1:]:
            spans = spans.hull(other)
        found[one] = step(one, spans)
    return found


def fades(node: Node, tolerance: float) -> bool:
    """Whether a pipeline has a filter that reruns only until a change has faded."""
    return any(isinstance(one, Iir) and settling(one.sections, tolerance) is not None for one in in_order(node))


class _DependsOnReadings(Exception):
    """The reach of a change depends on the readings."""


@lru_cache(maxsize=256)
def distance(node: Node, tolerance: float, patience: int = 1) -> int:
    """How far apart changes must be for their reaches to be disjoint; FOREVER if that depends on readings."""

    def undecided(*_: object) -> Spans:
        raise _DependsOnReadings

    try:
        step = partial(reach, widen=undecided, tolerance=tolerance, patience=patience)
        reached = propagate(node, _instant(), step)[node]
    except _DependsOnReadings:
        return FOREVER
    return int(reached.stop[0] - reached.start[0])


def is_bounded(node: Node) -> bool:
    """Whether the readings that a sample depends on are known without evaluation, apart from filters' pasts.

    An interpolation without a maximal gap needs a number of samples, however far; only readings can be counted.
    """
    sampled = (one for one in in_order(node) if isinstance(one, Sample))
    return all(one.policy.max_gap is not None or isinstance(one.of, Source) for one in sampled)


@lru_cache(maxsize=256)
def lookbacks(node: Node, tolerance: float) -> Mapping[Scan, int]:
    """How many samples before the last one each scan restarts when a new reading arrives: its state is needed there."""
    reached = propagate(node, _instant(), lambda at, spans: reach(at, spans, _nearby, tolerance))
    wanted = {node: reached[node]}
    found: dict[Scan, int] = {}
    for one in reversed(in_order(node)):
        below = needs(one, wanted[one], _nearby)
        if isinstance(one, Scan):
            before = reached[one.of].stop[0] - 1 - wanted[one].start[0]
            found[one] = int(-(-before // grid_of(one).period))
            below = needs_from(one, wanted[one], wanted[one].start - 1)
        for child in children(one):
            wanted[child] = wanted[child].hull(below) if child in wanted else below
    return found


def _instant() -> Spans:
    return Spans(*(np.array([value]) for value in (0, 0, 1)))


def _nearby(node: Sample, spans: Spans, before: int, after: int) -> Spans:
    """An estimate of spans extended by readings, if these are about as frequent as samples."""
    return spans.moved(-before * node.period, after * node.period)
