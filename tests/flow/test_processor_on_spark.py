"""The same processor as a stage and in Spark's own `transformWithState`: both write the same rows."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import viewlet
from viewlet import flow

pytestmark = [pytest.mark.spark, pytest.mark.slow]

START = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
EVENTS = "user STRING, kind STRING, at TIMESTAMP"
TOLD = "user STRING, what STRING, n BIGINT"
INCREMENTS = [
    [("a", "x", 0), ("b", "y", 1), ("a", "x", 3)],
    [("a", "y", 9), ("c", "x", 8)],
    [("b", "reset", 30), ("c", "y", 31)],
    [("a", "x", 60), ("d", "x", 61)],
]


def watching() -> Any:
    """Values, lists, maps and timers: what it has seen of a user, and that it has heard nothing for five seconds."""
    from pyspark.sql import Row
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

    class Watching(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self.handle = handle
            self.last = handle.getValueState("last", "at BIGINT")
            self.times = handle.getListState("times", "at BIGINT")
            self.kinds = handle.getMapState("kinds", "kind STRING", "n BIGINT")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
            for row in sorted(rows, key=lambda row: row.at):
                at = int(row.at.timestamp() * 1000)
                self.times.appendValue((at,))
                (n,) = self.kinds.getValue((row.kind,)) or (0,)
                self.kinds.updateValue((row.kind,), (n + 1,))
                if self.last.exists():
                    self.handle.deleteTimer(self.last.get()[0] + 5_000)  # type: ignore[index]
                self.last.update((at,))
                self.handle.registerTimer(at + 5_000)
            if self.kinds.containsKey(("reset",)):
                self.kinds.clear()
            yield Row(user=key[0], what="times", n=len(list(self.times.get())))
            for (kind,), (n,) in sorted(self.kinds.iterator()):
                yield Row(user=key[0], what=kind, n=n)

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:
            quiet = expiredTimerInfo.getExpiryTimeInMs() - self.last.get()[0]  # type: ignore[index]
            self.last.clear()
            self.times.clear()
            yield Row(user=key[0], what="quiet", n=quiet)

        def close(self) -> None:
            pass

    return Watching()


def events(number: int) -> pa.Table:
    users, kinds, seconds = zip(*INCREMENTS[number], strict=True)
    times = pa.array([START + dt.timedelta(seconds=s) for s in seconds], pa.timestamp("us", "UTC"))
    return pa.table({"user": users, "kind": kinds, "at": times})


def told_by_spark(spark: Any, folder: Path) -> list[Counter[Any]]:
    """What Spark writes for each increment: a query for each, which goes on from the checkpoint of the one before."""
    folder.joinpath("events").mkdir(parents=True)
    told: list[Counter[Any]] = []
    for number in range(len(INCREMENTS)):
        pq.write_table(events(number), folder / "events" / f"{number}.parquet")
        told.append(Counter())
        stream = spark.readStream.schema(EVENTS).parquet(str(folder / "events")).withWatermark("at", "2 seconds")
        written = stream.groupBy("user").transformWithState(watching(), TOLD, "Append", "EventTime")

        def collect(batch: Any, number: int) -> None:
            told[-1].update(tuple(row) for row in batch.collect())

        started = written.writeStream.foreachBatch(collect).outputMode("append")
        started = started.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
        started.start().awaitTermination()
    return told


def told_by_a_stage(db: viewlet.Database) -> list[Counter[Any]]:
    made = flow.Flow("watch")
    made.source("events", schema=EVENTS)
    made.processor(
        watching(),
        input="events",
        route_by="user STRING",
        outputs={"told": flow.Output(TOLD, table="told")},
        time_mode="event time",
        event_time="at",
        delay=dt.timedelta(seconds=2),
        name="watch",
    )
    db.create_flow(made)
    told: list[Counter[Any]] = []
    for number in range(len(INCREMENTS)):
        db.run_flow("watch", {"events": events(number)})
        told.append(Counter(db.table("told").rows()) - sum(told, Counter()))
    return told


def test_a_stage_writes_what_spark_writes(tmp_path: Path, spark: Any, db: viewlet.Database) -> None:
    key = "spark.sql.streaming.stateStore.providerClass"
    session = spark.newSession()
    session.conf.set(key, "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")
    session.conf.set("spark.sql.shuffle.partitions", "1")
    expected = told_by_spark(session, tmp_path / "spark")
    assert told_by_a_stage(db) == expected
    assert expected[2]["a", "quiet", 5_000] == 1
