"""Window operators of the user's own: their states are brought up to date, and live from one epoch to the next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import viewlet
from tests.signal.recipes import READINGS, SOURCE, SlidingSpectrum, Smoothed
from viewlet.signal.change.online import evaluate_all
from viewlet.signal.samples.series import Series

CALLS: list[str] = []


class Counted(SlidingSpectrum):
    """Notes how it is called; the code of a test's class is found by its name, also when it is loaded again."""

    def recompute(self, window: Any) -> Any:
        CALLS.append("recompute")
        return super().recompute(window)

    def update(self, state: Any, window: Any, old: Any, new: Any) -> Any:
        CALLS.append("update")
        return super().update(state, window, old, new)


def windows(values: Any, size: int, hop: int) -> Any:
    return np.lib.stride_tricks.sliding_window_view(np.asarray(values), size)[::hop]


def powers(values: Any, size: int) -> Any:
    return np.abs(np.fft.fft(windows(values, size, 1), axis=1)[:, SlidingSpectrum.bins]) ** 2


def test_states_are_kept_from_one_epoch_to_the_next(tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(size=60)
    rows = [(1, 10 * i, float(x)) for i, x in enumerate(values)]
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("readings", "sensor INT, at BIGINT, v DOUBLE", primary_key=("sensor", "at"))
        readings = db.signal("readings", by="sensor", time="at", value="v").sample(10, "none")
        db.create_signal("bins", readings.running(Counted(), 16, 1))
        db.insert("readings", rows[:40])
    CALLS.clear()
    with viewlet.connect(tmp_path / "w") as db:
        for at in (40, 45, 50):
            db.insert("readings", rows[at : at + 5])
        assert CALLS == ["update"] * 15, "nothing is computed from scratch again"
        assert db.history("bins")[-1]["views"]["bins"]["read"] < 16 + 5 + 2, "nor is what came before a window read"
        assert "keeps 6 numbers of a group" in db.explain("bins")
        db.insert("readings", rows[56:])  # a sample is missing: windows begin anew after it
        found = {t // 10: x for _, t, x in db.table("bins").rows()}
        assert sorted(found) == list(range(15, 55))
        db.insert("readings", rows[55:56])  # and is found
        found = {t // 10: x for _, t, x in db.table("bins").rows()}
        assert np.allclose([found[i] for i in sorted(found)], powers(values, 16))
        db.delete("readings", [{"sensor": 1, "at": 300}])
        assert sorted(t // 10 for _, t, _ in db.table("bins").rows()) == [*range(15, 30), *range(46, 60)]
        assert db.check("bins").num_rows == 0


def test_roundings_do_not_add_up() -> None:
    """A window of huge numbers spoils a running sum for good, unless it is renewed."""
    values = np.concatenate([np.full(50, 1e16), np.random.default_rng(2).normal(size=200)])
    series = Series(np.zeros(250, dtype=np.int64), np.arange(250) * 10, values[:, None])
    uniform, wanted = READINGS.sample(10, "none"), windows(values, 8, 1).sum(axis=1)
    spoilt = evaluate_all(uniform.running(Smoothed(), 8, 1, renew=1_000).node, {SOURCE: series}).values[:, 0]
    renewed = evaluate_all(uniform.running(Smoothed(), 8, 1, renew=20).node, {SOURCE: series}).values[:, 0]
    assert np.abs(spoilt - wanted)[-100:].max() > 1e-3
    assert np.abs(renewed - wanted)[-100:].max() < 1e-12


def test_stretches_between_renewals_are_updated_together() -> None:
    calls: list[int] = []

    class Measured(Smoothed):
        def update(self, state: Any, window: Any, old: Any, new: Any) -> Any:
            calls.append(len(window))
            return super().update(state, window, old, new)

    signal = READINGS.sample(10, "none").running(Measured(), 8, 2, renew=32)
    calls.clear()
    values = np.random.default_rng(3).normal(size=64_000)
    series = Series(np.zeros(64_000, dtype=np.int64), np.arange(64_000) * 10, values[:, None])
    found = evaluate_all(signal.node, {SOURCE: series}).values[:, 0]
    assert np.allclose(found, windows(values, 8, 2).sum(axis=1))
    assert len(calls) == 31
    assert min(calls) == 999


def test_an_operator_whose_methods_do_not_fit_is_refused() -> None:
    class Odd(Smoothed):
        def update(self, state: Any, window: Any, old: Any, new: Any) -> Any:
            return window

    with pytest.raises(viewlet.UnsupportedQuery, match=r"Odd\.update gives"):
        READINGS.sample(10).running(Odd(), 8, 2)
