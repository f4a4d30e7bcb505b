"""Signals over tables with a watermark: what is final is let go, and the result stays as it is."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pytest
from scipy import signal as ss

import viewlet

pytestmark = pytest.mark.usefixtures("close_checkpoints")


def test_a_watermark_lets_state_go(tmp_path: Path) -> None:
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    sections, random = ss.butter(4, 0.3, output="sos"), np.random.default_rng(3)
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("readings", "sensor INT, at TIMESTAMP, v DOUBLE", watermark=("at", "60 seconds"))
        uniform = db.signal("readings", by="sensor", time="at", value="v").sample("1 s", max_gap="3 s")
        db.create_signal("smooth", uniform.iir(sections).windows(8, 4).reduce("mean"))
        values: dict[int, float] = {}
        kept = []
        for epoch in range(40):
            new = {epoch * 100 + i: float(random.normal()) for i in range(100)}
            if epoch > 1:
                new[epoch * 100 - 20] = float(random.normal())
                db.delete("readings", [(1, start + dt.timedelta(seconds=epoch * 100 - 20), values[epoch * 100 - 20])])
            values |= new
            db.insert("readings", [(1, start + dt.timedelta(seconds=t), x) for t, x in new.items()])
            kept.append(
                sum(_rows(db, f"smooth.state_{word}") for word in ("readings_1", "reading_blocks_1", "checkpoints"))
            )
        assert max(kept[20:]) < 1.5 * max(kept[5:20]), "state does not grow with the history"
        assert max(kept) < 2500
        smooth = ss.sosfilt(sections, [values[t] for t in range(4000)])
        windows = np.lib.stride_tricks.sliding_window_view(smooth, 8)[::4].mean(axis=1)
        found = {round((r[1] - start).total_seconds()): r[2] for r in db.table("smooth").rows()}
        assert len(found) == len(windows)
        assert found == {4 * i + 7: pytest.approx(x, rel=1e-9, abs=1e-11) for i, x in enumerate(windows)}
        assert db.check("smooth").num_rows == 0
        assert "that the watermark of readings has passed are let go" in db.explain("smooth")


def test_what_a_watermark_lets_go_takes_no_space(tmp_path: Path) -> None:
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("readings", "sensor INT, at TIMESTAMP, v DOUBLE", watermark=("at", "60 seconds"))
        uniform = db.signal("readings", by="sensor", time="at", value="v").sample("1 s", max_gap="3 s")
        db.create_signal("calm", uniform.moving("mean", 8))
        for begin in (0, 5_000):
            seconds = range(begin, begin + 5_000 - begin * 9 // 10)
            db.insert("readings", [(1, start + dt.timedelta(seconds=t), float(t % 7)) for t in seconds])
        kept = db._warehouse.store.snapshot().contents("calm.state_readings_1")
        assert kept.rows < 700, "rows that cancel would count twice"
        db.insert("readings", [(1, start + dt.timedelta(seconds=5_450.5), 100.0)])
        known = sorted([(float(t), float(t % 7)) for t in range(5_444, 5_452)] + [(5_450.5, 100.0)])
        line = np.interp(np.arange(5_444, 5_452), [t for t, _ in known], [x for _, x in known])
        found = {round((r[1] - start).total_seconds()): r[2] for r in db.table("calm").rows()}
        assert found[5_451] == pytest.approx(line.mean())
        assert len(found) == 5_493
        assert db.check("calm").num_rows == 0


def _rows(db: viewlet.Database, bag: str) -> int:
    return len(db._warehouse.store.snapshot().contents(bag).consolidated())
