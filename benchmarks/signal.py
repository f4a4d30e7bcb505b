"""Signal pipelines beside NumPy, SciPy, pandas, Spark and DuckDB, on the same machine, in one run.

    python -m benchmarks.signal --parts long --samples 10000000
    python -m benchmarks.signal --parts grouped --samples 2000000 --groups 10 1000 10000 --spark
    python -m benchmarks.signal --parts epochs state --stored 10000000

`long`: one long signal (figures 7.8 and 7.9 of the thesis); `grouped`: grouped queries (figures 7.10 to 7.12); `epochs`: in a
warehouse, new and late readings beside computing again; `state`: what is kept while the history grows ten times.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import signal as ss

import viewlet
from benchmarks.measure import grid, measured, say, timed
from viewlet.signal import Signal
from viewlet.signal.nodes import Source
from viewlet.signal.online import evaluate_all
from viewlet.signal.series import Series

RANDOM = np.random.default_rng(1)
WINDOWS = (64, 512, 2048, 8192)
TEMPLATE = RANDOM.normal(size=32)
LOWPASS = ss.butter(4, 0.1, output="sos")
FAST = Source("fast", ("sensor",), "at", "number", ("v",), False, "error")
SLOW = Source("slow", ("sensor",), "at", "number", ("v",), False, "error")
TENTH, SHORTEST = 10, 64
Work = Callable[[], Any]


def median(work: Work, times: int) -> float:
    return statistics.median(measured(lambda: timed(work), times))


# ——— one long signal, from columns in memory to columns in memory


def long_signal(samples: int, times: int) -> Iterator[list[str]]:
    x = RANDOM.normal(size=samples)
    series = Series(np.zeros(samples, dtype=np.int64), np.arange(samples) * 5, x[:, None])
    uniform = Signal(FAST).sample(5, "none")
    for size in WINDOWS:
        rows = x[: samples // size * size].reshape(-1, size)
        ours = partial(evaluate_all, uniform.windows(size).fft().arrays().node, {FAST: series})
        offline, online = partial(np.fft.fft, rows, axis=1), partial(_each, np.fft.fft, rows[: len(rows) // TENTH])
        yield _line(f"FFT of {size:,}", ours, offline, online, times)
    for size in WINDOWS:
        taps = RANDOM.normal(size=size)
        ours = partial(evaluate_all, uniform.fir(taps).node, {FAST: series})
        offline = partial(ss.lfilter, taps, 1.0, x) if size <= 128 else partial(ss.oaconvolve, x, taps)
        yield _line(f"FIR of {size:,}", ours, offline, partial(_by_chunks, taps, x[: samples // TENTH]), times)


def _line(name: str, ours: Work, offline: Work, online: Work, times: int) -> list[str]:
    """The two take turns, so that both meet the same machine; online is a tenth of the signal, times ten."""
    say(name)
    turns = [(timed(ours), timed(offline)) for _ in range(times + 1)][1:]
    found = [*(statistics.median(column) for column in zip(*turns, strict=True)), TENTH * timed(online)]
    return [name, *(f"{ms:,.1f}" for ms in found), f"{found[0] / found[1]:.2f}", f"{found[2] / found[0]:.1f}×"]


def _each(transform: Callable[[Any], Any], rows: np.ndarray) -> None:
    for row in rows:
        transform(row)


def _by_chunks(taps: np.ndarray, x: np.ndarray) -> None:
    """As a stream would come: chunks of a window's length, with the state carried on."""
    state = np.zeros(len(taps) - 1)
    for start in range(0, len(x), len(taps)):
        _, state = ss.lfilter(taps, 1.0, x[start : start + len(taps)], zi=state)


# ——— the same query for each of many groups


def queries() -> dict[str, Signal]:
    uniform = Signal(SLOW).sample(20, "none")
    both = Signal(SLOW).sample(5, "linear", max_gap=20) + Signal(FAST).sample(5, "none")
    return {
        "correlation with 32 samples": uniform.correlate(TEMPLATE),
        "interpolation, sum, extremes": both.where(_extreme),
        "overlap-add, 256 by 128": uniform.windows(256, 128, missing="zero").fft().ifft().overlap_add("sum"),
    }


def _extreme(x: Any) -> Any:
    return (x < 1e-4) | (x > 1.9999)


def correlated(group: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"at": group["at"], "v": ss.lfilter(TEMPLATE[::-1], 1.0, group["v"])})


def summed(group: pd.DataFrame) -> pd.DataFrame:
    """Slow readings are those with a `u`; fast ones those with a `v`."""
    slow, fast = group[group["v"].isna()], group[group["u"].isna()]
    total = fast["v"].to_numpy() + np.interp(fast["at"], slow["at"], slow["u"], left=np.nan, right=np.nan)
    return pd.DataFrame({"at": fast["at"], "v": total})[_extreme(total)]


def overlapped(group: pd.DataFrame) -> pd.DataFrame:
    x = np.concatenate([np.zeros(128), group["v"], np.zeros(255)])
    frames = np.lib.stride_tricks.sliding_window_view(x, 256)[::128]
    back, result = np.fft.ifft(np.fft.fft(frames, axis=1), axis=1).real, np.zeros(len(x))
    for i, frame in enumerate(back):
        result[i * 128 : i * 128 + 256] += frame
    return pd.DataFrame({"at": group["at"], "v": result[128 : 128 + len(group)]})


BY_GROUP = dict(zip(queries(), (correlated, summed, overlapped), strict=True))
DUCKDB = {
    "correlation with 32 samples": 'SELECT sensor, "at", list_dot_product(w, $template) AS v FROM (SELECT sensor, "at", '
    'list(v) OVER (PARTITION BY sensor ORDER BY "at" ROWS 31 PRECEDING) AS w FROM slow) WHERE len(w) = 32'
}


def grouped(groups: int, samples: int, times: int, spark: Any, only: list[str]) -> Iterator[list[str]]:
    each = samples // groups
    slow, fast = _series(groups, each, 20), _series(groups, 4 * each, 5)
    frames = {"slow": _frame(slow), "both": _both(slow, fast)}
    for name, signal in queries().items():
        if not name.startswith(tuple(only)) or (name.startswith("overlap") and each < SHORTEST):
            continue
        say(f"{name}, {groups:,} groups")
        given = {SLOW: slow, FAST: fast} if name.startswith("interpolation") else {SLOW: slow}
        frame, function = frames["both" if len(given) == 2 else "slow"], BY_GROUP[name]
        ours = median(partial(evaluate_all, signal.node, given), times)
        others = [_by_pandas(frame, function), _by_duckdb(name, frames["slow"]), _by_spark(spark, frame, function)]
        shown = [f"{ms:,.0f} ({ms / ours:,.0f}×)" if ms else "–" for ms in others]
        yield [name, f"{len(frame):,}", f"{groups:,}", f"{ours:,.0f}", *shown]


def _series(groups: int, each: int, period: int) -> Series:
    times = np.tile(np.arange(each) * period, groups)
    return Series(np.repeat(np.arange(groups), each), times, RANDOM.random(size=(groups * each, 1)))


def _frame(series: Series) -> pd.DataFrame:
    return pd.DataFrame({"sensor": series.groups, "at": series.times, "v": series.values[:, 0]})


def _both(slow: Series, fast: Series) -> pd.DataFrame:
    return pd.concat([_frame(slow).rename(columns={"v": "u"}), _frame(fast)]).sort_values(["sensor", "at"])


def _by_pandas(frame: pd.DataFrame, function: Callable[[pd.DataFrame], pd.DataFrame]) -> float:
    return timed(lambda: frame.groupby("sensor", sort=False)[frame.columns.to_list()[1:]].apply(function))


def _by_duckdb(name: str, slow: pd.DataFrame) -> float:
    if name not in DUCKDB:
        return 0.0
    with duckdb.connect() as con:
        con.register("slow", slow)
        return timed(lambda: con.sql(DUCKDB[name], params={"template": TEMPLATE.tolist()}).to_arrow_table())


def _by_spark(spark: Any, frame: pd.DataFrame, function: Callable[[pd.DataFrame], pd.DataFrame]) -> float:
    if spark is None:
        return 0.0

    def with_sensor(group: pd.DataFrame) -> pd.DataFrame:
        return function(group.sort_values("at")).assign(sensor=group["sensor"].iloc[0])

    made = spark.createDataFrame(pa.Table.from_pandas(frame, preserve_index=False)).cache()
    made.count()
    result = made.groupBy("sensor").applyInPandas(with_sensor, "at long, v double, sensor long")
    taken = timed(lambda: result.write.format("noop").mode("overwrite").save())
    made.unpersist()
    return taken


# ——— epochs in a warehouse


def epochs(stored: int, groups: int, times: int) -> Iterator[list[str]]:
    """New readings, late ones, and computing again, by Viewlet and by pandas."""
    with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder) as db:
        each = stored // groups
        _load(db, groups, each)
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


def _load(db: viewlet.Database, groups: int, each: int, **more: Any) -> None:
    db.create_table("readings", "sensor INT, at TIMESTAMP, v DOUBLE", trusted=True, **more)
    db.insert("readings", _readings(np.repeat(np.arange(groups), each), np.tile(np.arange(each), groups)))


def _readings(sensors: Any, seconds: Any) -> pa.Table:
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
    rows = _readings(np.arange(groups), np.full(groups, next(seconds)))
    return timed(lambda: db.insert("readings", rows))


def _late(db: viewlet.Database, groups: int, each: int) -> float:
    rows = _readings(RANDOM.permutation(groups)[:100], RANDOM.integers(each // 4, each, size=min(100, groups)))
    return timed(lambda: db.insert("readings", rows))


def states(groups: int, each: int) -> Iterator[list[str]]:
    """What is kept while the history grows ten times, with a watermark."""
    with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder) as db:
        _load(db, groups, each, watermark=("at", timedelta(seconds=each)))
        db.create_signal("loudness", _pipeline(db))
        for part in range(1, 11):
            sensors, seconds = np.repeat(np.arange(groups), each), np.tile(np.arange(each) + part * each, groups)
            db.insert("readings", _readings(sensors, seconds))
            contents = db.status()["views"]["loudness"]
            yield [
                f"{groups * each * (part + 1):,}",
                f"{contents['map_bytes'] / 1e6:,.1f}",
                f"{contents['bytes'] / 1e6:,.1f}",
            ]


def main() -> None:
    given, tables = _arguments(), list[tuple[list[str], list[list[str]]]]()
    for part in given.parts:
        headings, rows = PARTS[part](given)
        tables.append((headings, []))
        for row in rows:
            tables[-1][1].append(row)
            text = "\n\n".join(grid(*table) for table in tables)
            if given.out:  # what is there is written down, should a later row take too long
                given.out.write_text(f"{INTRODUCTION}\n\n{text}\n", encoding="utf-8")
    print(text)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="what to measure")
    parser.add_argument("--samples", type=int, default=200_000, help="of the long signal, and of all groups together")
    parser.add_argument("--groups", type=int, nargs="+", default=[10, 1_000], help="in how many groups these are")
    parser.add_argument("--queries", nargs="+", default=[""], help="how the names of those to measure begin")
    parser.add_argument("--stored", type=int, default=200_000, help="readings in the warehouse, in 1,000 groups")
    parser.add_argument("--times", type=int, default=5, help="how often each is measured")
    parser.add_argument("--spark", action="store_true", help="measure Spark with applyInPandas as well")
    parser.add_argument("--out", type=Path, help="the page, e.g. docs/signals-figures.md")
    return parser.parse_args()


INTRODUCTION = """# What signals cost, measured

`python -m benchmarks.signal --out docs/signals-figures.md` makes this page; [signals](signals.md) says what is measured. Milliseconds, and in brackets how many times those of Viewlet they are."""

Table = tuple[list[str], Iterator[list[str]]]
"""Headings, and rows as they are measured."""


def _long_table(given: argparse.Namespace) -> Table:
    shown = ["SciPy offline, ms", "SciPy online, ms", "part of offline", "online"]
    heading = [f"one signal of {given.samples:,} samples", "Viewlet, ms", *shown]
    return heading, long_signal(given.samples, given.times)


def _grouped_table(given: argparse.Namespace) -> Table:
    spark = _spark() if given.spark else None
    parts = (grouped(groups, given.samples, given.times, spark, given.queries) for groups in given.groups)
    return ["grouped query", "readings", "groups", "Viewlet", "pandas", "DuckDB", "Spark"], chain.from_iterable(parts)


def _epochs_table(given: argparse.Namespace) -> Table:
    heading = [f"{given.stored:,} readings of 1,000 sensors", "ms", "computing again takes"]
    return heading, epochs(given.stored, 1_000, given.times)


def _state_table(given: argparse.Namespace) -> Table:
    each = max(1, min(given.stored // 1_000, 2_000))
    return ["readings so far, of 100 sensors", "state, MB", "result, MB"], states(100, each)


PARTS: dict[str, Callable[[argparse.Namespace], Table]] = {
    "long": _long_table,
    "grouped": _grouped_table,
    "epochs": _epochs_table,
    "state": _state_table,
}


def _spark() -> Any:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return (
        SparkSession.builder.master("local[*]")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.driver.memory", "4g")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )


if __name__ == "__main__":
    main()
