"""Rounds on partitions without a JVM: transitive closures, as edges come and go."""

from __future__ import annotations

import importlib
import random
from pathlib import Path

import pytest

from tests.cluster.local_context import LocalCluster
from tests.loops import references
from tests.loops.harness import stored
from tests.loops.planned import STEPS, closure
from viewlet.compile import Facts
from viewlet.loops.rounds.task_rounds import TaskRounds, why_in_process
from viewlet.loops.run.prepared_loop import PreparedLoop

PLACE = importlib.import_module("viewlet.compile.distribute.place")


class Partitioned:
    """Runs the rounds of loops on partitions: all of them, or some by chance."""

    def __init__(self, address: str, share: float = 1.0) -> None:
        self.cluster, self.share, self.chance = LocalCluster(address), share, random.Random(3)
        self.found: dict[str, TaskRounds] = {}

    def __call__(self, loop: PreparedLoop) -> TaskRounds:
        programs = [state.program for state in loop.compiled.stepped]
        self.found[loop.view] = TaskRounds(loop.view, programs, self._choose, Facts)
        return self.found[loop.view]

    def _choose(self, rows: int) -> LocalCluster | None:
        return self.cluster if self.chance.random() < self.share else None


@pytest.fixture(autouse=True)
def no_map_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else maps would be kept at the driver."""
    monkeypatch.setattr(PLACE, "SMALL", -1)


@pytest.mark.parametrize("share", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("step", STEPS)
def test_closures(tmp_path: Path, step: str, share: float) -> None:
    """All rounds by tasks, some of them, none: the same rows after every epoch."""
    loop, chance = closure("v", step), random.Random(7)
    assert why_in_process(loop.compiled) is None
    with stored(tmp_path / "s", [loop]) as store:
        store.tasks = tasks = Partitioned(store.store.address, share)
        for _ in range(5):
            there = store.tables["edges"]
            gone = [edge for edge in there if chance.random() < 0.3]
            new = [(chance.randrange(8), chance.randrange(8), 0) for _ in range(6)]
            store.change({"edges": gone}, {"edges": new})
            assert set(store.rows("v")) == set(references.closure(store.tables["edges"]))
            assert bool(tasks.found["v"].jobs) == (share > 0)


def test_only_what_changed_moves(tmp_path: Path) -> None:
    """After the first round, which brings the invariant views to their places, what moves follows ΔX, not the graph."""
    moved = []
    for count in (500, 5000):
        with stored(tmp_path / f"s{count}", [closure("v", "by an edge")]) as store:
            store.change({}, {"edges": [(1000 + i, 100_000 + i, 0) for i in range(count)]})
            store.tasks = tasks = Partitioned(store.store.address)
            store.change({}, {"edges": [(i, i + 1, 0) for i in range(20)]})
            jobs = tasks.found["v"].jobs
            assert len(jobs) >= 20, "each round is a job"
            moved.append(sum(job["shuffled_bytes"] for job in jobs))
    assert moved[1] < 2 * moved[0], "the same rounds, beside ten times as many edges"
