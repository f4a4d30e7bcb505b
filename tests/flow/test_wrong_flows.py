"""Flows that are wrong: said when they are created or run, and nothing is applied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import viewlet
from viewlet import flow


def one(key: Any, inputs: Any, state: Any) -> None:
    pass


@pytest.mark.parametrize("state", [{1, 2}, b"bytes"])
def test_what_a_runnable_function_remembers_must_be_json(db: viewlet.Database, state: Any) -> None:
    made = flow.Flow("memory")
    made.source("rows", schema="n BIGINT")
    decide = flow.Decision.of(["rows"], state=state)
    made.stage(inputs={"rows": ()}, runnable=lambda waiting, _: decide if waiting["rows"].length else None, name="s")(
        one
    )
    db.create_flow(made)
    with pytest.raises(viewlet.FlowError, match="the state of the runnable function of stage s cannot be stored"):
        db.run_flow("memory", {"rows": [(1,)]})


def test_what_a_runnable_function_remembers_is_the_same_whether_or_not_it_was_stored(db: viewlet.Database) -> None:
    made = flow.Flow("memory")
    made.source("rows", schema="n BIGINT")

    def remember(waiting: Any, state: Any) -> flow.Decision | None:
        assert state is None or state == [1, [2, 3]]
        return flow.Decision.of(["rows"], state=(1, (2, 3))) if waiting["rows"].length else None

    made.stage(inputs={"rows": ()}, runnable=remember, name="s")(one)
    db.create_flow(made)
    for n in range(3):
        db.run_flow("memory", {"rows": [(n,)]}, runs=0)
    assert db.run_flow("memory") == {"s": 3}


def make_broken(change: Callable[[flow.Flow], None]) -> flow.Flow:
    made = flow.Flow("broken")
    made.source("rows", schema="k BIGINT, v STRING")
    change(made)
    return made


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda f: f.stage(inputs={"rows": "x"}, name="s")(one), viewlet.UnknownName, "rows is routed by x"),
        (
            lambda f: f.stage(inputs={"other": "k"}, name="s")(one),
            viewlet.UnknownName,
            "reads other, which nothing writes",
        ),
        (
            lambda f: f.stage(inputs={"rows": lambda r: 1}, name="s")(one),
            viewlet.FlowError,
            "routed by functions alone",
        ),
        (lambda f: None, viewlet.FlowError, "nothing reads rows"),
        (
            lambda f: f.stage(inputs={"rows": "k"}, outputs={"out": "a INT"}, name="s")(one),
            viewlet.FlowError,
            "nothing reads out",
        ),
        (
            lambda f: f.stage(inputs={"rows": "k"}, state=flow.State("a STRING", route_by="a"), name="s")(one),
            viewlet.FlowError,
            "rows is routed by bigint, but the stage's key is string",
        ),
        (
            lambda f: (
                f.row_wise("rows", {"x": "a INT"}, name="p")(one),
                f.row_wise("x", {"y": "a INT"}, name="q")(one),
                f.row_wise("y", {"z": flow.Output("a INT", table="x")}, name="q")(one),
            ),
            viewlet.FlowError,
            "two stages named q",
        ),
        (
            lambda f: f.row_wise("rows", {"rows": "a INT"}, name="p")(one),
            viewlet.FlowError,
            "writes rows, which already has a writer",
        ),
        (
            lambda f: (
                f.row_wise("rows", {"x": flow.Output("a INT", table="x")}, name="r")(one),
                f.row_wise("z", {"y": "a INT"}, name="p")(one),
                f.row_wise("y", {"z": "a INT"}, name="q")(one),
            ),
            viewlet.FlowError,
            "row-wise and feeds itself",
        ),
        (
            lambda f: f.stage(inputs={"rows": "k"}, state=flow.State("k BIGINT", grouping="inner"), name="s")(one),  # type: ignore[arg-type]
            viewlet.FlowError,
            "'inner' is not a grouping",
        ),
    ],
)
def test_what_is_wrong_with_a_flow_is_said_when_it_is_created(
    db: viewlet.Database, change: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        db.create_flow(make_broken(change))
    assert db.status()["epoch"] == 0


def test_what_is_no_flow_is_refused(db: viewlet.Database) -> None:
    with pytest.raises(viewlet.WrongArgument, match="'counts' is not a flow"):
        db.create_flow("counts")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ([("elsewhere", 1)], "writes to 'elsewhere'"),
        ([7], "yields 7"),
        ({"state": [("x",)]}, "writes an invalid row: table state, row 1, column k: 'x'"),
        ({"state": [(1, 2)]}, "too many values"),
    ],
)
def test_what_a_stage_gives_must_be_rows_of_its_outputs(db: viewlet.Database, written: Any, message: str) -> None:
    made = flow.Flow("broken")
    made.source("rows", schema="k BIGINT, v STRING")
    state = flow.State("k BIGINT", route_by="k")
    made.stage(inputs={"rows": "k"}, state=state, name="s")(lambda key, inputs, state: written)
    db.create_flow(made)
    with pytest.raises(viewlet.FlowError, match=message):
        db.run_flow("broken", {"rows": [(1, "x")]})
    assert len(db.table("broken_s")) == 0
