"""Rounds that continue from the last result until they converge.

    X ← F(X, inputs)        ΔX is the change of a round; the step, run on ΔX, returns the change of the next one

The step's program maintains F(X) for the X that it has read. When rounds end, F(X) is the result, and F(X) − X, which
no round has read, waits: the next epoch starts with it and with the changes of the inputs. So an epoch equals running
the loop from the last result. If F is a contraction, its only fixpoint does not depend on the start, and every epoch
ends as close to it as the condition demands. Otherwise the result depends on the start, as in k-means.

Changes that are held back wait likewise, row by row, until they add up to more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from viewlet.columns.arrays import Mask, truth_of
from viewlet.columns.rows import Rows
from viewlet.engine.groups import compile_plan
from viewlet.loops.definition.compiled import CompiledUntil
from viewlet.loops.rounds.rounds import Round, Steps, added, endless, negated

Waiting = dict[str, Rows]
"""Changes that no round has read, by state."""


class PreparedUntil:
    """The conditions after UNTIL, evaluated on the changes of a round."""

    def __init__(self, until: CompiledUntil) -> None:
        self.state, self.key = until.state, until.key
        self._is_done = compile_plan(until.is_done, keyed=False)
        self._held = None if until.is_held is None else compile_plan(until.is_held, keyed=False)

    @property
    def holds_back(self) -> bool:
        return self._held is not None

    def is_done(self, *waiting: Waiting) -> bool:
        """Whether the condition holds; without changes it does."""
        rows = [some[self.state] for some in waiting if self.state in some]
        if not rows:
            return True
        (answers,) = self._is_done(_pairs(Rows.concat(rows))).columns.values()
        return bool(truth_of(answers.fill_null(False)).all())

    def split(self, made: Waiting, still: Waiting) -> tuple[Waiting, Waiting]:
        """Split new changes and those held back so far into changes to propagate and changes to hold back."""
        if self.state not in made or (self._held is None and not still):
            return made, still
        new, there = made[self.state], still.get(self.state)
        if there is not None:
            touched = np.isin(there.hashes(self.key), new.hashes(self.key))
            new, there = Rows.concat([new, there.filter(touched)]).consolidate(), there.filter(~touched)
        quiet = self._quiet(new)
        kept = [new.filter(quiet), *([] if there is None else [there])]
        return self._with(made, new.filter(~quiet)), self._with(still, Rows.concat(kept))

    def _quiet(self, rows: Rows) -> Mask:
        """A mask of the changes to hold back."""
        if self._held is None:
            return np.zeros(len(rows), dtype=np.bool_)
        return np.isin(rows.hashes(self.key), self._held(_pairs(rows)).rename(self.key).hashes())

    def _with(self, waiting: Waiting, rows: Rows) -> Waiting:
        """The same changes, with the state's rows replaced."""
        others = {name: found for name, found in waiting.items() if name != self.state}
        return {**others, self.state: rows} if len(rows) else others


def _pairs(rows: Rows) -> tuple[Rows, Rows]:
    """The rows that changed, new and old."""
    new, old = rows.filter(rows.weights > 0), rows.filter(rows.weights < 0)
    return new, old.negated()


@dataclass
class Convergence(Steps):
    """Runs the steps of states until they converge."""

    until: PreparedUntil | None = None
    diffuses: bool = False
    """Whether changes of the last round wait until their row changes again."""
    is_error: bool = True
    """Whether reaching the limit on rounds is an error."""
    unread: Waiting = field(default_factory=dict)
    """The changes that no round has read: those of earlier epochs, after the run those of this one."""

    def run(self, changes: Mapping[str, Rows], *, initial: bool = False) -> dict[str, Rows]:
        """Run rounds on the changes of the loop's inputs; return the change of each state."""
        still = self.unread if self.diffuses or (self.until is not None and self.until.holds_back) else {}
        first = self.first_rows(changes) if initial else {} if still else self.unread
        done = self.done()
        made = self.run_all({**changes, **self.feeds(added((first, done)))}, initial=initial)
        changed = [made]
        if initial or done:
            made = added((made, negated(done), negated(first) if initial else {}))
        while True:
            moving, still = (made, {}) if self.until is None else self.until.split(made, still)
            if not moving or self._ends(moving, still):
                self.unread = added((moving, still))
                return added(changed)
            made = self.run_all(self.feeds(moving))
            changed.append(made)

    def first_rows(self, changes: Mapping[str, Rows]) -> Waiting:
        """The rows of states before the first round; the maps of their programs are not kept."""
        found: Waiting = {}
        for state in self.states:
            if state.initial is not None:
                maps = self.maps.aside()
                maps.open(state.initial)
                rows = Round(maps, dict(changes), initial=True).run(state.initial)
                if rows is not None:
                    program = state.initial.program
                    found[state.name] = rows.select(program.stored).rename([f.name for f in program.columns])
        return found

    def _ends(self, moving: Waiting, still: Waiting) -> bool:
        """Whether rounds end here despite changes."""
        number = len(self.sizes) + 1
        self.count(number, moving)
        if self.until is not None and self.until.is_done(moving) and self.until.is_done(moving, still):
            return True
        if number < self.last:
            return False
        if self.is_error:
            raise endless(self.view, self.sizes, moving, "UNTIL a condition that can be met, or MAX n to stop there")
        return True
