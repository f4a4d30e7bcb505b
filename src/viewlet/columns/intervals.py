"""Closed intervals and their overlaps; intervals that share only an endpoint overlap."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from viewlet.columns.arrays import Positions

Values = np.ndarray[Any, Any]


class Joined(NamedTuple):
    """Unions of overlapping spans: the union of each span, by number; the bounds and a member of each union."""

    of: Positions
    low: Values
    high: Values
    part: Positions


def join_up(groups: Positions, low: Values, high: Values) -> Joined:
    """Unite the spans that overlap within each group. NaN is the greatest value."""
    known, ranks = np.unique(np.concatenate([low, high]), return_inverse=True)
    base = groups * len(known)
    starts, ends = base + ranks[: len(low)], base + ranks[len(low) :]
    order = np.argsort(starts, kind="stable")
    reached = np.maximum.accumulate(ends[order])
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new[1:] = starts[order][1:] > reached[:-1]
    first = np.flatnonzero(is_new)
    last = np.append(first, len(order))[1:] - 1
    of = np.empty(len(order), dtype=np.int64)
    of[order] = np.cumsum(is_new) - 1
    part = order[first]
    return Joined(of, low[part], known[reached[last] - base[part]], part)
