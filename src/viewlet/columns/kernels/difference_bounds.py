"""Where differences of doubles exceed a constant: bounds that only the compiler uses (ring/inequality.py).

    fl(a − b) > c   ⟺   a ≥ least_exceeding(b, c)   ⟺   b ≤ greatest_exceeded(a, c)          a, b finite

Rounding is monotonic, so the doubles that satisfy the left side are all those from some least one on. It is found by
search among the doubles, starting near b + c.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from viewlet.columns.arrays import Mask
from viewlet.columns.kernels.kernel import Kernel, Rule, strict
from viewlet.columns.kernels.vectors import Values
from viewlet.plan.expr import Call
from viewlet.plan.types import DOUBLE

Doubles = np.ndarray[Any, np.dtype[np.float64]]
Ranks = np.ndarray[Any, np.dtype[np.int64]]
_SIGN, _LONGEST = np.int64(-(1 << 63)), 1 << 61


def least_difference(low: Doubles, bound: Doubles, *, reached: bool) -> Doubles:
    """The least double whose difference to `low` exceeds (or reaches) a bound; ∞ if no finite double's does."""

    def holds(ranks: Ranks) -> Mask:
        differences = _at(ranks) - low
        return differences >= bound if reached else differences > bound

    with np.errstate(over="ignore", invalid="ignore"):
        return _at(_least(holds, _rank(low + bound)))


def _least(holds: Callable[[Ranks], Mask], guess: Ranks) -> Ranks:
    """The least rank at which a monotonic condition holds."""
    low, high, step = guess - 1, guess, 1
    while True:
        down, up = holds(low), ~holds(high)
        if not (down.any() or up.any()):
            break
        beneath, beyond = np.where(up, high, low), np.where(down, low, high)
        low, high = np.where(down, low - step, beneath), np.where(up, high + step, beyond)
        step = min(2 * step, _LONGEST)
    while (high - low > 1).any():
        middle = low + (high - low) // 2
        held = holds(middle)
        low, high = np.where(held, low, middle), np.where(held, middle, high)
    return high


def _rank(numbers: Doubles) -> Ranks:
    """The rank of doubles among all doubles; 0 for both zeros."""
    bits = (numbers + 0.0).view(np.int64)
    return np.where(bits < 0, _SIGN - bits, bits)


_LAST = int(_rank(np.array([np.inf]))[0])


def _at(ranks: Ranks) -> Doubles:
    """The double with a rank; an infinity beyond the last one."""
    within = np.clip(ranks, -_LAST, _LAST)
    return np.where(within < 0, _SIGN - within, within).view(np.float64)


def _least_rule(*, reached: bool) -> Rule:
    return _rule(lambda low, bound: least_difference(low, bound, reached=reached))


def _greatest_rule(*, reached: bool) -> Rule:
    """Uses that fl(a − b) is fl(−b − −a)."""
    return _rule(lambda high, bound: -least_difference(-high, bound, reached=reached))


def _rule(apply: Callable[[Values, Values], Values]) -> Rule:
    def rule(call: Call) -> Kernel | None:
        return strict(apply) if all(arg.type == DOUBLE for arg in call.args) else None

    return rule


RULES: dict[str, Rule] = {
    "least_exceeding": _least_rule(reached=False),
    "least_reaching": _least_rule(reached=True),
    "greatest_exceeded": _greatest_rule(reached=False),
    "greatest_reached": _greatest_rule(reached=True),
}
