"""Rounds on partitions, without Spark's jobs: the same histories as in one place, whichever rounds are run where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.loops.harness import compiled, stored
from tests.loops.queries import QUERIES, random_query
from tests.loops.test_partitioned_rounds import Partitioned, no_map_is_small
from tests.loops.test_recursion import random_epochs
from tests.marks import rounds
from viewlet.engine.choose import EngineCosts
from viewlet.loops.language.library import transitive_closure
from viewlet.loops.rounds.task_rounds import why_in_process
from viewlet.loops.run.prepared_loop import PreparedLoop

pytestmark = pytest.mark.spark
__all__ = ["no_map_is_small"]


@pytest.fixture(scope="module")
def loops(spark: Any) -> dict[str, PreparedLoop]:
    return {name: compiled(spark, name, text, relaxes=False) for name, text in QUERIES.items()}


@pytest.mark.slow
def test_all_of_them_can_run_by_tasks(loops: dict[str, PreparedLoop]) -> None:
    reasons = {name: why_in_process(loop.compiled) for name, loop in loops.items()}
    assert not any(reasons.values()), reasons


@pytest.mark.slow
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_histories_are_the_same(loops: dict[str, PreparedLoop], tmp_path: Path, share: float) -> None:
    with stored(tmp_path / "s", list(loops.values())) as store:
        store.tasks = Partitioned(store.store.address, share)
        random_epochs(store, QUERIES, 5, 6)


def test_random_queries(spark: Any, tmp_path: Path) -> None:
    texts = {f"v{seed}": random_query(seed) for seed in range(rounds(1, 12))}
    with stored(tmp_path / "s", [compiled(spark, view, text, relaxes=False) for view, text in texts.items()]) as store:
        store.tasks = Partitioned(store.store.address)
        random_epochs(store, texts, 1, 6)


@pytest.mark.slow
def test_rounds_are_jobs_of_spark(spark: Any, tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark") as db:
        db.create_table("edges", "src BIGINT, dst BIGINT", rows=[(1, 2), (2, 3)])
        db.create_view("v", transitive_closure("edges"))
        made = db.history("v")[-1]
        assert len(made["views"]["v"]["rounds"]) + 1 == len(made["jobs"]), "one for the tables, one for each round"
        assert "on Spark: each is a job" in db.explain("v")
        with db.epoch() as e:
            e.delete("edges", [(1, 2)])
            e.insert("edges", [(3, 1)])
        assert sorted(db.table("v").rows()) == [(2, 1), (2, 3), (3, 1)]
        assert len(db.history("v")[-1]["jobs"]) > 1


def test_each_round_runs_where_it_takes_less(spark: Any, tmp_path: Path) -> None:
    """A fan of sixty edges, then a chain: the many rows of one round are worth a job, the few of its tail are not."""
    fan = [(0, i) for i in range(1, 61)]
    with viewlet.connect(tmp_path / "w", spark=spark, engine="auto") as db:
        db.create_table("edges", "src BIGINT, dst BIGINT", rows=[*fan, (60, 61), (61, 62), (62, 63)])
        text = "WITH RECURSIVE t(v, n) AS (SELECT 0L, 0 UNION SELECT dst, n + 1 FROM t JOIN edges ON src = v) SELECT * FROM t"
        db.create_view("v", text)
        assert "jobs" not in db.history("v")[-1], "so few rows are no work for a cluster"
        steps = db._warehouse.catalog.views["v"].steps
        db._warehouse.costs = EngineCosts(inproc_step=0.0, inproc_row=1.0, job=20.0 * steps, spark_row=0.0)
        db.rebuild("v")
        made = db.history("v")[-1]
        assert list(made["views"]["v"]["rounds"].values()) == [1, 60, 1, 1, 1]
        assert len(made["jobs"]) == 2, "the tables, and the round of sixty rows"
        assert db.check("v").num_rows == 0
