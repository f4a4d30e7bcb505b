"""States by key that absorb a delta: what is kept where a state is enough, and no rows are.

    M[k] ← M[k] + lift(Δ[k]),   with an inverse also for what Δ takes away

A key is there while it has rows. Over an input that only grows the delta takes nothing away, so that no inverse is
needed. The target's delta is the old row of each touched key taken away and the new one put in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Positions, from_numpy, values_of
from viewlet.columns.hash import hash_rows
from viewlet.columns.rows import Rows, add_up, group
from viewlet.columns.types import arrow_type
from viewlet.engine.local.groups import Groups
from viewlet.engine.local.reducers import compile_reduce
from viewlet.plan.expr import Column
from viewlet.program.terms import COUNT, Absorb, Fold

if TYPE_CHECKING:
    from viewlet.engine.block import Epoch, Run

Columns = dict[str, pa.Array]
Absorber = Callable[[Rows, Positions, Rows, Groups], Columns]
"""From the states that there are and their groups, and a delta and its groups, the columns of the new states."""


def compile_fold(term: Fold) -> Run:
    """What a change of a map means for the states by key."""
    absorbers = [_compile_absorb(part) for part in term.parts]
    always = not term.keys and not any(part.call.handlers for part in term.parts)
    cancels = all(part.call.handlers and part.call.handlers.inverts for part in term.parts)

    def run(epoch: Epoch) -> Rows | None:
        delta = epoch.change(term.map)
        if delta is None:
            return _of_nothing(term) if always and epoch.initial else None
        touched = np.unique(delta.hashes(term.keys)) if term.keys else hash_rows([], 1)
        was = epoch.old(term.target).lookup(term.keys, touched)[1].consolidate()
        assert cancels or (delta.weights > 0).all(), f"{term.map} was taken to grow only"
        now = _absorbed(term, absorbers, was, delta, always)
        changed = Rows.concat([was.negated(), now.select(was.names)]).consolidate()
        return changed if len(changed) else None

    return run


def _of_nothing(term: Fold) -> Rows:
    """The row of a global aggregate without rows."""
    columns = {f.name: pa.nulls(1, arrow_type(f.type)) for f in term.columns}
    return Rows(columns | {COUNT: pa.array([0], pa.int64())}, np.ones(1, dtype=np.int64))


def _absorbed(term: Fold, absorbers: list[Absorber], was: Rows, delta: Rows, always: bool) -> Rows:
    """The new row of each key that has one."""
    keys = Rows.concat([was.select(term.keys), delta.select(term.keys)])
    first, of = group([keys[k] for k in term.keys], len(keys))
    count = len(first) if term.keys else 1
    there, groups = of[: len(was)], Groups(of[len(was) :], delta.weights, count)
    rows = add_up(values_of(was[COUNT], "i8"), there, count) + groups.sizes()
    columns = {**keys.take(first).columns, COUNT: from_numpy(rows, pa.int64())}
    for absorb in absorbers:
        columns |= absorb(was, there, delta, groups)
    return Rows(columns, np.ones(count, dtype=np.int64)).filter((rows > 0) | always)


def _compile_absorb(part: Absorb) -> Absorber:
    return _compile_monoid(part)


def _compile_monoid(part: Absorb) -> Absorber:
    """A function that takes its own values in again."""
    reduce, name = compile_reduce(part.call), part.value.name
    (argument,) = part.call.args
    assert isinstance(argument, Column)

    def absorb(was: Rows, there: Positions, delta: Rows, groups: Groups) -> Columns:
        values = pa.concat_arrays([was[name], delta[argument.name]])
        weights = np.concatenate([np.ones(len(was), dtype=np.int64), delta.weights])
        return {name: reduce([values], Groups(np.concatenate([there, groups.of]), weights, groups.count))}

    return absorb
