"""Pipelines as users write them: what they print, how they are stored, what they refuse; channels and complex numbers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import signal as ss

from tests.signal.recipes import READINGS, SOURCE, STEPS, Smoothed
from viewlet.errors import EvaluationError, RejectedEpoch, StoreError, UnsupportedQuery, UntrustedCode, WrongArgument
from viewlet.signal import Interpolation, Signal, continuous, wave
from viewlet.signal.change.online import Changes, Online, evaluate_all
from viewlet.signal.operators.scans import settling, spacing
from viewlet.signal.plan.codec import from_json, to_json
from viewlet.signal.plan.nodes import Source
from viewlet.signal.samples.series import Series

CHANNELS = Source("machines", ("id",), "at", "number", ("x", "y"), False, "error")
COMPLEX = Source("radio", ("id",), "at", "number", ("i", "q"), True, "error")
STAMPED = Source("readings", ("sensor",), "at", "timestamp", ("v",), False, "error")


def evaluated(signal: Signal, values: Any, source: Source = SOURCE, period: int = 10) -> Any:
    """The values that a pipeline gives for one group with readings at 0, 10, 20 …"""
    array = np.asarray(values)
    columns = array[:, None] if array.ndim == 1 else array
    times = np.arange(len(columns)) * period
    return evaluate_all(signal.node, {source: Series(np.zeros(len(times), dtype=np.int64), times, columns)})


def test_a_pipeline_prints_as_it_is_written() -> None:
    signal = (
        Signal(STAMPED)
        .sample("10 ms", "linear", max_gap="1 s")
        .iir(ss.butter(4, 5, fs=100, output="sos"))
        .windows(512, 256)
        .taper("hann")
        .rfft()
        .spectrum("power")
        .arrays()
    )
    assert str(signal).splitlines() == [
        "windows of 512 every 256, missing invalid → taper → rfft → power",
        "  iir of 2 sections, missing restart",
        "    sample every 10 ms, linear within 1 s",
        "      readings [sensor] at → v",
    ]


def test_what_is_read_twice_is_spelled_out_once() -> None:
    uniform = READINGS.sample(10, "none")
    assert str(uniform.envelope(7)).splitlines() == [
        "hypot",
        "  sample every 10, none",
        "    readings [sensor] at → v",
        "  fir of 7 taps, 3 ahead, missing zero",
        "    as line 2",
    ]


@pytest.mark.parametrize("step", sorted(STEPS))
def test_a_stored_pipeline_gives_the_same(step: str) -> None:
    signal = STEPS[step](READINGS.sample(10, "linear", max_gap=30))
    again = Signal(from_json(json.loads(json.dumps(to_json(signal.node)))))
    values = np.random.default_rng(1).normal(size=40)
    assert str(again) == str(signal)
    assert np.array_equal(evaluated(again, values).values, evaluated(signal, values).values)


def test_stored_code_that_is_not_trusted_does_not_run() -> None:
    document = json.loads(json.dumps(to_json(READINGS.select(np.tanh).node)))
    untrusted = Signal(from_json(document, trusted=False))
    assert "select tanh" in str(untrusted)
    with pytest.raises(UntrustedCode, match="trust=False"):
        evaluated(untrusted, [1.0])


def test_a_pipeline_of_another_version_is_refused() -> None:
    with pytest.raises(StoreError, match="version 99"):
        from_json({"version": 99, "pipeline": None})


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a filter of readings": (lambda: READINGS.fir([1.0]), UnsupportedQuery, "uniform"),
    "windows of readings": (lambda: READINGS.windows(4), UnsupportedQuery, "uniform"),
    "a reduced window again": (
        lambda: READINGS.sample(1).windows(4).reduce("mean").iir(np.ones((1, 6))).windows(0),
        WrongArgument,
        "size",
    ),
    "peaks of arrays": (lambda: READINGS.sample(1).windows(4).arrays().peaks(), UnsupportedQuery, "not arrays"),
    "arrays in unequal parts": (
        lambda: READINGS.sample(1).windows(4).arrays().overlap_add(1, width=3),
        UnsupportedQuery,
        "split into arrays of 3",
    ),
    "a filter that may never rest": (
        lambda: READINGS.sample(1).filter(lambda x, y: x[:, 0], forward=1, backward=1, missing="zero"),
        WrongArgument,
        "never settle",
    ),
    "an unknown policy of running windows": (
        lambda: READINGS.sample(1).running(Smoothed(), 4, missing="none"),  # type: ignore[arg-type]
        WrongArgument,
        "invalid, zero or interpolate",
    ),
    "an unknown statistic": (lambda: READINGS.sample(1).moving("mode", 3), WrongArgument, "statistic"),
    "an unknown interpolation": (lambda: READINGS.sample(1, "spline"), WrongArgument, "interpolate"),  # type: ignore[arg-type]
    "a period of nothing": (lambda: READINGS.sample(0), WrongArgument, "period"),
    "a text for a number": (lambda: READINGS.sample("10 ms"), WrongArgument, "whole number"),
    "a number for a text": (lambda: Signal(STAMPED).sample(10), WrongArgument, "timedelta"),
    "no sections": (lambda: READINGS.sample(1).iir([1.0, 2.0]), WrongArgument, "sos"),
    "gaps in an integrator": (
        lambda: READINGS.sample(1).iir([1.0, 0, 0, 1, -1, 0], missing="zero"),
        UnsupportedQuery,
        "settles",
    ),
    "channels that do not match": (lambda: Signal(CHANNELS) + READINGS, UnsupportedQuery, "channels"),
    "a function that fails": (lambda: READINGS.select(lambda x: x[99]), UnsupportedQuery, "IndexError"),
    "a function of another shape": (lambda: READINGS.select(np.sum), UnsupportedQuery, "number for each"),
    "rfft of complex windows": (lambda: Signal(COMPLEX).sample(1).windows(4).rfft(), UnsupportedQuery, "real"),
    "one channel correlated": (lambda: READINGS.sample(1).windows(4).correlate(), UnsupportedQuery, "two channels"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_fit_is_refused_when_it_is_written(what: str) -> None:
    write, error, told = REFUSED[what]
    with pytest.raises(error, match=told):
        write()


def test_channels_go_through_operators_together() -> None:
    values = np.random.default_rng(2).normal(size=(50, 2))
    smooth = evaluated(Signal(CHANNELS).sample(10, "none").iir(ss.butter(2, 0.3, output="sos")), values, CHANNELS)
    assert np.array_equal(smooth.values, ss.sosfilt(ss.butter(2, 0.3, output="sos"), values, axis=0))
    length = evaluated(Signal(CHANNELS).select(np.hypot, ["length"]), values, CHANNELS)
    assert np.array_equal(length.values[:, 0], np.hypot(values[:, 0], values[:, 1]))
    both = evaluated(Signal(CHANNELS).select(lambda x, y: (y, x + y, x)), values, CHANNELS)
    assert both.values.shape == (50, 3)


def test_complex_signals() -> None:
    values = np.random.default_rng(3).normal(size=(64, 2)).view(np.complex128)
    uniform = Signal(COMPLEX).sample(10, "none")
    assert np.allclose(
        evaluated(uniform.windows(64).fft().arrays(), values, COMPLEX).values[0, 0], np.fft.fft(values[:, 0])
    )
    taps = np.array([1.0, 2.0j, -0.5])
    assert np.allclose(evaluated(uniform.fir(taps), values, COMPLEX).values[:, 0], ss.lfilter(taps, 1, values[:, 0]))
    sections = ss.butter(3, 0.2, output="sos")
    assert np.array_equal(
        evaluated(uniform.iir(sections), values, COMPLEX).values, ss.sosfilt(sections, values, axis=0)
    )
    assert np.array_equal(evaluated(uniform.select(np.abs), values, COMPLEX).values, np.abs(values))


def test_two_signals_correlate_at_every_lag() -> None:
    values = np.random.default_rng(4).normal(size=(32, 2))
    machine = Signal(CHANNELS).sample(10, "none")
    x, y = machine.select(lambda x, y: x), machine.select(lambda x, y: y)
    found = evaluated(x.cross_correlate(y, 16), values, CHANNELS)
    for i in range(2):
        part = values[16 * i : 16 * i + 16]
        assert np.allclose(found.values[i, 0], np.correlate(part[:, 0], part[:, 1], "full"))


def test_a_template_is_found_where_it_is() -> None:
    template = np.array([1.0, -2.0, 3.0, 0.5])
    values = np.zeros(40)
    values[20:24] = template
    found = evaluated(READINGS.sample(10, "none").correlate(template), values).values[:, 0]
    assert found.argmax() == 23
    assert found.max() == pytest.approx((template**2).sum())


def test_continuous_signals_are_sampled_where_they_are_met() -> None:
    values, times = np.random.default_rng(5).normal(size=30), np.arange(30) * 10
    carried = evaluated(READINGS * wave(70, amplitude=3.0, phase=0.5), values)
    assert np.allclose(carried.values[:, 0], values * 3 * np.cos(2 * np.pi * times / 70 + 0.5))
    ramp = evaluated(READINGS + continuous(lambda t: t / 7), values)
    assert np.allclose(ramp.values[:, 0], values + times / 7)


def test_continuous_signals_are_added_and_multiplied_before_they_are_sampled() -> None:
    values, times = np.random.default_rng(5).normal(size=30), np.arange(30) * 10
    mixed = 1 - (wave(70) + 0.5 * wave(30, phase=1.0)) * continuous(lambda t: t / 100)
    wanted = 1 - (np.cos(2 * np.pi * times / 70) + 0.5 * np.cos(2 * np.pi * times / 30 + 1)) * times / 100
    assert np.allclose(evaluated(mixed * READINGS, values).values[:, 0], values * wanted)
    assert np.allclose(evaluated(mixed - READINGS, values).values[:, 0], wanted - values)
    again = Signal(from_json(json.loads(json.dumps(to_json((READINGS * mixed).node)))))
    assert np.allclose(evaluated(again, values).values[:, 0], values * wanted)


def test_an_interpolation_of_ones_own() -> None:
    middle = Interpolation(lambda times, values: values.mean(axis=1), before=2, after=1)
    found = evaluated(READINGS.sample(5, middle), [1.0, 2.0, 6.0, 3.0])
    assert found.times.tolist() == [0, 10, 15, 20, 25, 30]
    assert found.values[:, 0].tolist() == [1.0, 2.0, 3.0, 6.0, pytest.approx(11 / 3), 3.0]


def test_samples_that_are_no_numbers_are_missing() -> None:
    found = evaluated(READINGS.select(lambda x: np.sqrt(np.where(x < 0, np.nan, x))), [4.0, -1.0, 9.0])
    assert found.times.tolist() == [0, 20]
    assert found.values[:, 0].tolist() == [2.0, 3.0]


def test_a_function_that_fails_names_itself() -> None:
    def strict(x: Any) -> Any:
        if (x > 5).any():
            raise ValueError("too much")
        return x

    with pytest.raises(EvaluationError, match="too much, in the function strict"):
        evaluated(READINGS.select(strict), [9.0])


def test_a_hundred_thousand_groups_are_a_few_calls() -> None:
    calls = []

    def follow(inputs: Any, outputs: Any) -> Any:
        calls.append(len(inputs))
        return 0.5 * inputs[:, 0] + 0.5 * outputs[:, 0]

    groups, times = np.repeat(np.arange(100_000), 10), np.tile(np.arange(10) * 10, 100_000)
    values = np.random.default_rng(6).normal(size=(1_000_000, 1))
    uniform = READINGS.sample(10, "linear", max_gap=20)
    started = time.process_time()
    found = evaluate_all(uniform.filter(follow, forward=1, backward=1).node, {SOURCE: Series(groups, times, values)})
    assert calls == [100_000] * 10
    assert np.allclose(found.values[:, 0].reshape(-1, 10), ss.lfilter([0.5], [1, -0.5], values.reshape(-1, 10), axis=1))
    for signal in (
        uniform.iir(ss.butter(2, 0.3, output="sos")),
        uniform.fir(np.ones(4)),
        uniform.windows(5).reduce("max"),
    ):
        evaluate_all(signal.node, {SOURCE: Series(groups, times, values)})
    assert time.process_time() - started < 20


@pytest.mark.parametrize("max_gap", [30, None])
@pytest.mark.parametrize("interpolate", ["none", "linear", "cubic"])
def test_checkpoints_stay_few_and_appends_read_no_history(interpolate: Any, max_gap: int | None) -> None:
    sections = ss.butter(4, 0.05, output="sos")
    signal = READINGS.sample(10, interpolate, max_gap=max_gap).iir(sections).windows(64, 32).reduce("rms")
    online, scan = Online(signal.node), signal.node.of  # type: ignore[union-attr]
    count = 3 * spacing(scan) + 100  # type: ignore[arg-type]
    append(online, np.arange(count))
    checkpoints = online.checkpoints[scan].series  # type: ignore[index]
    assert len(checkpoints.times) == 4, "three at the spacing, and one before the end"
    read: list[int] = []
    plain = online.read
    online.read = lambda source, spans: _counted(plain(source, spans), read)  # type: ignore[method-assign]
    append(online, np.arange(count, count + 8))
    assert 0 < sum(read) < 600, "an append reads what the windows and the filter need, not the history"


def test_a_filter_is_felt_until_it_has_settled() -> None:
    sections = tuple(tuple(row) for row in ss.butter(4, 0.2, output="sos"))
    samples = settling(sections, 1e-12)
    impulse = ss.sosfilt(sections, np.eye(1, 5000)[0])
    assert samples is not None
    assert np.abs(impulse[samples:]).max() < 1e-12 * np.abs(impulse).max()
    assert settling(sections, 0.0) is None
    assert settling(((1.0, 0.0, 0.0, 1.0, -1.0, 0.0),), 1e-12) is None


def test_a_late_reading_reruns_its_surroundings_only() -> None:
    online = Online(READINGS.sample(10, "none").iir(ss.butter(4, 0.2, output="sos")).node)
    append(online, np.arange(30_000))
    read: list[int] = []
    plain = online.read
    online.read = lambda source, spans: _counted(plain(source, spans), read)  # type: ignore[method-assign]
    difference = append(online, np.array([10_000]))
    assert 0 < sum(read) < 10_000
    assert 50 < len(difference.come.times) < 2_000


def test_two_changes_of_a_group_record_a_checkpoint_once() -> None:
    """Both rerun through it: the second begins before the first, as what lies between has been forgotten."""
    node = READINGS.sample(10, "none").iir(ss.butter(4, 0.2, output="sos")).node
    online = Online(node)
    append(online, np.arange(6_000))
    append(online, np.array([4_050, 4_700]))
    checkpoints = online.checkpoints[node].series  # type: ignore[index]
    assert checkpoints.times.tolist() == sorted(set(checkpoints.times.tolist()))
    assert 10 * 4_095 in checkpoints.times


def append(online: Online, index: Any) -> Any:
    values = np.random.default_rng(len(index)).normal(size=(len(index), 1))
    nothing = np.zeros(len(index), dtype=np.int64)
    return online.update({SOURCE: Changes(nothing, index * 10, values, nothing.astype(np.bool_))})


def _counted(signal: Any, counts: list[int]) -> Any:
    counts.append(len(signal.times))
    return signal


def test_deleting_what_is_not_there_changes_nothing() -> None:
    online = Online(READINGS.node)
    append(online, np.arange(3))
    one = np.array([7])
    with pytest.raises(RejectedEpoch, match="group 7 at 7"):
        online.update({SOURCE: Changes(one, one, np.zeros((1, 1)), np.array([True]))})
    assert len(online.series.times) == 3


def test_windows_of_ones_own_are_updated_not_recomputed() -> None:
    calls: list[str] = []

    class Counting(Smoothed):
        def recompute(self, window: Any) -> Any:
            calls.append("recompute")
            return super().recompute(window)

        def update(self, result: Any, window: Any, old: Any, new: Any) -> Any:
            calls.append("update")
            return super().update(result, window, old, new)

    signal = READINGS.sample(10, "none").running(Counting(), 8, 2)
    calls.clear()
    values = np.random.default_rng(8).normal(size=100)
    found = evaluated(signal, values)
    assert calls == ["recompute"] + ["update"] * 46
    assert np.allclose(found.values[:, 0], np.lib.stride_tricks.sliding_window_view(values, 8)[::2].sum(axis=1))
