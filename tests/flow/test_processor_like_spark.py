"""A processor with values, lists, maps and timers, as a stage: it writes what Spark wrote for it.

`TOLD_BY_SPARK` is what `transformWithState` of Spark 4.1.4 gave for the same class, with a watermark two seconds late, as
a query with `trigger(availableNow=True)` for each increment, each going on from the checkpoint of the one before.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from typing import Any

import pyarrow as pa

import viewlet
from viewlet import flow

START = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
EVENTS = "user STRING, kind STRING, at TIMESTAMP"
TOLD = "user STRING, what STRING, n BIGINT"
INCREMENTS = [
    [("a", "x", 0), ("b", "y", 1), ("a", "x", 3)],
    [("a", "y", 9), ("c", "x", 8)],
    [("b", "reset", 30), ("c", "y", 31)],
    [("a", "x", 60), ("d", "x", 61)],
]
TOLD_BY_SPARK = [
    [("a", "times", 2), ("a", "x", 2), ("b", "times", 1), ("b", "y", 1)],
    [("a", "times", 3), ("a", "x", 2), ("a", "y", 1), ("b", "quiet", 5_000), ("c", "times", 1), ("c", "x", 1)],
    [("a", "quiet", 5_000), ("b", "times", 1), ("c", "times", 2), ("c", "x", 1), ("c", "y", 1)],
    [
        *[("a", "times", 1), ("a", "x", 3), ("a", "y", 1), ("b", "quiet", 5_000)],
        *[("c", "quiet", 5_000), ("d", "times", 1), ("d", "x", 1)],
    ],
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


def test_a_stage_writes_what_spark_wrote(db: viewlet.Database) -> None:
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
    before: Counter[Any] = Counter()
    for number, expected in enumerate(TOLD_BY_SPARK):
        db.run_flow("watch", {"events": events(number)})
        now = Counter(db.table("told").rows())
        assert sorted((now - before).elements()) == expected
        before = now
