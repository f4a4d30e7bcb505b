"""Flows that aggregate under a watermark: each window once, when it closes, as Spark's own streams give it."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import viewlet
from tests.project.shops import DATASETS, Shop, distinct
from tests.project.spark_runner import RESULTS, steps, texts
from tests.source.folders import in_order
from viewlet.errors import ProjectError
from viewlet.store.transaction import Transaction

pytestmark = pytest.mark.spark
NAMES = DATASETS["window_shop"]


def held(db: viewlet.Database, names: Sequence[str] = NAMES) -> dict[str, list[list[str]]]:
    return {name: texts(db.table(name)) for name in names}


def by_spark(step: str, names: Sequence[str] = NAMES) -> dict[str, list[list[str]]]:
    """What Spark's own runner gave."""
    found = json.loads(RESULTS.read_text(encoding="utf-8"))["window_shop"][step]
    return {name: found[name] for name in names}


@pytest.mark.parametrize("names", [("sliding", "sessions"), pytest.param(NAMES, marks=pytest.mark.slow)])
def test_windows_are_appended_when_they_close(names: Sequence[str], tmp_path: Path, spark: Any) -> None:
    """Step by step what Spark's own runner gave; rows that come too late are left out, and counted."""
    shop, late = Shop("window_shop", tmp_path), 0
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        for step in steps(shop):
            outcomes = db.run_project(shop.root, refresh=["clicks", *names])
            assert held(db, names) == by_spark(step, names), step
            late += sum("came too late" in o.what for o in outcomes)
        epoch = db.status()["epoch"]
        db.run_project(shop.root, refresh=["clicks", *names])
        assert db.status()["epoch"] == epoch, "a run that finds nothing new changes nothing"
    assert late
    assert all(by_spark("all close", names).values())


@pytest.mark.parametrize("commits", [pytest.param(n, marks=pytest.mark.slow) for n in range(1, 7)])
def test_interrupted_after_any_commit(commits: int, tmp_path: Path, spark: Any, monkeypatch: Any) -> None:
    """A run that ends early is gone on with, and no window is lost or there twice."""
    shop, commit, left = Shop("window_shop", tmp_path), Transaction.commit, [0]

    def commit_some(self: Transaction, record: Any = None) -> int:
        left[0] -= 1
        if left[0] < 0:
            raise InterruptedError
        return commit(self, record)

    for step in steps(shop):
        left[0] = commits
        monkeypatch.setattr(Transaction, "commit", commit_some)
        with viewlet.connect(tmp_path / "w", spark=spark) as db:
            try:
                db.run_project(shop.root)
            except InterruptedError:
                assert left[0] < 0
        monkeypatch.undo()
        with viewlet.connect(tmp_path / "w", spark=spark) as db:
            db.run_project(shop.root)
            assert held(db) == by_spark(step), step


def _in_utc(value: Any) -> Any:
    """A time of Spark's, which it gives in the local zone without saying so, as the warehouse gives it."""
    return value.astimezone(ZoneInfo("UTC")) if isinstance(value, datetime) else value


class Streams:
    """The same queries as streams of Spark's own, which append what they close to files."""

    def __init__(self, spark: Any, shop: Shop, folder: Path) -> None:
        self._spark, self._shop, self._folder = spark.newSession(), shop, folder
        self._spark.conf.set("spark.sql.shuffle.partitions", "2")

    def run(self) -> dict[str, list[tuple[Any, ...]]]:
        """Read what is new, and close what the watermark has reached; all that was ever closed."""
        return {name: self._of(name) for name in NAMES}

    def _of(self, name: str) -> list[tuple[Any, ...]]:
        out = str(self._folder / name)
        writer = self._query(name).writeStream.format("parquet").option("path", out).outputMode("append")
        writer = writer.option("checkpointLocation", f"{out}.checkpoint").trigger(availableNow=True)
        writer.start().awaitTermination()
        return in_order(tuple(map(_in_utc, row)) for row in self._spark.read.parquet(out).collect())

    def _query(self, name: str) -> Any:
        from pyspark.sql import functions as sf

        columns = "id BIGINT, cust INT, total DECIMAL(12,2), day DATE, note STRING"
        clicks = self._spark.readStream.schema(columns).json(str(self._shop.landing))
        timed = clicks.withColumn("at", sf.timestamp_seconds(sf.col("id") * 60)).withWatermark("at", "30 minutes")
        match name:
            case "tumbling":
                totals = timed.groupBy(sf.window("at", "5 minutes"), "cust").agg(
                    sf.sum("total"), sf.count("*").alias("n")
                )
                return totals.where("n > 1").select("window.start", "cust", "sum(total)", "n")
            case "sliding":
                counts = timed.groupBy(sf.window("at", "10 minutes", "5 minutes")).agg(sf.count("*"), sf.max("total"))
                return counts.select("window.end", "count(1)", "max(total)")
            case "sessions":
                sessions = timed.where("total > 0").groupBy(sf.session_window("at", "2 minutes"), "cust")
                counts = sessions.agg(sf.count("*"), sf.min("id"))
                return counts.select("session_window.start", "session_window.end", "cust", "count(1)", "min(id)")
            case _:
                return timed.groupBy("at").agg(sf.count("*"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_windows_are_those_of_sparks_streams(seed: int, tmp_path: Path, spark: Any) -> None:
    """Random rows in random order, some late: after every run the same windows have closed, with the same results."""
    rng, shop = random.Random(seed), Shop("window_shop", tmp_path)
    streams, now = Streams(spark, shop, tmp_path / "streams"), 0
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        for number in range(8):
            now += rng.choice([0, 5, 20, 60])
            shop.deliver(str(number), distinct(rng, max(0, now - rng.choice([0, 10, 40])), rng.randrange(1, 25)))
            db.run_project(shop.root)
            assert {name: in_order(db.table(name).rows()) for name in NAMES} == streams.run()


def test_open_windows_go_with_a_full_refresh(tmp_path: Path, spark: Any) -> None:
    """Other columns than those that wait are an error that says what to do; from scratch, all is there again."""
    shop = Shop("window_shop", tmp_path)
    sql = shop.root / "transformations" / "sliding.sql"
    shop.deliver("a", distinct(random.Random(1), 100, 50))
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.run_project(shop.root, refresh=["clicks", "sliding"])
        mark = db.status()["tables"]["sliding"]["source"]["watermarks"]
        assert mark == {"sliding": "1970-01-01 01:59:00"}
        before = in_order(db.table("sliding").rows())
        sql.write_text(sql.read_text(encoding="utf-8").replace("count(*)", "count(note)"), encoding="utf-8")
        shop.deliver("b", distinct(random.Random(2), 300, 1))
        with pytest.raises(ProjectError, match=r"sliding\.sql:1: .* open windows hold .*--full-refresh sliding"):
            db.run_project(shop.root, refresh=["clicks", "sliding"])
        sql.write_text(sql.read_text(encoding="utf-8").replace("count(note)", "count(*)"), encoding="utf-8")
        db.run_project(shop.root, full_refresh=["sliding"])
        assert set(before) < set(in_order(db.table("sliding").rows()))


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT count(*) AS n FROM STREAM(clicks) WATERMARK at DELAY OF INTERVAL 1 MINUTE", "Aggregate"),
        ("SELECT at, count(*) AS n FROM STREAM(clicks) GROUP BY at", "Aggregate"),
        (
            "SELECT id, count(*) AS n FROM STREAM(clicks) WATERMARK at DELAY OF INTERVAL 1 MINUTE GROUP BY id",
            "Aggregate",
        ),
        ("SELECT DISTINCT at FROM STREAM(clicks) WATERMARK at DELAY OF INTERVAL 1 MINUTE", "Distinct"),
        ("SELECT id FROM STREAM(clicks) WATERMARK id DELAY OF INTERVAL 1 MINUTE", "needs a TIMESTAMP column, and"),
        ("SELECT id FROM STREAM(clicks) WATERMARK at DELAY OF INTERVAL '1 day long'", "'1 day long' is not the delay"),
    ],
)
def test_what_no_watermark_closes_is_refused(query: str, why: str, tmp_path: Path, spark: Any) -> None:
    shop = Shop("window_shop", tmp_path)
    sql = shop.root / "transformations" / "sliding.sql"
    sql.write_text(f"CREATE STREAMING TABLE sliding AS {query}", encoding="utf-8")
    with (
        viewlet.connect(tmp_path / "w", spark=spark) as db,
        pytest.raises(ProjectError, match=rf"sliding\.sql:1: .*{why}"),
    ):
        db.run_project(shop.root, refresh=["sliding"])
