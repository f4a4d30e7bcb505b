"""Watermarks: late rows are counted and kept aside, older rows are final, closed windows leave the state."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import viewlet
from tests.marks import rounds, some
from viewlet import Database
from viewlet.errors import EvaluationError, InUse, RejectedEpoch, SqlError
from viewlet.views.view import sql_view

pytestmark = pytest.mark.spark
START = dt.datetime(2024, 5, 1, 12, 0, tzinfo=dt.UTC)
CLICKS = "CREATE TABLE clicks (id BIGINT, user STRING, at TIMESTAMP, PRIMARY KEY (id)) WATERMARK at DELAY INTERVAL 10 MINUTES"
VIEWS = {
    "tumbling": "SELECT window, user, count(*) AS n, sum(id) AS s FROM clicks GROUP BY window(at, '5 minutes'), user",
    "sliding": "SELECT window.start AS t, count(*) AS n FROM clicks GROUP BY window(at, '10 minutes', '5 minutes')",
    "highest": "SELECT window.end AS t, max(id) AS m, min(user) AS u FROM clicks GROUP BY window(at, '5 minutes')",
    "users": "SELECT window.start AS t, count(DISTINCT user) AS n FROM clicks GROUP BY window(at, '5 minutes')",
    "by_time": "SELECT at, count(*) AS n FROM clicks GROUP BY at HAVING count(*) > 0",
    "by_user": "SELECT user, count(*) AS n FROM clicks GROUP BY user",
    "sessions": "SELECT user, session_window.start AS t, count(*) AS n FROM clicks GROUP BY user, session_window(at, '2 minutes')",
    "visits": "SELECT session_window, max(user) AS u, count(DISTINCT user) AS n FROM clicks GROUP BY session_window(at, IF(user = 'u1', '30 seconds', '40 seconds'))",
    "starts": "SELECT t, count(*) AS n FROM (SELECT user, session_window.start AS t FROM clicks GROUP BY user, session_window(at, '2 minutes')) GROUP BY t",
    "late": "SELECT user, count(*) AS n FROM clicks_late GROUP BY user",
}
LETTING_GO = ("tumbling", "sliding", "highest", "users", "by_time", "sessions", "visits")


def at(minutes: float) -> dt.datetime:
    return START + dt.timedelta(minutes=minutes)


def maps_of(db: Database, view: str) -> int:
    """How many rows the maps of a view hold, beside its own."""
    snapshot = db._warehouse.store.snapshot()
    kept = [m.name for m in sql_view(db._warehouse.catalog, view).program.maps if m.stored and m.name != view]
    return sum(len(snapshot.contents(name).consolidated()) for name in kept)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "w"


def test_late_rows_are_kept_aside(path: Path, spark: Any) -> None:
    with viewlet.connect(path, spark=spark, engine="inproc") as db:
        db.sql(CLICKS)
        db.create_view("tumbling", VIEWS["tumbling"])
        db.create_view("late", VIEWS["late"])
        db.insert("clicks", [(1, "a", at(0)), (2, "b", at(-60))])  # judged by the watermark that the epoch found: none
        assert db.status()["tables"]["clicks"]["watermark"] == "2024-05-01 11:50:00"
        with db.epoch() as e:
            e.insert("clicks", [(3, "a", at(-10)), (4, "a", at(-10.01)), (5, "c", at(30)), (6, "c", None)])
        assert e.late == {"clicks": 1}
        assert db.table("clicks_late").rows() == [(4, "a", at(-10.01))]
        assert sorted(row[0] for row in db.table("clicks").rows()) == [1, 2, 3, 5, 6]
        assert db.history("clicks")[-1]["tables"]["clicks_late"] == {"inserted": 1, "deleted": 0}
        assert db.insert("clicks", [(7, "b", at(0))]) == db._warehouse.store.epoch  # all of an epoch is late
        assert sorted(db.table("late").rows()) == [("a", 1), ("b", 1)]
        assert db.sql("SELECT count(*) AS n FROM clicks_late").to_pylist() == [{"n": 2}]
        status = db.status()["tables"]["clicks"]
        assert (status["late"], status["watermark"]) == (2, "2024-05-01 12:20:00")
        assert db.check().num_rows == 0
    with viewlet.connect(path, spark=spark, engine="inproc") as again:
        again.insert("clicks", [(8, "b", at(19))])
        assert sorted(row[0] for row in again.table("clicks_late").rows()) == [4, 7, 8]


def test_what_is_older_is_final(path: Path, spark: Any) -> None:
    with viewlet.connect(path, spark=spark, engine="inproc") as db:
        db.sql(CLICKS)
        db.insert("clicks", [(1, "a", at(0)), (2, "b", at(60))])
        final = (
            r"table clicks, row 1 \(id=1\): it is older than the watermark, 2024-05-01 12:50:00, so \w+ is not possible"
        )
        changes: list[Callable[[viewlet.Epoch], None]] = [
            lambda e: e.delete("clicks", [(1,)]),
            lambda e: e.delete("clicks", [(1, "a", at(0))]),
            lambda e: e.upsert("clicks", [(1, "a", at(70))]),
        ]
        for change in changes:
            with pytest.raises(RejectedEpoch, match=final), db.epoch() as e:
                change(e)
        db.upsert("clicks", [(2, "late", at(1))])  # the new row is late; the one that is there stays
        assert db.table("clicks_late").rows() == [(2, "late", at(1))]
        db.upsert("clicks", [(2, "b", at(61))])
        db.delete("clicks", [(2,)])  # which does not turn the clock back
        assert db.status()["tables"]["clicks"]["watermark"] == "2024-05-01 12:51:00"
        assert db.table("clicks").rows() == [(1, "a", at(0))]


def test_an_epoch_that_fails_leaves_nothing(path: Path, spark: Any) -> None:
    with viewlet.connect(path, spark=spark, engine="inproc") as db:
        db.sql(CLICKS)
        db.create_view("fragile", "SELECT id, 1 / (id - 99) AS x FROM clicks")
        db.create_view("late", VIEWS["late"])
        db.insert("clicks", [(1, "a", at(0))])
        before = db.status()["tables"]
        with pytest.raises(EvaluationError, match="DIVIDE_BY_ZERO"):
            db.insert("clicks", [(99, "a", at(60)), (2, "b", at(-60))])
        assert (db.status()["tables"], db.table("late").rows()) == (before, [])
        db.insert("clicks", [(3, "a", at(-5))])  # the clock did not move
        assert len(db.table("clicks_late")) == 0


@pytest.mark.parametrize("engine", ["inproc", pytest.param("spark", marks=pytest.mark.slow)])
def test_closed_windows_leave_the_state(path: Path, spark: Any, engine: Any) -> None:
    # An epoch on Spark takes seconds.
    names, step = (some(2, LETTING_GO), 10) if engine == "inproc" else (["tumbling"], 40)
    with viewlet.connect(path, spark=spark, engine=engine) as db:
        db.sql(CLICKS)
        for name in names:
            db.create_view(name, VIEWS[name])
            assert "that the watermark of clicks has passed" in db.explain(name)
        number, most = 0, dict.fromkeys(names, 0)
        for minute in range(0, 120, step):
            rows = [(number := number + 1, f"u{i % 3}", at(minute + i)) for i in range(step)]
            db.insert("clicks", rows)
            most = {name: max(most[name], maps_of(db, name)) for name in names}
        assert db.check().num_rows == 0
        assert len(db.table("tumbling").rows()) == 24 * 3  # all windows, closed or not
        assert all(count < 60 for count in most.values()), most
        db.insert("clicks", [(1000, "u0", at(118)), (1001, "u1", at(-5))])
        db.delete("clicks", [(1000,)])
        assert db.status()["tables"]["clicks"]["late"] == 1
        assert db.check().num_rows == 0
        twin = "SELECT window, user, count(*) AS n, sum(id) AS s FROM clicks GROUP BY window(at, '5 minutes'), user"
        db.create_view("twin", twin)  # shares no map that lacks closed windows
        assert db.check("twin").num_rows == 0
        db.rebuild("tumbling")
        db.insert("clicks", [(2000, "u0", at(300))])
        assert db.check().num_rows == 0
        assert maps_of(db, "tumbling") == 1


@pytest.mark.slow
def test_a_session_stays_until_its_end_has_passed(path: Path, spark: Any) -> None:
    with viewlet.connect(path, spark=spark, engine="inproc") as db:
        db.sql(CLICKS)
        db.create_view("sessions", VIEWS["sessions"])
        count = rounds(25, 60)
        db.insert("clicks", [(0, "b", at(0))])
        for minute in range(count):  # one session, of which most is older than the watermark
            db.insert("clicks", [(minute + 1, "a", at(minute))])
        assert maps_of(db, "sessions") == count + 1  # its rows and its sum; the session of b is gone
        db.insert("clicks", [(100, "a", at(100))])
        assert maps_of(db, "sessions") == 1 + 1
        db.insert("clicks", [(101, "a", at(98)), (102, "b", at(101))])
        assert sorted(db.table("sessions").rows()) == [
            ("a", at(0), count),
            ("a", at(98), 2),
            ("b", at(0), 1),
            ("b", at(101), 1),
        ]
        assert db.check().num_rows == 0


@pytest.mark.parametrize(("name", "reason"), [
    ("by_user", "it is not grouped by the time `at`, or by a window of it"),
    ("starts", "it is not grouped by the time `at`, or by a window of it"),
])  # fmt: skip
def test_others_keep_their_state(path: Path, spark: Any, name: str, reason: str) -> None:
    with viewlet.connect(path, spark=spark, engine="inproc") as db:
        db.sql(CLICKS)
        db.create_view(name, VIEWS[name])
        assert f"no group is evicted, despite the watermark: {reason}" in db.explain(name)
        for minute in (0, 60, 120):
            db.insert("clicks", [(minute, "a", at(minute)), (minute + 1, "a", at(minute + 1))])
        assert db.check().num_rows == 0


@given(st.lists(st.lists(st.tuples(st.integers(0, 2), st.none() | st.integers(0, 90)), max_size=6), max_size=6))
@settings(max_examples=rounds(2, 10))
def test_any_order_of_arrival(spark: Any, tmp_path_factory: Any, epochs: list[list[tuple[int, int | None]]]) -> None:
    """Late rows are just those before the latest time of earlier epochs, less the delay; views hold all the others."""
    with viewlet.connect(tmp_path_factory.mktemp("w") / "w", spark=spark, engine="inproc") as db:
        db.sql("CREATE TABLE clicks (user STRING, at TIMESTAMP) APPEND ONLY WATERMARK at DELAY '5 minutes'")
        for name in some(2, ("tumbling", "sliding", "highest", "sessions", "visits")):
            db.create_view(name, VIEWS[name].replace("sum(id)", "max(user)").replace("max(id)", "count(*)"))
        latest, late, number = None, 0, 0
        for epoch in epochs:
            rows = [(f"u{user}", None if minute is None else at(minute)) for user, minute in epoch]
            times = [minute for _, minute in epoch if minute is not None]
            expected = sum(latest is not None and minute < latest - 5 for minute in times)
            with db.epoch() as e:
                e.insert("clicks", rows)
            assert e.late == ({"clicks": expected} if expected else {})
            late, number = late + expected, number + len(rows)
            latest = max([*times, *([] if latest is None else [latest])], default=None)
        assert (len(db.table("clicks_late")), len(db.table("clicks"))) == (late, number - late)
        assert db.check().num_rows == 0


@pytest.mark.slow
def test_a_writer_that_is_killed(path: Path, spark: Any) -> None:
    """Every committed epoch has its row, its late row and its clock; no other has any of them."""
    with viewlet.connect(path, spark=spark, engine="inproc") as db:
        db.sql(CLICKS)
        db.create_view("tumbling", VIEWS["tumbling"])
        db.insert("clicks", [(0, "first", at(0))])
        first = db._warehouse.store.epoch + 1
    for seconds in some(2, (0.05, 0.15, 0.4)):
        said = run_and_kill(path, seconds)
        with viewlet.connect(path, spark=spark, engine="inproc") as db:
            last = db._warehouse.store.epoch
            assert last >= said >= first
            assert sorted(r[0] for r in db.table("clicks").rows()) == [0, *range(first, last + 1)]
            assert sorted(-r[0] for r in db.table("clicks_late").rows()) == list(range(first, last + 1))
            assert db.status()["tables"]["clicks"]["watermark"] == f"{at(last - 10):%Y-%m-%d %H:%M:%S}"
            assert db.check().num_rows == 0


def run_and_kill(path: Path, seconds: float) -> int:
    """Let a writer run for some time and kill it; the last epoch that it said was committed."""
    command = [sys.executable, "-m", "tests.late_writer", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent) as writer:
        assert writer.stdout is not None
        heard = writer.stdout.readline()
        time.sleep(seconds)
        writer.kill()
        heard += writer.stdout.read()
    return int([line for line in heard.split("\n")[:-1] if line][-1])


def test_dates(path: Path, spark: Any) -> None:
    with viewlet.connect(path, spark=spark, engine="inproc") as db:
        db.create_table("t", "day DATE, x INT", watermark=("DAY", dt.timedelta(days=2)))
        db.create_view("v", "SELECT day, sum(x) AS s FROM t GROUP BY day")
        for day in (1, 5, 9, 20):
            db.insert("t", [(dt.date(2024, 5, day), day), (dt.date(2024, 5, 3), day)])
        assert sorted(db.table("t_late").rows()) == [(dt.date(2024, 5, 3), 20)]
        assert maps_of(db, "v") == 1
        assert db.check("v").num_rows == 0


def test_the_late_table_goes_with_its_table(path: Path, spark: Any) -> None:
    with viewlet.connect(path, spark=spark, engine="inproc") as db:
        db.sql(CLICKS)
        db.insert("clicks", [(1, "a", at(0))])
        db.insert("clicks", [(2, "a", at(-30))])
        db.sql("ALTER TABLE clicks ADD COLUMN note STRING")
        db.insert("clicks", [(3, "a", at(-31), "x")])
        assert sorted(db.table("clicks_late").rows()) == [(2, "a", at(-30), None), (3, "a", at(-31), "x")]
        with pytest.raises(RejectedEpoch, match="table clicks_late holds rows that clicks did not accept"):
            db.insert("clicks_late", [(1, "a", at(0), None)])
        with pytest.raises(InUse, match="is created and dropped with it"):
            db.drop("clicks_late")
        db.create_view("late", VIEWS["late"])
        with pytest.raises(InUse, match="late read clicks"):
            db.drop("clicks")
        db.drop("clicks", cascade=True)
        assert db._warehouse.catalog.names() == ()
        db.sql(CLICKS)
        assert db.status()["tables"]["clicks"]["watermark"] is None


@pytest.mark.parametrize(("options", "message"), [
    ("WATERMARK id DELAY INTERVAL 1 DAY", "needs a TIMESTAMP or DATE column, and id is neither .*there are: at"),
    ("WATERMARK at DELAY INTERVAL 1 MONTH", "is not a delay"),
    ("WATERMARK at DELAY", "expected a delay"),
    ("WATERMARK at", "expected DELAY"),
])  # fmt: skip
def test_what_is_no_watermark(path: Path, spark: Any, options: str, message: str) -> None:
    with viewlet.connect(path, spark=spark, engine="inproc") as db, pytest.raises(SqlError, match=message):
        db.sql(f"CREATE TABLE t (id INT, at TIMESTAMP) {options}")
