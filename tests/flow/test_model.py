"""Random flows do what the interpreter of the model does: the same runs in the same order, the same states and tables."""

from __future__ import annotations

import tempfile
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import viewlet
from tests.flow.interpreter import Interpreter
from tests.flow.programs import ROWS, In, Out, Row, Spec, StageSpec, build, specs

RUNS = 12


def as_bag(rows: list[Row]) -> Counter[tuple[Any, Any]]:
    return Counter((row["k"], row["v"]) for row in rows)


def compare(db: viewlet.Database, expected: Interpreter) -> None:
    runs = [r["stage"] for r in db.history() if r["kind"] == "flow" and r["stage"] != "sources"]
    assert runs == expected.trace
    for stage, state in expected.states.items():
        assert Counter(db.table(f"f_{stage}").rows()) == as_bag(state), stage
    for name, rows in expected.tables.items():
        assert Counter(db.table(f"t_{name}").rows()) == as_bag(rows), name


def drive(
    spec: Spec, increments: list[dict[str, list[Row]]], runs: int = RUNS, at_once: int = 1, **options: Any
) -> None:
    """Run a flow and the interpreter on the same increments; the warehouse is opened anew in between."""
    expected = Interpreter(spec)
    with tempfile.TemporaryDirectory() as folder:
        with viewlet.connect(folder, durability=1000) as db:
            db.create_flow(build(spec))
        for rows in increments:
            with viewlet.connect(folder, durability=1000, **options) as db:
                epoch = db.status()["epoch"] + 1
                db.run_flow("f", rows, runs=runs, at_once=at_once)
                expected.run(rows, epoch, runs)
                compare(db, expected)
                refuse_leftovers(db, expected)


def refuse_leftovers(db: viewlet.Database, expected: Interpreter) -> None:
    """Only increments that somebody has yet to remove are stored."""
    waiting = Counter[str]()
    for queues in expected.queues.values():
        for name, queue in queues.items():
            waiting[name] += len(queue.complete) + (queue.growing is not None)
    stored = {bag.split(".flow_")[1].split(".")[0] for bag in db._warehouse.store.snapshot().bags if ".flow_" in bag}
    assert stored == {name for name, count in waiting.items() if count}


def increments_of(spec: Spec) -> st.SearchStrategy[list[dict[str, list[Row]]]]:
    return st.lists(st.fixed_dictionaries(dict.fromkeys(spec.sources, ROWS)), min_size=2, max_size=4)


def check_any(data: st.DataObject, **options: Any) -> None:
    spec = data.draw(specs())
    drive(spec, data.draw(increments_of(spec)), **options)


@settings(max_examples=15, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.data())
def test_flows_do_what_the_model_says(data: st.DataObject) -> None:
    check_any(data)


@settings(max_examples=10, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.data())
def test_stages_at_once_do_the_same(data: st.DataObject) -> None:
    check_any(data, at_once=3)


def test_what_was_translated_before_the_last_run_is_no_longer_true() -> None:
    """A stage is begun ahead, reads something else when its turn has come, and then what it was begun with."""
    spec = Spec(
        ("a",),
        (
            StageSpec(
                "s0",
                "digest",
                (In("a", "key", "run", False), In("s2o1", "key", "sum", False)),
                (Out("s0o0", True, True),),
                "none",
                "any",
                "group",
            ),
            StageSpec(
                "s1",
                "digest",
                (In("s2o0", "all", "column", True), In("s2o1", "key", "run", False), In("a", "key", "run", True)),
                (Out("s1o0", False, True),),
                "none",
                "any",
                "group",
            ),
            StageSpec(
                "s2",
                "remote",
                (In("s1o0", "key", "run", True), In("a", "several", "column", False)),
                (Out("s2o0", True, True), Out("s2o1", False, True)),
                "full",
                "prefer",
                "group",
            ),
        ),
        backpressure=True,
    )
    last: list[tuple[int | None, int]] = [(0, 1), (0, 5), (1, 5), (2, 4), (3, 2), (2, 5), (None, 5), (None, 4)]
    increments: list[list[tuple[int | None, int]]] = [[(None, 1)], [(0, 5)], [(None, 1)], last]
    drive(spec, [{"a": [{"k": k, "v": v} for k, v in rows]} for rows in increments], at_once=3)


@pytest.mark.slow
@settings(max_examples=1500, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_many_flows_do_what_the_model_says(data: st.DataObject) -> None:
    check_any(data, at_once=data.draw(st.sampled_from([1, 3])))
