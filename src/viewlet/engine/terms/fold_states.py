"""States by key that absorb a delta, for aggregates whose states suffice without their rows.

    M[k] ← M[k] + lift(Δ[k]),   with inverses for deletions in Δ

A key exists while it has rows. Over an input that only grows, Δ has no deletions, so no inverse is needed. The target's
delta deletes the old row of each touched key and inserts the new one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from viewlet.aggregates import Replay
from viewlet.columns.arrays import Mask, Positions, from_numpy, values_of
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.hash import different, hash_rows
from viewlet.columns.rows import Rows, add_up, group
from viewlet.engine.groups.grouping import Groups, take_or_null, taken
from viewlet.engine.groups.reducers import compile_reduce
from viewlet.engine.terms import user_aggregates as handlers
from viewlet.plan.expr import Column
from viewlet.program.terms import COUNT, Fold, FoldedAggregate

if TYPE_CHECKING:
    from viewlet.engine.terms.compile_term import EpochReader, TermFn

Columns = dict[str, pa.Array]
Absorber = Callable[[Rows, Positions, Rows, Groups, Mask], Columns]
"""Maps old states with their groups, a delta with its groups, and which groups now have rows, to the columns of the new
states."""


def compile_fold(term: Fold) -> TermFn:
    """The function from a change of a map to the change of the states by key."""
    absorbers = [_compile_absorb(part) for part in term.parts]
    always = not term.keys and not any(part.call.handlers for part in term.parts)
    cancels = all(part.call.handlers and part.call.handlers.inverts for part in term.parts)

    def run(epoch: EpochReader) -> Rows | None:
        delta = epoch.change(term.map)
        if delta is None:
            return _of_nothing(term) if always and epoch.initial else None
        touched = different(delta.hashes(term.keys)) if term.keys else hash_rows([], 1)
        was = epoch.old(term.target).lookup(term.keys, touched)[1].consolidate()
        assert cancels or (delta.weights > 0).all(), f"{term.map} was taken to grow only"
        now = _absorbed(term, absorbers, was, delta, always)
        changed = Rows.concat([was.negated(), now.select(was.names)]).consolidate()
        return changed if len(changed) else None

    return run


def _of_nothing(term: Fold) -> Rows:
    """The row of a global aggregate over no rows."""
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
        columns |= absorb(was, there, delta, groups, rows > 0)
    return Rows(columns, np.ones(count, dtype=np.int64)).filter((rows > 0) | always)


def _compile_absorb(part: FoldedAggregate) -> Absorber:
    return _compile_monoid(part) if part.call.handlers is None else _compile_handlers(part)


def _compile_monoid(part: FoldedAggregate) -> Absorber:
    """A function that can take its own results as input."""
    reduce, name = compile_reduce(part.call), part.value.name
    (argument,) = part.call.args
    assert isinstance(argument, Column)

    def absorb(was: Rows, there: Positions, delta: Rows, groups: Groups, alive: Mask) -> Columns:
        values = pa.concat_arrays([was[name], delta[argument.name]])
        weights = np.concatenate([np.ones(len(was), dtype=np.int64), delta.weights])
        return {name: reduce([values], Groups(np.concatenate([there, groups.of]), weights, groups.count))}

    return absorb


def _compile_handlers(part: FoldedAggregate) -> Absorber:
    """A user-defined function, through its delta handlers."""
    names, arguments = [f.name for f in part.state], [a.name for a in part.call.args if isinstance(a, Column)]

    def absorb(was: Rows, there: Positions, delta: Rows, groups: Groups, alive: Mask) -> Columns:
        users = handlers.load(part.call)
        states = _before(users, [was[n] for n in names], there, groups.count)
        columns = [delta[n] for n in arguments]
        for taken_away, chosen in ((False, delta.weights > 0), (True, delta.weights < 0)):
            if chosen.any():
                some, own = taken(columns, groups, np.flatnonzero(chosen))
                change = handlers.fold(users, some, Groups(own.of, abs(own.weights), own.count))
                states = handlers.merge(users, states, handlers.inverse(users, change) if taken_away else change)
        return {**dict(zip(names, states, strict=True)), part.value.name: _values(users, states, alive)}

    return absorb


def _before(users: Replay, states: list[pa.Array], there: Positions, count: int) -> list[pa.Array]:
    """The state of each group so far, zero if it has none."""
    at = np.zeros(count, dtype=np.int64)
    at[there] = np.arange(1, len(there) + 1)
    both = zip(handlers.zeros(users), states, strict=True)
    return [pa.concat_arrays([zero, state]).take(from_numpy(at, pa.int64())) for zero, state in both]


def _values(users: Replay, states: list[pa.Array], alive: Mask) -> pa.Array:
    """The values of the states of groups that have rows, NULL for the others."""
    at = np.flatnonzero(alive)
    found = handlers.result(users, [state.take(from_numpy(at, pa.int64())) for state in states])
    places = np.full(len(alive), -1, dtype=np.int64)
    places[at] = np.arange(len(at))
    return take_or_null(found, places)
