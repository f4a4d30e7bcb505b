"""Epochs on Spark: all views in one job, of as many stages as the program says; everything on partitions."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.compile.tpch_sizes import read_sizes
from tests.compile.workloads import facts
from tests.test_tpch import Warehouse
from viewlet.errors import EvaluationError
from viewlet.views import refresh_together

pytestmark = pytest.mark.spark

PLACE = importlib.import_module("viewlet.compile.distribute.place")


@pytest.fixture
def nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small maps would be kept at the driver."""
    monkeypatch.setattr(PLACE, "SMALL", -1)


@pytest.fixture
def sizes_of_scale_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan as if tables were large."""
    monkeypatch.setattr(refresh_together, "facts_with_maps", lambda _: facts("tpch"))


def jobs_and_stages(spark: Any, work: Any) -> tuple[int, int]:
    """What Spark ran for some work."""
    tracker, group = spark.sparkContext.statusTracker(), f"test {id(work)}"
    spark.sparkContext.setJobGroup(group, "test")
    try:
        work()
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    return len(jobs), sum(len(job.stageIds) for job in jobs)


@pytest.mark.usefixtures("sizes_of_scale_1")
def test_an_epoch_of_several_views_is_one_job(spark: Any, tmp_path: Path) -> None:
    some = Warehouse(tmp_path, spark, ["q01", "q03", "q06", "q12"])
    with some.db:
        some.create_views()
        some.db.engine = "spark"
        edits = some.changes.epoch()
        assert jobs_and_stages(spark, lambda: some.apply(edits)) == (1, 3)
        some.check()
        record = some.db.history()[-1]
        assert record["engine"] == "spark"
        assert [job["stages"] for job in record["jobs"]] == [3]
        assert record["jobs"][0]["shuffled_bytes"] > 0


def test_an_epoch_of_q18_has_three_stages_where_the_sizes_of_its_maps_are_known(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = replace(facts("tpch"), rows=read_sizes())
    monkeypatch.setattr(refresh_together, "facts_with_maps", lambda _: known)
    some = Warehouse(tmp_path, spark, ["q18"])
    with some.db:
        some.create_views()
        some.db.engine = "spark"
        edits = some.changes.epoch()
        assert jobs_and_stages(spark, lambda: some.apply(edits)) == (1, 3)
        some.check()


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_is_small")
def test_views_over_views_and_first_rows_of_an_order(spark: Any, tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as db:
        db.sql("CREATE TABLE orders (id BIGINT, cust BIGINT, total BIGINT, PRIMARY KEY (id))")
        db.insert("orders", [(i, i % 50, i * 7 % 100) for i in range(2000)])
        db.create_view("spend", "SELECT cust, sum(total) AS total, max(total) AS most FROM orders GROUP BY cust")
        db.create_view("best", "SELECT cust, total FROM spend ORDER BY total DESC, cust LIMIT 5")
        db.create_view("ranked", "SELECT cust, total, rank() OVER (ORDER BY total DESC, cust) AS r FROM spend")
        db.create_view("orders_of_best", "SELECT id FROM orders JOIN best USING (cust)")
        db.create_view("shown", "SELECT cust, format_string('%05d', total) AS text FROM spend")
        db.engine = "spark"
        db.insert("orders", [(i, i % 60, i * 11 % 100) for i in range(2000, 2200)])
        db.delete("orders", [{"id": i} for i in range(0, 2000, 9)])
        assert db.check().num_rows == 0
        names = {view for view, done in db.history()[-1]["views"].items() if done["inserted"] + done["deleted"]}
        assert names >= {"spend", "best", "ranked", "shown"}


@pytest.mark.usefixtures("nothing_is_small")
def test_an_error_in_a_task_names_the_view_and_the_row(spark: Any, tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark") as db:
        db.sql("CREATE TABLE t (a BIGINT, b BIGINT)")
        db.create_view("plain", "SELECT a, count(*) AS n FROM t GROUP BY a")
        db.create_view("ratio", "SELECT a, sum(a div b) AS s FROM t GROUP BY a")
        db.insert("t", [(1, 1), (2, 2)])
        before = db.status()["epoch"]
        with pytest.raises(EvaluationError, match=r"view ratio: .*the cause is row \(a=7, b=0\) of table t"):
            db.insert("t", [(1, 1), (7, 0)])
        assert db.status()["epoch"] == before
        assert db.check().num_rows == 0
