"""The ready loops beside NetworkX and scikit-learn, on generated graphs and points, after each of many epochs, on both engines."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Literal

import networkx as nx
import numpy as np
import pytest
from sklearn.cluster import KMeans  # type: ignore[import-untyped]

import viewlet
from viewlet import loops

pytestmark = [pytest.mark.spark, pytest.mark.slow]

Edge = tuple[int, int, int]
TEXTS = {
    "reach": loops.reachable("edges", "SELECT 0"),
    "closure": loops.transitive_closure("edges"),
    "dist": loops.shortest_paths("edges", "SELECT 0"),
    "components": loops.connected_components("edges"),
    "ranks": loops.pagerank("edges", tolerance=1e-10),
    "core": loops.k_core("edges", 3),
}


def graph_of(edges: list[Edge]) -> Any:
    graph = nx.DiGraph()
    graph.add_node(0)
    graph.add_weighted_edges_from(edges)
    return graph


def check(db: viewlet.Database, edges: list[Edge]) -> None:
    graph = graph_of(edges)
    found = {name: db.table(name).rows() for name in TEXTS}
    assert {v for (v,) in found["reach"]} == {0, *nx.descendants(graph, 0)}
    assert set(found["closure"]) == set(nx.transitive_closure(graph, reflexive=False).edges)
    assert dict(found["dist"]) == nx.single_source_dijkstra_path_length(graph, 0)
    inside = graph.edge_subgraph(graph.edges)  # a vertex has a component if it has an edge
    parts = {v: min(part) for part in nx.weakly_connected_components(inside) for v in part}
    assert dict(found["components"]) == parts
    assert {v for (v,) in found["core"]} == set(nx.k_core(nx.Graph(inside), 3).nodes)
    assert dict(found["ranks"]) == pytest.approx(ranks(inside), rel=1e-6)


def ranks(graph: Any) -> dict[int, float]:
    """NetworkX's PageRank gives what leads nowhere to all; here it goes to a vertex outside, which keeps it."""
    if not len(graph):
        return {}
    outside, count = -1, len(graph)
    wider = nx.DiGraph(graph.edges)
    wider.add_edges_from((v, outside) for v in graph if not graph.out_degree(v))
    wider.add_edge(outside, outside)
    teleport = dict.fromkeys(graph, 1.0 / count) | {outside: 0.0}
    found = nx.pagerank(wider, 0.85, personalization=teleport, tol=1e-14, max_iter=1000, weight=None)
    return {v: rank * count for v, rank in found.items() if v != outside}


@pytest.mark.parametrize("engine", ["inproc", pytest.param("spark", marks=pytest.mark.slow)])
def test_graphs(tmp_path: Path, spark: Any, engine: Literal["inproc", "spark"]) -> None:
    chance = random.Random(5)
    pairs = list(nx.gnp_random_graph(24, 0.12, seed=3, directed=True).edges)
    edges = [(a, b, chance.randrange(5)) for a, b in pairs]
    with viewlet.connect(tmp_path / "w", spark=spark, engine=engine) as db:
        db.create_table("edges", "src BIGINT, dst BIGINT, w BIGINT", rows=edges)
        for name, text in TEXTS.items():
            db.create_view(name, text)
        check(db, edges)
        for _ in range(12 if engine == "inproc" else 3):
            gone = chance.sample(edges, chance.choice([1, 1, 4]))
            there = {(a, b) for a, b, _ in edges}
            pair = [(chance.randrange(26), chance.randrange(26)) for _ in range(chance.choice([1, 3]))]
            new = [(a, b, chance.randrange(5)) for a, b in dict.fromkeys(pair) if a != b and (a, b) not in there]
            with db.epoch() as e:
                e.delete("edges", gone)
                e.insert("edges", new)
            edges = [*(edge for edge in edges if edge not in gone), *new]
            check(db, edges)


def test_centers(tmp_path: Path, spark: Any) -> None:
    generator = np.random.default_rng(3)
    points = np.concatenate([generator.normal(spot, 1.0, (30, 2)) for spot in ((0, 0), (9, 1), (3, 8))])
    centers = np.array([[1.0, 1.0], [6.0, 0.0], [2.0, 5.0]])
    first = ", ".join(f"({i}, {x}D, {y}D)" for i, (x, y) in enumerate(centers.tolist()))
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.create_table(
            "points", "id BIGINT, x DOUBLE, y DOUBLE", rows=[(i, *p) for i, p in enumerate(points.tolist())]
        )
        db.create_view("centers", loops.k_means("points", f"SELECT * FROM VALUES {first}", ["x", "y"]))
        for epoch in range(3):
            if epoch:
                more = generator.normal((3 * epoch, 4), 1.0, (6, 2))
                db.insert("points", [(1000 * epoch + i, *p) for i, p in enumerate(more.tolist())])
                points = np.concatenate([points, more])
            fitted = KMeans(3, init=centers, n_init=1, tol=0.0, max_iter=300, algorithm="lloyd").fit(points)
            centers = fitted.cluster_centers_
            found = {center: (x, y) for center, x, y in db.table("centers").rows()}
            assert np.array([found[i] for i in range(3)]) == pytest.approx(centers, abs=1e-9)
