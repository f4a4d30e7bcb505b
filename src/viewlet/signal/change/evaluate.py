"""Evaluates a pipeline: its samples within spans, from the readings around them.

Offline the spans cover everything; online they cover what a change reaches. The law that makes both one program: the
samples within a span do not depend on how much else is computed. Needs propagate down the pipeline to the readings;
samples flow up. Samples are finite: if an operator returns NaN or infinity, the sample is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, assert_never

import numpy as np

from viewlet.signal.change.reach import Widen, needs, needs_from
from viewlet.signal.operators.detect import crossings, peaks
from viewlet.signal.operators.filters import filter_fir
from viewlet.signal.operators.interpolate import sample
from viewlet.signal.operators.overlap import overlap_add
from viewlet.signal.operators.pointwise import combine, modulate, scale, select, where
from viewlet.signal.operators.running import run_windows
from viewlet.signal.operators.scans import Recorded, States, scan
from viewlet.signal.operators.windows import window
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
from viewlet.signal.samples.ragged import FOREVER, Ints, Ragged, Spans


class Inputs(Protocol):
    """The inputs of an evaluation: readings, and checkpoints of filters."""

    def read(self, source: Source, spans: Spans) -> Ragged:
        """The readings within spans."""
        ...

    def resume(self, node: Scan, spans: Spans) -> States:
        """The last checkpoint of each group before its span."""
        ...

    def lookback(self, node: Scan) -> int:
        """How many samples before the newest one to keep a checkpoint."""
        ...

    def record(self, node: Scan, groups: Ints, recorded: Recorded) -> None:
        """Record states; `groups` are the groups of the segments."""
        ...


def unseen(*_: object) -> None:
    """The default observer, which does nothing."""


def evaluate(node: Node, spans: Spans, inputs: Inputs, done: Callable[[Node, Ragged], None] = unseen) -> Ragged:
    """The samples of a pipeline within spans; `done` is called with those of each operator."""
    need = needed(node, spans, inputs.resume, partial(widen, inputs))
    found: dict[Node, Ragged] = {}
    for one in in_order(node):
        parts = [found[child].restrict(need.read[one]) for child in children(one)]
        samples = _samples(one, parts, need, inputs).restrict(need.wanted[one])
        is_known = bool(parts) and samples.values is parts[0].values
        found[one] = samples if is_known else finite(samples)
        done(one, found[one])
    return found[node]


@dataclass(frozen=True, slots=True)
class Needs:
    """The spans wanted from each operator, the spans that each reads, and the states from which filters resume."""

    wanted: dict[Node, Spans]
    read: dict[Node, Spans]
    past: dict[Scan, States]


def needed(node: Node, spans: Spans, resume: Callable[[Scan, Spans], States], widen: Widen) -> Needs:
    """The needs for a pipeline's samples within spans, from the last operator down to the readings."""
    need = Needs({node: spans}, {}, {})
    for one in reversed(in_order(node)):
        asked = need.wanted[one]
        if isinstance(one, Scan):
            need.past[one] = resume(one, asked)
            need.read[one] = needs_from(one, asked, need.past[one].at)
        else:
            need.read[one] = needs(one, asked, widen)
        for child in children(one):
            known = need.wanted.get(child)
            need.wanted[child] = need.read[one] if known is None else known.hull(need.read[one])
    return need


def _samples(node: Node, parts: list[Ragged], need: Needs, inputs: Inputs) -> Ragged:
    """Evaluate an operator on the samples that it reads."""
    if isinstance(node, Source):
        return inputs.read(node, need.wanted[node])
    if isinstance(node, Scan):
        result, recorded = _resume(node, parts[0], need.past[node], inputs.lookback(node))
        inputs.record(node, need.wanted[node].groups, recorded)
        return result
    return apply(node, parts, need.wanted[node])


def _resume(node: Scan, part: Ragged, past: States, lookback: int) -> tuple[Ragged, Recorded]:
    """Evaluate an operator with a state, from its checkpoints."""
    if isinstance(node, Running):
        return run_windows(node, part, past, lookback)
    result, recorded = scan(node, part.flat, past, lookback)
    return result.shaped(part), recorded


def apply(node: Node, parts: list[Ragged], spans: Spans) -> Ragged:
    """Evaluate an operator without a state."""
    match node:
        case Where():
            return where(node, parts[0])
        case Select():
            return select(node, parts[0])
        case Scale():
            return scale(node, parts[0])
        case Modulate():
            return modulate(node, parts[0])
        case Shift(by=by):
            return Ragged(parts[0].offsets, parts[0].times + by, parts[0].values)
        case Combine():
            return combine(node, parts[0], parts[1])
        case Sample():
            return sample(node, parts[0].flat, spans).shaped(parts[0])
        case Fir():
            return filter_fir(node, parts[0].flat).shaped(parts[0])
        case Windows():
            return window(node, parts[0])
        case OverlapAdd():
            return overlap_add(node, parts[0])
        case Peaks():
            return peaks(node, parts[0])
        case Crossings():
            return crossings(node, parts[0])
        case Source() | Iir() | Feedback() | Running():
            raise AssertionError("readings and operators with a state are not applied")
        case _:
            assert_never(node)


def finite(signal: Ragged) -> Ragged:
    """The samples that are finite in every channel."""
    if np.isfinite(signal.values.ravel().view(np.float64).sum()):  # a finite sum implies finite samples
        return signal
    return signal.filter(np.asarray(np.isfinite(signal.values).all(axis=tuple(range(1, signal.values.ndim)))))


_WIDTHS = (64, 4096)
"""How many periods around a span are searched first and second, before everything is."""


def widen(inputs: Inputs, node: Sample, spans: Spans, before: int, after: int) -> Spans:
    """Spans extended by `before` and `after` readings, or by all there are."""
    start = _nearest(node, Spans(spans.groups, spans.start, spans.start), before, inputs, -1)
    stop = _nearest(node, Spans(spans.groups, spans.stop, spans.stop), after, inputs, +1)
    return Spans(spans.groups, start, stop)


def _nearest(node: Sample, edges: Spans, count: int, inputs: Inputs, side: int) -> Ints:
    """The time of the count-th reading before each edge, or the tick after the count-th one after it."""
    if not count:
        return edges.start
    result = np.full(len(edges), side * FOREVER)
    left = np.flatnonzero(np.abs(edges.start) < FOREVER)
    for width in (*(w * node.period for w in _WIDTHS), FOREVER):
        here = edges.take(left)
        found = evaluate(node.of, here.moved(-width, 0) if side < 0 else here.moved(0, width), inputs)
        enough = found.lengths >= count
        at = found.offsets[1:] - count if side < 0 else found.offsets[:-1] + count - 1
        result[left[enough]] = found.times[at[enough]] + (side > 0)
        left = left[~enough]
        if not len(left):
            break
    return result
