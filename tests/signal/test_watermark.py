"""Signals over tables with a watermark: what is final is let go, and the result stays as it is."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from scipy import signal as ss

import viewlet
from tests.signal.naive import Naive

pytestmark = pytest.mark.usefixtures("close_checkpoints")


START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
STATE = ("readings_1", "reading_blocks_1", "blocks", "checkpoints")


def at(seconds: float) -> dt.datetime:
    return START + dt.timedelta(seconds=seconds)


def second(time: dt.datetime) -> int:
    return round((time - START).total_seconds())


def test_a_watermark_lets_state_go(tmp_path: Path) -> None:
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
                db.delete("readings", [(1, at(epoch * 100 - 20), values[epoch * 100 - 20])])
            values |= new
            db.insert("readings", [(1, at(t), x) for t, x in new.items()])
            kept.append(sum(_rows(db, f"smooth.state_{word}") for word in STATE))
        assert max(kept[20:]) < 1.5 * max(kept[5:20]), "state does not grow with the history"
        assert max(kept) < 2500
        smooth = ss.sosfilt(sections, [values[t] for t in range(4000)])
        windows = np.lib.stride_tricks.sliding_window_view(smooth, 8)[::4].mean(axis=1)
        found = {second(r[1]): r[2] for r in db.table("smooth").rows()}
        assert len(found) == len(windows)
        assert found == {4 * i + 7: pytest.approx(x, rel=1e-9, abs=1e-11) for i, x in enumerate(windows)}
        assert db.check("smooth").num_rows == 0
        assert "that the watermark of readings has passed are let go" in db.explain("smooth")


def test_what_a_watermark_lets_go_takes_no_space(tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("readings", "sensor INT, at TIMESTAMP, v DOUBLE", watermark=("at", "60 seconds"))
        uniform = db.signal("readings", by="sensor", time="at", value="v").sample("1 s", max_gap="3 s")
        db.create_signal("calm", uniform.moving("mean", 8))
        for begin in (0, 5_000):
            seconds = range(begin, begin + 5_000 - begin * 9 // 10)
            db.insert("readings", [(1, at(t), float(t % 7)) for t in seconds])
        kept = db._warehouse.store.snapshot().contents("calm.state_readings_1")
        assert kept.rows < 700, "rows that cancel would count twice"
        db.insert("readings", [(1, at(5_450.5), 100.0)])
        known = sorted([(float(t), float(t % 7)) for t in range(5_444, 5_452)] + [(5_450.5, 100.0)])
        line = np.interp(np.arange(5_444, 5_452), [t for t, _ in known], [x for _, x in known])
        found = {second(r[1]): r[2] for r in db.table("calm").rows()}
        assert found[5_451] == pytest.approx(line.mean())
        assert len(found) == 5_493
        assert db.check("calm").num_rows == 0


def test_a_watermark_lets_intervals_go(tmp_path: Path) -> None:
    """A machine that holds its load for long is remembered, however far the watermark has come."""
    random = np.random.default_rng(4)
    with viewlet.connect(tmp_path / "w") as db:
        schema = "machine INT, since TIMESTAMP, until TIMESTAMP, load DOUBLE"
        db.create_table("states", schema, watermark=("since", "300 seconds"))
        held = db.signal("states", by="machine", time="since", until="until", value="load")
        db.create_signal("load", held.sample("10 s").iir(ss.butter(2, 0.3, output="sos")))
        assert "that the watermark of states has passed are let go" in db.explain("load")
        known = {(2, 0): (20_000, 5.0)}
        db.insert("states", [(2, at(0), at(20_000), 5.0)])
        kept = []
        for begin in range(0, 8_000, 800):
            new = {
                (1, t): (t + int(random.integers(5, 40)), float(random.normal())) for t in range(begin, begin + 800, 40)
            }
            if begin:
                new[1, begin - 160] = (begin - 130, float(random.normal()))  # late, but not too late
                until, load = known.pop((1, begin - 160))
                db.delete("states", [(1, at(begin - 160), at(until), load)])
            db.insert("states", [(m, at(t), at(until), x) for (m, t), (until, x) in new.items()])
            known |= new
            kept.append(_rows(db, "load.state_readings_1"))
        assert max(kept) < 80 < len(known) == 201, "state does not grow with the history"
        with pytest.raises(viewlet.RejectedEpoch, match="overlap"):
            db.insert("states", [(2, at(9_000), at(9_100), 1.0)])
        held_at = {(m, t): x for (m, since), (until, x) in known.items() for t in range(since, until) if t % 10 == 0}
        found = {(r[0], second(r[1])): r[2] for r in db.table("load").rows()}
        assert found == {key: pytest.approx(x, rel=1e-9, abs=1e-11) for key, x in _filtered(held_at).items()}
        assert db.check("load").num_rows == 0


def _filtered(samples: dict[tuple[int, int], float]) -> dict[tuple[int, int], float]:
    """SciPy over each stretch without a gap."""
    result: dict[tuple[int, int], float] = {}
    for machine, begin in sorted(samples):
        if (machine, begin - 10) not in samples:
            run: list[float] = []
            while (machine, begin + 10 * len(run)) in samples:
                run.append(samples[machine, begin + 10 * len(run)])
            smooth = ss.sosfilt(ss.butter(2, 0.3, output="sos"), run)
            result |= {(machine, begin + 10 * i): float(x) for i, x in enumerate(smooth)}
    return result


@pytest.mark.parametrize("interpolate", ["linear", pytest.param("cubic", marks=pytest.mark.slow)])
def test_interpolation_without_a_maximal_gap_keeps_the_readings_that_it_takes(
    tmp_path: Path, interpolate: Literal["linear", "cubic"]
) -> None:
    """One sensor falls silent while the watermark goes on, and is heard again."""
    random = np.random.default_rng(5)
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("readings", "sensor INT, at TIMESTAMP, v DOUBLE", watermark=("at", "60 seconds"))
        db.create_signal(
            "line",
            db.signal("readings", by="sensor", time="at", value="v").sample("7 s", interpolate).moving("mean", 3),
        )
        naive = {1: Naive({}), 2: Naive({})}
        for epoch in range(9):
            own = [1] if 1 < epoch < 8 else [1, 2]
            new = {(s, epoch * 1_200 + t): float(random.normal()) for s in own for t in range(0, 1_200, 10)}
            db.insert("readings", [(s, at(t), x) for (s, t), x in new.items()])
            for (sensor, t), x in new.items():
                naive[sensor].samples[t] = x
        assert _rows(db, "line.state_readings_1") < 500, "of 1,440 readings"
        offset = -int(START.timestamp()) % 7  # samples are at whole multiples of the period since 1970
        wanted = {
            (sensor, t): x
            for sensor, own in naive.items()
            for t, x in own.sample(7, interpolate, offset=offset).moving("mean", 3).samples.items()
        }
        found = {(r[0], second(r[1])): r[2] for r in db.table("line").rows()}
        assert found == {key: pytest.approx(x, rel=1e-9, abs=1e-9) for key, x in wanted.items()}
        assert db.check("line").num_rows == 0


def _rows(db: viewlet.Database, bag: str) -> int:
    return len(db._warehouse.store.snapshot().contents(bag).consolidated())
