"""`Signal`: each method call adds an operator to the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from viewlet.errors import UnsupportedQuery, WrongArgument, shortened
from viewlet.signal.build.align import align
from viewlet.signal.build.policies import HELD, Interpolate, policy_of
from viewlet.signal.build.trial import probe_samples
from viewlet.signal.build.waves import Continuous
from viewlet.signal.build.windowed import Merging, Windowed, WindowOperator, laid_out, running
from viewlet.signal.operators.scans import NEGLIGIBLE, settling
from viewlet.signal.plan.durations import Clock, Duration, positive, ticks
from viewlet.signal.plan.functions import Function, function
from viewlet.signal.plan.kinds import Grid, Kind, kind_of
from viewlet.signal.plan.nodes import (
    Combine,
    Crossings,
    Feedback,
    Fir,
    Gaps,
    Iir,
    Missing,
    Modulate,
    Node,
    Peaks,
    Policy,
    Sample,
    Scale,
    Select,
    Shift,
    Where,
    sources,
)
from viewlet.signal.plan.numbers import coefficients, whole
from viewlet.signal.plan.show import show


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal for each group of a table's or view's rows; every method returns another signal."""

    node: Node

    def __post_init__(self) -> None:
        kind_of(self.node)  # raises if the operator does not fit

    def __str__(self) -> str:
        return show(self.node)

    @property
    def kind(self) -> Kind:
        """Its channels, and its grid if it is uniform."""
        return kind_of(self.node)

    @property
    def clock(self) -> Clock:
        return sources(self.node)[0].clock

    def where(self, condition: Callable[..., Any]) -> Signal:
        """Return the samples for which a function of the channels, as arrays, is true."""
        return Signal(Where(self.node, function(condition)))

    def threshold(self, *, above: float | None = None, below: float | None = None) -> Signal:
        """The samples above a number, below one, or both."""
        low, high = -np.inf if above is None else above, np.inf if below is None else below
        return Signal(Where(self.node, Function(f"{low:g} < x < {high:g}", lambda x: (x > low) & (x < high))))

    def select(
        self, change: Callable[..., Any], channels: Sequence[str] | None = None, *, time: bool = False
    ) -> Signal:
        """Apply a function to the channels, as arrays; it may return one channel, or several as a tuple.

        If samples are arrays, a row is one sample; the function may return arrays of another width, or numbers. With
        `time`, it gets the times before the channels, in ticks: microseconds since 1970 for timestamps.
        """
        own = function(change)
        return Signal(Select(self.node, own, *probe_samples(own, self.kind, channels, time), time))

    def scale(self, factor: complex, plus: complex = 0.0) -> Signal:
        """factor · x + plus"""
        return Signal(Scale(self.node, factor, plus))

    def shift(self, by: Duration) -> Signal:
        """Delay the signal."""
        return Signal(Shift(self.node, ticks("the shift", by, self.clock)))

    def __add__(self, other: Signal | Continuous | complex) -> Signal:
        return self.scale(1.0, other) if isinstance(other, _NUMBERS) else self.combine(other, "+")

    def __sub__(self, other: Signal | Continuous | complex) -> Signal:
        return self.scale(1.0, -other) if isinstance(other, _NUMBERS) else self.combine(other, "-")

    def __mul__(self, other: Signal | Continuous | complex) -> Signal:
        return self.scale(other) if isinstance(other, _NUMBERS) else self.combine(other, "*")

    def __truediv__(self, other: Signal | Continuous | complex) -> Signal:
        return self.scale(1 / other) if isinstance(other, _NUMBERS) else self.combine(other, "/")

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Continuous | complex) -> Signal:
        return -self + other

    def __neg__(self) -> Signal:
        return self.scale(-1.0)

    def combine(self, other: Signal | Continuous, operator: str) -> Signal:
        """Combine samples of both at equal times; the slower of two uniform signals is resampled first."""
        if isinstance(other, Continuous):
            return Signal(Modulate(self.node, other.wave(self.clock), operator))
        if not isinstance(other, Signal):
            raise WrongArgument(f"{shortened(other)} is not a signal", hint="combine signals, numbers and waves")
        return Signal(Combine(*align(self.node, other.node), operator))

    def zip(self, other: Signal) -> Signal:
        """Return the channels of both, at the times that both have."""
        return self.combine(other, "zip")

    def sample(
        self,
        period: Duration,
        interpolate: Interpolate | None = None,
        *,
        offset: Duration | None = None,
        max_gap: Duration | None = None,
        value: float = 0.0,
    ) -> Signal:
        """A uniform signal: a sample at each offset + k · period between readings, linear by default.

        If readings hold for some time (`until`), there is a sample wherever one holds.
        """
        length = positive("the period", period, self.clock)
        start = 0 if offset is None else ticks("the offset", offset, self.clock)
        gap = None if max_gap is None else positive("the maximal gap", max_gap, self.clock)
        if self.kind.is_held:
            if interpolate is not None or max_gap is not None:
                raise WrongArgument("readings with `until` are not interpolated", hint="give the period alone")
            return Signal(Sample(self.node, length, start % length, HELD))
        return Signal(Sample(self.node, length, start % length, policy_of(interpolate or "linear", gap, value)))

    def upsample(self, times: int, interpolate: Interpolate | Literal["bandlimited"] | None = None) -> Signal:
        """Multiply the sampling rate; samples in between are interpolated."""
        grid, times = self._grid("upsampling"), whole("times", times)
        if grid.period % times:
            raise UnsupportedQuery(f"a period of {grid.period} ticks cannot be cut into {times} parts")
        if interpolate == "bandlimited":
            return self._bandlimited(grid, grid.period // times)
        policy = self._policy(grid) if interpolate is None else policy_of(interpolate, grid.period, 0.0)
        return Signal(Sample(self.node, grid.period // times, grid.offset % (grid.period // times), policy))

    def downsample(self, every: int, *, antialias: bool = True) -> Signal:
        """Take every n-th sample, after an anti-alias filter for the new rate."""
        grid, every = self._grid("downsampling"), whole("every", every)
        return self._resampled(every * grid.period, grid.offset, antialias, policy_of("none", None, 0.0))

    def resample(
        self,
        period: Duration,
        interpolate: Interpolate | Literal["bandlimited"] | None = None,
        *,
        antialias: bool = True,
    ) -> Signal:
        """Change the period; a longer one applies an anti-alias filter.

        `"bandlimited"` is `scipy.signal.resample_poly`: it adds no frequency that the signal did not have.
        """
        grid, length = self._grid("resampling"), positive("the period", period, self.clock)
        if interpolate == "bandlimited":
            return self._bandlimited(grid, length)
        policy = self._policy(grid) if interpolate is None else policy_of(interpolate, grid.period, 0.0)
        return self._resampled(length, grid.offset, antialias, policy)

    def _resampled(self, period: int, offset: int, antialias: bool, policy: Policy) -> Signal:
        ratio = period / self._grid("resampling").period
        smooth = self._below(ratio) if antialias and ratio > 1 else self
        return Signal(Sample(smooth.node, period, offset % period, policy))

    def _bandlimited(self, grid: Grid, period: int) -> Signal:
        """Insert zeros, on the coarsest grid that contains both, apply a filter, and decimate."""
        fine = gcd(grid.period, period)
        stuffed = Sample(self.node, fine, grid.offset % fine, policy_of("constant", grid.period, 0.0))
        smooth = Signal(stuffed)._below(max(grid.period, period) / fine).scale(grid.period / fine)
        return Signal(Sample(smooth.node, period, grid.offset % period, policy_of("none", None, 0.0)))

    def _below(self, ratio: float) -> Signal:
        """Remove frequencies above 1 / ratio of the highest, by the filter of SciPy's `resample_poly`."""
        from scipy.signal import firwin

        half = round(10 * ratio)
        return self.fir(firwin(2 * half + 1, 1 / ratio, window=("kaiser", 5.0)), ahead=half)

    def _policy(self, grid: Grid) -> Policy:
        return self.kind.policy or policy_of("linear", grid.period, 0.0)

    def _grid(self, what: str) -> Grid:
        grid = self.kind.grid
        if grid is None:
            raise UnsupportedQuery(f"{what} needs a uniform signal", hint="call .sample(period, …) before it")
        return grid

    def fir(self, taps: ArrayLike, *, ahead: int = 0, missing: Missing = "zero") -> Signal:
        """y[n] = Σ taps[i] · x[n + ahead − i]"""
        found = coefficients("taps", taps)
        if not 0 <= ahead < len(found):
            raise WrongArgument(f"{len(found)} taps cannot look {ahead} samples ahead", hint="0 ≤ ahead < len(taps)")
        return Signal(Fir(self.node, found, ahead, _missing(missing)))

    def convolve(self, kernel: ArrayLike) -> Signal:
        """The convolution with a kernel."""
        return self.fir(kernel)

    def correlate(self, template: ArrayLike) -> Signal:
        """The similarity of the last samples to a template: Σ template[i] · x[n − len + 1 + i]."""
        return self.fir(np.conj(np.asarray(template))[::-1])

    def cross_correlate(self, other: Signal, size: Duration, hop: Duration | None = None) -> Signal:
        """The correlation of two signals in each window, at every lag: an array of 2 · size − 1 numbers."""
        return self.zip(other).windows(size, hop).correlate().arrays()

    def iir(self, sections: ArrayLike, *, missing: Missing = "restart") -> Signal:
        """A filter of second-order sections, as from `scipy.signal.butter(4, 5, fs=100, output="sos")`."""
        rows = np.atleast_2d(np.asarray(sections, dtype=np.float64))
        if rows.shape[1:] != (6,):
            raise WrongArgument(f"sections of shape {rows.shape}", hint='give second-order sections: output="sos"')
        found = tuple(tuple(float(x) for x in row) for row in rows)
        if _missing(missing) == "zero" and settling(found, NEGLIGIBLE) is None:
            raise UnsupportedQuery("a filter that never settles cannot run through gaps", hint='missing="restart"')
        return Signal(Iir(self.node, found, missing))

    def filter(
        self,
        compute: Callable[[Any, Any], Any],
        *,
        forward: int,
        backward: int = 0,
        missing: Missing = "restart",
        rest: int | None = None,
    ) -> Signal:
        """Apply a user-defined filter: compute(inputs, outputs) of the last `forward` samples and `backward` results.

        Both are arrays with a row for each filtered group and the newest in the last column; it returns a
        number for each row. With `missing="zero"` it runs through gaps, with zeros for missing samples; a filter that
        reads its own results might never settle, so it restarts after `rest` missing samples.
        """
        inputs, outputs = whole("forward", forward), whole("backward", backward, 0)
        through = _through(inputs, outputs, rest) if _missing(missing) == "zero" else 0
        return Signal(Feedback(self.node, function(compute), inputs, outputs, through))

    def windows(self, size: Duration, hop: Duration | None = None, *, missing: Gaps = "invalid") -> Windowed:
        """Windows of a number of samples or a duration, one every `hop`; by default adjacent."""
        return Windowed.of(self.node, size, hop, missing)

    def moving(self, statistic: str, size: Duration, *, missing: Gaps = "invalid") -> Signal:
        """A statistic of the last samples, at every sample: mean, sum, min, max, std, median, rms, energy, power."""
        return self.windows(size, 1, missing=missing).reduce(statistic)

    def running(
        self,
        operator: WindowOperator,
        size: Duration,
        hop: Duration | None = None,
        *,
        renew: int | None = None,
        missing: Gaps = "invalid",
    ) -> Signal:
        """Windows that a user-defined operator updates from the previous window.

        Its states are kept from one epoch to the next. Every `renew` windows, one is computed from scratch.
        """
        return Signal(running(self.node, operator, size, hop, renew, missing))

    def overlap_add(self, period: Duration, merge: Merging = "sum", *, width: int | None = None) -> Signal:
        """Place samples that are arrays on the time axis: their numbers `period` apart, the last at the sample's time.

        With a `width`, that many numbers belong to each time, and the resulting samples are arrays of this width.
        """
        each = None if width is None else whole("width", width)
        return Signal(laid_out(self.node, positive("the period", period, self.clock), merge, each))

    def envelope(self, taps: int = 65) -> Signal:
        """The magnitude of the analytic signal, by a Hilbert transformer with `taps` taps."""
        from scipy.signal import remez

        if taps < 3 or taps % 2 == 0:
            raise WrongArgument(f"a Hilbert transformer of {taps} taps", hint="an odd number, 3 or more")
        transformer = remez(taps, [0.05, 0.45], [1], type="hilbert")
        return self.combine(self.fir(transformer, ahead=taps // 2), "hypot")

    def peaks(self, radius: int = 1, *, above: float = -np.inf) -> Signal:
        """Samples above all `radius` samples before them and not below any of the `radius` after them."""
        return Signal(Peaks(self.node, whole("radius", radius), float(above)))

    def crossings(self, level: float, direction: Literal["rising", "falling"] = "rising") -> Signal:
        """Samples at which the signal has just reached a level, or fallen below it."""
        if direction not in ("rising", "falling"):
            raise WrongArgument(f"the direction is {shortened(direction)}", hint="rising or falling")
        return Signal(Crossings(self.node, float(level), direction))


_NUMBERS = int | float | complex


def _through(inputs: int, outputs: int, rest: int | None) -> int:
    """How many consecutive missing samples a user-defined filter treats as zeros."""
    if rest is not None:
        return whole("rest", rest)
    if outputs:
        raise WrongArgument(
            "a filter that reads its own results may never settle", hint="rest=1000: it restarts after so many"
        )
    return inputs  # after these its memory is all zeros, as at the start


def _missing(value: Any) -> Missing:
    if value not in ("zero", "restart"):
        raise WrongArgument(f"missing is {shortened(value)}", hint="zero or restart")
    return value
