"""A process that is killed in the middle of a loop: the next one goes on from the last round that was written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.loops import references
from tests.marks import quickly
from viewlet import loops
from viewlet.loops.rounds import checkpoints
from viewlet.progress import Progress, reporting

pytestmark = pytest.mark.spark

CHAIN = 60
KILLED = """
import os, signal, sys
import viewlet
from viewlet.loops.rounds import checkpoints

checkpoints.AFTER = 0.0

def die(progress):
    if f"round {sys.argv[3]}," in progress.text:
        os.kill(os.getpid(), signal.SIGKILL)

with viewlet.connect(sys.argv[1], engine=sys.argv[4]) as db:
    db.create_view("v", sys.argv[2], progress=die)
"""
CLOSURE = loops.transitive_closure("edges")
COMPONENTS = loops.connected_components("edges")
REACHED, RANKS = loops.reachable("edges", "SELECT 0"), loops.pagerank("edges", tolerance=1e-9, hold=False)
HALVES = """INITIALIZE t(k, x) AS (SELECT DISTINCT src, 0.0D FROM edges) ITERATE SET t = SELECT k, (x + k) / 2 AS x FROM t
UNTIL max(abs(new.x - old.x)) < 1e-9D ON t BY k RETURN SELECT k, x FROM t"""
LEAST = """INITIALIZE t(k, x) AS (SELECT src, 9.0D FROM edges GROUP BY src)
ITERATE SET t = SELECT e.src AS k, (coalesce(max(t.x), 9.0D) + min(e.w)) / 2 AS x FROM edges e LEFT JOIN t ON t.k = e.src GROUP BY e.src
UNTIL max(abs(new.x - old.x)) < 1e-7D ON t BY k RETURN SELECT k, x FROM t"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "last", "resumed", "engine"),
    [
        (CLOSURE, 30, 30, "inproc"),
        (CLOSURE, 6, 6, "spark"),
        (HALVES, 12, 12, "inproc"),
        (HALVES, 6, 6, "spark"),
        (REACHED, 30, 30, "inproc"),
        (COMPONENTS, 20, 20, "inproc"),
        (RANKS, 30, 29, "inproc"),
    ],
)
def test_a_killed_process_loses_at_most_a_round(
    tmp_path: Path, spark: Any, text: str, last: int, resumed: int, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether its rounds are jobs of Spark, or run in the process; along edges, few of them at once, or all."""
    edges = [(i, i + 1) for i in range(CHAIN)] + [(CHAIN, 0), (5, 9)]
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.create_table("edges", "src BIGINT, dst BIGINT", rows=edges)
    arguments = [str(tmp_path / "w"), text, str(last), engine]
    ended = subprocess.run([sys.executable, "-c", KILLED, *arguments], env={**os.environ})
    assert ended.returncode == -signal.SIGKILL
    monkeypatch.setattr(checkpoints, "AFTER", 0.0)
    told: list[Progress] = []
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        assert db.views == ()  # nothing of it was committed
        db.create_view("v", text, progress=told.append)
        done = db.history("v")[-1]["views"]["v"]
        found = db.table("v").rows()
    assert done["technique"] == f"from scratch, resumed at round {resumed}"
    assert not any(f"round {number}," in progress.text for progress in told for number in range(last))
    assert_right(text, found, [(a, b, 0) for a, b in edges])


def assert_right(text: str, found: list[Any], edges: list[tuple[int, int, int]]) -> None:
    match text:
        case _ if text == CLOSURE:
            assert sorted(found) == sorted(references.closure(edges))
        case _ if text == COMPONENTS:
            assert dict(found) == references.components(edges)
        case _ if text == REACHED:
            assert {v for (v,) in found} == set(references.distances(edges, [0]))
        case _ if text == RANKS:
            assert dict(found) == pytest.approx(references.pagerank(edges), abs=1e-7)
        case _:
            assert dict(found) == pytest.approx({k: k for k in range(CHAIN + 1)}, abs=1e-8)


@pytest.mark.parametrize(("text", "last"), quickly(1, [(REACHED, 3), (RANKS, 9)]))
def test_a_graph_is_taken_up_where_a_run_failed(
    tmp_path: Path, spark: Any, text: str, last: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "AFTER", 0.0)
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (1, 4)]

    def fail(progress: Progress) -> None:
        if f"round {last}," in progress.text:
            raise KeyboardInterrupt

    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.create_table("edges", "src BIGINT, dst BIGINT", rows=edges)
        with pytest.raises(KeyboardInterrupt):
            db.create_view("v", text, progress=fail)
        db.create_view("v", text)
        assert "resumed at round" in db.history("v")[-1]["views"]["v"]["technique"]
        assert_right(text, db.table("v").rows(), [(a, b, 0) for a, b in edges])
        db.delete("edges", [(0, 1)])  # what a value came from is known as before
        assert_right(text, db.table("v").rows(), [(a, b, 0) for a, b in edges[1:]])


EPOCH = {
    "reached": REACHED,
    "distances": loops.shortest_paths("edges", "SELECT 0"),
    "components": loops.connected_components("edges"),
    "ranks": RANKS,
    "held": loops.pagerank("edges", tolerance=1e-9),
    "closure": CLOSURE,
    "least": LEAST,
}
"""Loops along edges, whose epochs go on from a graph in memory; a recursion, from its history; an iteration, from its state."""


@pytest.mark.parametrize("name", EPOCH)
def test_an_epoch_is_taken_up_where_it_failed(
    tmp_path: Path, spark: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process has the edges in another order; what it had found is offered along those with the same contents."""
    monkeypatch.setattr(checkpoints, "AFTER", 0.0)
    edges = [(v, v + 1, 1) for v in range(30)] + [(v, v + 1, 1) for v in range(40, 60)] + [(3, 9, 7), (12, 2, 0)]
    told: list[str] = []

    def fail(progress: Progress) -> None:
        told.append(progress.text)
        if "round 9," in progress.text:
            raise KeyboardInterrupt

    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.create_table("edges", "src BIGINT, dst BIGINT, w BIGINT", rows=edges[:20])
        db.create_view("v", EPOCH[name])
        for edge in edges[20:][::-1]:
            db.insert("edges", [edge])
    gone, new = [(12, 2, 0), (8, 9, 1)], [(7, 40, 2), (60, 61, 0), (61, 40, 0)]
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.insert("edges", [(100, 101, 1)])  # the graph is in memory, and grows by these
        db.delete("edges", [(100, 101, 1)])
        with pytest.raises(KeyboardInterrupt):
            change(db, gone, new, fail)
        assert any("round 8," in text for text in told)
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        again: list[Progress] = []
        change(db, gone, new, again.append)
        assert db.history("v")[-1]["views"]["v"]["technique"].endswith(("resumed at round 8", "resumed at round 9"))
        assert not any(f"round {number}," in progress.text for progress in again for number in range(1, 8))
        kept = [edge for edge in edges if edge not in gone] + new
        assert_is(name, db.table("v").rows(), kept)
        db.delete("edges", [(7, 40, 2)])  # what values come from is known as before
        assert_is(name, db.table("v").rows(), [edge for edge in kept if edge != (7, 40, 2)])


def change(db: viewlet.Database, gone: list[Any], new: list[Any], progress: Any) -> None:
    """An epoch whose rounds are told."""
    with reporting(progress), db.epoch() as e:
        e.delete("edges", gone)
        e.insert("edges", new)


def assert_is(name: str, found: list[Any], edges: list[tuple[int, int, int]]) -> None:
    match name:
        case "reached":
            assert {v for (v,) in found} == set(references.distances(edges, [0]))
        case "distances":
            assert dict(found) == references.distances(edges, [0])
        case "components":
            assert dict(found) == references.components(edges)
        case "closure":
            assert sorted(found) == sorted(references.closure(edges))
        case "least":
            least = {a: min(w for b, _, w in edges if a == b) for a, _, _ in edges}
            assert dict(found) == pytest.approx(least, abs=1e-6)
        case _:
            assert dict(found) == pytest.approx(references.pagerank(edges), abs=1e-6)


def test_rounds_of_other_work_are_not_taken_up(tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "AFTER", 0.0)
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.create_table("edges", "src BIGINT, dst BIGINT", rows=[(i, i + 1) for i in range(6)])
        db.create_view("v", CLOSURE)
        assert list((tmp_path / "w" / "loops" / "v").glob("*.arrow"))
        db.insert("edges", [(6, 0)])
        assert db.history("v")[-1]["views"]["v"]["technique"] == "rounds that change"
        db.delete("edges", [(6, 0)])
        assert sorted(db.table("v").rows()) == [(a, b) for a in range(7) for b in range(a + 1, 7)]
