"""The sessions that a change overlaps. Sessions of a group are disjoint; each row stores its session's start and end.

A span overlaps the sessions from that of the last row at or before the span's start, if it lasts that long, to that of
the last row at or before its end. Two look-ups therefore find how far a change reaches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewlet.columns.order import place_of
from viewlet.columns.rows import Rows
from viewlet.store.access.affected_ranges import AffectedRanges, merged, share_hashes
from viewlet.store.access.nearest import Found, Places, nearest
from viewlet.store.access.ranges import Edge, RangeIndex, Values
from viewlet.store.runs.layout import Names


def sessions_met(
    indexes: Sequence[RangeIndex], columns: Names, ends: tuple[str, str], spans: Rows, own: Names
) -> AffectedRanges | None:
    """The ranges of some spans together with all sessions that they overlap; None if groups share a hash.

    `ends` are the columns with a row's session start and end, `own` those with a span's.
    """
    hashes, low, high = spans.hashes(columns), *(place_of(spans[name]).copy() for name in own)
    if share_hashes(indexes, hashes, [spans[name] for name in columns]):
        return None

    def last_up_to(values: Values) -> Found | None:
        return nearest(indexes, columns, Places(hashes, Edge(values, "right"), before=True), 1)

    if (found := last_up_to(low.copy())) is not None:
        start, end = (place_of(found.rows[name]) for name in ends)
        meets = end >= low[found.which]
        np.minimum.at(low, found.which[meets], start[meets])
    if (found := last_up_to(high.copy())) is not None:
        np.maximum.at(high, found.which, place_of(found.rows[ends[1]]))
    return merged(hashes, low, high)
