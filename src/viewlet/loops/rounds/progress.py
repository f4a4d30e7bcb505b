"""Progress reports of loops."""

from __future__ import annotations

import math
from collections.abc import Mapping

from viewlet.progress import report

_RECENT = 3
"""How many of the last rounds the estimate is based on."""


def report_round(view: str, sizes: Mapping[int, int]) -> None:
    """Report the last round, how many rows it changed and, if these numbers shrink, how many more rounds to expect."""
    number = max(sizes)
    left = rounds_left(list(sizes.values()))
    more = "" if left is None else f", about {left:,} more rounds"
    fraction = None if left is None else len(sizes) / (len(sizes) + left)
    report(f"view {view}", f"round {number}, {sizes[number]:,} rows change{more}", fraction)


def rounds_left(sizes: list[int]) -> int | None:
    """How many rounds are left if changes keep shrinking as in the last rounds; None if they do not."""
    if len(sizes) < _RECENT or not 0 < sizes[-1] < sizes[-_RECENT]:
        return None
    shrinks = math.log(sizes[-_RECENT] / sizes[-1]) / (_RECENT - 1)
    return math.ceil(math.log(sizes[-1]) / shrinks)
