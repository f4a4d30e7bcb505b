"""The first rows of a map in an order, plus a reserve, which a global LIMIT reads instead of all rows.

    R = { q ∈ Q : q does not sort after the last row of R },   and R = Q where R has fewer rows than the LIMIT needs

Therefore ΔR = ΔQ if R = Q, and otherwise ΔR = { q ∈ ΔQ : q does not sort after the last row of R }. The first law holds
again for R + ΔR; the second fails if R lost too many rows, and R is then refilled from Q. R is determined by its rows
alone: there is no other state that could be lost or out of date. Rows that the order does not distinguish, such as 0.0
and −0.0, are in R together or not at all.

On a cluster, the change of Q is spread over many partitions. Each sends the deletions of its part and the first `kept`
insertions (`Leaders`). If it held any back, it sent `kept` rows, and R is then rebuilt with the first `kept` rows of
all: those held back sort after them.

Each row of R is marked with whether the LIMIT lets it through. Changes after the last such row do not alter the marks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, Positions, from_numpy, truth_of
from viewlet.columns.evaluate import compile_expr
from viewlet.columns.hash import hash_rows
from viewlet.columns.order import Key, term_keys
from viewlet.columns.rows import Rows
from viewlet.engine.groups import compile_plan
from viewlet.plan.expr import Order
from viewlet.program.terms import Leaders, TopK
from viewlet.store import Contents

if TYPE_CHECKING:
    from viewlet.engine.terms.compile_term import EpochReader, TermFn

Bound = Callable[[Key, Positions, Mask], Any]
"""The key of a certain row, chosen from the keys of the rows that still tie, given their positions and a mask of the
rows known to sort before it."""
UpTo = Callable[[Rows, Bound], Mask]


def compile_top_k(term: TopK) -> TermFn:
    """The function from a change of a map to the change of its first rows."""
    *names, mark = [f.name for f in term.columns]
    up_to, limit = _compile_up_to(term.limit.order), compile_plan(term.limit, keyed=False)

    def run(epoch: EpochReader) -> Rows | None:
        change = epoch.change(term.map)
        if change is None or not len(change):
            return None
        delta, marked = _named(change, names), epoch.old(term.target).consolidated()
        was, front = marked.select(names), marked.filter(truth_of(marked[mark])).select(names)
        is_all = was.weights.sum() < term.needed
        if not is_all:
            delta = _not_after(up_to, was, delta)
            if not len(delta):
                return None
            many = _may_be_part(delta, term) or len(was) + len(delta) > 2 * term.kept
            if not many and not len(_not_after(up_to, front, delta)):
                return _marked(delta, mark, False)
        now = Rows.concat([was, delta]).consolidate()
        runs_out = not is_all and now.weights.sum() < term.needed
        if runs_out or _may_be_part(delta, term) or len(now) > 2 * term.kept:
            source = _named(_source(epoch.new(term.map), term), names) if runs_out else now
            now = _first(up_to, source, term.kept)
            delta = Rows.concat([was.negated(), now])
        moved = Rows.concat([front.negated(), limit([now])])
        return Rows.concat([_marked(moved, mark, True), _marked(Rows.concat([moved.negated(), delta]), mark, False)])

    return run


def _may_be_part(delta: Rows, term: TopK) -> bool:
    """Whether a partition may have held back insertions."""
    return bool(delta.weights[delta.weights > 0].sum() >= term.kept)


def compile_leaders(term: Leaders) -> Callable[[Rows], Rows]:
    """The part of a change that the first rows in an order can depend on."""
    up_to = _compile_up_to(term.order)

    def leaders(rows: Rows) -> Rows:
        comes = rows.weights > 0
        return Rows.concat([rows.filter(~comes), _first(up_to, rows.filter(comes), term.kept)])

    return leaders


def _source(contents: Contents, term: TopK) -> Rows:
    """The rows from which a reserve is filled: the first ones if the map can be read in order, else all."""
    if (by := term.read_by) is None or not contents.is_sorted:
        return contents.consolidated()
    order = contents.layout.columns[by[0]]
    _, rows = contents.leading((), hash_rows([], 1), order, descending=by[1], count=term.kept)
    return rows.consolidate()


def _named(rows: Rows, names: Sequence[str]) -> Rows:
    """The first columns of a bag, under the term's names."""
    return Rows(dict(zip(names, rows.columns.values(), strict=False)), rows.weights)


def _marked(rows: Rows, mark: str, value: bool) -> Rows:
    return rows.with_columns({mark: pa.array(np.full(len(rows), value))})


def _not_after(up_to: UpTo, rows: Rows, delta: Rows) -> Rows:
    """The rows of a delta that do not sort after the last of `rows`."""
    count = len(rows)
    inside = up_to(Rows.concat([rows, delta]), lambda key, at, _: key[at < count].max())
    return delta.filter(inside[count:])


def _first(up_to: UpTo, rows: Rows, count: int) -> Rows:
    """The first rows, at least `count` with multiplicity, including ties with the last of them.

    A source read in order returns that many rows and then those whose column is NULL. Multiplicity is counted so that
    one of the latter is never taken for the next in order.
    """
    if rows.weights.sum() <= count:
        return rows

    def key_of_last(key: Key, at: Positions, before: Mask) -> Any:
        order = np.argsort(key, kind="stable")
        reached = np.cumsum(rows.weights[at[order]]) + rows.weights[before].sum()
        return key[order[np.searchsorted(reached, count)]]

    return rows.filter(up_to(rows, key_of_last))


def _compile_up_to(order: Sequence[Order]) -> UpTo:
    """The function that marks the rows that do not sort after the row whose key `bound` returns.

    It compares key by key, the less significant ones only for rows that still tie.
    """
    terms = [(compile_expr(o.key), o.descending, o.nulls_first) for o in order]

    def up_to(rows: Rows, bound: Bound) -> Mask:
        inside, at = np.zeros(len(rows), dtype=np.bool_), np.arange(len(rows))
        for values, descending, nulls_first in [(value(rows), *how) for value, *how in terms]:
            if len(at) == 1:
                break
            keys = term_keys(values.take(from_numpy(at, pa.int64())), descending, nulls_first)
            while keys:
                key, *keys = keys
                last = bound(key, at, inside)
                inside[at[key < last]] = True
                tied = key == last
                at, keys = at[tied], [k[tied] for k in keys]
        inside[at] = True
        return inside

    return up_to
