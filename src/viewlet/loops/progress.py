"""What a loop says of itself while its rounds run."""

from __future__ import annotations

import math
from collections.abc import Mapping

_RECENT = 3
"""From how many of the last rounds the estimate is taken."""


def said(view: str, sizes: Mapping[int, int]) -> str:
    """The last round, how many rows it changes, and how many more are to be expected, if these become fewer."""
    number = max(sizes)
    left = rounds_left(list(sizes.values()))
    more = "" if left is None else f", about {left:,} more rounds"
    return f"view {view}: round {number}, {sizes[number]:,} rows change{more}"


def rounds_left(sizes: list[int]) -> int | None:
    """How many rounds are left if changes go on to shrink as in the last ones; None where they do not."""
    if len(sizes) < _RECENT or not 0 < sizes[-1] < sizes[-_RECENT]:
        return None
    shrinks = math.log(sizes[-_RECENT] / sizes[-1]) / (_RECENT - 1)
    return math.ceil(math.log(sizes[-1]) / shrinks)
