"""What runs when: cycles and their bounds, stages that are held back, stages that run at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import viewlet
from viewlet import flow


def endless() -> flow.Flow:
    """A cycle that counts on and on."""
    made = flow.Flow("endless")
    made.source("start", schema="n BIGINT")

    @made.stage(
        inputs={"start": (), "again": ()},
        outputs={"again": "n BIGINT"},
        runnable=flow.any_input(),
        state=flow.State("n BIGINT"),
    )
    def add(
        key: tuple[()], inputs: dict[str, list[dict[str, Any]]], state: list[dict[str, Any]]
    ) -> Iterator[tuple[str, Any]]:
        n = max(row["n"] for rows in inputs.values() for row in rows) + 1
        yield "state", (n,)
        yield "again", (n,)

    return made


def test_a_cycle_without_an_end_is_an_error_that_keeps_what_was_done(db: viewlet.Database) -> None:
    db.create_flow(endless())
    with pytest.raises(viewlet.FlowUnfinished, match="stage add has run 5 times in a cycle, and is runnable again"):
        db.run_flow("endless", {"start": [(0,)]}, rounds=5)
    assert db.table("endless_add").rows() == [(5,)]
    with pytest.raises(viewlet.FlowUnfinished, match=r"has run for 0\.05 seconds"):
        db.run_flow("endless", seconds=0.05)
    before = db.table("endless_add").rows()[0][0]
    assert db.run_flow("endless", runs=3) == {"add": 3}
    assert db.table("endless_add").rows() == [(before + 3,)]


def test_a_flow_that_feeds_itself_through_a_table_is_bounded_too(db: viewlet.Database) -> None:
    made = flow.Flow("fed")
    made.source("start", schema="n BIGINT")
    made.source("numbers", table="steps")
    step = flow.Output("n BIGINT", table="steps")

    @made.stage(inputs={"start": (), "numbers": ()}, outputs={"steps": step}, runnable=flow.any_input())
    def add(key: tuple[()], inputs: dict[str, list[dict[str, Any]]], state: None) -> list[tuple[int]]:
        return [(row["n"] + 1,) for rows in inputs.values() for row in rows]

    db.create_table("steps", "n BIGINT")
    with pytest.raises(viewlet.NameTaken):
        db.create_flow(made)
    db.drop("steps")
    db.create_flow(made)
    with pytest.raises(viewlet.FlowUnfinished, match="feeds itself through tables: its sources have changed 4 times"):
        db.run_flow("fed", {"start": [(0,)]}, rounds=4)
    assert sorted(db.table("steps").rows()) == [(1,), (2,), (3,), (4,)]


def backlog(*, backpressure: bool) -> flow.Flow:
    """A stage that feeds one which prefers something else."""
    made = flow.Flow("backlog", backpressure=backpressure)
    made.source("updates", schema="n BIGINT")
    made.source("queries", schema="n BIGINT")

    @made.stage(inputs={"updates": ()}, outputs={"prepared": "n BIGINT"})
    def prepare(key: tuple[()], inputs: dict[str, list[dict[str, Any]]], state: None) -> list[dict[str, Any]]:
        return inputs["updates"]

    @made.stage(inputs={"queries": (), "prepared": ()}, runnable=flow.prefer("queries", 4))
    def answer(key: tuple[()], inputs: dict[str, list[dict[str, Any]]], state: None) -> None:
        pass

    return made


def stages_run(db: viewlet.Database) -> str:
    return "".join(r["stage"][0] for r in db.history() if r["kind"] == "flow" and r["stage"] != "sources")


@pytest.mark.parametrize(("backpressure", "expected"), [(True, "paaaaapaaaa"), (False, "papapapapap")])
def test_a_stage_whose_outputs_wait_is_held_back(db: viewlet.Database, backpressure: bool, expected: str) -> None:
    db.create_flow(backlog(backpressure=backpressure))
    for n in range(9):
        db.run_flow("backlog", {"updates": [(n,)], "queries": [(n,)]}, runs=0)
    db.run_flow("backlog", runs=11)
    assert stages_run(db) == expected
    reasons = [run["why"] for run in db.flow_trace("backlog") if run["stage"] == "answer"]
    assert any("held back: prepare" in why for why in reasons) is backpressure


MEETING = threading.Barrier(2)


def meet(key: Any, inputs: Any, state: Any) -> None:
    MEETING.wait(timeout=30)


def test_independent_stages_run_at_once(db: viewlet.Database) -> None:
    made = flow.Flow("meeting")
    made.source("rows", schema="n BIGINT")
    for name in ("here", "there"):
        made.stage(inputs={"rows": ()}, name=name)(meet)
    db.create_flow(made)
    assert db.run_flow("meeting", {"rows": [(1,)]}, at_once=2) == {"here": 1, "there": 1}
