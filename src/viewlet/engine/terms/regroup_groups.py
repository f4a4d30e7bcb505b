"""Regrouped operators: a function of the touched groups, new minus stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Positions
from viewlet.columns.hash import Hashes, different, hash_rows
from viewlet.columns.rows import Rows
from viewlet.engine.groups import compile_plan
from viewlet.engine.terms.finalize_sums import decode_rows
from viewlet.engine.terms.window_delta import compile_window_delta
from viewlet.program.access import Extremes, Group, Leading, Nearby, Ranked
from viewlet.program.terms import KEY, Grouped, Regroup
from viewlet.store import Contents

if TYPE_CHECKING:
    from viewlet.engine.terms.compile_term import EpochReader, TermFn


def compile_regroup(term: Regroup) -> TermFn:
    whole = _compile_whole(term)
    read = term.inputs[0].read if term.inputs else Group()
    near = compile_window_delta(term, read) if isinstance(read, Nearby) else None

    def run(epoch: EpochReader) -> Rows | None:
        touched = touched_groups(term, epoch)
        if touched is None:
            return None
        changes = None if near is None else epoch.change(term.inputs[0].map)
        if near is None or changes is None or len(changes) > _MANY * epoch.old(term.target).rows:
            return whole(epoch, touched)
        if _are_few(epoch.new(term.inputs[0].map), term.inputs[0], touched):
            return whole(epoch, touched)
        done = near(epoch, changes)
        if done is None:
            return whole(epoch, touched)
        changed, seen = done
        rest = None if seen.all() else whole(epoch, different(changes.hashes(term.inputs[0].key)[~seen]))
        parts = [rows for rows in (changed, rest) if rows is not None and len(rows)]
        return Rows.concat(parts) if parts else None

    return run


_MANY = 0.1
"""Whole groups are read if changes are more than this share of the result's rows,"""
_FEW, _SHORT = 256, 16
"""or if the touched groups have at most this many rows in all, or each on average: finding affected rows costs more."""


def _are_few(contents: Contents, grouped: Grouped, touched: Hashes) -> bool:
    """Whether the touched groups are small."""
    if not grouped.key or grouped.key not in contents.layout.lookups:
        return False
    return contents.count(grouped.key, touched) <= max(_FEW, _SHORT * len(touched))


def _compile_whole(term: Regroup) -> Callable[[EpochReader, Hashes], Rows | None]:
    """The function of whole groups, given by their hashes."""
    function = None if term.native is not None else regroup_function(term)

    def run(epoch: EpochReader, touched: Hashes) -> Rows | None:
        inputs = [group_rows(epoch.new(i.map), i, touched) for i in term.inputs]
        now = epoch.regroup_on_spark(term, inputs) if function is None else function(inputs)
        if epoch.initial and term.is_keyed and not epoch.old(term.target).runs:
            return now.select([f.name for f in term.columns])  # nothing to delete; the store nets as it sorts
        return replace_groups(term, epoch.old(term.target), touched, now)

    return run


def regroup_function(term: Regroup) -> Callable[[Sequence[Rows]], Rows]:
    """The function of a regrouped operator that can be evaluated here."""
    return compile_plan(term.function, keyed=term.is_keyed)


def touched_groups(term: Regroup, epoch: EpochReader) -> Hashes | None:
    """The hashes of the groups that the epoch touches; None if there are none."""
    deltas = [(i, d) for i in term.inputs if (d := epoch.change(i.map)) is not None]
    if not term.is_keyed:
        return hash_rows([], 1) if deltas or epoch.initial else None
    if not deltas:
        return None
    return different(np.concatenate([d.hashes(i.key) for i, d in deltas]))


def group_rows(contents: Contents, grouped: Grouped, touched: Hashes) -> Rows:
    """The rows of the touched groups, with the group's hash as a column if there are groups."""
    names = [f.name for f in grouped.columns]
    if not grouped.key and isinstance(grouped.read, Group | Nearby):
        rows = contents.consolidated() if grouped.sums is None else decode_rows(grouped.sums, contents.scan())
        return Rows(dict(zip(names, rows.columns.values(), strict=False)), rows.weights)
    at, found = _found(contents, grouped, touched)
    columns = dict(zip(names, found.columns.values(), strict=False))
    if grouped.key:
        columns[KEY] = pa.array(touched[at].view(np.int64))
    rows = Rows(columns, found.weights)
    return rows if isinstance(grouped.read, Group) and len(contents.runs) == 1 else rows.consolidate()


def _found(contents: Contents, grouped: Grouped, touched: Hashes) -> tuple[Positions, Rows]:
    """The rows of the touched groups that the operator reads: all, the first in some orders, or representatives."""
    read = grouped.read
    if isinstance(read, Group | Nearby) or _are_few(contents, grouped, touched):
        return contents.lookup(grouped.key, touched)
    match read:
        case Leading(order, descending, count):
            return contents.leading(grouped.key, touched, order, descending=descending, count=count)
        case Ranked(order, shares):
            return contents.around_shares(grouped.key, touched, order, shares)
        case Extremes(columns):
            parts = [contents.first(grouped.key, touched, order, descending=down) for order, down in columns]
            return np.concatenate([at for at, _ in parts]), Rows.concat([rows for _, rows in parts])


def replace_groups(term: Regroup, target: Contents, touched: Hashes, now: Rows) -> Rows | None:
    """The groups' new rows minus the stored ones; None if they are equal."""
    names = [f.name for f in term.columns]
    groups = touched.view(np.int64) if term.is_keyed else np.zeros(1, dtype=np.int64)
    if not term.is_keyed:
        now = now.with_columns({KEY: pa.array(np.zeros(len(now), dtype=np.int64))})
    _, was = target.lookup((KEY,), hash_rows([pa.array(groups)], len(groups)))
    changed = Rows.concat([was.select(names).negated(), now.select(names)]).consolidate()
    return changed if len(changed) else None
