"""Interpolation search for hashes among sorted ones.

Hashes are uniformly distributed: of n sorted hashes, the one a fraction f of the way from the first to the last is near
place f·n, at a distance of about √n, and every further look from there takes the root of the distance again. Probes not
bracketed by then are found by binary search, so the result never depends on the distribution.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from viewlet.columns import native
from viewlet.columns.arrays import Positions

StoredHashes = np.ndarray[Any, np.dtype[np.uint64]] | np.ndarray[Any, np.dtype[np.uint32]]
"""Whole hashes, or their first halves."""

_FEW, _SMALL, _DENSE = 64, 1 << 17, 16  # few probes, few hashes, few hashes per probe: binary search is as fast
_SPREAD = {8: 2.0**60, 4: 2.0**28}  # the least spread of whole hashes and of first halves
_LOOKS = 3
_REACH = 8  # hashes on each side of the estimated place
_STEPS = (8, 4, 2, 1)


def find(hashes: StoredHashes, probes: StoredHashes) -> tuple[Positions, Positions] | None:
    """All pairs (place among the probes, place among the sorted hashes) with equal hashes; None if there is none."""
    if not len(hashes):
        return None
    if native.kernels is not None:
        return native.find(hashes, probes)
    first = places(hashes, probes)
    which = (hashes.take(first, mode="clip") == probes).nonzero()[0]
    if not len(which):
        return None
    if len(which) < len(probes):
        first, probes = first[which], probes[which]
    again = (hashes[1:].take(first, mode="clip") == probes).nonzero()[0] if len(hashes) > 1 else which[:0]
    if not len(again):
        return which, first
    counts = np.ones(len(which), dtype=np.int64)
    counts[again] = hashes.searchsorted(probes[again], "right") - first[again]
    ends = np.cumsum(counts)
    return np.repeat(which, counts), np.repeat(first - ends + counts, counts) + np.arange(ends[-1])


def places(hashes: StoredHashes, probes: StoredHashes) -> Positions:
    """The same as `hashes.searchsorted(probes)`."""
    few = len(probes) < _FEW or len(hashes) < max(_SMALL, _DENSE * len(probes))
    if few or float(hashes[-1]) - float(hashes[0]) < _SPREAD[hashes.itemsize]:
        return hashes.searchsorted(probes)
    below = _tell(hashes, probes)
    below -= _REACH
    np.maximum(below, 0, out=below)
    np.minimum(below, len(hashes) - 2 * _REACH - 1, out=below)
    lost = ((hashes.take(below) >= probes) | (hashes.take(below + 2 * _REACH) < probes)).nonzero()[0]
    for step in _STEPS:
        below += step * (hashes.take(below + step) < probes)
    below += 1
    if len(lost):
        below[lost] = hashes.searchsorted(probes[lost])
    return below


def _tell(hashes: StoredHashes, probes: StoredHashes) -> Positions:
    """The approximate place of each probe, by interpolation."""
    low, high = float(hashes[0]), float(hashes[-1])
    scale = (len(hashes) - 1) / (high - low)
    wanted = probes.astype(np.float64)
    place = ((wanted - low) * scale).astype(np.int64)
    for _ in range(_LOOKS):
        off = wanted - hashes.take(place, mode="clip")
        off *= scale
        place += off.astype(np.int64)
    return place
