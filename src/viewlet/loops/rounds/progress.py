"""How far the rounds of a loop have come."""

from __future__ import annotations

import math
from collections.abc import Mapping

from viewlet.progress import report

_RECENT = 3
"""From how many of the last rounds the estimate is taken."""


def report_round(view: str, sizes: Mapping[int, int]) -> None:
    """Report the last round, how many rows it changes, and how many more rounds to expect, if these become fewer."""
    number = max(sizes)
    left = rounds_left(list(sizes.values()))
    more = "" if left is None else f", about {left:,} more rounds"
    fraction = None if left is None else len(sizes) / (len(sizes) + left)
    report(f"view {view}", f"round {number}, {sizes[number]:,} rows change{more}", fraction)


def rounds_left(sizes: list[int]) -> int | None:
    """How many rounds are left if changes go on to shrink as in the last ones; None where they do not."""
    if len(sizes) < _RECENT or not 0 < sizes[-1] < sizes[-_RECENT]:
        return None
    shrinks = math.log(sizes[-_RECENT] / sizes[-1]) / (_RECENT - 1)
    return math.ceil(math.log(sizes[-1]) / shrinks)
