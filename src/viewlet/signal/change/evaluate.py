"""What a pipeline means: its samples within some spans, computed from the readings around them.

Offline the spans are everything; online they are what a change reaches. The law, which makes both one program: the
samples within a span are the same, however much more is computed. Needs go down the pipeline, to the readings; samples
come up. A sample is a finite number: where an operator gives none, the sample is missing.
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
    """What an evaluation reads: the readings, and the checkpoints of filters."""

    def read(self, source: Source, spans: Spans) -> Ragged:
        """The readings within spans."""
        ...

    def resume(self, node: Scan, spans: Spans) -> States:
        """The last checkpoint of each group before its span."""
        ...

    def lookback(self, node: Scan) -> int:
        """How many samples before the newest one a checkpoint is wanted."""
        ...

    def record(self, node: Scan, groups: Ints, recorded: Recorded) -> None:
        """Takes down states that were passed; `groups` are those of the segments."""
        ...


def unseen(*_: object) -> None:
    """For those who want no more than the result."""


def evaluate(node: Node, spans: Spans, inputs: Inputs, done: Callable[[Node, Ragged], None] = unseen) -> Ragged:
    """The samples of a pipeline within spans; `done` sees those of each operator."""
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
    """What is asked of each operator, what each reads, and the states from which filters go on."""

    wanted: dict[Node, Spans]
    read: dict[Node, Spans]
    past: dict[Scan, States]


def needed(node: Node, spans: Spans, resume: Callable[[Scan, Spans], States], widen: Widen) -> Needs:
    """What it takes to have a pipeline's samples within spans, from the last operator down to the readings."""
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
    """An operator on the samples that it reads."""
    if isinstance(node, Source):
        return inputs.read(node, need.wanted[node])
    if isinstance(node, Scan):
        result, recorded = _resume(node, parts[0], need.past[node], inputs.lookback(node))
        inputs.record(node, need.wanted[node].groups, recorded)
        return result
    return apply(node, parts, need.wanted[node])


def _resume(node: Scan, part: Ragged, past: States, lookback: int) -> tuple[Ragged, Recorded]:
    """An operator with a state, from its checkpoints on."""
    if isinstance(node, Running):
        return run_windows(node, part, past, lookback)
    result, recorded = scan(node, part.flat, past, lookback)
    return result.shaped(part), recorded


def apply(node: Node, parts: list[Ragged], spans: Spans) -> Ragged:
    """An operator without a state, on the samples that it needs."""
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
    """The samples that are numbers, in every channel."""
    if np.isfinite(signal.values.ravel().view(np.float64).sum()):  # no other sum is
        return signal
    return signal.filter(np.asarray(np.isfinite(signal.values).all(axis=tuple(range(1, signal.values.ndim)))))


_WIDTHS = (64, 4096)
"""How many periods around a span are looked through first, before everything is."""


def widen(inputs: Inputs, node: Sample, spans: Spans, before: int, after: int) -> Spans:
    """Spans with so many more readings on either side, or all that there are."""
    start = _nearest(node, Spans(spans.groups, spans.start, spans.start), before, inputs, -1)
    stop = _nearest(node, Spans(spans.groups, spans.stop, spans.stop), after, inputs, +1)
    return Spans(spans.groups, start, stop)


def _nearest(node: Sample, edges: Spans, count: int, inputs: Inputs, side: int) -> Ints:
    """The time of the count-th reading before each edge, or just after the count-th one after it."""
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
