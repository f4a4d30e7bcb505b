"""What the ready loops should give, computed in the plainest way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

Edge = tuple[int, int, int]


def vertices(edges: Iterable[Edge]) -> list[int]:
    return sorted({v for a, b, _ in edges for v in (a, b)})


def distances(edges: list[Edge], sources: Iterable[int]) -> dict[int, int]:
    """Bellman and Ford."""
    found = dict.fromkeys(sources, 0)
    for _ in range(len(vertices(edges)) + 1):
        for a, b, w in edges:
            if a in found:
                found[b] = min(found.get(b, found[a] + w), found[a] + w)
    return found


def closure(edges: list[Edge]) -> set[tuple[int, int]]:
    reach = {v: set(distances([(a, b, 0) for a, b, _ in edges], [v])) - {v} for v in vertices(edges)}
    cycles = {v for a, v, _ in edges if a == v or a in reach[v]}
    return {(v, u) for v, others in reach.items() for u in others} | {(v, v) for v in cycles}


def neighbours(edges: list[Edge]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {v: set() for v in vertices(edges)}
    for a, b, _ in edges:
        found[a].add(b)
        found[b].add(a)
    return found


def components(edges: list[Edge]) -> dict[int, int]:
    both = [(a, b, 0) for a, b, _ in edges] + [(b, a, 0) for a, b, _ in edges]
    return {v: min(distances(both, [v])) for v in vertices(edges)}


def pagerank(edges: list[Edge], teleport: Mapping[int, float] | None = None, damping: float = 0.85) -> dict[int, float]:
    """The solution of r = (1 − d)·t + d·M·r, all at once."""
    begins = dict.fromkeys(vertices(edges), 1.0) if teleport is None else teleport
    known = sorted({*begins, *(b for _, b, _ in edges)})
    at, out = {v: i for i, v in enumerate(known)}, Counter(a for a, _, _ in edges)
    matrix = np.eye(len(known))
    for a, b, _ in edges:
        if a in at:
            matrix[at[b], at[a]] -= damping / out[a]
    start = np.array([(1 - damping) * begins.get(v, 0.0) for v in known])
    return dict(zip(known, np.linalg.solve(matrix, start).tolist(), strict=True)) if known else {}


def label_propagation(edges: list[Edge], labels: dict[int, int], rounds: int) -> dict[int, int]:
    near = neighbours(edges)
    for _ in range(rounds):
        seen = {v: Counter(labels[u] for u in others if u in labels) for v, others in near.items()}
        labels = {v: min(c, key=lambda label: (-c[label], label)) for v, c in seen.items() if c}
    return labels


def adsorption(edges: list[Edge], own: dict[int, float], keep: float) -> dict[int, float]:
    """Scores of one label, as the solution of linear equations: those of vertices that a path connects with it."""
    pairs = {(a, b) for a, b, _ in edges} | {(b, a) for a, b, _ in edges}
    names = sorted({v for pair in pairs for v in pair} | set(own))
    at = {v: i for i, v in enumerate(names)}
    matrix = np.zeros((len(names), len(names)))
    for a, b in pairs:
        matrix[at[b], at[a]] = 1
    mean = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    given = np.array([keep * own.get(v, 0.0) for v in names])
    found = np.linalg.solve(np.eye(len(names)) - (1 - keep) * mean, given)
    return {v: float(x) for v, x in zip(names, found, strict=True) if x > 0}


def k_core(edges: list[Edge], k: int) -> set[int]:
    near, kept = neighbours(edges), set(vertices(edges))
    while bad := {v for v in kept if len(near[v] & kept - {v}) < k}:
        kept -= bad
    return kept


def k_means(points: dict[int, tuple[float, float]], centers: dict[int, tuple[float, float]]) -> dict[int, Any]:
    """Lloyd's rounds from some centers, until they stay."""
    for _ in range(1000):
        near: dict[int, list[tuple[float, float]]] = {}
        for x, y in points.values():
            best = min(centers, key=lambda c: ((x - centers[c][0]) ** 2 + (y - centers[c][1]) ** 2, c))
            near.setdefault(best, []).append((x, y))
        moved = {c: (sum(x for x, _ in own) / len(own), sum(y for _, y in own) / len(own)) for c, own in near.items()}
        if all(c in moved and np.allclose(moved[c], centers[c], rtol=0, atol=1e-12) for c in centers):
            return moved
        centers = moved
    raise AssertionError("the centers do not stay")


def quantities(parts: list[tuple[str, str, int]]) -> Counter[tuple[str, str]]:
    """How many of each part go into each assembly, part by part."""
    below: dict[str, list[tuple[str, int]]] = {}
    for assembly, part, n in parts:
        below.setdefault(assembly, []).append((part, n))
    found: Counter[tuple[str, str]] = Counter()

    def visit(root: str, assembly: str, times: int) -> None:
        for part, n in below.get(assembly, ()):
            found[root, part] += times * n
            visit(root, part, times * n)

    for assembly in below:
        visit(assembly, assembly, 1)
    return found
