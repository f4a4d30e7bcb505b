"""Graphs whose vertices have the best value that a path offers: against Bellman and Ford, after every change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewlet.columns.rows import Rows
from viewlet.loops.relax.network import Network
from viewlet.loops.relax.offering import Offering
from viewlet.loops.rounds.progress import rounds_left
from viewlet.plan.expr import Call, Column
from viewlet.plan.types import BIGINT, STRING, Field

Edge = tuple[str | None, str | None, int | None]
First = tuple[str | None, int | None]
WEIGHT, VALUE = Field("w", BIGINT), Field("x", BIGINT)
SUM = Call("add", (Column("x", BIGINT), Column("w", BIGINT)), BIGINT)


def edge_rows(edges: Sequence[Edge], sign: int) -> Rows:
    columns = {"source": pa.string(), "target": pa.string(), "w": pa.int64()}
    arrays = {name: pa.array([e[i] for e in edges], type=kind) for i, (name, kind) in enumerate(columns.items())}
    return Rows(arrays, np.full(len(edges), sign, dtype=np.int64))


def first_rows(firsts: Sequence[First], sign: int) -> Rows:
    keys, values = (pa.array([f[i] for f in firsts], type=kind) for i, kind in enumerate((pa.string(), pa.int64())))
    return Rows({"key": keys, "value": values}, np.full(len(firsts), sign, dtype=np.int64))


def paths(edges: Sequence[Edge], firsts: Sequence[First], *, greatest: bool) -> dict[str | None, int | None]:
    """The best value of each vertex, by trying all edges until none helps; NULL is worse than any number."""
    found: dict[str | None, int | None] = {}

    def offer(vertex: str | None, value: int | None) -> bool:
        there = found.get(vertex)
        is_better = vertex not in found or (
            value is not None and (there is None or (value > there if greatest else value < there))
        )
        if is_better:
            found[vertex] = value
        return is_better

    for vertex, value in firsts:
        offer(vertex, value)
    helped = True
    while helped:
        helped = False
        for source, target, w in edges:
            if source is not None and source in found:
                known = found[source]
                helped |= offer(target, None if known is None or w is None else known + w)
    return found


class Graph:
    """A network beside its edges, as lists."""

    def __init__(self, *, greatest: bool = False) -> None:
        self.network = Network(Offering(STRING, (WEIGHT,), SUM, VALUE, greatest))
        self.greatest = greatest
        self.edges: list[Edge] = []
        self.firsts: list[First] = []
        self.kept: dict[str | None, int | None] = {}

    def change(
        self, new: Sequence[Edge], gone: Sequence[Edge], firsts: Sequence[First] = (), first_gone: Sequence[First] = ()
    ) -> list[int]:
        """One epoch, checked: the sizes of its rounds."""
        for edge in gone:
            self.edges.remove(edge)
        for first in first_gone:
            self.firsts.remove(first)
        self.edges += new
        self.firsts += firsts
        links = Rows.concat([edge_rows([e for e in some if e[0] is not None], s) for some, s in ((gone, -1), (new, 1))])
        starts = Rows.concat([first_rows(first_gone, -1), first_rows(firsts, 1)])
        sizes = [len(changed) for changed in self.network.follow(links.consolidate(), starts.consolidate())]
        self._apply(self.network.changes())
        assert self.kept == paths(self.edges, self.firsts, greatest=self.greatest)
        return sizes

    def _apply(self, rows: Rows) -> None:
        listed = sorted(
            zip(rows.weights.tolist(), *(c.to_pylist() for c in rows.columns.values()), strict=True), key=lambda r: r[0]
        )
        for weight, key, value in listed:
            if weight < 0:
                assert self.kept.pop(key) == value
            else:
                assert key not in self.kept
                self.kept[key] = value


VERTEX = st.sampled_from(["a", "b", "c", "d", "e", None])
EDGE = st.tuples(VERTEX, VERTEX, st.sampled_from([0, 0, 1, 2, 7, None]))
FIRST = st.tuples(VERTEX, st.sampled_from([0, 3, None]))


@settings(max_examples=60, print_blob=False)
@given(st.data())
def test_every_change_of_a_graph(data: st.DataObject) -> None:
    """Zero-weight cycles, parallel edges, NULL at both ends and as weight; edges and first rows come and go."""
    graph = Graph()
    for _ in range(data.draw(st.integers(2, 6))):
        gone = [e for e in graph.edges if data.draw(st.booleans())]
        first_gone = [f for f in graph.firsts if data.draw(st.integers(0, 3)) == 0]
        graph.change(data.draw(st.lists(EDGE, max_size=6)), gone, data.draw(st.lists(FIRST, max_size=2)), first_gone)


def test_the_greatest_value_wins() -> None:
    graph = Graph(greatest=True)
    graph.change([("a", "b", -3), ("a", "c", -9), ("b", "c", -4)], [], [("a", 0)])
    assert graph.kept == {"a": 0, "b": -3, "c": -7}
    graph.change([], [("b", "c", -4)])
    assert graph.kept["c"] == -9


def chain(length: int) -> list[Edge]:
    return [(f"v{i}", f"v{i + 1}", 1) for i in range(length)]


def test_what_an_edge_takes_with_it_is_the_tree_below_it() -> None:
    graph = Graph()
    graph.change([*chain(400), ("v0", "v391", 1000)], [], [("v0", 0)])
    sizes = graph.change([], [("v390", "v391", 1)])
    assert sizes == [1] * 10  # the last ten of four hundred
    assert not graph.network.begins_again


def test_when_most_is_lost_all_is_found_anew() -> None:
    graph = Graph()
    graph.change([*chain(3000), ("v0", "v1", 5)], [], [("v0", 0)])
    graph.change([], [("v0", "v1", 1)])
    assert graph.network.begins_again


def test_edges_that_are_gone_leave_nothing_behind() -> None:
    graph = Graph()
    graph.change(chain(20), [], [("v0", 0)])
    for turn in range(60):
        edges: list[Edge] = [("v3", f"x{i}", turn) for i in range(100)]
        graph.change(edges, [])
        graph.change([], edges)
    assert len(graph.network.edges) < 3000  # of 6,020 that there ever were


@pytest.mark.parametrize(
    ("sizes", "left"), [([], None), ([5, 9], None), ([64, 32, 16], 4), ([10, 10, 10], None), ([8, 4, 0], None)]
)
def test_the_rounds_that_are_left(sizes: list[int], left: int | None) -> None:
    assert rounds_left(sizes) == left
