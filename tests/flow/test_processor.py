"""Processors written for Spark's `transformWithState` are stages of a flow, and what they keep is a table."""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import viewlet
from viewlet import flow

START = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)


class Counting:
    """Counts and lists what it sees of each key."""

    def init(self, handle: Any) -> None:
        self.count = handle.getValueState("count", "n BIGINT")
        self.amounts = handle.getListState("amounts", "amount DECIMAL(9,2)")
        self.kinds = handle.getMapState("kinds", "kind STRING", "n BIGINT, last DATE")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        before = self.count.get() or (0,)
        seen = 0
        for row in rows:
            seen += 1
            self.amounts.appendValue((row.amount,))
            n, _ = self.kinds.getValue((row.kind,)) or (0, None)
            self.kinds.updateValue((row["kind"],), (n + 1, dt.date(2026, 1, n + 1)))
        self.count.update((before[0] + seen,))
        if self.kinds.containsKey(("reset",)):
            self.amounts.clear()
            self.kinds.removeKey(("reset",))
        total = sum((amount for (amount,) in self.amounts.get()), Decimal(0))
        yield (key[0], self.count.get()[0], total, sorted(kind for (kind,) in self.kinds.keys()))  # noqa: SIM118

    def close(self) -> None:
        pass


def test_values_lists_and_maps_are_kept_between_runs(db: viewlet.Database) -> None:
    made = flow.Flow("p")
    made.source("events", schema="user STRING, kind STRING, amount DECIMAL(9,2)")
    out = flow.Output("user STRING, n BIGINT, total DECIMAL(12,2), kinds ARRAY<STRING>", table="seen")
    made.processor(Counting, input="events", route_by="user STRING", outputs={"seen": out})
    db.create_flow(made)
    db.run_flow("p", {"events": [("a", "x", "1.50"), ("b", "y", "2.00"), ("a", "z", "0.25")]})
    db.run_flow("p", {"events": [("a", "x", "4.00")]})
    db.run_flow("p", {"events": [("b", "reset", "9.00"), ("c", "x", "1.00")]})
    assert sorted(db.table("seen").rows()) == [
        ("a", 2, Decimal("1.75"), ["x", "z"]),
        ("a", 3, Decimal("5.75"), ["x", "z"]),
        ("b", 1, Decimal("2.00"), ["y"]),
        ("b", 2, Decimal("0.00"), ["y"]),
        ("c", 1, Decimal("1.00"), ["x"]),
    ]
    table = [row for row in db.table("p_Counting").rows() if row[0] == "a"]
    values = {(kind, variable, position, item): value for _, kind, variable, position, item, value, _ in table}
    assert json.loads(values["value", "count", None, None]) == [3]
    assert json.loads(values["list", "amounts", 2, None]) == [{"$decimal": "4.00"}]
    assert json.loads(values["map", "kinds", None, '["x"]']) == [2, {"$date": "2026-01-02"}]


class Sessions:
    """Tells how long a session was, five seconds after its last event."""

    def init(self, handle: Any) -> None:
        self.handle = handle
        self.session = handle.getValueState("session", "began BIGINT, ended BIGINT")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        times = [int(row.at.timestamp() * 1000) for row in rows]
        began, ended = self.session.get() or (min(times), 0)
        for timer in list(self.handle.listTimers()):
            self.handle.deleteTimer(timer)
        self.session.update((min(began, *times), max(ended, *times)))
        self.handle.registerTimer(max(ended, *times) + 5_000)
        return iter(())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
        began, ended = self.session.get()
        assert expiredTimerInfo.getExpiryTimeInMs() == ended + 5_000 <= timerValues.getCurrentWatermarkInMs()
        self.session.clear()
        yield {"user": key[0], "milliseconds": ended - began}

    def close(self) -> None:
        pass


def after(seconds: float) -> dt.datetime:
    return START + dt.timedelta(seconds=seconds)


def test_timers_expire_by_the_watermark(db: viewlet.Database) -> None:
    made = flow.Flow("sessions")
    made.source("events", schema="user STRING, at TIMESTAMP")
    out = flow.Output("user STRING, milliseconds BIGINT", table="sessions_over")
    made.processor(
        Sessions(),
        input="events",
        route_by="user STRING",
        outputs={"over": out},
        time_mode="event time",
        event_time="at",
        delay=dt.timedelta(seconds=2),
        name="sessions",
    )
    db.create_flow(made)
    db.run_flow("sessions", {"events": [("a", after(0)), ("a", after(3)), ("b", after(1))]})
    db.run_flow("sessions", {"events": [("a", after(6))]})
    assert db.table("sessions_over").rows() == [], "the watermark is four seconds on"
    db.run_flow("sessions", {"events": [("c", after(8))]})
    assert db.table("sessions_over").rows() == [("b", 0)]
    db.run_flow("sessions", {"events": [("c", after(20))]})
    assert sorted(db.table("sessions_over").rows()) == [("a", 6_000), ("b", 0)]
    left = {(row[0], row[1]) for row in db.table("sessions_sessions").rows()}
    assert left == {("c", "value"), ("c", "timer"), (None, "watermark")}


class Remembering:
    """Says whether it has seen a key within the last ten seconds, and is reminded of it after thirty."""

    def init(self, handle: Any) -> None:
        self.handle = handle
        self.seen = handle.getValueState("seen", "n INT", 10_000)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        yield (key[0], "again" if self.seen.exists() else "new")
        self.seen.update((1,))
        self.handle.registerTimer(timerValues.getCurrentProcessingTimeInMs() + 30_000)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
        yield (key[0], "reminded")

    def close(self) -> None:
        pass


def _read_clock() -> float:
    return float(Path(CLOCK).read_text(encoding="utf-8"))


CLOCK = ""


def test_states_expire_and_ticks_let_time_go_on(
    db: viewlet.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = tmp_path / "clock"
    monkeypatch.setattr(sys.modules[__name__], "CLOCK", str(clock))
    made = flow.Flow("memory")
    made.source("events", schema="user STRING")
    made.source("ticks", schema="n INT")
    out = flow.Output("user STRING, what STRING", table="told")
    made.processor(
        Remembering,
        input="events",
        route_by="user STRING",
        outputs={"told": out},
        time_mode="processing time",
        ticks="ticks",
        clock=_read_clock,
    )
    db.create_flow(made)
    for at, given in ((100, {"events": [("a",)]}), (109, {"events": [("a",)]}), (120, {"events": [("a",)]})):
        clock.write_text(str(at), encoding="utf-8")
        db.run_flow("memory", given)
    assert Counter(db.table("told").rows()) == {("a", "new"): 2, ("a", "again"): 1}
    clock.write_text("139.5", encoding="utf-8")
    db.run_flow("memory", {"ticks": [(1,)]})
    assert Counter(db.table("told").rows())["a", "reminded"] == 2
    assert {row[1] for row in db.table("memory_Remembering").rows()} == {"timer"}


def test_a_processor_of_sparks_is_accepted_and_gets_sparks_rows(db: viewlet.Database) -> None:
    from pyspark.sql import Row
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

    class Sum(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self.total = handle.getValueState("total", "total BIGINT")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
            (before,) = self.total.get() or (0,)
            self.total.update((before + sum(row.n for row in rows),))
            yield Row(total=self.total.get()[0], k=key[0])  # type: ignore[index]

    made = flow.Flow("sums")
    made.source("numbers", schema="k BIGINT, n BIGINT")
    out = flow.Output("k BIGINT, total BIGINT", table="totals", primary_key="k")
    made.processor(Sum, input="numbers", route_by="k BIGINT", outputs={"totals": out})
    db.create_flow(made)
    db.run_flow("sums", {"numbers": [(1, 2), (2, 3), (1, 4)]})
    db.run_flow("sums", {"numbers": [(1, 10)]})
    assert sorted(db.table("totals").rows()) == [(1, 16), (2, 3)]
