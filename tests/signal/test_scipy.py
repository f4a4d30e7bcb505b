"""Operators beside the functions of SciPy and pandas that a user would call instead."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import signal as ss

from tests.signal.recipes import READINGS, SOURCE
from viewlet.errors import WrongArgument
from viewlet.signal import Signal
from viewlet.signal.change.online import evaluate_all
from viewlet.signal.plan.nodes import Source
from viewlet.signal.samples.series import Series

STAMPED = Source("readings", ("sensor",), "at", "timestamp", ("v",), False, "error")
UNIFORM = READINGS.sample(60, "none")
VALUES = np.random.default_rng(1).normal(size=300)


def evaluated(signal: Signal, values: Any = VALUES, source: Source = SOURCE, period: int = 60) -> Any:
    series = Series(np.zeros(len(values), dtype=np.int64), np.arange(len(values)) * period, np.asarray(values)[:, None])
    return evaluate_all(signal.node, {source: series})


@pytest.mark.parametrize(("up", "down"), [(3, 1), (1, 2), (3, 2), (2, 5)])
def test_bandlimited_resampling_is_resample_poly(up: int, down: int) -> None:
    found = evaluated(UNIFORM.resample(60 * down // up, "bandlimited"))
    wanted = ss.resample_poly(VALUES, up, down)
    assert found.times.tolist() == list(range(0, 60 * 299 + 1, 60 * down // up))
    assert np.allclose(found.values[:, 0], wanted[: len(found.times)])
    assert len(found.times) >= len(wanted) - up


def test_upsampling_and_downsampling_are_resample_poly() -> None:
    upsampled = evaluated(UNIFORM.upsample(4, "bandlimited")).values[:, 0]
    assert np.allclose(upsampled, ss.resample_poly(VALUES, 4, 1)[: len(upsampled)])
    assert np.allclose(evaluated(UNIFORM.downsample(3)).values[:, 0], ss.resample_poly(VALUES, 1, 3))


def test_linear_sampling_is_what_pandas_interpolates() -> None:
    times = np.cumsum(np.random.default_rng(2).integers(1, 40, size=200))
    series = Series(np.zeros(200, dtype=np.int64), times, VALUES[:200, None])
    found = evaluate_all(READINGS.sample(10, "linear").node, {SOURCE: series})
    frame = pd.Series(VALUES[:200], index=times)
    beats = np.arange(-(-times[0] // 10) * 10, times[-1] + 1, 10)
    wanted = frame.reindex(np.union1d(times, beats)).interpolate("index").loc[beats]
    assert found.times.tolist() == beats.tolist()
    assert np.allclose(found.values[:, 0], wanted)


def test_peaks_are_those_of_scipy() -> None:
    found = evaluated(UNIFORM.peaks(1, above=0.5)).times // 60
    assert found.tolist() == ss.find_peaks(VALUES, height=0.5)[0].tolist()
    wider = evaluated(UNIFORM.peaks(4)).times // 60
    extrema = ss.argrelmax(VALUES, order=4)[0]
    assert wider.tolist() == extrema[(extrema >= 4) & (extrema < 296)].tolist()


def test_the_envelope_is_that_of_the_analytic_signal() -> None:
    n = np.arange(2_000)
    tone = (1 + 0.5 * np.cos(2 * np.pi * n / 400)) * np.cos(2 * np.pi * n / 8)
    found = evaluated(UNIFORM.envelope(129), tone).values[:, 0]
    assert np.abs(found - np.abs(ss.hilbert(tone)))[200:-200].max() < 0.01


@pytest.mark.parametrize("ahead", [0, 100, 499])
def test_long_filters_of_long_signals_are_lfilter(ahead: int) -> None:
    random = np.random.default_rng(3)
    taps, values = random.normal(size=500), random.normal(size=40_000)
    found = evaluated(UNIFORM.fir(taps, ahead=ahead), values).values[:, 0]
    wanted = ss.lfilter(taps, 1.0, np.concatenate([values, np.zeros(ahead)]))[ahead:]
    assert np.abs(found - wanted).max() < 1e-10 * np.abs(wanted).max()


def test_long_filters_of_complex_signals() -> None:
    random = np.random.default_rng(4)
    taps, values = random.normal(size=(300, 2)).view(np.complex128)[:, 0], random.normal(size=20_000)
    found = evaluated(UNIFORM.fir(taps), values).values[:, 0]
    assert np.allclose(found, ss.lfilter(taps, 1.0, values))


def test_convolution_and_correlation() -> None:
    kernel = np.array([1.0, -2.0, 0.5])
    assert np.allclose(evaluated(UNIFORM.convolve(kernel)).values[:, 0], np.convolve(VALUES, kernel)[:300])
    found = evaluated(UNIFORM.correlate(kernel)).values[2:, 0]
    assert np.allclose(found, ss.correlate(VALUES, kernel, "valid"))


def test_spectra_are_those_of_a_spectrogram() -> None:
    found = evaluated(UNIFORM.windows(64, 32).taper("hann").rfft().spectrum("power").arrays())
    shape = {"window": "hann", "nperseg": 64, "noverlap": 32, "detrend": False}
    _, _, complex_ = ss.spectrogram(VALUES, scaling="spectrum", mode="complex", **shape)
    assert np.allclose(found.values[:, 0], np.abs(complex_ * ss.get_window("hann", 64).sum()).T ** 2)


def test_windows_may_be_given_as_durations() -> None:
    uniform = Signal(STAMPED).sample("10 ms")
    assert uniform.windows("5 s", dt.timedelta(seconds=1)) == uniform.windows(500, 100)
    assert uniform.moving("mean", "1 s") == uniform.moving("mean", 100)
    with pytest.raises(WrongArgument, match="10 ms apart"):
        uniform.windows("15 ms")
    with pytest.raises(WrongArgument, match="whole number"):
        UNIFORM.windows("5 s")
