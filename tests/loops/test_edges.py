"""The edges of a graph in memory against a list of them: what is there, where it is found, and how often."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from viewlet.columns.arrays import values_of
from viewlet.loops.graph import adjacency, edges, matching
from viewlet.loops.graph.change import Change
from viewlet.loops.graph.edges import Edges

VERTICES = 12
NOTHING: tuple[Any, ...] = (None, 0, 1, -3)


def change(rows: Counter[tuple[int, int, Any]]) -> Change:
    """Edges with their weights, in any order."""
    some = list(rows)
    np.random.default_rng(len(some)).shuffle(some)
    src, dst, own = zip(*some, strict=True) if some else ((), (), ())
    weights = np.array([rows[tuple(row)] for row in some], dtype=np.int64)
    return Change(np.array(src, np.int64), np.array(dst, np.int64), [pa.array(own, pa.int32())], weights)


def rows_of(graph: Edges, numbers: Any) -> Counter[tuple[int, int, Any]]:
    found: Counter[tuple[int, int, Any]] = Counter()
    columns = (
        graph.sources[numbers],
        graph.targets[numbers],
        graph.column(0, numbers).to_pylist(),
        graph.counts[numbers],
    )
    for src, dst, own, count in zip(*columns, strict=True):
        assert count > 0
        found[int(src), int(dst), own] += int(count)
    return found


def assert_is(graph: Edges, rows: Counter[tuple[int, int, Any]]) -> None:
    """Whichever way edges are found, they are the same."""
    assert rows_of(graph, graph.all()) == rows
    assert graph.are_single <= (max(rows.values(), default=1) == 1)
    for vertices in ([], [3], [0, 5, 9], list(range(VERTICES))):
        at = np.array(vertices, dtype=np.int64)
        assert rows_of(graph, graph.leaving(at)) == Counter({r: n for r, n in rows.items() if r[0] in vertices})
        assert len(graph.leaving(at)) <= graph.count_leaving(at) <= len(graph), "edges that are gone may be counted"
        assert rows_of(graph, graph.arriving(at)) == Counter({r: n for r, n in rows.items() if r[1] in vertices})
    ends = {"source": {src for src, _, _ in rows}, "target": {dst for _, dst, _ in rows}}
    for end in ("source", "target"):
        assert set(np.flatnonzero(graph.has_edge(end, VERTICES)).tolist()) == ends[end]


def assert_arrivals(graph: Edges, rows: Counter[tuple[int, int, Any]]) -> None:
    found = graph.arrivals()
    assert rows_of(graph, found.edges) == rows
    assert found.sources.tolist() == graph.sources[found.edges].tolist()
    assert found.of_target(np.arange(VERTICES)).tolist() == graph.targets[found.edges].tolist()
    arriving: Counter[int] = Counter(graph.targets[found.edges].tolist())
    assert found.matrix.sum(axis=1).tolist() == [arriving[v] for v in sorted(arriving)]


@pytest.mark.parametrize("seed", range(12))
def test_edges_come_and_go(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few and many at once, more often than once, with NULL; with lists, sorted beside the others, and sorted together.

    Those that go are found by their sources or among all edges; many share a place, or have one of their own.
    """
    chance = np.random.default_rng(seed)
    recent, gone = chance.integers(0, 9, 2).tolist()
    monkeypatch.setattr(edges, "_MANY", int(chance.choice([0, 2, 1000])))
    monkeypatch.setattr(matching, "_LEAST_BITS", int(chance.choice([2, 10])))
    monkeypatch.setattr(matching, "_ROOM", int(chance.choice([1, 8])))
    monkeypatch.setattr(adjacency, "_RECENT", recent)
    monkeypatch.setattr(edges, "_MANY_GONE", gone)
    graph, there = Edges([pa.int32()]), Counter[tuple[int, int, Any]]()
    for _ in range(25):
        delta: Counter[tuple[int, int, Any]] = Counter()
        for _ in range(int(chance.choice([1, 3, 30]))):
            src, dst, own = chance.integers(0, [VERTICES, VERTICES, len(NOTHING)]).tolist()
            delta[src, dst, NOTHING[own]] += int(chance.choice([1, 1, 1, 2]))
        kept = list(there.elements())
        for at in chance.permutation(len(kept))[: int(chance.choice([0, 1, len(kept) // 2, len(kept)]))]:
            delta[kept[at]] -= 1
        delta = Counter({row: n for row, n in delta.items() if n})
        graph.compacted()
        graph.change(change(delta))
        there.update(delta)
        there = Counter({row: n for row, n in there.items() if n})
        assert_is(graph, there)
        if chance.random() < 0.4:
            assert_arrivals(graph, there)


def test_an_edge_that_is_not_there_cannot_be_taken_away() -> None:
    graph = Edges([pa.int32()])
    graph.change(change(Counter({(1, 2, 5): 1, (1, 2, None): 1})))
    with pytest.raises(AssertionError, match="not there"):
        graph.change(change(Counter({(1, 2, 0): -1})))


def test_loops_at_vertices_are_netted_where_they_are_alike() -> None:
    at, twice = np.array([2, 0, 2, 2, 0]), np.array([1, 1, 2, 1, 1])
    alike = Change(at, at, [pa.array([None, 4, None, None, 4], pa.int64())], twice).netted(3)
    assert (alike.targets.tolist(), alike.columns[0].to_pylist(), alike.weights.tolist()) == ([0, 2], [4, None], [2, 4])
    different = Change(at, at, [pa.array([None, 4, 0, None, 4], pa.int64())], twice)
    assert different.netted(3) is different
    gone = Change(at, at, [pa.array([7] * 5, pa.int64())], -twice).netted(3)
    assert (gone.targets.tolist(), gone.weights.tolist()) == ([0, 2], [-2, -4])
    both = Change(at, at, [pa.array([7] * 5, pa.int64())], twice - 2)
    both.weights[0] = 1
    assert both.netted(3) is both
    assert gone.netted(1000) is gone


def test_columns_are_told_apart_by_their_bits() -> None:
    """A zero and a negative zero are different edges; NULL is no number."""
    graph, ends = Edges([pa.float64()]), np.zeros(3, dtype=np.int64)
    graph.change(Change(ends, ends, [pa.array([0.0, -0.0, None])], np.ones(3, dtype=np.int64)))
    (gone, _) = graph.change(Change(ends[:1], ends[:1], [pa.array([-0.0])], np.array([-1])))
    assert np.signbit(values_of(graph.column(0, gone), "f8")).tolist() == [True]
