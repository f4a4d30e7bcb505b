"""Brings two signals to one grid, for arithmetic: that of the faster one, to which the slower one is resampled."""

from __future__ import annotations

from viewlet.signal.build.policies import policy_of
from viewlet.signal.plan.kinds import Grid, kind_of
from viewlet.signal.plan.nodes import Node, Sample, Shift


def align(left: Node, right: Node) -> tuple[Node, Node]:
    """Both signals, on one grid if either is uniform."""
    a, b = kind_of(left).grid, kind_of(right).grid
    if a is None and b is None:
        return left, right
    if b is None or (a is not None and a.period < b.period):
        assert a is not None
        return left, _onto(right, a)
    if a is None or a.period > b.period:
        return _onto(left, b), right
    return left, right if a == b else Shift(right, a.offset - b.offset)


def _onto(node: Node, grid: Grid) -> Node:
    """Resample a signal to a grid, by its own policy, or linearly if it has none."""
    kind = kind_of(node)
    gap = None if kind.grid is None else kind.grid.period
    policy = kind.policy or policy_of("linear", gap, 0.0)
    return Sample(node, grid.period, grid.offset, policy)
