"""Graphs in memory whose vertices have the best value that a path offers, as edges come and go, few and many at once."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from tests.loops import references
from viewlet.columns.rows import Rows
from viewlet.loops.relax.labels import NO_EDGE
from viewlet.loops.relax.network import Network
from viewlet.loops.relax.offering import Offering
from viewlet.plan.expr import Call, Column
from viewlet.plan.types import BIGINT, Field

VERTICES = 24
Edge = tuple[int, int, int]
KNOWN = Column("x", BIGINT)
COMPONENTS = Offering(BIGINT, (), KNOWN, Field("x", BIGINT))
REACHED = Offering(BIGINT, (), None, None)
DISTANCES = Offering(
    BIGINT, (Field("w", BIGINT),), Call("add", (KNOWN, Column("w", BIGINT)), BIGINT), Field("x", BIGINT)
)


def rows(columns: list[list[int]], weights: list[int]) -> Rows:
    names = [f"c{at}" for at in range(len(columns))]
    return Rows.of(
        pa.table({n: pa.array(c, pa.int64()) for n, c in zip(names, columns, strict=True)}), np.array(weights)
    )


def change(offering: Offering, delta: Counter[Edge], *, first: bool) -> tuple[Rows, Rows]:
    """What changes of the edges and of the first rows: those of components go both ways, and every end is one."""
    begins = [1] if first else []
    src, dst, w = ([edge[at] for edge in delta] for at in range(3))
    weights = list(delta.values())
    if offering is DISTANCES:
        return rows([src, dst, w], weights), rows([[0] * len(begins)] * 2, begins)
    if offering is REACHED:
        return rows([src, dst], weights), rows([[0] * len(begins)], begins)
    return rows([src + dst, dst + src], weights * 2), rows([src + dst] * 2, weights * 2)


def expected(offering: Offering, there: Counter[Edge]) -> set[tuple[int, ...]]:
    edges = list(there)
    if offering is COMPONENTS:
        return set(references.components(edges).items())
    distances = references.distances(edges, [0])
    return {(v,) for v in distances} if offering is REACHED else set(distances.items())


def assert_trees(network: Network) -> None:
    """Every value comes along an edge that is there, or is a first one, and no vertex has its value from itself."""
    labels, edges = network.labels, network.edges
    for vertex in np.flatnonzero(labels.present).tolist():
        seen = set()
        while labels.edges[vertex] > NO_EDGE:
            assert vertex not in seen
            seen.add(vertex)
            edge = int(labels.edges[vertex])
            assert edges.counts[edge] > 0
            assert edges.targets[edge] == vertex
            vertex = int(edges.sources[edge])
            assert labels.present[vertex]
        assert network.firsts.counts[-2 - labels.edges[vertex]] > 0


@pytest.mark.parametrize("offering", [COMPONENTS, DISTANCES, REACHED], ids=["components", "distances", "reached"])
@pytest.mark.parametrize("seed", range(10))
def test_values_are_those_of_the_edges_that_are_there(
    offering: Offering, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = np.random.default_rng(seed)
    monkeypatch.setattr("viewlet.loops.relax.network._FEW", 0 if seed % 2 else VERTICES)
    monkeypatch.setattr("viewlet.loops.relax.network._PART", VERTICES)
    network, there, found = Network(offering), Counter[Edge](), Counter[tuple[int, ...]]()
    ways = set()
    for step in range(14):
        delta: Counter[Edge] = Counter()
        for _ in range(60 if step == 0 else int(chance.choice([0, 1, 20]))):
            src, dst, w = chance.integers(0, [VERTICES, VERTICES, 5]).tolist()
            delta[src, dst, w] += 1
        kept = list(there.elements())
        for at in chance.permutation(len(kept))[: int(chance.choice([0, 1, 9, 3 * len(kept) // 4]))]:
            delta[kept[at]] -= 1
        delta = Counter({edge: n for edge, n in delta.items() if n})
        for _ in network.follow(*change(offering, delta, first=step == 0)):
            pass
        there.update(delta)
        there = Counter({edge: n for edge, n in there.items() if n})
        ways.add(network.begins_again)
        changed = network.changes()
        columns = (column.to_pylist() for column in changed.columns.values())
        for row, weight in zip(zip(*columns, strict=True), changed.weights.tolist(), strict=True):
            found[row] += weight
        assert {row for row, n in found.items() if n} == expected(offering, there)
        assert set(found.values()) <= {0, 1}
        assert_trees(network)
    assert ways == ({False, True} if seed % 2 else {False}), "what a change reaches, and all anew where that is much"


@pytest.mark.parametrize("offering", [COMPONENTS, DISTANCES, REACHED], ids=["components", "distances", "reached"])
@pytest.mark.parametrize("last", range(1, 6))
def test_what_rounds_had_found_is_taken_up(offering: Offering, last: int) -> None:
    """By a graph with its edges in another order, whether few vertices change in a round, or so many that all edges are tried."""
    chance = np.random.default_rng(last)
    ends = chance.permutation(200)
    tail = [(int(a), int(b), 1) for a, b in pairwise(ends[:41])]
    some = [(a, b, w) for a, b, w in chance.integers(0, [200, 200, 5], (300, 3)).tolist()]
    there: Counter[Edge] = Counter(dict.fromkeys({*tail, *some, (0, int(ends[0]), 0)}, 1))
    written: list[Rows] = []
    first, done = Network(offering), 0
    for number, changed in enumerate(first.follow(*change(offering, there, first=True))):
        written.append(first.found(changed if written else np.flatnonzero(first.labels.present)))
        if number == last:
            break
    rounds = [int(round_) for rows in written for round_ in rows["round"].to_pylist()]
    assert any(rounds) == (offering is COMPONENTS), "the rounds of components are over all edges"
    again = Network(offering)
    shuffled = Counter({edge: there[edge] for edge in sorted(there)})
    for _ in again.follow(*change(offering, shuffled, first=True), Rows.concat(written)):
        done += 1
    assert set(rows_of(again)) == expected(offering, there)
    assert_trees(again)
    whole = Network(offering)
    assert done < 2 + sum(1 for _ in whole.follow(*change(offering, there, first=True))) - last
    gone: Counter[Edge] = Counter(dict.fromkeys(list(there)[::7], -1))
    for _ in again.follow(*change(offering, gone, first=False)):
        pass
    there.update(gone)
    assert set(rows_of(again)) == expected(offering, +there)
    assert_trees(again)


def rows_of(network: Network) -> list[tuple[int, ...]]:
    columns = network.rows(np.flatnonzero(network.labels.present)).columns.values()
    return list(zip(*(column.to_pylist() for column in columns), strict=True))
