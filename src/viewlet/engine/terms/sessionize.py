"""Sessionizing: grouping rows whose time intervals overlap.

    S' = S − met(ΔQ) + sessionize(met(ΔQ) + ΔQ),   met(ΔQ) the sessions of S that a span of ΔQ overlaps

Sessions do not overlap each other. An insertion can therefore only join sessions that it overlaps, directly or through
other changes, and a deletion can only split those.
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
"""Whole groups are read if changes are more than this share of the rows."""


def compile_sessionize(term: Sessionize) -> TermFn:
    """The function from a change of a map to the change of its rows' sessions."""
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
    """The rows of the sessions that a change overlaps; of whole groups if there are many or groups share a hash."""
    few = len(delta) <= _MANY * target.rows
    affected = target.sessions_met(term.keys, session, delta, term.span) if few else None
    if affected is None:
        return target.lookup(term.keys, different(delta.hashes(term.keys)))[1]
    return target.inside(term.keys, term.span[0], affected)[1]


def _gathered(term: Sessionize, rows: Rows, session: tuple[str, str]) -> Rows:
    """Rows with the start and end of their session."""
    _, groups = number_groups([rows[name] for name in term.keys], len(rows))
    start, end = (values_of(rows[name], "i8") for name in term.span)
    joined = join_up(groups, start, end)
    kind = rows[term.span[0]].type
    ends = (from_numpy(values[joined.of], kind) for values in (joined.low, joined.high))
    return rows.with_columns(dict(zip(session, ends, strict=True)))
