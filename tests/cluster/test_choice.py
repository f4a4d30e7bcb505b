"""Which engine runs what: by what was measured, once for a warehouse, where it matters."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

import pytest

import viewlet
from tests.cluster.local_context import LocalContext
from viewlet.engine.choose import EngineCosts, choose_engine, crossing_point
from viewlet.engine.cluster import calibrate
from viewlet.engine.cluster.calibrate import measure_costs
from viewlet.engine.cluster.runner import SparkEngine


def test_the_lower_estimate_is_chosen() -> None:
    costs = EngineCosts(inproc_step=1, inproc_row=0.001, job=500, spark_row=0.002)
    few, many = (choose_engine("auto", rows, 2, 8, costs) for rows in (1_000, 1_000_000))
    assert (few.engine, few.inproc_ms, few.spark_ms) == ("inproc", 4, 500.5)
    assert (many.engine, many.inproc_ms, many.spark_ms) == ("spark", 2002, 1000)
    assert choose_engine("auto", 1_000_000, 2, 1, costs).engine == "inproc", "a single core gains nothing"
    assert choose_engine("inproc", 10**9, 9, 64, costs).reason == "forced"


@pytest.mark.parametrize(
    ("steps", "cores", "rows"), [(4, 8, 2_494_000), (20, 8, 494_000), (20, 64, 263_500), (4, 2, None)]
)
def test_where_the_engines_cross(steps: int, cores: int, rows: int | None) -> None:
    """What the page of scaling says, with the constants of two cores."""
    found = crossing_point(steps, cores, EngineCosts())
    assert (found is None) if rows is None else found == pytest.approx(rows, rel=1e-3)
    near = [
        choose_engine("auto", int((found or 10**9) * by), steps, cores, EngineCosts()).engine for by in (0.99, 1.01)
    ]
    assert near == ["inproc", "inproc" if rows is None else "spark"]


def test_fills_use_all_cores_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    costs = EngineCosts(inproc_step=0, inproc_row=0.001, job=0, spark_row=0.001)
    assert choose_engine("auto", 1_000_000, 1, 8, costs, "epoch").inproc_ms == 1000
    assert choose_engine("auto", 1_000_000, 1, 8, costs, "fill").inproc_ms == 250


def test_a_job_and_its_rows_are_measured() -> None:
    costs = measure_costs(cast(Any, LocalContext()), 4, 1)
    assert costs.inproc_row > 0
    assert costs.job > 0
    assert costs.spark_row > costs.inproc_row, "rows are packed, sent and unpacked on their way"


def test_a_row_of_a_job_is_never_taken_for_cheaper_than_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a job with rows took by chance: on the same cores, Spark then fills nothing large."""
    monkeypatch.setattr(calibrate, "_milliseconds", lambda work: 30.0)
    costs = measure_costs(cast(Any, LocalContext()), 4, 2)
    assert costs.spark_row >= 2 * costs.inproc_row > 0
    cores = os.cpu_count() or 1
    assert choose_engine("auto", 10**9, 20, cores, costs, "fill").engine == "inproc"
    assert choose_engine("auto", 10**9, 20, 8 * cores, costs, "fill").engine == "spark"


def test_costs_are_measured_once_for_a_warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []

    def measure(engine: SparkEngine) -> EngineCosts:
        measured.append(engine)
        return EngineCosts(inproc_step=0.5, inproc_row=0.00001, job=9e9, spark_row=1)

    monkeypatch.setattr(SparkEngine, "measure", measure)
    for rows, engine in ((10, "inproc"), (10**9, "inproc"), (10**9, "inproc")):
        with viewlet.connect(tmp_path / "w") as db:
            warehouse = db._warehouse
            with warehouse.store.begin() as transaction:
                _, choice = warehouse.choose(rows, 3, transaction=transaction)
                transaction.commit({"kind": "test"})
            assert choice.engine == engine
            assert (choice.spark_ms > 1e9) == (rows > 10), "nothing is measured for a few rows"
    assert len(measured) == 1
