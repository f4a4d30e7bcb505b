"""The grouped queries 3 to 5 of the thesis (§7.5.2) beside Spark, pandas and DuckDB: figures 7.10 to 7.12."""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import signal as ss

from benchmarks.measure import measured, say, timed
from viewlet.signal import Signal
from viewlet.signal.change.online import evaluate_all
from viewlet.signal.plan.nodes import Source
from viewlet.signal.samples.series import Series

RANDOM = np.random.default_rng(1)
TEMPLATE = RANDOM.normal(size=32)
FAST = Source("fast", ("sensor",), "at", "number", ("v",), False, "error")
SLOW = Source("slow", ("sensor",), "at", "number", ("v",), False, "error")
SHORTEST = 64
"""Samples of a group that make a window worth it."""
OfGroup = Callable[[pd.DataFrame], pd.DataFrame]


def extreme(x: Any) -> Any:
    return (x < 1e-4) | (x > 1.9999)


def correlated(group: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"at": group["at"], "v": ss.lfilter(TEMPLATE[::-1], 1.0, group["v"])})


def summed(group: pd.DataFrame) -> pd.DataFrame:
    """Slow readings are those with a `u`; fast ones those with a `v`."""
    slow, fast = group[group["v"].isna()], group[group["u"].isna()]
    total = fast["v"].to_numpy() + np.interp(fast["at"], slow["at"], slow["u"], left=np.nan, right=np.nan)
    return pd.DataFrame({"at": fast["at"], "v": total})[extreme(total)]


def overlapped(group: pd.DataFrame) -> pd.DataFrame:
    x = np.concatenate([np.zeros(128), group["v"], np.zeros(255)])
    frames = np.lib.stride_tricks.sliding_window_view(x, 256)[::128]
    back, result = np.fft.ifft(np.fft.fft(frames, axis=1), axis=1).real, np.zeros(len(x))
    for i, frame in enumerate(back):
        result[i * 128 : i * 128 + 256] += frame
    return pd.DataFrame({"at": group["at"], "v": result[128 : 128 + len(group)]})


@dataclass(frozen=True)
class Query:
    """A query as Viewlet has it, as a function of one group's rows, and in SQL where DuckDB can express it."""

    signal: Signal
    of_group: OfGroup
    sql: str | None = None
    reads_both: bool = False


_UNIFORM = Signal(SLOW).sample(20, "none")
QUERIES = {
    "correlation with 32 samples": Query(
        _UNIFORM.correlate(TEMPLATE),
        correlated,
        'SELECT sensor, "at", list_dot_product(w, $template) AS v FROM (SELECT sensor, "at", list(v) OVER '
        '(PARTITION BY sensor ORDER BY "at" ROWS 31 PRECEDING) AS w FROM slow) WHERE len(w) = 32',
    ),
    "interpolation, sum, extremes": Query(
        (Signal(SLOW).sample(5, "linear", max_gap=20) + Signal(FAST).sample(5, "none")).where(extreme),
        summed,
        reads_both=True,
    ),
    "overlap-add, 256 by 128": Query(
        _UNIFORM.windows(256, 128, missing="zero").fft().ifft().overlap_add("sum"), overlapped
    ),
}


@dataclass(frozen=True)
class Readings:
    """So many readings in so many groups; where a query reads both signals, four of five are fast ones."""

    slow: Series
    fast: Series | None

    @staticmethod
    def of(query: Query, readings: int, groups: int) -> Readings:
        each = readings // groups // (5 if query.reads_both else 1)
        return Readings(_series(groups, each, 20), _series(groups, 4 * each, 5) if query.reads_both else None)

    @property
    def given(self) -> dict[Source, Series]:
        return {SLOW: self.slow} if self.fast is None else {SLOW: self.slow, FAST: self.fast}

    @cached_property
    def frame(self) -> pd.DataFrame:
        if self.fast is None:
            return _frame(self.slow)
        both = pd.concat([_frame(self.slow).rename(columns={"v": "u"}), _frame(self.fast)])
        return both.sort_values(["sensor", "at"])


def _series(groups: int, each: int, period: int) -> Series:
    times = np.tile(np.arange(each) * period, groups)
    return Series(np.repeat(np.arange(groups), each), times, RANDOM.random(size=(groups * each, 1)))


def _frame(series: Series) -> pd.DataFrame:
    return pd.DataFrame({"sensor": series.groups, "at": series.times, "v": series.values[:, 0]})


def grouped(readings: int, groups: int, times: int, spark: Any, only: list[str]) -> Iterator[list[str]]:
    """A row for each query whose name begins as wanted."""
    for name, query in QUERIES.items():
        if name.startswith(tuple(only)) and (readings // groups >= SHORTEST or not name.startswith("overlap")):
            say(f"{name}, {groups:,} groups")
            taken = Readings.of(query, readings, groups)
            ours = statistics.median(
                measured(lambda: timed(partial(evaluate_all, query.signal.node, taken.given)), times)  # noqa: B023
            )
            others = [
                _by_pandas(taken.frame, query),
                _by_duckdb(taken.frame, query),
                _by_spark(spark, taken.frame, query),
            ]
            shown = [f"{ms:,.0f} ({ms / ours:,.0f}×)" if ms else "–" for ms in others]
            yield [name, f"{groups:,}", f"{len(taken.frame):,}", f"{ours:,.0f}", *shown]


def _by_pandas(frame: pd.DataFrame, query: Query) -> float:
    return timed(lambda: frame.groupby("sensor", sort=False)[frame.columns.to_list()[1:]].apply(query.of_group))


def _by_duckdb(frame: pd.DataFrame, query: Query) -> float:
    if (text := query.sql) is None:
        return 0.0
    with duckdb.connect() as con:
        con.register("slow", frame)
        return timed(lambda: con.sql(text, params={"template": TEMPLATE.tolist()}).to_arrow_table())


def _by_spark(spark: Any, frame: pd.DataFrame, query: Query) -> float:
    if spark is None:
        return 0.0
    of_group = query.of_group

    def with_sensor(group: pd.DataFrame) -> pd.DataFrame:
        return of_group(group.sort_values("at")).assign(sensor=group["sensor"].iloc[0])

    made = spark.createDataFrame(pa.Table.from_pandas(frame, preserve_index=False)).cache()
    made.count()
    result = made.groupBy("sensor").applyInPandas(with_sensor, "at long, v double, sensor long")
    taken = timed(lambda: result.write.format("noop").mode("overwrite").save())
    made.unpersist()
    return taken


def spark_session() -> Any:
    """Spark on all cores, with Arrow."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return (
        SparkSession.builder.master("local[*]")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.driver.memory", "6g")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
