"""Sessionizing: which rows of a group belong together because their intervals of time overlap.

    S' = S − met(ΔQ) + sessionize(met(ΔQ) + ΔQ),   met(ΔQ) the sessions of S that a span of ΔQ meets

Sessions do not meet one another. So a change can join only sessions that it meets, directly or through other changes, and
what it removes can split only those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from viewlet.columns.arrays import from_numpy, values_of
from viewlet.columns.hash import different
from viewlet.columns.intervals import join_up
from viewlet.columns.rows import Rows
from viewlet.engine.groups.keys import number_groups
from viewlet.program.terms import Sessionize
from viewlet.store import Contents

if TYPE_CHECKING:
    from viewlet.engine.terms.compile_term import EpochReader, TermFn

_MANY = 0.1
"""Where changes are more than this share of the rows, whole groups are read."""


def compile_sessionize(term: Sessionize) -> TermFn:
    """What a change of a map means for the sessions of its rows."""
    *names, first, last = (f.name for f in term.columns)

    def run(epoch: EpochReader) -> Rows | None:
        delta = epoch.change(term.map)
        if delta is None or not len(delta):
            return None
        was = _touched_sessions(term, epoch.old(term.target), delta, (first, last)).consolidate()
        now = Rows.concat([was.select(names), delta.select(names)]).consolidate()
        changed = Rows.concat([was.negated(), _gathered(term, now, (first, last))]).consolidate()
        return changed if len(changed) else None

    return run


def _touched_sessions(term: Sessionize, target: Contents, delta: Rows, session: tuple[str, str]) -> Rows:
    """The rows of the sessions that a change meets; of whole groups where there are many, or where groups share a hash."""
    few = len(delta) <= _MANY * target.rows
    affected = target.sessions_met(term.keys, session, delta, term.span) if few else None
    if affected is None:
        return target.lookup(term.keys, different(delta.hashes(term.keys)))[1]
    return target.inside(term.keys, term.span[0], affected)[1]


def _gathered(term: Sessionize, rows: Rows, session: tuple[str, str]) -> Rows:
    """Rows with where the session of each starts and ends."""
    _, groups = number_groups([rows[name] for name in term.keys], len(rows))
    start, end = (values_of(rows[name], "i8") for name in term.span)
    joined = join_up(groups, start, end)
    kind = rows[term.span[0]].type
    ends = (from_numpy(values[joined.of], kind) for values in (joined.low, joined.high))
    return rows.with_columns(dict(zip(session, ends, strict=True)))
