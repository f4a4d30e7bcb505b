"""Loops of delta handlers: each operator beside a plain computation, PageRank and shortest paths beside references."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.loops import references
from viewlet import loops
from viewlet.errors import EndlessLoop, UnsupportedQuery, UntrustedCode
from viewlet.loops.handlers.dataflow import Dataflow, Places
from viewlet.loops.handlers.deltas import Adjust, Delete, Delta, Insert, Replace, Row
from viewlet.loops.handlers.handlers import Handlers

EDGES = Places((0,), 0, 0)
"""A state (v, x) with the key v, joined with edges (src, dst, w) on v = src."""


class Along(loops.JoinHandler):
    """What paths cost that an edge makes longer: the join, projected."""

    def left(self, left: list[Row], right: list[Row], delta: Delta) -> Iterable[Delta]:
        return [loops.over_row(d, _longer) for d in super().left(left, right, delta)]

    def right(self, left: list[Row], right: list[Row], delta: Delta) -> Iterable[Delta]:
        return [loops.over_row(d, _longer) for d in super().right(left, right, delta)]


def _longer(row: Row) -> Row:
    _, cost, _, end, weight = row
    return end, cost + weight


class Least(loops.AggregateHandler):
    """The least cost of each vertex, of all that paths offer: candidates are kept, so that they may go."""

    def zero(self) -> tuple[Counter[int], int | None]:
        return Counter(), None

    def update(self, state: Any, delta: Delta) -> Any:
        costs, shown = state
        if isinstance(delta, Replace):
            costs[delta.old[1]] -= 1
        costs[delta.row[1]] += -1 if isinstance(delta, Delete) else 1
        return +costs, shown

    def result(self, key: Row, state: Any) -> tuple[Any, Iterable[Delta]]:
        costs, shown = state
        best = min(costs, default=None)
        if best == shown:
            return state, ()
        if best is None:
            return (costs, None), (Delete((*key, shown)),)
        return (costs, best), (Insert((*key, best)) if shown is None else Replace((*key, best), (*key, shown)),)


class Spread(loops.JoinHandler):
    """REX, listing 1: a page gives each neighbour an equal part of what its rank has changed by."""

    def left(self, left: list[Row], right: list[Row], delta: Delta) -> Iterable[Delta]:
        change = delta.row[1] - (left[0][1] if left else 0.0)
        if abs(change) < 1e-10:
            return ()
        left[:] = [delta.row]
        return [Adjust((end,), change / len(right)) for _, end, _ in right]

    def right(self, left: list[Row], right: list[Row], delta: Delta) -> Iterable[Delta]:
        taken = [Adjust(d.row, -d.by) for d in self._given(left, right)]
        super().right(left, right, delta)
        return [*taken, *self._given(left, right)]

    def _given(self, left: list[Row], right: list[Row]) -> list[Adjust]:
        return [Adjust((end,), row[1] / len(right)) for row in left for _, end, _ in right]


class Received(loops.AggregateHandler):
    def zero(self) -> float:
        return 0.0

    def update(self, state: float, delta: Delta) -> float:
        assert isinstance(delta, Adjust)
        return state + float(delta.by)

    def result(self, key: Row, state: float) -> tuple[float, Iterable[Delta]]:
        return 0.0, (Adjust(key, 0.85 * state),)


class Ranks(loops.StateHandler):
    def update(self, old: Row | None, delta: Delta) -> Iterable[Delta]:
        if not isinstance(delta, Adjust) or old is None:
            return super().update(old, delta)
        return (Replace((old[0], old[1] + delta.by), old),)


def rounds(flow: Dataflow, relation: Iterable[Delta], firsts: Iterable[Delta] = ()) -> int:
    return sum(1 for _ in flow.follow(relation, firsts))


def state_of(flow: Dataflow) -> dict[Any, Any]:
    return dict(flow.kept["row"].values())


def test_the_join_of_deltas_is_the_delta_of_the_join() -> None:
    chance, join = random.Random(4), loops.JoinHandler()
    left: list[Row] = []
    right: list[Row] = []
    mirrored: tuple[list[Row], list[Row]] = ([], [])
    found: Counter[Row] = Counter()
    for _ in range(200):
        is_left = chance.random() < 0.5
        rows, row = mirrored[not is_left], (1, chance.randrange(4))
        match chance.choice("+-→") if rows else "+":
            case "+":
                delta: Delta = Insert(row)
                rows.append(row)
            case "-":
                delta = Delete(rows.pop())
            case _:
                delta = Replace(row, rows[0])
                rows[0] = row
        for made in (join.left if is_left else join.right)(left, right, delta):
            found[made.row] += -1 if isinstance(made, Delete) else 1
            if isinstance(made, Replace):
                found[made.old] -= 1
        assert +found == Counter((*a, *b) for a in mirrored[0] for b in mirrored[1])
        assert not -found


def test_shortest_paths_under_insertions_and_deletions() -> None:
    chance = random.Random(6)
    flow = Dataflow(Handlers(Along(), Least(), loops.StateHandler()), EDGES)
    edges: list[tuple[int, int, int]] = []
    rounds(flow, [], [Insert((0, 0))])
    for _ in range(60):  # edges lead to greater vertices: derivations can be counted
        gone = [edges.pop(chance.randrange(len(edges)))] if edges and chance.random() < 0.4 else []
        a, b = sorted(chance.sample(range(9), 2))
        edges.append((a, b, chance.randrange(5)))
        rounds(flow, [*map(Delete, gone), Insert(edges[-1])])
        assert state_of(flow) == references.distances(edges, [0])


def test_ranks_by_adjustments() -> None:
    chance = random.Random(7)
    nodes = range(8)
    edges = [(v, (v + 1) % 8, 0) for v in nodes]
    flow = Dataflow(Handlers(Spread(), Received(), Ranks()), EDGES)
    rounds(flow, map(Insert, edges), [Insert((v, 0.15)) for v in nodes])
    for _ in range(12):
        new = (chance.choice(nodes), chance.choice(nodes), 0)
        gone = [edges.pop(8)] if len(edges) > 10 else []
        edges.append(new)
        few = rounds(flow, [*map(Delete, gone), Insert(new)])
        assert few > 1
        assert state_of(flow) == pytest.approx(references.pagerank(edges), abs=1e-7)


def test_what_is_stored_is_enough_to_go_on() -> None:
    edges = [(0, 1, 1), (1, 2, 1), (0, 2, 5)]
    flow = Dataflow(Handlers(Along(), Least(), loops.StateHandler()), EDGES)
    kept: Counter[tuple[str, bytes, bytes]] = Counter()
    for relation, firsts in ((edges, [(0, 0)]), ([(2, 3, 1)], [])):
        rounds(flow, map(Insert, relation), map(Insert, firsts))
        assert flow.row_changes()
        for entry, sign in flow.stored_changes():
            kept[entry] += sign
        assert set(kept.values()) <= {0, 1}
    again = Dataflow(flow.handlers, EDGES)
    again.resume(+kept)
    rounds(again, [Delete((0, 1, 1))])
    assert state_of(again) == {0: 0, 2: 5, 3: 6}
    assert sorted(again.row_changes()) == [((1, 1), -1), ((2, 2), -1), ((2, 5), 1), ((3, 3), -1), ((3, 6), 1)]


def test_an_adjustment_needs_a_handler() -> None:
    with pytest.raises(UnsupportedQuery, match="has no handler for it"):
        loops.StateHandler().update((1, 2), Adjust((1,), 3))


@pytest.fixture
def db(tmp_path: Path, spark: Any) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as made:
        made.sql("CREATE TABLE edges (src BIGINT, dst BIGINT, w BIGINT)")
        made.sql("CREATE TABLE nodes (v BIGINT)")
        yield made


@pytest.mark.spark
def test_a_view_of_handlers(db: viewlet.Database, tmp_path: Path, spark: Any) -> None:
    edges = [(v, (v + 1) % 6, 0) for v in range(6)]
    db.insert("edges", edges)
    db.insert("nodes", [(v,) for v in range(6)])
    ranks = loops.fixpoint(
        "ranks",
        "SELECT v, 0.15D AS rank FROM nodes",
        db.spark.table("edges"),
        on=("v", "src"),
        key="v",
        join=Spread(),
        aggregate=Received(),
        state=Ranks(),
    )
    db.create_view("ranks", ranks)
    first = db.table("ranks").round(0).to_pylist()
    assert sorted((row["v"], row["rank"]) for row in first) == [(v, 0.15) for v in range(6)]
    for step in range(3):
        edges.append((step, 5 - step, 0))
        db.insert("edges", edges[-1:])
        assert dict(db.table("ranks").rows()) == pytest.approx(references.pagerank(edges), abs=1e-7)
        if step == 1:
            db.close()
            db = viewlet.connect(tmp_path / "w", spark=spark)
    assert "by v, as its handler says" in db.explain("ranks")
    db.close()
    with (
        viewlet.connect(tmp_path / "w", spark=spark, trust=False) as again,
        pytest.raises(UntrustedCode, match="view ranks runs code"),
    ):
        again.insert("edges", [(5, 2, 0)])


@pytest.mark.spark
def test_handlers_that_never_end_say_so(db: viewlet.Database) -> None:
    db.insert("edges", [(0, 1, 1), (1, 0, 1)])
    endless = loops.fixpoint(
        "d", "SELECT 0L AS v, 0L AS cost", "SELECT * FROM edges", on=("v", "src"), key="v", join=Along(), max_rounds=20
    )
    with pytest.raises(EndlessLoop, match="round 20 still changes 1 row of d"):
        db.create_view("d", endless)
    with pytest.raises(UnsupportedQuery, match="`source`, which rows are joined on, is no column"):
        db.create_view(
            "d",
            loops.fixpoint(
                "d", "SELECT 0L AS v", "SELECT * FROM edges", on=("v", "source"), key="v", join=loops.JoinHandler()
            ),
        )
