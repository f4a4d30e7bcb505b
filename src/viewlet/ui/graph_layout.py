"""Where the nodes of a graph are drawn: in layers from left to right, as K. Sugiyama, S. Tagawa and M. Toda do it.

Every node is to the right of all that it reads. Within a layer, nodes are near the middle of their neighbours, swept
to and fro a few times. A layer with very many nodes is folded into several columns. Cycles, which flows may have, are
opened at the edge that leads back.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

WIDTH, HEIGHT = 228, 54
"""Of a node."""
_GAP_X, _GAP_Y = 84, 18
_MOST = 24
"""So many nodes are in a column at most, unless the layer fills a square of columns."""
_SWEEPS = 6

Edge = tuple[str, str]
Place = tuple[float, float]


def layout(nodes: Sequence[str], edges: Iterable[Edge]) -> dict[str, Place]:
    """The upper left corner of every node."""
    known = set(nodes)
    forward = _without_cycles(nodes, [(a, b) for a, b in edges if a in known and b in known and a != b])
    layers = _ordered(_layers(nodes, forward), forward)
    return _placed(layers)


def _without_cycles(nodes: Sequence[str], edges: Sequence[Edge]) -> list[Edge]:
    """The edges without those that lead back to where a walk along edges came from."""
    following = _neighbours(edges)
    left, state = set(edges), dict.fromkeys(nodes, 0)  # 0: not seen, 1: on the way, 2: done
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


def _neighbours(edges: Iterable[Edge]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for a, b in edges:
        found[a].append(b)
    return found


def _layers(nodes: Sequence[str], edges: Sequence[Edge]) -> list[list[str]]:
    """Each node one layer after the last of those that it reads."""
    following, waiting = _neighbours(edges), dict.fromkeys(nodes, 0)
    for _, b in edges:
        waiting[b] += 1
    depth = dict.fromkeys(nodes, 0)
    ready = [node for node in nodes if not waiting[node]]
    for node in ready:  # it grows while it is read
        for other in following[node]:
            depth[other] = max(depth[other], depth[node] + 1)
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for node in nodes:
        layers[depth[node]].append(node)
    return layers


def _ordered(layers: list[list[str]], edges: Sequence[Edge]) -> list[list[str]]:
    """The layers with their nodes in an order that crosses few edges: each near the mean of its neighbours."""
    before, after = _neighbours((b, a) for a, b in edges), _neighbours(edges)
    for sweep in range(_SWEEPS):
        near = before if sweep % 2 == 0 else after
        at = {node: i / max(len(layer), 1) for layer in layers for i, node in enumerate(layer)}
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            layer.sort(key=lambda node: fmean(at[n] for n in near[node]) if near[node] else at[node])
            at |= {node: i / len(layer) for i, node in enumerate(layer)}
    return layers


def _placed(layers: Sequence[Sequence[str]]) -> dict[str, Place]:
    """Layer by layer to the right, each around the same middle line."""
    places: dict[str, Place] = {}
    x = 0.0
    for layer in layers:
        high = max(_MOST, math.ceil(math.sqrt(len(layer) * 3)))
        columns = [layer[i : i + high] for i in range(0, len(layer), high)]
        for column in columns:
            top = -(len(column) * (HEIGHT + _GAP_Y) - _GAP_Y) / 2
            places |= {node: (x, top + i * (HEIGHT + _GAP_Y)) for i, node in enumerate(column)}
            x += WIDTH + (_GAP_Y if column is not columns[-1] else _GAP_X)
    return places
