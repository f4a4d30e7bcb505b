"""Pictures of signals: what is drawn is what the warehouse holds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest

import viewlet
from viewlet.signal.view import plot

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[viewlet.Database]:
    """A tone of 5 Hz and one of 20 Hz, a hundred samples a second."""
    matplotlib.use("Agg")
    with viewlet.connect(tmp_path / "w") as opened:
        opened.create_table("tones", "hz INT, at TIMESTAMP, v DOUBLE")
        step = dt.timedelta(milliseconds=10)
        rows = [(hz, START + i * step, float(np.sin(2 * np.pi * hz * i / 100))) for hz in (5, 20) for i in range(600)]
        opened.insert("tones", rows)
        readings = opened.signal("tones", by="hz", time="at", value="v")
        opened.create_signal("raw", readings)
        opened.create_signal("tone", readings.sample("10 ms", "none"))
        opened.create_signal("spectra", readings.sample("10 ms", "none").windows(64).fft().arrays())
        yield opened


def test_a_line_for_each_group(db: viewlet.Database) -> None:
    drawn = plot.plot(db.table("raw"))
    assert [line.get_label() for line in drawn.lines] == ["20", "5"]
    assert np.allclose(drawn.lines[1].get_ydata(), np.sin(2 * np.pi * 5 * np.arange(600) / 100))
    assert drawn.get_title() == "raw"


def test_a_spectrum_peaks_at_the_tone(db: viewlet.Database) -> None:
    drawn = plot.spectrum(db.table("tone"))
    for line in drawn.lines:
        assert line.get_xdata()[line.get_ydata().argmax()] == pytest.approx(float(line.get_label()), abs=0.5)
    assert drawn.get_xlabel() == "Hz"


def test_a_spectrogram_of_one_group(db: viewlet.Database) -> None:
    drawn = plot.spectrogram(db.table("tone"), group=20)
    (mesh,) = drawn.collections
    power = np.asarray(mesh.get_array()).reshape(129, -1)
    assert {round(100 / 256 * at) for at in power.argmax(axis=0)} == {20}
    assert drawn.get_title() == "tone: 20"


def test_what_cannot_be_drawn_is_refused(db: viewlet.Database) -> None:
    refusals: list[tuple[Any, type[Exception], str]] = [
        (lambda: plot.plot(db.table("tones")), viewlet.WrongArgument, "not a signal"),
        (lambda: plot.plot(db.table("tone"), group=7), viewlet.UnknownName, "no samples of 7"),
        (lambda: plot.plot(db.table("spectra")), viewlet.UnsupportedQuery, "real numbers"),
        (lambda: plot.spectrum(db.table("raw")), viewlet.UnsupportedQuery, "not uniform"),
    ]
    for draw, error, told in refusals:
        with pytest.raises(error, match=told):
            draw()
