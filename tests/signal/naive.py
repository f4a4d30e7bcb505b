"""Signals computed slowly and obviously: a dict from times to numbers, with plain loops, SciPy and pandas.

It has the methods of `viewlet.signal.Signal`, so that a recipe can be taken through both. Nothing here is the product's.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import signal as ss

Samples = dict[int, Any]
"""Of one group: numbers or arrays by time."""


@dataclass(frozen=True)
class Naive:
    """A signal of one group; `grid` is (period, offset) if it is uniform, `policy` what it is interpolated by."""

    samples: Samples
    grid: tuple[int, int] | None = None
    policy: tuple[str, int | None] = ("linear", None)

    def where(self, condition: Callable[[Any], Any]) -> Naive:
        return self._only(lambda t, x: bool(condition(np.array([x]))[0]))

    def threshold(self, above: float, below: float) -> Naive:
        return self._only(lambda t, x: above < x < below)

    def _only(self, keep: Callable[[int, Any], bool]) -> Naive:
        return replace(self, samples={t: x for t, x in self.samples.items() if keep(t, x)})

    def select(self, change: Callable[[Any], Any]) -> Naive:
        return replace(self, samples={t: change(np.array([x]))[0] for t, x in self.samples.items()})

    def timed(self, change: Callable[[Any, Any], Any]) -> Naive:
        return replace(self, samples={t: change(t, x) for t, x in self.samples.items()})

    def scale(self, factor: float, plus: float = 0.0) -> Naive:
        return replace(self, samples={t: factor * x + plus for t, x in self.samples.items()})

    def shift(self, by: int) -> Naive:
        grid = self.grid and (self.grid[0], (self.grid[1] + by) % self.grid[0])
        return replace(self, samples={t + by: x for t, x in self.samples.items()}, grid=grid)

    def modulated(self, period: int, amplitude: float) -> Naive:
        return replace(
            self, samples={t: x * amplitude * np.cos(2 * np.pi * t / period) for t, x in self.samples.items()}
        )

    def combine(self, other: Naive, operator: str) -> Naive:
        """Both brought to the faster grid, or shifted onto each other."""
        a, b = self, other
        if a.grid and b.grid and a.grid[0] == b.grid[0]:
            b = b.shift(a.grid[1] - b.grid[1])
        elif a.grid and (b.grid is None or a.grid[0] < b.grid[0]):
            b = b.sample(a.grid[0], b.policy[0], offset=a.grid[1], max_gap=b.policy[1])
        elif b.grid:
            a = a.sample(b.grid[0], a.policy[0], offset=b.grid[1], max_gap=a.policy[1])
        compute = {"+": np.add, "-": np.subtract, "*": np.multiply, "hypot": np.hypot}[operator]
        both = {t: compute(x, b.samples[t]) for t, x in a.samples.items() if t in b.samples}
        return replace(a, samples=both)

    def sample(self, period: int, interpolate: str, *, offset: int = 0, max_gap: int | None = None) -> Naive:
        times, found = sorted(self.samples), {}
        for t in range(times[0], times[-1] + 1) if times else ():
            if (t - offset) % period == 0 and (x := self._at(t, times, interpolate, max_gap)) is not None:
                found[t] = x
        policy = (interpolate, 0 if interpolate == "none" else max_gap)
        return Naive(found, (period, offset % period), policy)

    def _at(self, t: int, times: list[int], how: str, max_gap: int | None) -> Any:
        if t in self.samples:
            return self.samples[t]
        i = bisect.bisect(times, t) - 1
        first, last = {"quadratic": (i - 1, i + 1), "cubic": (i - 1, i + 2)}.get(how, (i, i + 1))
        if how == "none" or first < 0 or last >= len(times):
            return None
        points = times[first : last + 1]
        if max_gap is not None and max(np.diff(points)) > max_gap:
            return None
        left, right = times[i], times[i + 1]
        match how:
            case "constant":
                return 0.0
            case "last":
                return self.samples[left]
            case "step":
                return self.samples[right if right - t < t - left else left]
            case "linear":
                return np.interp(t, [left, right], [self.samples[left], self.samples[right]])
            case _:
                x = np.array(points) - t
                return np.linalg.solve(np.vander(x, increasing=True), [self.samples[p] for p in points])[0]

    def resample(self, period: int) -> Naive:
        return self._resampled(period, *self._policy())

    def downsample(self, every: int, antialias: bool = True) -> Naive:
        return self._resampled(every * self._period, "none", None, antialias)

    def upsample(self, times: int) -> Naive:
        how, gap = self._policy()
        return self.sample(self._period // times, how, offset=self._offset, max_gap=gap)

    def _policy(self) -> tuple[str, int | None]:
        return self.policy

    def _resampled(self, period: int, how: str, gap: int | None, antialias: bool = True) -> Naive:
        ratio = period / self._period
        smooth = self
        if antialias and ratio > 1:
            half = round(10 * ratio)
            smooth = self.fir(ss.firwin(2 * half + 1, 1 / ratio, window=("kaiser", 5.0)), ahead=half)
        return smooth.sample(period, how, offset=self._offset, max_gap=gap)

    @property
    def _period(self) -> int:
        assert self.grid is not None
        return self.grid[0]

    @property
    def _offset(self) -> int:
        assert self.grid is not None
        return self.grid[1]

    def fir(self, taps: Any, *, ahead: int = 0, missing: str = "zero") -> Naive:
        if missing == "restart":
            parts = [_fir(run, taps, ahead, self._period) for run in self.runs()]
            return replace(self, samples={t: x for part in parts for t, x in part.items()})
        return replace(self, samples=_fir(self.samples, taps, ahead, self._period))

    def runs(self, missing: int = 0) -> list[Samples]:
        """Stretches in which at most so many samples in a row are missing."""
        found: list[Samples] = []
        for t in sorted(self.samples):
            if not found or t - max(found[-1]) > (missing + 1) * self._period:
                found.append({})
            found[-1][t] = self.samples[t]
        return found

    def iir(self, sections: Any, *, missing: str = "restart") -> Naive:
        if missing == "zero" and self.samples:
            every = range(min(self.samples), max(self.samples) + 1, self._period)
            filtered = ss.sosfilt(sections, [self.samples.get(t, 0.0) for t in every])
            return self._with(dict(zip(every, filtered, strict=True)))
        parts: Samples = {}
        for run in self.runs():
            parts.update(zip(run, ss.sosfilt(sections, list(run.values())), strict=True))
        return replace(self, samples=parts)

    def _with(self, values: Samples) -> Naive:
        return replace(self, samples={t: values[t] for t in self.samples})

    def leaky(self, b: list[float], a: list[float], rest: int = 0) -> Naive:
        """What a filter of one's own with these coefficients gives, which takes so many missing samples as zeros."""
        parts: Samples = {}
        for run in self.runs(rest):
            every = range(min(run), max(run) + 1, self._period)
            parts.update(zip(every, ss.lfilter(b, a, [run.get(t, 0.0) for t in every]), strict=True))
        return self._with(parts)

    def moving(self, statistic: str, size: int) -> Naive:
        if not self.samples:
            return self
        every = range(min(self.samples), max(self.samples) + 1, self._period)
        series = pd.Series([self.samples.get(t, np.nan) for t in every], index=every)
        rolling = series.rolling(size, min_periods=size)
        found = rolling.apply(np.std, raw=True) if statistic == "std" else getattr(rolling, statistic)()
        return replace(self, samples=found.dropna().to_dict(), policy=("linear", self._period))

    def envelope(self, taps: int) -> Naive:
        return self.combine(self.fir(ss.remez(taps, [0.05, 0.45], [1], type="hilbert"), ahead=taps // 2), "hypot")

    def peaks(self, radius: int, above: float) -> Naive:
        def is_peak(t: int, x: float) -> bool:
            before = [t - i * self._period for i in range(1, radius + 1)]
            after = [t + i * self._period for i in range(1, radius + 1)]
            if not self.samples.keys() >= {*before, *after} or x <= above:
                return False
            return all(x > self.samples[i] for i in before) and all(x >= self.samples[i] for i in after)

        return self._only(is_peak)

    def crossings(self, level: float, direction: str) -> Naive:
        def crosses(t: int, x: float) -> bool:
            before = self.samples.get(t - self._period)
            if before is None:
                return False
            return before < level <= x if direction == "rising" else x < level <= before

        return self._only(crosses)

    def windows(self, size: int, hop: int, missing: str) -> NaiveWindows:
        period, offset = self._period, self._offset
        found: Samples = {}
        indexes = [(t - offset) // period for t in self.samples]
        numbers = range((min(indexes) - size) // hop, max(indexes) // hop + 1) if indexes else ()
        for j in numbers:
            times = [offset + (j * hop + i) * period for i in range(size)]
            window = self._window(times, missing)
            if window is not None:
                found[times[-1]] = window
        return NaiveWindows(found, period, (hop * period, (offset + (size - 1) * period) % (hop * period)))

    def _window(self, times: list[int], missing: str) -> Any:
        known = [t for t in times if t in self.samples]
        if not known or (missing == "invalid" and len(known) < len(times)):
            return None
        if missing == "interpolate":
            if times[0] not in self.samples or times[-1] not in self.samples:
                return None
            return np.interp(times, known, [self.samples[t] for t in known])
        return np.array([self.samples.get(t, 0.0) for t in times])


def _fir(samples: Samples, taps: Any, ahead: int, period: int) -> Samples:
    return {t: sum(a * samples.get(t + (ahead - i) * period, 0.0) for i, a in enumerate(taps)) for t in samples}


@dataclass(frozen=True)
class NaiveWindows:
    """Windows by the time of their last sample."""

    found: Samples
    period: int
    grid: tuple[int, int]

    def map(self, change: Callable[[Any], Any]) -> NaiveWindows:
        return replace(self, found={t: change(x) for t, x in self.found.items()})

    def taper(self, name: str) -> NaiveWindows:
        return self.map(lambda x: x * ss.get_window(name, len(x)))

    def fft(self) -> NaiveWindows:
        return self.map(np.fft.fft)

    def ifft(self) -> NaiveWindows:
        return self.map(np.fft.ifft)

    def rfft(self) -> NaiveWindows:
        return self.map(np.fft.rfft)

    def irfft(self) -> NaiveWindows:
        return self.map(np.fft.irfft)

    def spectrum(self, what: str) -> NaiveWindows:
        return self.map(np.abs if what == "magnitude" else lambda x: x.real**2 + x.imag**2)

    def autocorrelate(self) -> NaiveWindows:
        return self.map(lambda x: np.correlate(x, x, "full"))

    def apply(self, change: Callable[[Any], Any]) -> NaiveWindows:
        return self.map(lambda x: change(x[None, :])[0])

    def reduce(self, statistic: str) -> Naive:
        compute: Callable[[Any], Any] = getattr(np, statistic, lambda x: np.sqrt(np.mean(x**2)))  # else it is rms
        reduced = self.map(compute)
        return Naive(reduced.found, self.grid, ("linear", self.grid[0]))

    def arrays(self) -> Naive:
        return Naive(self.found, self.grid)

    def overlap_add(self, merge: str | Callable[[Any], Any]) -> Naive:
        lists: dict[int, list[Any]] = {}
        for t, window in self.found.items():
            for i, x in enumerate(reversed(window)):
                lists.setdefault(t - i * self.period, []).append(x)
        compute = getattr(np, merge) if isinstance(merge, str) else merge
        samples = {t: compute(np.array(xs)) for t, xs in lists.items()}
        return Naive(samples, (self.period, self.grid[1] % self.period), ("linear", self.period))
