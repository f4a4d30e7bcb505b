"""Graph layout in layers from left to right, by the method of K. Sugiyama, S. Tagawa and M. Toda.

Every node is to the right of all its inputs. A few sweeps in both directions order the nodes of a layer by the means of
their neighbours. An edge that skips a layer passes it in a lane between the nodes; edges from one node share a lane. A
layer with very many nodes is folded into several columns, without lanes. Cycles, which flows may have, are broken at
the edge that leads back.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import TypeVar

WIDTH, HEIGHT = 228, 54
"""The size of a node."""
_GAP_X, _GAP_Y = 84, 18
_LANE = 6
"""The height of a lane."""
_MOST = 24
"""The most nodes in a column, unless the layer fills a square of columns."""
_SWEEPS = 6

Edge = tuple[str, str]
Place = tuple[float, float]
N = TypeVar("N", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Lane:
    """The lane in which the edges of a node pass a layer that they skip."""

    node: str
    layer: int


Item = str | Lane


@dataclass(frozen=True, slots=True)
class Drawing:
    """The upper left corner of every node, and the points where edges enter their lanes."""

    places: dict[str, Place]
    bends: dict[Edge, list[Place]]


def layout(nodes: Sequence[str], edges: Iterable[Edge]) -> Drawing:
    """Compute the positions of nodes and the lanes of edges."""
    known = set(nodes)
    forward = _without_cycles(nodes, [(a, b) for a, b in edges if a in known and b in known and a != b])
    layers = _layers(nodes, forward)
    lanes = _lanes(layers, forward)
    steps: dict[tuple[Item, Item], None] = {}
    for (a, b), passed in lanes.items():
        steps |= dict.fromkeys(pairwise((a, *passed, b)))
    at = _placed(_ordered(_with_lanes(layers, lanes), list(steps)))
    bends = {
        edge: [(at[lane][0], at[lane][1] + _LANE / 2) for lane in passed] for edge, passed in lanes.items() if passed
    }
    return Drawing({node: at[node] for node in nodes}, bends)


def _without_cycles(nodes: Sequence[str], edges: Sequence[Edge]) -> list[Edge]:
    """The edges without those that close a cycle, found by depth-first search."""
    following = _neighbours(edges)
    left, state = set(edges), dict.fromkeys(nodes, 0)  # 0: unvisited, 1: on the current path, 2: done
    for start in nodes:
        stack = [(start, iter(following[start]))] if state[start] == 0 else []
        state[start] = state[start] or 1
        while stack:
            node, further = stack[-1]
            for other in further:
                if state[other] == 1:
                    left.discard((node, other))
                elif state[other] == 0:
                    state[other] = 1
                    stack.append((other, iter(following[other])))
                    break
            else:
                state[node] = 2
                stack.pop()
    return [edge for edge in edges if edge in left]


def _neighbours(edges: Iterable[tuple[N, N]]) -> Mapping[N, list[N]]:
    found: dict[N, list[N]] = defaultdict(list)
    for a, b in edges:
        found[a].append(b)
    return found


def _layers(nodes: Sequence[str], edges: Sequence[Edge]) -> list[list[str]]:
    """Assign each node to the layer after the last of its inputs."""
    following, waiting = _neighbours(edges), dict.fromkeys(nodes, 0)
    for _, b in edges:
        waiting[b] += 1
    depth = dict.fromkeys(nodes, 0)
    ready = [node for node in nodes if not waiting[node]]
    for node in ready:  # grows during the loop
        for other in following[node]:
            depth[other] = max(depth[other], depth[node] + 1)
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for node in nodes:
        layers[depth[node]].append(node)
    return layers


def _lanes(layers: Sequence[Sequence[str]], edges: Sequence[Edge]) -> dict[Edge, list[Lane]]:
    """The lanes of each edge."""
    depth = {node: number for number, layer in enumerate(layers) for node in layer}
    free = [len(layer) <= _MOST for layer in layers]
    return {(a, b): [Lane(a, number) for number in range(depth[a] + 1, depth[b]) if free[number]] for a, b in edges}


def _with_lanes(layers: Sequence[Sequence[str]], lanes: Mapping[Edge, list[Lane]]) -> list[list[Item]]:
    whole: list[list[Item]] = [list(layer) for layer in layers]
    for lane in dict.fromkeys(lane for passed in lanes.values() for lane in passed):
        whole[lane.layer].append(lane)
    return whole


def _ordered(layers: list[list[Item]], edges: Sequence[tuple[Item, Item]]) -> list[list[Item]]:
    """Order each layer so that few edges cross: by the means of the neighbours of nodes and lanes."""
    before, after = _neighbours((b, a) for a, b in edges), _neighbours(edges)
    for sweep in range(_SWEEPS):
        near = before if sweep % 2 == 0 else after
        at = {item: i / max(len(layer), 1) for layer in layers for i, item in enumerate(layer)}
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            layer.sort(key=lambda item: fmean(at[n] for n in near[item]) if near[item] else at[item])
            at |= {item: i / len(layer) for i, item in enumerate(layer)}
    return layers


def _placed(layers: Sequence[Sequence[Item]]) -> dict[Item, Place]:
    """Positions, layer by layer from left to right, each centered vertically."""
    places: dict[Item, Place] = {}
    x = 0.0
    for layer in layers:
        high = max(_MOST, math.ceil(math.sqrt(len(layer) * 3)))
        columns = [layer[i : i + high] for i in range(0, len(layer), high)]
        for column in columns:
            y = -sum(_height(item) + _GAP_Y for item in column) / 2
            for item in column:
                places[item] = x, y
                y += _height(item) + _GAP_Y
            x += WIDTH + (_GAP_Y if column is not columns[-1] else _GAP_X)
    return places


def _height(item: Item) -> int:
    return _LANE if isinstance(item, Lane) else HEIGHT
