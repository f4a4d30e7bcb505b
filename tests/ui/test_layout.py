"""The layout of graphs: no two nodes overlap, edges lead to the right, few of them cross."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewlet.ui.graph_layout import HEIGHT, WIDTH, Edge, Place, layout

NODES = [f"n{i}" for i in range(40)]
pairs = st.tuples(st.integers(0, 39), st.integers(0, 39))


def overlaps(a: Place, b: Place) -> bool:
    return abs(a[0] - b[0]) < WIDTH and abs(a[1] - b[1]) < HEIGHT


def crossings(edges: list[Edge], at: dict[str, Place]) -> int:
    """How many pairs of edges between two neighbouring layers cross."""
    found = [(at[a][1], at[b][1]) for a, b in edges]
    return sum((y - v) * (z - w) < 0 for (y, z), (v, w) in combinations(found, 2))


@settings(max_examples=60)
@given(st.lists(pairs, max_size=80))
def test_nodes_do_not_overlap_and_edges_lead_to_the_right(found: list[tuple[int, int]]) -> None:
    edges = [(f"n{a}", f"n{b}") for a, b in found]
    at = layout(NODES, edges).places
    assert set(at) == set(NODES)
    assert not any(overlaps(at[a], at[b]) for a, b in combinations(NODES, 2))
    graph = nx.DiGraph(edges)
    if nx.is_directed_acyclic_graph(graph):
        assert all(at[a][0] + WIDTH < at[b][0] for a, b in edges)
    # An edge may lead back only where it is on a cycle.
    on_cycles = {frozenset(part) for part in nx.strongly_connected_components(graph) if len(part) > 1}
    back = [(a, b) for a, b in edges if a != b and at[a][0] >= at[b][0]]
    assert all(any({a, b} <= part for part in on_cycles) for a, b in back)


@settings(max_examples=60)
@given(st.lists(pairs, max_size=60))
def test_edges_pass_between_the_nodes_of_layers_that_they_skip(found: list[tuple[int, int]]) -> None:
    edges = [(f"n{min(a, b) % 20}", f"n{max(a, b) % 20}") for a, b in found if min(a, b) % 20 < max(a, b) % 20]
    drawing = layout(NODES[:20], edges)
    at = drawing.places
    for a, b in edges:
        bends = drawing.bends.get((a, b), [])
        skipped = {x for x, _ in at.values() if at[a][0] < x < at[b][0]}
        assert [x for x, _ in bends] == sorted(skipped)
        for x, y in bends:  # from there straight on, to the right of the layer
            assert not any(column == x and top <= y <= top + HEIGHT for column, top in at.values())


def test_edges_are_disentangled() -> None:
    left, right = [f"a{i}" for i in range(12)], [f"b{i}" for i in range(12)]
    edges = list(zip(left, reversed(right), strict=True))
    assert crossings(edges, layout([*left, *right], edges).places) == 0


@pytest.mark.parametrize("count", [0, 1, 500])
def test_a_layer_of_very_many_is_folded(count: int) -> None:
    views = [f"v{i}" for i in range(count)]
    at = layout(["t", *views], [("t", view) for view in views]).places
    width = max(x for x, _ in at.values()) - min(x for x, _ in at.values()) + WIDTH
    height = max(y for _, y in at.values()) - min(y for _, y in at.values()) + HEIGHT
    assert height <= max(2 * width, 24 * 80)


def test_names_that_are_not_there_are_left_out() -> None:
    assert set(layout(["a"], [("a", "gone"), ("gone", "a")]).places) == {"a"}
