"""The deltas of a graph's invariant views in an epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.rows import Rows
from viewlet.engine.prepared import PreparedProgram, PreparedStep
from viewlet.loops.rounds.rounds import Round
from viewlet.loops.rounds.working import WorkingMaps

Read = Callable[[str], Rows]
"""Returns the rows of a table or view, by name."""


class _Unnetted(Round):
    """A run that does not net results of insertions only, or deletions only: graphs count multiple edges themselves."""

    def _add(self, step: PreparedStep, rows: Rows) -> Rows:
        if not step.map.stored and ((rows.weights > 0).all() or (rows.weights < 0).all()):
            return rows
        return super()._add(step, rows)


def delta_of(ready: PreparedProgram, maps: WorkingMaps, changes: Mapping[str, Rows], *, initial: bool) -> Rows:
    """The delta of a program's result, which may be empty."""
    maps.open(ready)
    found = _Unnetted(maps, dict(changes), initial).run(ready)
    if found is None:
        return Rows.empty({f.name: arrow_type(f.type) for f in ready.program.columns})
    return found.select(ready.program.stored)
