"""Signals in a warehouse, through its public surface: epochs, restarts, views on both sides, refusals."""

from __future__ import annotations

import datetime as dt
import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import signal as ss

import viewlet
from tests.signal.crash_writer import replay, write
from tests.signal.epochs import Readings, Result, compare, naive_result, next_readings
from tests.signal.recipes import STEPS, Recipe, recipes
from viewlet.progress import Progress
from viewlet.signal import Signal

pytestmark = pytest.mark.usefixtures("close_checkpoints")

TABLE = "sensor INT, at BIGINT, v DOUBLE"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w") as opened:
        opened.create_table("readings", TABLE, primary_key=("sensor", "at"))
        yield opened


def source(db: viewlet.Database) -> Signal:
    return db.signal("readings", by="sensor", time="at", value="v")


def result(db: viewlet.Database, name: str) -> Result:
    """What a signal holds, as a dict; complex numbers are in two columns."""
    rows = db.table(name).rows()
    found: Result = {}
    for row in rows:
        values = [np.array(x) if isinstance(x, list) else x for x in row[2:]]
        assert (row[0], row[1]) not in found, "two samples at one time"
        found[row[0], row[1]] = values[0] if len(values) == 1 else values[0] + 1j * values[1]
    return found


def follow_epochs(path: Path, recipe: Recipe, seed: int, epochs: int, **options: Any) -> None:
    """Random epochs; after the second, the warehouse is closed and opened again before each."""
    random, readings = np.random.default_rng(seed), Readings()
    db = viewlet.connect(path, **options)
    db.create_table("readings", TABLE, primary_key=("sensor", "at"))
    for epoch in range(epochs):
        before, readings = readings, next_readings(random, readings, epoch * 100)
        write(db, before, readings)
        if epoch == 0:
            db.create_signal("out", recipe(source(db)))
        told = f"{recipe.steps}, seed {seed}, epoch {epoch}"
        compare(result(db, "out"), naive_result(recipe, readings), told)
        assert db.check("out").num_rows == 0, told
        if epoch >= 2:
            db.close()
            db = viewlet.connect(path, **options)
    feed: dict[Any, int] = {}
    for row in db.table("out").changes(since=0).to_pylist():
        key = repr([v for k, v in row.items() if not k.startswith("_")])
        feed[key] = feed.get(key, 0) + (1 if row["_change_type"] == "insert" else -1)
    held = [repr(list(row.values())) for row in db.table("out").arrow().to_pylist()]
    assert sorted(held) == sorted(key for key, count in feed.items() for _ in range(count)), "the feed adds up"
    db.close()


@pytest.mark.parametrize(
    "steps",
    [
        ("sample linear None", "iir slow"),
        ("where", "sample cubic 35", "denoise", "iir band"),
        ("sample last 35", "own filter", "moving median", "complex"),
        ("sample none 35", "iir", "long fir", "autocorrelation"),
        ("minus itself shifted", "sample quadratic None", "running", "plus faster"),
    ],
    ids=lambda steps: steps[-1],
)
def test_epochs_and_restarts(tmp_path: Path, steps: tuple[str, ...]) -> None:
    follow_epochs(tmp_path / "w", Recipe(steps), 1, 6)


@pytest.mark.spark
@pytest.mark.parametrize(
    "steps",
    [
        ("sample last 35", "own filter", "complex"),
        pytest.param(("where", "sample linear None", "iir band", "moving mean"), marks=pytest.mark.slow),
    ],
)
def test_epochs_on_spark(tmp_path: Path, spark: Any, steps: tuple[str, ...]) -> None:
    follow_epochs(tmp_path / "w", Recipe(steps), 2, 2, spark=spark, engine="spark")


@pytest.mark.spark
@pytest.mark.slow
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(recipe=recipes(), seed=st.integers(0, 2**32 - 1))
def test_random_pipelines_on_spark(tmp_path_factory: Any, spark: Any, recipe: Recipe, seed: int) -> None:
    path = tmp_path_factory.mktemp("signal") / "w"
    follow_epochs(path, recipe, seed, 3, spark=spark, engine="spark")


@pytest.mark.spark
@pytest.mark.slow
def test_errors_of_tasks_are_told_as_in_process(tmp_path: Path, spark: Any) -> None:
    def strict(x: Any) -> Any:
        if (x > 100).any():
            raise ValueError("beyond the scale")
        return x

    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark") as db:
        db.create_table("readings", TABLE)
        db.create_signal("strict", source(db).select(strict))
        with pytest.raises(viewlet.EvaluationError, match="view strict: ValueError: beyond the scale"):
            db.insert("readings", [(1, 1, 5.0), (1, 2, 500.0)])
        with pytest.raises(viewlet.RejectedEpoch, match="several readings of sensor = 1 at 3"):
            db.insert("readings", [(1, 3, 5.0), (1, 3, 6.0)])
        db.insert("readings", [(1, 3, 5.0), (2, 3, 6.0)])
        assert result(db, "strict") == {(1, 3): 5.0, (2, 3): 6.0}
        assert db.history("strict")[-1]["engine"] == "spark"


@pytest.mark.slow
@pytest.mark.parametrize("step", sorted(STEPS))
def test_every_operator_in_a_warehouse(tmp_path: Path, step: str) -> None:
    for seed in range(3):
        first = () if step.startswith("sample") else ("sample linear 35",)
        follow_epochs(tmp_path / str(seed), Recipe((*first, step)), seed, 8)


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(recipe=recipes(), seed=st.integers(0, 2**32 - 1))
def test_random_pipelines_in_a_warehouse(tmp_path_factory: Any, recipe: Recipe, seed: int) -> None:
    follow_epochs(tmp_path_factory.mktemp("signal") / "w", recipe, seed, 6)


def test_a_process_killed_at_any_moment_loses_nothing_that_was_committed(tmp_path: Path) -> None:
    path, recipe = tmp_path / "w", Recipe(("sample linear 35", "iir", "moving mean"))
    with viewlet.connect(path) as db:
        db.create_table("readings", TABLE, primary_key=("sensor", "at"))
        db.create_signal("out", recipe(source(db)))
        first = db.status()["epoch"] + 1
    heard = 0
    for seconds in (0.2, 0.05):
        heard = max(heard, run_and_kill(path, first, seconds))
        with viewlet.connect(path) as db:
            last = db.status()["epoch"]
            assert last >= heard
            readings = replay(first, last)
            assert {(r[0], r[1]): r[2] for r in db.table("readings").rows()} == readings
            compare(result(db, "out"), naive_result(recipe, readings), f"epoch {last}")
    assert heard > first


def run_and_kill(path: Path, first: int, seconds: float) -> int:
    """Let a writer run for some time and kill it; the last epoch that it said was committed."""
    command = [sys.executable, "-m", "tests.signal.crash_writer", str(path), str(first)]
    root = Path(__file__).parent.parent.parent
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as writer:
        assert writer.stdout is not None
        told = writer.stdout.readline()
        time.sleep(seconds)
        os.kill(writer.pid, signal.SIGKILL)
        told += writer.stdout.read()
    assert writer.returncode == -signal.SIGKILL, "the writer ended by itself"
    return max(int(line) for line in told.split("\n")[:-1])


def test_signals_read_signals_in_the_same_epoch(db: viewlet.Database) -> None:
    db.create_signal("smooth", source(db).sample(10, "linear", max_gap=30).iir(ss.butter(2, 0.3, output="sos")))
    over = db.signal("smooth", by="sensor", time="at", value="v")
    db.create_signal("peaks", over.sample(10, "none").peaks(1))
    random = np.random.default_rng(5)
    for epoch in range(3):
        values = random.normal(size=40)
        db.upsert("readings", [(1, epoch * 300 + 10 * i, float(x)) for i, x in enumerate(values)])
        smooth = result(db, "smooth")
        at = sorted(t for _, t in smooth)
        wanted = [
            t for t in at if {t - 10, t + 10} <= set(at) and smooth[1, t - 10] < smooth[1, t] >= smooth[1, t + 10]
        ]
        assert sorted(t for _, t in result(db, "peaks")) == wanted
        assert wanted
    assert db.check().num_rows == 0


def test_two_tables_meet_at_the_faster_period(db: viewlet.Database) -> None:
    db.create_table("heat", "machine INT, t BIGINT, celsius DECIMAL(6,2)")
    slow = db.signal("heat", by="machine", time="t", value="celsius").sample(20, "linear", max_gap=20)
    fast = source(db).sample(5, "none")
    db.create_signal("both", fast + slow)
    db.insert("readings", [(1, 5 * i, float(i)) for i in range(20)])
    db.insert("heat", [(1, 0, 10), (1, 20, 20), (1, 40, 0), (2, 0, 5)])
    heat = np.interp(np.arange(0, 41, 5), [0, 20, 40], [10, 20, 0])
    assert result(db, "both") == {(1, 5 * i): pytest.approx(i + h) for i, h in enumerate(heat)}
    db.delete("heat", [(1, 40, 0)])
    assert sorted(t for _, t in result(db, "both")) == [0, 5, 10, 15, 20]
    assert db.check("both").num_rows == 0
    assert db.table("both").columns == ["sensor", "at", "v"]


@pytest.mark.spark
def test_sql_views_on_both_sides_in_one_epoch(tmp_path: Path, spark: Any) -> None:
    """Vibration of machines since they were last maintained: SQL, a signal, and SQL again."""
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.sql("CREATE TABLE raw (machine STRING, at TIMESTAMP, mm DOUBLE)")
        db.sql("CREATE TABLE maintenance (machine STRING, done TIMESTAMP, PRIMARY KEY (machine))")
        db.sql(
            "CREATE MATERIALIZED VIEW clean AS SELECT r.machine, r.at, r.mm FROM raw r JOIN maintenance m "
            "ON r.machine = m.machine WHERE r.at >= m.done AND abs(r.mm) < 100"
        )
        vibration = db.signal("clean", by="machine", time="at", value="mm").sample("1 s", max_gap="3 s")
        db.create_signal("loudness", vibration.windows(4).reduce("rms"))
        db.sql(
            "CREATE MATERIALIZED VIEW worst AS SELECT machine, max(mm) AS rms, count(*) AS windows "
            "FROM loudness GROUP BY machine"
        )
        start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
        with db.epoch() as e:
            e.insert("maintenance", [("a", start), ("b", start)])
            e.insert(
                "raw",
                [
                    (m, start + dt.timedelta(seconds=i), float(k * (i + 1)))
                    for k, m in enumerate("ab", 1)
                    for i in range(16)
                ],
            )
        rms = {"a": np.sqrt(np.mean(np.arange(13.0, 17) ** 2)), "b": 2 * np.sqrt(np.mean(np.arange(13.0, 17) ** 2))}
        assert {r[0]: (r[1], r[2]) for r in db.table("worst").rows()} == {
            k: (pytest.approx(v), 4) for k, v in rms.items()
        }
        db.upsert("maintenance", [("b", start + dt.timedelta(seconds=8))])  # windows before it are gone at once
        assert {r[0]: r[2] for r in db.table("worst").rows()} == {"a": 4, "b": 2}
        db.insert(
            "raw", [("a", start + dt.timedelta(seconds=15.5), 1000.0), ("a", start + dt.timedelta(seconds=14.5), 60.0)]
        )
        line = np.interp(np.arange(12, 16), [12, 13, 14, 14.5, 15], [13, 14, 15, 60, 16])
        assert {r[0]: r[1] for r in db.table("worst").rows()}["a"] == pytest.approx(np.sqrt(np.mean(line**2)))
        assert db.check().num_rows == 0
        assert {"_commit_version"} < set(db.table("worst").changes().column_names)


def test_several_readings_at_a_time_are_refused_or_merged(tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("readings", TABLE)
        db.insert("readings", [(1, 10, 1.0), (1, 20, 2.0)])
        db.create_signal("plain", source(db).scale(2.0))
        with pytest.raises(viewlet.RejectedEpoch, match=r"several readings of sensor = 1 at 20.*merge"):
            db.insert("readings", [(1, 20, 4.0)])
        with pytest.raises(viewlet.RejectedEpoch, match="sensor = 1 at 20"):
            db.insert("readings", [(1, 20, 2.0)])
        assert result(db, "plain") == {(1, 10): 2.0, (1, 20): 4.0}
        db.drop("plain")
        for merge in ("mean", "sum", "min", "max"):
            merged = db.signal("readings", by="sensor", time="at", value="v", merge=merge)
            db.create_signal(f"by_{merge}", merged)
            assert result(db, f"by_{merge}")[1, 20] == 2.0
        db.insert("readings", [(1, 20, 4.0), (1, 20, 4.0), (1, 20, 2.0)])
        for merge, wanted in {"mean": 3.0, "sum": 12.0, "min": 2.0, "max": 4.0}.items():
            assert result(db, f"by_{merge}")[1, 20] == wanted
        db.delete("readings", [(1, 20, 2.0), (1, 20, 2.0)])
        assert {m: result(db, f"by_{m}")[1, 20] for m in ("mean", "sum", "min")} == {
            "mean": 4.0,
            "sum": 8.0,
            "min": 4.0,
        }
        assert db.check().num_rows == 0


def test_rows_without_a_time_or_a_number_are_no_readings(db: viewlet.Database) -> None:
    db.create_table("loose", "sensor STRING, at BIGINT, v DOUBLE")
    db.create_signal("some", db.signal("loose", by="sensor", time="at", value="v"))
    db.insert(
        "loose", [("a", None, 1.0), ("a", 1, None), (None, 2, 3.0), ("a", 4, float("nan")), ("a", 5, float("inf"))]
    )
    assert db.table("some").rows() == [(None, 2, 3.0)]
    db.delete("loose", [(None, 2, 3.0), ("a", 4, float("nan"))])
    assert db.table("some").rows() == []
    assert db.check("some").num_rows == 0


def test_one_signal_without_groups_and_several_channels(db: viewlet.Database) -> None:
    db.create_table("wide", "at BIGINT, x FLOAT, y INT")
    both = db.signal("wide", time="at", value=["x", "y"])
    db.create_signal("wider", both.select(lambda x, y: (x + y, x * y), ["plus", "times"]))
    db.insert("wide", [(1, 0.5, 2), (2, 1.5, 4)])
    assert db.table("wider").columns == ["at", "plus", "times"]
    assert sorted(db.table("wider").rows()) == [(1, 2.5, 1.0), (2, 5.5, 6.0)]


def test_complex_readings_come_in_two_columns(db: viewlet.Database) -> None:
    db.create_table("radio", "id INT, at BIGINT, i DOUBLE, q DOUBLE")
    db.create_signal(
        "spectrum",
        db.signal("radio", by="id", time="at", value=("i", "q"), complex=True)
        .sample(1, "none")
        .windows(4)
        .fft()
        .arrays(),
    )
    values = np.array([1 + 2j, -1j, 3.0, 0.5 - 1j])
    db.insert("radio", [(7, t, x.real, x.imag) for t, x in enumerate(values)])
    ((group, at, real, imaginary),) = db.table("spectrum").rows()
    assert (group, at) == (7, 3)
    assert np.allclose(np.array(real) + 1j * np.array(imaginary), np.fft.fft(values))
    assert db.table("spectrum").columns == ["id", "at", "i_re", "i_im"]


def test_a_function_that_fails_rejects_the_epoch_and_names_the_row(db: viewlet.Database) -> None:
    def strict(x: Any) -> Any:
        if (x > 100).any():
            raise ValueError("beyond the scale")
        return x

    db.create_signal("strict", source(db).select(strict))
    with pytest.raises(viewlet.EvaluationError, match="view strict: ValueError: beyond the scale") as raised:
        db.insert("readings", [(1, 1, 5.0), (1, 2, 500.0), (1, 3, 7.0)])
    assert raised.value.row == {"sensor": 1, "at": 2, "v": 500.0}
    assert db.table("readings").rows() == []


def test_stored_code_runs_only_if_it_is_trusted(tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("readings", TABLE)
        db.create_signal("squared", source(db).select(np.square))
        db.insert("readings", [(1, 1, 3.0)])
    with viewlet.connect(tmp_path / "w", trust=False) as db:
        assert db.table("squared").rows() == [(1, 1, 9.0)]
        assert "select square" in db.explain("squared")
        with pytest.raises(viewlet.UntrustedCode, match="square"):
            db.insert("readings", [(1, 2, 4.0)])


REFUSED: dict[str, tuple[Callable[[viewlet.Database], Any], type[Exception], str]] = {
    "no such table": (lambda db: db.signal("nowhere", time="at", value="v"), viewlet.UnknownName, "nowhere"),
    "no such column": (
        lambda db: db.signal("readings", time="when", value="v"),
        viewlet.UnknownName,
        "there are: sensor",
    ),
    "a text as value": (lambda db: db.signal("odd", time="at", value="s"), viewlet.UnsupportedQuery, "of numbers"),
    "a date as time": (lambda db: db.signal("odd", time="d", value="x"), viewlet.UnsupportedQuery, "not a time"),
    "a double as key": (lambda db: db.signal("odd", by="x", time="at", value="x"), viewlet.UnsupportedQuery, "key"),
    "half a complex": (
        lambda db: db.signal("readings", time="at", value="v", complex=True),
        viewlet.WrongArgument,
        "imaginary",
    ),
    "no signal": (lambda db: db.create_signal("s", 7), viewlet.WrongArgument, "not a signal"),  # type: ignore[arg-type]
    "a taken name": (lambda db: db.create_signal("readings", source(db)), viewlet.NameTaken, "table named readings"),
    "a wide tolerance": (
        lambda db: db.create_signal("s", source(db), tolerance=1.0),
        viewlet.WrongArgument,
        "tolerance",
    ),
    "a name twice": (
        lambda db: db.create_signal("s", source(db).select(np.abs, ["sensor"])),
        viewlet.UnsupportedQuery,
        "two columns named sensor",
    ),
    "groups of other types": (
        lambda db: db.create_signal("s", source(db) + db.signal("odd", by="s", time="at", value="x")),
        viewlet.UnsupportedQuery,
        "other types",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_is_refused_with_a_hint(db: viewlet.Database, what: str) -> None:
    db.create_table("odd", "s STRING, d DATE, at BIGINT, x DOUBLE")
    make, error, told = REFUSED[what]
    with pytest.raises(error, match=told):
        make(db)
    assert db.views == ()


def test_a_signal_can_be_replaced_dropped_and_explained(db: viewlet.Database) -> None:
    told: list[Progress] = []
    db.insert("readings", [(1, 10 * i, float(i)) for i in range(100)])
    db.create_signal("out", source(db).sample(10, "none").iir(ss.butter(2, 0.1, output="sos")), progress=told.append)
    db.insert("readings", [(1, 1000, 1.0)])
    text = db.explain("out")
    assert text.splitlines()[0].startswith("signal out → sensor, at, v ")
    assert "iir of 1 section, missing restart" in text
    assert list(map(str, told)) == [
        "view out: 100 readings",
        "view out: readings [sensor] at → v: 100 samples",
        "view out: sample every 10, none: 100 samples",
        "view out: iir of 1 section, missing restart: 100 samples",
    ]
    for part in (
        "2 numbers every 4 samples of a group (26 checkpoints)",
        "keeps 101 readings",
        "changes below 1e-12",
        "1 group",
    ):
        assert part in text
    db.create_signal("out", source(db).scale(3.0), replace=True)
    assert result(db, "out")[1, 1000] == 3.0
    assert db.views == ("out",)
    db.drop("out")
    assert not [bag for bag in db._warehouse.store.snapshot().bags if bag.startswith("out")]


@pytest.mark.spark
def test_the_examples_run(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    examples = Path(__file__).parent.parent.parent / "examples"
    runpy.run_path(str(examples / "06_signals.py"), run_name="__main__")
    shown = capsys.readouterr().out
    assert "the saw hums:\n  saw: 1.41 in 12 windows\nit gets worse:\n  saw: 2.83 in 16 windows\n" in shown
    runpy.run_path(str(examples / "07_denoise.py"), run_name="__main__")
    shown = capsys.readouterr().out
    assert "noise: 0.30 before, 0.06 after\n" in shown
    assert "the late piece of 500 samples changed 1,280 of 8,704\n" in shown
    runpy.run_path(str(examples / "09_spectral_query.py"), run_name="__main__")
    shown = capsys.readouterr().out
    assert "sensor 3 swings 4.0 times a minute\n" in shown
    assert "the same as R's program gives for each sensor from scratch: True\n" in shown


def test_readings_that_hold_for_a_while(tmp_path: Path) -> None:
    """Intervals come late, change and go; beats within them are samples, others are not."""
    random = np.random.default_rng(11)
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table(
            "states", "machine INT, since BIGINT, until BIGINT, load DOUBLE", primary_key=("machine", "since")
        )
        held = db.signal("states", by="machine", time="since", until="until", value="load")
        db.create_signal("load", held.sample(5, offset=2))
        db.create_signal("mean", held.sample(5, offset=2).moving("mean", 3))
        slots: dict[tuple[int, int], tuple[int, int, float]] = {}
        for _ in range(12):
            for _ in range(6):  # a slot of 40 ticks has one interval, at most
                slot = (int(random.integers(2)), int(random.integers(20)))
                start = slot[1] * 40 + int(random.integers(0, 20))
                old = slots.pop(slot, None)
                if old is not None:
                    db.delete("states", [{"machine": slot[0], "since": old[0]}])
                if random.random() < 0.8:
                    slots[slot] = (start, start + int(random.integers(1, 20)), float(random.normal()))
                    db.insert("states", [(slot[0], *slots[slot])])
            wanted = {
                (machine, t): x for (machine, _), (a, b, x) in slots.items() for t in range(a, b) if (t - 2) % 5 == 0
            }
            assert result(db, "load") == wanted
            means = {at: [wanted.get((at[0], at[1] - 5 * i)) for i in range(3)] for at in wanted}
            complete = {at: np.mean([x for x in xs if x is not None]) for at, xs in means.items() if None not in xs}
            assert result(db, "mean") == {at: pytest.approx(x) for at, x in complete.items()}
        assert db.check().num_rows == 0
        with pytest.raises(viewlet.RejectedEpoch, match=r"overlap.*machine = 9 at 6"):
            db.insert("states", [(9, 3, 8, 1.0), (9, 6, 12, 1.0)])
        with pytest.raises(viewlet.UnsupportedQuery, match="sampled first"):
            held.scale(2.0)
        with pytest.raises(viewlet.UnsupportedQuery, match="sampled first"):
            db.create_signal("raw", held)
        with pytest.raises(viewlet.WrongArgument, match="not interpolated"):
            held.sample(5, "linear")
