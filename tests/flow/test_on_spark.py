"""On Spark, flows do what they do in process, and what the model says; state is looked up where it is."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from examples.flows.crawl import crawl, crawl_queue
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import viewlet
from tests.flow import test_programs as programs
from tests.flow.test_model import check_any
from tests.flow.test_programs import queue_of
from viewlet import flow

pytestmark = pytest.mark.spark


def test_the_crawl_queue_on_spark(tmp_path: Path, spark: Any) -> None:
    rng = random.Random(5)
    crawls = []
    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark", durability=1000) as db:
        db.create_flow(crawl_queue())
        for _ in range(2):
            crawls.append(crawl(rng, 30, 6, 4))
            db.run_flow("crawl", {"pages": crawls[-1]})
            assert dict(db.table("crawl_queue").rows()) == pytest.approx(queue_of(crawls))
        runs = [run for run in db.flow_trace("crawl") if run["stage"] != "sources"]
        assert {run["translated_on"] for run in runs} == {"spark"}


@pytest.mark.parametrize("grouping", ["right outer", "full outer"])
def test_state_stays_where_it_is(tmp_path: Path, spark: Any, grouping: flow.Grouping) -> None:
    made = flow.Flow("piles")
    made.source("rows", schema="k BIGINT, v BIGINT")

    @made.stage(inputs={"rows": "k"}, state=flow.State("k BIGINT, v BIGINT", route_by="k", grouping=grouping))
    def pile(key: int, inputs: dict[str, list[Any]], state: list[Any]) -> dict[str, list[Any]]:
        return {"state": [*state, *inputs["rows"], *({"k": 99, "v": r["v"]} for r in inputs["rows"] if r["v"] < 0)]}

    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark", durability=1000) as db:
        db.create_flow(made)
        rows = [(n % 4, n) for n in range(800)]
        db.run_flow("piles", {"rows": rows})
        db.run_flow("piles", {"rows": [(2, -1)]})
        assert sorted(db.table("piles_pile").rows()) == sorted([*rows, (2, -1), (99, -1)])
        moved = [run["moved"] for run in db.flow_trace("piles") if "moved" in run]
        assert moved == [{"out": 800, "back": 800}, {"out": 1, "back": 2}], "a new row, and one for another key"


def test_what_a_function_raises_on_spark_is_told(tmp_path: Path, spark: Any) -> None:
    made = flow.Flow("fails")
    made.source("rows", schema="k BIGINT")

    @made.stage(inputs={"rows": "k"}, state=flow.State("k BIGINT", route_by="k"))
    def divide(key: int, inputs: Any, state: Any) -> Any:
        yield "state", (1 // key,)

    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark", durability=1000) as db:
        db.create_flow(made)
        with pytest.raises(viewlet.FlowError, match=r"stage divide of flow fails failed: ZeroDivisionError.*key 0"):
            db.run_flow("fails", {"rows": [(1,), (0,)]})
        assert len(db.table("fails_divide")) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "program",
    [
        programs.test_the_median,
        programs.test_the_data_cube_and_its_queries,
        programs.test_a_join_that_follows_its_tables,
        programs.test_a_join_by_day_and_a_sliding_window,
        programs.test_people_are_found_taken_apart_and_found_again,
    ],
)
def test_programs_on_spark(tmp_path: Path, spark: Any, program: Callable[[viewlet.Database], None]) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark", durability=1000) as db:
        program(db)
        assert any(
            run["translated_on"] == "spark"
            for name in db.flows
            for run in db.flow_trace(name)
            if "translated_on" in run
        )


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_flows_on_spark_do_what_the_model_says(spark: Any, data: st.DataObject) -> None:
    check_any(data, runs=5, spark=spark, engine="spark")
