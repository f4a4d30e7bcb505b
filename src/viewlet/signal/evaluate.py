"""What a pipeline means: its samples within some spans, computed from the readings around them.

Offline the spans are everything; online they are what a change reaches. The law, which makes both one program: the
samples within a span are the same, however much more is computed. Needs go down the pipeline, to the readings; samples
come up. A sample is a finite number: where an operator gives none, the sample is missing.
"""

from __future__ import annotations

from typing import Protocol, assert_never

import numpy as np

from viewlet.signal.detect import crossings, peaks
from viewlet.signal.filters import filter_fir
from viewlet.signal.interpolate import sample
from viewlet.signal.nodes import (
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
from viewlet.signal.overlap import overlap_add
from viewlet.signal.pointwise import combine, modulate, scale, select, where
from viewlet.signal.ragged import FOREVER, Ints, Ragged, Spans, later
from viewlet.signal.reach import needs
from viewlet.signal.scans import Recorded, States, scan
from viewlet.signal.windows import run_windows, window


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


def evaluate(node: Node, spans: Spans, inputs: Inputs) -> Ragged:
    """The samples of a pipeline within spans."""
    return _Evaluation(node, spans, inputs).run()


class _Evaluation:
    """One evaluation: what is needed of each operator, then what each gives, each once."""

    def __init__(self, node: Node, spans: Spans, inputs: Inputs) -> None:
        self.node, self.inputs = node, inputs
        self.wanted: dict[Node, Spans] = {node: spans}
        self.read: dict[Node, Spans] = {}
        self.past: dict[Scan, States] = {}
        self.found: dict[Node, Ragged] = {}

    def run(self) -> Ragged:
        order = in_order(self.node)
        for node in reversed(order):
            self._need(node)
        for node in order:
            spans = self.wanted[node]
            self.found[node] = finite(self._apply(node, spans).restrict(spans))
        return self.found[self.node]

    def _need(self, node: Node) -> None:
        spans = self.wanted[node]
        if isinstance(node, Iir | Feedback):
            self.past[node] = self.inputs.resume(node, spans)
            self.read[node] = Spans(spans.groups, later(self.past[node].at, 1), spans.stop)
        else:
            self.read[node] = needs(node, spans, self._widen)
        for child in children(node):
            known = self.wanted.get(child)
            self.wanted[child] = self.read[node] if known is None else known.hull(self.read[node])

    def _widen(self, node: Sample, spans: Spans, before: int, after: int) -> Spans:
        return widen(node, spans, before, after, self.inputs)

    def _apply(self, node: Node, spans: Spans) -> Ragged:
        if isinstance(node, Source):
            return self.inputs.read(node, spans)
        parts = [self.found[child].restrict(self.read[node]) for child in children(node)]
        if isinstance(node, Iir | Feedback):
            result, recorded = scan(node, parts[0], self.past[node], self.inputs.lookback(node))
            self.inputs.record(node, spans.groups, recorded)
            return result
        return apply(node, parts, spans)


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
            return sample(node, parts[0], spans)
        case Fir():
            return filter_fir(node, parts[0])
        case Windows():
            return window(node, parts[0])
        case Running():
            return run_windows(node, parts[0])
        case OverlapAdd():
            return overlap_add(node, parts[0])
        case Peaks():
            return peaks(node, parts[0])
        case Crossings():
            return crossings(node, parts[0])
        case Source() | Iir() | Feedback():
            raise AssertionError("readings and filters with a state are not applied")
        case _:
            assert_never(node)


def finite(signal: Ragged) -> Ragged:
    """The samples that are numbers, in every channel."""
    if np.isfinite(signal.values).all():
        return signal
    return signal.filter(np.asarray(np.isfinite(signal.values).all(axis=tuple(range(1, signal.values.ndim)))))


_WIDTHS = (64, 4096)
"""How many periods around a span are looked through first, before everything is."""


def widen(node: Sample, spans: Spans, before: int, after: int, inputs: Inputs) -> Spans:
    """Spans with so many more readings on either side, or all that there are."""
    start = _nearest(node, Spans(spans.groups, spans.start, spans.start), before, inputs, -1)
    stop = _nearest(node, Spans(spans.groups, spans.stop, spans.stop), after, inputs, +1)
    return Spans(spans.groups, start, stop)


def _nearest(node: Sample, edges: Spans, count: int, inputs: Inputs, side: int) -> Ints:
    """The time of the count-th reading before each edge, or just after the count-th one after it."""
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
