"""Random pipelines as recipes: steps that are taken through the product's signals and through the naive ones alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import signal as ss

from tests.signal.naive import Naive
from viewlet.errors import UnsupportedQuery
from viewlet.signal import Interpolation, Signal, wave
from viewlet.signal.plan.nodes import Source

SOURCE = Source("readings", ("sensor",), "at", "number", ("v",), False, "error")
READINGS = Signal(SOURCE)
Step = Callable[[Any], Any]
"""From a signal to a signal, of either kind."""


def either(product: Step, naive: Step) -> Step:
    """A step that is written differently for the two."""
    return lambda signal: naive(signal) if isinstance(signal, Naive) else product(signal)


class Smoothed:
    """A running mean and sum, brought up to date from one window to the next."""

    def recompute(self, window: Any) -> Any:
        return window.sum(axis=1)

    def update(self, result: Any, window: Any, old: Any, new: Any) -> Any:
        return result - old.sum(axis=1) + new.sum(axis=1)


class SlidingSpectrum:
    """Three bins of the transform of each window, kept by a sliding transform; what a window gives is their power."""

    bins = np.array([0, 1, 3])

    def turns(self, samples: int, size: int) -> Any:
        return np.exp(-2j * np.pi * np.outer(np.arange(samples), self.bins) / size)

    def recompute(self, window: Any) -> Any:
        return window @ self.turns(window.shape[1], window.shape[1])

    def update(self, state: Any, window: Any, old: Any, new: Any) -> Any:
        size, hop = window.shape[1], old.shape[1]
        moved = np.exp(2j * np.pi * self.bins * hop / size)
        return (state + (new - old) @ self.turns(hop, size)) * moved

    def result(self, state: Any) -> Any:
        return np.abs(state) ** 2


class SlidingTransform(SlidingSpectrum):
    """The whole transform of windows of eight."""

    bins = np.arange(8)

    def result(self, state: Any) -> Any:
        return state


SOS = {
    "low": ss.butter(4, 0.2, output="sos"),
    "band": ss.cheby1(3, 1, [0.2, 0.5], "bandpass", output="sos"),
    "slow": ss.butter(2, 0.02, output="sos"),
    "quick": np.array([[1.0, 0.5, 0.0, 1.0, -0.1, 0.0]]),  # settles within a dozen samples: changes are felt apart
}
LEAKY = ([0.5, 0.2], [1.0, -0.3, 0.2])
TAPS = [0.7, -0.2, 0.4]
REST = 4


def leaky(inputs: Any, outputs: Any) -> Any:
    """y[n] = 0.5 x[n] + 0.2 x[n − 1] + 0.3 y[n − 1] − 0.2 y[n − 2]"""
    return 0.5 * inputs[:, 1] + 0.2 * inputs[:, 0] + 0.3 * outputs[:, 1] - 0.2 * outputs[:, 0]


def weighted(inputs: Any, outputs: Any) -> Any:
    """y[n] = Σ TAPS[i] · x[n − i]"""
    return inputs @ TAPS[::-1]


def parabola(times: Any, values: Any) -> Any:
    """Through three points of each row, where the time is 0."""
    return np.linalg.solve(times[:, :, None] ** np.arange(3), values[:, :, None])[:, 0, 0]


def cleaned(spectra: Any) -> Any:
    """Windows without the faster half of their spectra."""
    return np.fft.ifft(halved(spectra))


def halved(windows: Any) -> Any:
    """The slower half of a spectrum."""
    return np.where(np.arange(windows.shape[1]) < windows.shape[1] // 2, windows, 0)


def summed(windows: Any) -> Any:
    """Running sums."""
    return np.cumsum(windows, axis=1)


def middle(overlaps: Any) -> Any:
    """The median of each row, whose NaN do not count."""
    return np.nanmedian(overlaps, axis=-1)


ANY: dict[str, Step] = {
    "where": lambda s: s.where(lambda x: x > -0.6180339887),
    "threshold": lambda s: s.threshold(above=-1.4142135, below=1.2360679),
    "select": lambda s: s.select(np.tanh),
    "scale": lambda s: s.scale(-2.5, 0.75),
    "shift": lambda s: s.shift(7),
    "carrier": either(lambda s: s * wave(70, 2.0), lambda s: s.modulated(70, 2.0)),
    "of the time": either(
        lambda s: s.select(lambda t, x: x * np.sin(t / 50), time=True),
        lambda s: s.timed(lambda t, x: x * np.sin(t / 50)),
    ),
    "times itself shifted": either(lambda s: s * s.shift(20), lambda s: s.combine(s.shift(20), "*")),
    "minus itself shifted": either(lambda s: s - s.shift(20), lambda s: s.combine(s.shift(20), "-")),
}
"""Steps on any signal."""


def sampled(how: str, gap: int | None) -> Step:
    return lambda s: s.sample(10, how, offset=3, max_gap=gap)


def sampled_by_oneself(gap: int | None) -> Step:
    own = Interpolation(parabola, before=2, after=1)
    return either(lambda s: s.sample(10, own, offset=3, max_gap=gap), sampled("quadratic", gap))


SAMPLE = {
    f"sample {how} {gap}": sampled(how, gap)
    for how in ("none", "constant", "last", "step", "linear", "quadratic", "cubic")
    for gap in (35, None)
} | {f"sample own {gap}": sampled_by_oneself(gap) for gap in (35, None)}
"""Steps from any signal to a uniform one."""

DETECT: dict[str, Step] = {
    "peaks": lambda s: s.peaks(2, above=0.1234567),
    "rising": lambda s: s.crossings(0.1618, "rising"),
    "falling": lambda s: s.crossings(-0.2718, "falling"),
}
"""Steps that depend on which of two numbers is greater: taken where they are not made of roundings."""

UNIFORM: dict[str, Step] = {
    "fir": lambda s: s.fir([0.5, -0.25, 0.125, 1.0]),
    "fir ahead": lambda s: s.fir(np.hanning(9), ahead=4, missing="restart"),
    "long fir": lambda s: s.fir(np.cos(np.arange(150.0)) / 30, ahead=7),
    "iir": lambda s: s.iir(SOS["low"]),
    "iir band": lambda s: s.iir(SOS["band"], missing="zero"),
    "iir quick": lambda s: s.iir(SOS["quick"]),
    "iir slow": lambda s: s.iir(SOS["slow"]),
    "own filter": either(lambda s: s.filter(leaky, forward=2, backward=2), lambda s: s.leaky(*LEAKY)),
    "own filter through gaps": either(
        lambda s: s.filter(leaky, forward=2, backward=2, missing="zero", rest=REST), lambda s: s.leaky(*LEAKY, REST)
    ),
    "own fir through gaps": either(
        lambda s: s.filter(weighted, forward=len(TAPS), missing="zero"), lambda s: s.fir(TAPS)
    ),
    "moving mean": lambda s: s.moving("mean", 4),
    "moving std": lambda s: s.moving("std", 3),
    "moving median": lambda s: s.moving("median", 5),
    "envelope": lambda s: s.envelope(7),
    "downsample": lambda s: s.downsample(2),
    "downsample plainly": lambda s: s.downsample(3, antialias=False),
    "upsample": lambda s: s.upsample(2),
    "resample": lambda s: s.resample(25),
    "running": either(
        lambda s: s.running(Smoothed(), 4, 2, renew=3), lambda s: s.windows(4, 2, "invalid").reduce("sum")
    ),
    "running over zeros": either(
        lambda s: s.running(Smoothed(), 4, 2, renew=3, missing="zero"),
        lambda s: s.windows(4, 2, "zero").reduce("sum"),
    ),
    "running over lines": either(
        lambda s: s.running(Smoothed(), 5, 2, renew=4, missing="interpolate"),
        lambda s: s.windows(5, 2, "interpolate").reduce("sum"),
    ),
    "sliding denoise": either(
        lambda s: s.running(SlidingTransform(), 8, 4).select(cleaned).overlap_add(s.kind.grid.period).select(np.real),
        lambda s: s.windows(8, 4, "invalid").fft().apply(halved).ifft().overlap_add("sum").select(np.real),
    ),
    "spectrum max": lambda s: (
        s.windows(8, 4, missing="interpolate").taper("hann").rfft().spectrum("power").reduce("max")
    ),
    "denoise": lambda s: s.windows(8, 4, missing="zero").taper("hann").rfft().apply(halved).irfft().overlap_add("sum"),
    "overlap mean": lambda s: s.windows(6, 4, missing="invalid").apply(summed).overlap_add("mean"),
    "overlap median": lambda s: s.windows(6, 2, missing="zero").taper("hann").overlap_add(middle),
    "tumbling rms": lambda s: s.windows(5, 5, missing="zero").reduce("rms"),
    "plus faster": either(
        lambda s: s + s.upsample(2).moving("mean", 2), lambda s: s.combine(s.upsample(2).moving("mean", 2), "+")
    ),
    "plus offset": either(lambda s: s + s.shift(4), lambda s: s.combine(s.shift(4), "+")),
}
"""Steps from a uniform signal to a uniform signal."""

ARRAYS: dict[str, Step] = {
    "sliding spectrum": either(
        lambda s: s.running(SlidingSpectrum(), 8, 1, renew=5),
        lambda s: s.windows(8, 1, "invalid").map(lambda x: np.abs(np.fft.fft(x)[SlidingSpectrum.bins]) ** 2).arrays(),
    ),
    "spectrum": lambda s: s.windows(8, 8, missing="invalid").rfft().spectrum("magnitude").arrays(),
    "complex": lambda s: s.windows(6, 3, missing="zero").fft().arrays(),
    "autocorrelation": lambda s: s.windows(5, 2, missing="invalid").autocorrelate().arrays(),
}
"""Last steps, to arrays."""

STEPS = ANY | SAMPLE | DETECT | UNIFORM | ARRAYS


@dataclass(frozen=True)
class Recipe:
    """Steps by their names."""

    steps: tuple[str, ...]

    def __call__(self, signal: Any) -> Any:
        for step in self.steps:
            signal = STEPS[step](signal)
        return signal


@st.composite
def recipes(draw: st.DrawFn, depth: int = 6, without: frozenset[str] = frozenset()) -> Recipe:
    """Up to six steps: some on readings, one that makes them uniform, some on uniform signals."""
    early = sorted(ANY.keys() - without)
    steps = [draw(st.sampled_from(early)) for _ in range(draw(st.integers(0, 2)))]
    steps.append(draw(st.sampled_from(sorted(SAMPLE))))
    if not DETECT.keys() <= without and draw(st.booleans()):
        steps.append(draw(st.sampled_from(sorted(DETECT))))
    more = sorted((UNIFORM | ANY).keys() - without - {"where", "threshold"})  # these would decide by roundings
    steps += [draw(st.sampled_from(more)) for _ in range(draw(st.integers(0, depth - len(steps))))]
    if len(steps) < depth and draw(st.integers(0, 3)) == 0:
        steps.append(draw(st.sampled_from(sorted(ARRAYS.keys() - without))))
    return fitting(steps)


def fitting(steps: list[str]) -> Recipe:
    """The steps without those that a period which cannot be halved any more refuses."""
    kept: list[str] = []
    for step in steps:
        try:
            Recipe((*kept, step))(READINGS)
            kept.append(step)
        except UnsupportedQuery as error:
            if "cannot be cut" not in str(error):
                raise
    return Recipe(tuple(kept))
