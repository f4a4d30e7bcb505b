"""Adding up bags: equal rows become one, with their weights and sums added; rows that come to zero vanish.

    (x, w₁, s₁) + (x, w₂, s₂) = (x, w₁ + w₂, s₁ + s₂)        (x, 0, 0) = nothing

Sums are integers modulo 2⁶⁴, as weights are, so addition is exact in any order. Zero has many representations as limbs,
for example 2³² − 1·2³²: a number is zero if its limbs are zero after carrying.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from viewlet.columns.arrays import Mask, Positions, from_numpy, values_of
from viewlet.columns.exact.digits import BITS, MASK
from viewlet.columns.hash import Hashes, different, is_among, order_of
from viewlet.columns.parallel import MANY
from viewlet.columns.rows import Rows, Weights, alike, group
from viewlet.store.runs.layout import Layout, Names


def add_together(rows: Rows, hashes: Hashes, layout: Layout, order: Positions | None = None) -> tuple[Rows, Hashes]:
    """The bag with each row once, sorted by the given hashes of the layout's key, and the sorted hashes.

    `order` is the sort order, if it is known.
    """
    if len(rows) == 1 and rows.weights[0]:
        return rows, hashes
    if len(rows) >= MANY and not layout.sums and rows.weights.all() and bool((hashes[1:] > hashes[:-1]).all()):
        return rows, hashes  # in order as they are: not copied
    if order is None:
        order = order_of(hashes)
    ordered = hashes[order]
    repeated = has_equal_neighbour(ordered)
    if repeated.any():
        if len(rows) < _ROW_BY_ROW or len(layout.plain) == len(layout.key):
            return _add_repeated(rows, hashes, layout, order, repeated)
        rows, order = _add_twins(rows, hashes, layout, order)
        ordered = hashes[order]
    alive = _is_alive(rows.weights, {name: values_of(rows[name], "i8") for name in layout.sums}, layout)
    if not alive.all():
        order = order[alive[order]]
        ordered = hashes[order]
    return (rows.without_hashes() if len(rows) >= MANY else rows).take(order), ordered


_ROW_BY_ROW = 2_000  # up to this many rows, equal key hashes are resolved row by row; beyond, by hashes of whole rows


def has_equal_neighbour(ordered: Hashes) -> Mask:
    """Which of the sorted hashes occur more than once."""
    result = np.zeros(len(ordered), dtype=np.bool_)
    if len(ordered) > 1:
        equal = ordered[1:] == ordered[:-1]
        result[1:] = equal
        result[:-1] |= equal
    return result


def net_by_key(rows: Rows, key: Names) -> Rows:
    """The bag without rows that cancel out; they must share the key, or all columns if there is no key."""
    hashes = rows.hashes(key or None)
    order = order_of(hashes)
    shared = has_equal_neighbour(hashes[order])
    if not shared.any():
        return rows
    return Rows.concat([rows.take(np.sort(order[~shared])), rows.take(np.sort(order[shared])).consolidate()])


def _add_twins(rows: Rows, hashes: Hashes, layout: Layout, order: Positions) -> tuple[Rows, Positions]:
    """Rows and their order, with equal rows added to the first of them; for many rows that share key hashes."""
    own = rows.hashes(layout.plain)
    at = _twins(own, hashes[order], order)
    if not len(at):
        return rows, order
    together, starts = _gather(rows.select(layout.plain).take(at), own[at])
    at = at[together]
    first = at[starts]
    weights, sums = rows.weights.copy(), {name: values_of(rows[name], "i8").copy() for name in layout.sums}
    for values in (weights, *sums.values()):
        values[first] = np.add.reduceat(values[at], starts)
    is_left = np.ones(len(rows), dtype=np.bool_)
    is_left[at] = False
    is_left[first] = True
    added = {name: from_numpy(values, rows[name].type) for name, values in sums.items()}
    return rows.with_columns(added).weighted(weights), order[is_left[order]]


def _twins(own: Hashes, ordered: Hashes, order: Positions) -> Positions:
    """The rows whose own hash is not unique, in its order; `ordered` are the sorted hashes of their keys.

    Equal rows have equal keys, so they are near each other in key order if few rows share a key.
    """
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1], [True]]))
    most = int(np.diff(begins).max())
    if most > _NEAR:
        by_own = order_of(own)
        return by_own[has_equal_neighbour(own[by_own])]
    near, found = own[order], np.zeros(len(own), dtype=np.bool_)
    for apart in range(1, most):
        same = near[apart:] == near[:-apart]
        if same.any():
            found[apart:] |= same
            found[:-apart] |= same
    at = order[found]
    return at[order_of(own[at])]


_NEAR = 32  # up to this many rows per key are compared with each other; beyond, all rows are sorted


def _add_repeated(rows: Rows, hashes: Hashes, layout: Layout, order: Positions, repeated: Mask) -> tuple[Rows, Hashes]:
    """Add up rows, given in hash order, some of which have repeated hashes."""
    order, others = order.copy(), order[repeated]
    together, starts = _gather(rows.select(layout.plain).take(others), hashes[others])
    order[repeated] = others[together]
    is_first = ~repeated
    is_first[np.flatnonzero(repeated)[starts]] = True
    first = np.flatnonzero(is_first)
    weights = np.add.reduceat(rows.weights[order], first)
    sums = {name: np.add.reduceat(values_of(rows[name], "i8")[order], first) for name in layout.sums}
    alive = _is_alive(weights, sums, layout)
    at = order[first[alive]]
    plain = rows.select(layout.plain).take(at)
    added = {name: from_numpy(values[alive], rows[name].type) for name, values in sums.items()}
    columns = {name: added[name] if name in added else plain[name] for name in rows.names}
    return plain.replaced(columns).weighted(weights[alive]), hashes[at]


def _gather(rows: Rows, hashes: Hashes) -> tuple[Positions, Positions]:
    """An order of rows, given in hash order, that groups equal ones, and where each group begins.

    If all rows with the same hash are equal, or are just two, comparing neighbours suffices.
    """
    again = hashes[1:] == hashes[:-1]
    before, after = ({n: c.slice(at, len(rows) - 1) for n, c in rows.columns.items()} for at in (0, 1))
    same = again & alike(Rows(before, rows.weights[1:]), Rows(after, rows.weights[1:]))
    broken = again & ~same
    if not ((broken[1:] & again[:-1]) | (broken[:-1] & again[1:])).any():
        return np.arange(len(rows)), _starts(~same)
    return _gather_repeated(rows, np.concatenate([[0], np.cumsum(~again)]))


def _gather_repeated(rows: Rows, sharers: Positions) -> tuple[Positions, Positions]:
    """The same, given which rows share a hash; only hashes with possibly equal rows are reordered."""
    hashes = rows.hashes()
    ordered = np.sort(hashes)
    repeated = different(ordered[1:][ordered[1:] == ordered[:-1]])
    order, is_first = np.arange(len(rows)), np.ones(len(rows), dtype=np.bool_)
    if len(repeated):
        mixed = np.zeros(sharers[-1] + 1, dtype=np.bool_)
        mixed[sharers[is_among(hashes, repeated)]] = True
        at = np.flatnonzero(mixed[sharers])
        some = rows.take(at)
        _, groups = group(list(some.columns.values()), len(some), hashes[at])
        together = np.lexsort((groups, sharers[at]))
        order[at] = at[together]
        is_first[at[1:]] = np.diff(groups[together]) != 0
    return order, np.flatnonzero(is_first)


def _starts(is_new: Mask) -> Positions:
    """Where pieces begin, given for every place but the first whether one does."""
    return np.flatnonzero(np.concatenate([[True], is_new]))


def _is_alive(weights: Weights, sums: Mapping[str, Weights], layout: Layout) -> Mask:
    alive = weights != 0
    if not sums or alive.all():
        return alive
    at = np.flatnonzero(~alive)
    for limbs in layout.numbers:
        alive[at] |= _is_something([sums[name][at] for name in limbs])
    return alive


def _is_something(limbs: Sequence[Weights]) -> Mask:
    """Whether numbers, given by their limbs, are nonzero."""
    rest, *others = limbs
    found = np.zeros(len(rest), dtype=np.bool_)
    for limb in others:
        found |= (rest & MASK) != 0
        rest = limb + (rest >> BITS)
    return found | (rest != 0)
