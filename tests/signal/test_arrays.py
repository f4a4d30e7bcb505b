"""Samples that are arrays: from columns of a table or from another signal, through operators, and back to numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import signal as ss

import viewlet
from tests.signal.recipes import Smoothed
from viewlet.signal import Interpolation, Signal
from viewlet.signal.change.online import evaluate_all
from viewlet.signal.operators.overlap import overlap_add
from viewlet.signal.plan.nodes import OverlapAdd, Source
from viewlet.signal.samples.ragged import Ragged
from viewlet.signal.samples.series import Series

WIDTH = 4
ARRAYS = Source("frames", ("sensor",), "at", "number", ("frame",), False, "error", width=WIDTH)
SECTIONS = ss.butter(2, 0.3, output="sos")
Frames = dict[tuple[int, int], list[float]]


def evaluated(signal: Signal, arrays: Any, period: int = 10) -> Series:
    times = np.arange(len(arrays)) * period
    return evaluate_all(signal.node, {ARRAYS: Series(np.zeros(len(times), dtype=np.int64), times, arrays[:, None])})


@pytest.fixture
def arrays() -> Any:
    return np.random.default_rng(1).normal(size=(60, WIDTH))


def test_filters_take_each_number_of_an_array_by_itself(arrays: Any) -> None:
    uniform = Signal(ARRAYS).sample(10, "none")
    taps = np.random.default_rng(2).normal(size=5)
    assert np.array_equal(evaluated(uniform.iir(SECTIONS), arrays).values[:, 0], ss.sosfilt(SECTIONS, arrays, axis=0))
    assert np.allclose(evaluated(uniform.fir(taps), arrays).values[:, 0], ss.lfilter(taps, 1.0, arrays, axis=0))
    own = uniform.filter(lambda x, y: 0.5 * x[:, 0] + 0.5 * y[:, 0], forward=1, backward=1)
    assert np.allclose(evaluated(own, arrays).values[:, 0], ss.lfilter([0.5], [1.0, -0.5], arrays, axis=0))


def test_arrays_are_interpolated_and_combined(arrays: Any) -> None:
    found = evaluated(Signal(ARRAYS).sample(4, "linear"), arrays)
    wanted = [np.interp(found.times, np.arange(60) * 10, column) for column in arrays.T]
    assert np.allclose(found.values[:, 0], np.stack(wanted, axis=1))
    middle = Interpolation(lambda times, values: values.mean(axis=1))
    halves = evaluated(Signal(ARRAYS).sample(5, middle), arrays).values[1::2, 0]
    assert np.allclose(halves, (arrays[1:] + arrays[:-1]) / 2)
    moved = Signal(ARRAYS) - Signal(ARRAYS).shift(10)
    assert np.allclose(evaluated(moved, arrays).values[:, 0], np.diff(arrays, axis=0))


def test_a_function_may_give_arrays_of_another_width_or_numbers(arrays: Any) -> None:
    spectra = evaluated(Signal(ARRAYS).select(np.fft.rfft), arrays)
    assert np.allclose(spectra.values[:, 0], np.fft.rfft(arrays, axis=1))
    highest = Signal(ARRAYS).select(lambda x: x.max(axis=1)).sample(10, "none").moving("max", 3)
    assert np.array_equal(
        evaluated(highest, arrays).values[:, 0], np.lib.stride_tricks.sliding_window_view(arrays.max(axis=1), 3).max(1)
    )
    with pytest.raises(viewlet.UnsupportedQuery, match="different widths"):
        Signal(ARRAYS).select(lambda x: (x, x[:, :2]))


def test_arrays_are_laid_back_on_the_time_axis(arrays: Any) -> None:
    found = evaluated(Signal(ARRAYS).sample(10, "none").overlap_add(5, "sum"), arrays)
    wanted = np.zeros(2 * 59 + WIDTH)
    for i, array in enumerate(arrays):
        wanted[2 * i : 2 * i + WIDTH] += array
    assert found.times.tolist() == list(range(-15, 591, 5))
    assert np.allclose(found.values[:, 0], wanted)
    with pytest.raises(viewlet.UnsupportedQuery, match="multiple of 4 ticks"):
        Signal(ARRAYS).sample(10, "none").overlap_add(4)


def test_each_number_of_an_array_has_windows_of_its_own(arrays: Any) -> None:
    uniform = Signal(ARRAYS).sample(10, "none")
    windows = np.lib.stride_tricks.sliding_window_view(arrays, 8, axis=0)[::4]
    spectra = evaluated(uniform.windows(8, 4).taper("hann").rfft().arrays(), arrays).values[:, 0]
    wanted = np.fft.rfft(windows * ss.get_window("hann", 8), axis=2)
    assert np.allclose(spectra.reshape(len(windows), 5, WIDTH), wanted.swapaxes(1, 2))
    moving = evaluated(uniform.moving("median", 5), arrays).values[:, 0]
    assert np.array_equal(moving, np.median(np.lib.stride_tricks.sliding_window_view(arrays, 5, axis=0), axis=2))
    states = evaluated(uniform.running(Smoothed(), 8, 4), arrays).values[:, 0]
    assert np.allclose(states, windows.sum(axis=2))


def test_windows_of_arrays_are_laid_back_as_arrays(arrays: Any) -> None:
    halves = Signal(ARRAYS).sample(10, "none").windows(8, 4, missing="zero").fft().ifft().overlap_add("mean")
    found = evaluated(halves, arrays)
    there = (found.times >= 0) & (found.times < 600)
    assert np.allclose(found.values[there, 0], arrays)
    assert np.allclose(found.values[~there], 0.0)
    pairs = evaluated(Signal(ARRAYS).sample(10, "none").overlap_add(5, width=2), arrays)
    assert np.array_equal(pairs.values[:, 0], arrays.reshape(-1, 2))


@pytest.fixture
def db(tmp_path: Path) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w") as opened:
        opened.create_table("frames", "sensor INT, at BIGINT, frame ARRAY<DOUBLE>", primary_key=("sensor", "at"))
        yield opened


def filtered(frames: Frames) -> Frames:
    """SciPy over each stretch without a gap."""
    result: Frames = {}
    for sensor, at in sorted(frames):
        if (sensor, at - 10) in frames:
            continue
        run: list[list[float]] = []
        while (sensor, at + 10 * len(run)) in frames:
            run.append(frames[sensor, at + 10 * len(run)])
        for i, array in enumerate(ss.sosfilt(SECTIONS, np.array(run), axis=0)):
            result[sensor, at + 10 * i] = array.tolist()
    return result


def test_a_column_of_arrays_is_followed_through_epochs(db: viewlet.Database) -> None:
    """New, late, corrected and deleted arrays; a signal of the signal finds the width by itself."""
    source = db.signal("frames", by="sensor", time="at", value="frame", width=WIDTH)
    db.create_signal("smooth", source.sample(10, "none").iir(SECTIONS))
    over = db.signal("smooth", by="sensor", time="at", value="frame")
    db.create_signal("loudest", over.select(lambda x: np.abs(x).max(axis=1), ["peak"]))
    db.create_signal("spectra", over.sample(10, "none").windows(3).fft().arrays())
    random, frames = np.random.default_rng(3), Frames()
    for epoch in range(5):
        new = {(s, 10 * (6 * epoch + i)): random.normal(size=WIDTH).tolist() for s in (1, 2) for i in range(6)}
        some = {at: random.normal(size=WIDTH).tolist() for at in list(frames)[:: 5 + epoch]}
        gone = [] if epoch == 0 else [list(frames)[7]]
        with db.epoch() as e:
            e.upsert("frames", [(*at, x) for at, x in (new | some).items() if at not in gone])
            e.delete("frames", [{"sensor": s, "at": t} for s, t in gone])
        frames = {at: x for at, x in (frames | new | some).items() if at not in gone}
        wanted = filtered(frames)
        found = {(s, t): x for s, t, x in db.table("smooth").rows()}
        assert found.keys() == wanted.keys()
        assert all(np.allclose(found[at], wanted[at], rtol=1e-9, atol=1e-11) for at in wanted)
        peaks = {(s, t): x for s, t, x in db.table("loudest").rows()}
        assert peaks == {at: max(map(abs, x)) for at, x in found.items()}
        windows = {(s, t): [found.get((s, t - 10 * i), ()) for i in (2, 1, 0)] for s, t in found if t % 30 == 20}
        spectra = {(s, t): np.array(re) + 1j * np.array(im) for s, t, re, im in db.table("spectra").rows()}
        assert spectra.keys() == {at for at, window in windows.items() if () not in window}
        assert all(np.allclose(x, np.fft.fft(windows[at], axis=0).ravel(), atol=1e-9) for at, x in spectra.items())
    assert db.check().num_rows == 0


def test_what_is_no_array_of_the_width(db: viewlet.Database) -> None:
    source = db.signal("frames", by="sensor", time="at", value="frame", width=2)
    db.create_signal("twice", source.scale(2.0))
    db.insert("frames", [(1, 1, [1.0, 2.0]), (1, 2, None), (1, 3, [1.0, None]), (1, 4, [float("nan"), 1.0])])
    assert db.table("twice").rows() == [(1, 1, [2.0, 4.0])]
    with pytest.raises(viewlet.RejectedEpoch, match=r"frames.frame has an array of 3 numbers for sensor = 7 at 5"):
        db.insert("frames", [(1, 5, [1.0, 2.0]), (7, 5, [1.0, 2.0, 3.0])])
    assert db.table("twice").rows() == [(1, 1, [2.0, 4.0])]
    with pytest.raises(viewlet.UnsupportedQuery, match="arrays without a fixed length"):
        db.signal("frames", by="sensor", time="at", value="frame")
    with pytest.raises(viewlet.UnsupportedQuery, match="width is 3"):
        db.signal("frames", by="frame", time="at", value="sensor", width=3)


def test_arrays_of_one_time_are_merged_and_complex_ones_come_in_two_columns(db: viewlet.Database) -> None:
    db.create_table("radio", "at BIGINT, i ARRAY<FLOAT>, q ARRAY<FLOAT>")
    radio = db.signal("radio", time="at", value=("i", "q"), complex=True, width=2, merge="mean")
    db.create_signal("power", radio.select(lambda x: (np.abs(x) ** 2).sum(axis=1), ["power"]))
    db.insert("radio", [(1, [1.0, 0.0], [0.0, 2.0]), (2, [1.0, 1.0], [1.0, 1.0]), (2, [3.0, 1.0], [1.0, 3.0])])
    assert sorted(db.table("power").rows()) == [(1, 5.0), (2, pytest.approx(10.0))]
    assert db.check("power").num_rows == 0


def test_no_arrays_overlap_to_no_samples() -> None:
    none = np.zeros(0, dtype=np.int64)
    windows = Ragged.of(none, 1, none, np.zeros((0, 1, 3 * WIDTH)))
    assert overlap_add(OverlapAdd(ARRAYS, 10, "sum", WIDTH), windows).values.shape == (0, 1, WIDTH)
