"""Signals in a warehouse: what epochs cost beside computing again, and what is kept while the history grows."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import signal as ss

import viewlet
from benchmarks.measure import measured, say, timed
from viewlet.signal import Signal

RANDOM = np.random.default_rng(1)
LOWPASS = ss.butter(4, 0.1, output="sos")
SENSORS = 50
"""Of the history that grows."""
STEPS, EPOCHS = 10, 10
"""How many times it grows, and in how many epochs each time."""


def epochs(stored: int, groups: int, times: int) -> Iterator[list[str]]:
    """New readings, late ones, and computing again, by Viewlet and by pandas."""
    with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder) as db:
        each = stored // groups
        _load(db)
        db.insert("readings", _readings(groups, range(each)))
        say(f"{stored:,} readings are stored")
        pipeline = _pipeline(db)
        filled = timed(lambda: db.create_signal("loudness", pipeline))
        say("the signal is filled")
        again = timed(lambda: _recompute(db))
        new = statistics.median(measured(partial(_append, db, groups, iter(range(each, each + 99))), times))
        late = statistics.median(measured(partial(_late, db, groups, each), times))
        yield ["computing again, pandas + SciPy", f"{again:,.0f}", ""]
        yield ["filling the view, durably", f"{filled:,.0f}", ""]
        yield [f"an epoch of {groups:,} new readings", f"{new:,.1f}", f"{again / new:,.0f}×"]
        yield ["an epoch of 100 late readings", f"{late:,.1f}", f"{again / late:,.0f}×"]
        assert db.check("loudness").num_rows == 0


def _load(db: viewlet.Database, **more: Any) -> None:
    db.create_table("readings", "sensor INT, at TIMESTAMP, v DOUBLE", trusted=True, **more)


def _readings(groups: int, seconds: range) -> pa.Table:
    """A reading of each group in each second."""
    sensors, times = np.repeat(np.arange(groups), len(seconds)), np.tile(np.asarray(seconds), groups)
    return _table(sensors, times)


def _table(sensors: Any, seconds: Any) -> pa.Table:
    times = pa.array(np.asarray(seconds) * 1_000_000, pa.timestamp("us", tz="UTC"))
    values = pa.array(RANDOM.normal(size=len(times)))
    return pa.table({"sensor": pa.array(sensors, pa.int32()), "at": times, "v": values})


def _pipeline(db: viewlet.Database) -> Signal:
    readings = db.signal("readings", by="sensor", time="at", value="v", merge="mean")
    return readings.sample("1 s", max_gap="5 s").iir(LOWPASS).windows(64, 32).reduce("rms")


def _recompute(db: viewlet.Database) -> pd.DataFrame:
    frame = db.table("readings").arrow().to_pandas().sort_values(["sensor", "at"])
    return frame.groupby("sensor", sort=False)[["at", "v"]].apply(_loudness)


def _loudness(group: pd.DataFrame) -> pd.DataFrame:
    smooth = ss.sosfilt(LOWPASS, group["v"])
    windows = np.lib.stride_tricks.sliding_window_view(smooth, 64)[::32]
    return pd.DataFrame({"v": np.sqrt((windows**2).mean(axis=1))})


def _append(db: viewlet.Database, groups: int, seconds: Iterator[int]) -> float:
    at = next(seconds)
    rows = _readings(groups, range(at, at + 1))
    return timed(lambda: db.insert("readings", rows))


def _late(db: viewlet.Database, groups: int, each: int) -> float:
    rows = _table(RANDOM.permutation(groups)[:100], RANDOM.integers(each // 4, each, size=min(100, groups)))
    return timed(lambda: db.insert("readings", rows))


def states(history: int) -> Iterator[list[str]]:
    """What is kept while a history grows to ten times its length, without a watermark and with one."""
    each = history // SENSORS
    delay = timedelta(seconds=max(1, each // EPOCHS))
    with (
        tempfile.TemporaryDirectory() as folder,
        viewlet.connect(f"{folder}/plain") as plain,
        viewlet.connect(f"{folder}/closing") as closing,
    ):
        _load(plain)
        _load(closing, watermark=("at", delay))
        for db in (plain, closing):
            db.create_signal("loudness", _pipeline(db))
        for step in range(STEPS):
            say(f"a history of {step + 1}×")
            kept = [_most_kept(db, step, each) for db in (plain, closing)]
            result = plain.status()["views"]["loudness"]["bytes"]
            sizes = [f"{size / 1e6:,.1f}" for size in (*kept, result)]
            yield [f"{step + 1}×", f"{history * (step + 1):,}", *sizes]


def _most_kept(db: viewlet.Database, step: int, each: int) -> int:
    """The most bytes of state after any epoch of a step."""
    found = []
    for seconds in np.array_split(np.arange(step * each, (step + 1) * each), EPOCHS):
        db.insert("readings", _readings(SENSORS, range(int(seconds[0]), int(seconds[-1]) + 1)))
        found.append(db.status()["views"]["loudness"]["map_bytes"])
    return max(found)
