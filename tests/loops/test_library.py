"""The ready loops against references, from scratch and after each of several epochs of insertions and deletions."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import viewlet
from tests.loops import references
from viewlet import loops

pytestmark = pytest.mark.spark

START, SHARES, LABELS = (
    "SELECT 0",
    "SELECT 0 AS v, 0.75 AS share UNION ALL SELECT 3, 0.25",
    "SELECT DISTINCT src, src FROM edges",
)
GRAPH = {
    "reach": loops.reachable("edges", START),
    "closure": loops.transitive_closure("edges"),
    "dist": loops.shortest_paths("edges", START),
    "components": loops.connected_components("edges"),
    "ranks": loops.pagerank("edges", tolerance=1e-11),
    "mine": loops.pagerank("edges", tolerance=1e-11, teleport=SHARES, hold=False),
    "labels": loops.label_propagation("edges", LABELS, 3),
    "core": loops.k_core("edges", 2),
}  # fmt: skip


@pytest.fixture
def db(tmp_path: Path, spark: Any) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as made:
        yield made


def check_graph(db: viewlet.Database, edges: list[references.Edge]) -> None:
    found = {name: sorted(db.table(name).rows()) for name in GRAPH}
    known = references.distances(edges, [0])
    assert found["reach"] == [(v,) for v in sorted(known)]
    assert found["dist"] == sorted(known.items())
    assert found["closure"] == sorted(references.closure(edges))
    assert found["components"] == sorted(references.components(edges).items())
    assert found["core"] == [(v,) for v in sorted(references.k_core(edges, 2))]
    first = {a: a for a, _, _ in edges}
    assert found["labels"] == sorted(references.label_propagation(edges, first, 3).items())
    assert dict(found["ranks"]) == pytest.approx(references.pagerank(edges), abs=1e-9)
    assert dict(found["mine"]) == pytest.approx(references.pagerank(edges, {0: 0.75, 3: 0.25}), abs=1e-9)


@pytest.mark.slow
def test_graphs(db: viewlet.Database) -> None:
    db.sql("CREATE TABLE edges (src BIGINT, dst BIGINT, w BIGINT)")
    chance = random.Random(11)
    pairs = chance.sample([(a, b) for a in range(9) for b in range(9)], 40)  # one edge a pair: degrees count pairs
    edges, later = [(a, b, chance.randrange(4)) for a, b in pairs[:22]], pairs[22:]
    db.insert("edges", edges)
    for name, text in GRAPH.items():
        db.create_view(name, text)
    check_graph(db, edges)
    for _ in range(4):
        gone = chance.sample(edges, chance.choice([1, 5]))
        new = [(*later.pop(), chance.randrange(4)) for _ in range(chance.choice([1, 4]))]
        with db.epoch() as e:
            e.delete("edges", gone)
            e.insert("edges", new)
        edges = [*(edge for edge in edges if edge not in gone), *new]
        check_graph(db, edges)
    assert db.check("ranks").num_rows == 0
    db.delete("edges", edges)
    check_graph(db, [])


@pytest.mark.slow
def test_scores_of_labels(db: viewlet.Database) -> None:
    edges, labels = [(1, 2, 0), (2, 3, 0), (3, 4, 0), (4, 1, 0), (5, 6, 0), (3, 2, 0)], {1: 1.0, 3: 0.5, 6: 2.0}
    db.create_table("edges", "src BIGINT, dst BIGINT, w BIGINT", rows=edges)
    db.create_table("labels", "v BIGINT, label STRING, score DOUBLE", rows=[(v, "a", x) for v, x in labels.items()])
    db.create_view("scores", loops.adsorption("edges", "SELECT * FROM labels", tolerance=1e-11))
    changes = [([], []), ([(4, 1, 0)], [(4, 5, 0)]), ([(2, 3, 0), (3, 2, 0)], [(7, 1, 0)])]
    for gone, new in changes:
        with db.epoch() as e:
            e.delete("edges", gone)
            e.insert("edges", new)
        edges = [*(edge for edge in edges if edge not in gone), *new]
        found = {v: score for v, label, score in db.table("scores").rows()}
        assert found == pytest.approx(references.adsorption(edges, labels, 0.25), abs=1e-9)


def test_k_means_goes_on_from_its_last_centers(db: viewlet.Database) -> None:
    chance = random.Random(4)
    spots = [(0, 0), (8, 1), (3, 9)]
    points = {i: tuple(c + chance.gauss(0, 1) for c in spots[i % 3]) for i in range(45)}
    centers = {1: (0.0, 0.0), 2: (1.0, 0.0), 3: (0.0, 1.0)}
    first = ", ".join(f"({c}, {x}D, {y}D)" for c, (x, y) in centers.items())
    db.create_table("points", "id BIGINT, x DOUBLE, y DOUBLE", rows=[(i, *p) for i, p in points.items()])
    db.create_view("centers", loops.k_means("points", f"SELECT * FROM VALUES {first}", ["x", "y"]))
    for epoch in range(4):
        if epoch:
            gone = [(i, *points.pop(i)) for i in chance.sample(sorted(points), 4)]
            new = {100 * epoch + i: (chance.uniform(-2, 9), chance.uniform(-2, 9)) for i in range(5)}
            points |= new
            with db.epoch() as e:
                e.delete("points", gone)
                e.insert("points", [(i, *p) for i, p in new.items()])
        centers = references.k_means(points, centers)  # type: ignore[arg-type]
        found = {c: (x, y) for c, x, y in db.table("centers").rows()}
        assert found.keys() == centers.keys()
        assert all(found[c] == pytest.approx(centers[c], abs=1e-9) for c in centers)
    assert db.check("centers").num_rows == 0


def test_bills_of_materials(db: viewlet.Database) -> None:
    parts = [("bike", "wheel", 2), ("wheel", "spoke", 28), ("wheel", "nut", 2), ("bike", "nut", 6), ("car", "wheel", 4)]
    db.create_table("parts", "assembly STRING, part STRING, quantity BIGINT", rows=parts)
    db.create_view("needed", loops.bill_of_materials("parts"))
    changes = [
        ([], []),
        ([("wheel", "spoke", 28)], [("wheel", "spoke", 32)]),
        ([("bike", "nut", 6)], [("truck", "car", 1)]),
    ]
    for gone, new in changes:
        with db.epoch() as e:
            e.delete("parts", gone)
            e.insert("parts", new)
        parts = [p for p in parts if p not in gone] + new
        assert {(a, p): n for a, p, n in db.table("needed").rows()} == references.quantities(parts)
    with pytest.raises(viewlet.EvaluationError, match=r"OVERFLOW.*the cause is row \(assembly='spoke', part='bike'"):
        db.insert("parts", [("spoke", "bike", 1)])  # a part that contains itself


@pytest.mark.slow
def test_factors(db: viewlet.Database) -> None:
    chance = random.Random(8)
    w, h = np.array([[1, 0], [2, 1], [0, 3], [1, 1]]), np.array([[1, 2, 0], [0, 1, 2]])
    entries = [(i, j, float((w @ h)[i, j])) for i in range(4) for j in range(3)]
    chance.shuffle(entries)
    db.create_table("m", "i BIGINT, j BIGINT, x DOUBLE", rows=entries)
    db.create_view("factors", loops.factorize("m", 2, rounds=60))
    before = distance(db, w @ h)
    assert before < 0.2
    changed = (w @ h).astype(float)
    changed[0] *= 3
    with db.epoch() as e:
        e.delete("m", [row for row in entries if row[0] == 0])
        e.insert("m", [(0, j, float(changed[0, j])) for j in range(3)])
    assert distance(db, changed) < 0.2


def distance(db: viewlet.Database, wanted: Any) -> float:
    """How far the product of the factors is from a matrix; multiplicative updates only ever come closer."""
    w, h = np.zeros((4, 2)), np.zeros((2, 3))
    for factor, a, b, x in db.table("factors").rows():
        if factor == "w":
            w[a, b - 1] = x
        else:
            h[a - 1, b] = x
    assert min(w.min(), h.min()) >= 0
    return float(np.abs(w @ h - wanted).max())
