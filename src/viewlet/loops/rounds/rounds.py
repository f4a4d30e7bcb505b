"""Rounds: the changes of histories, handled in order.

    Δinputs ──▶ step ──▶ Δhistory, of any rounds        then, from the first of these rounds on:
    Δhistory of round r ──▶ step ──▶ Δhistory of rounds after r

Once round r is handled, histories are correct up to it. So a loop that terminates on the new inputs terminates here,
after at most as many rounds as it takes on the old or the new inputs; a round without changes triggers nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from viewlet.columns.arrays import values_of
from viewlet.columns.rows import Rows
from viewlet.engine.prepared import PreparedProgram, PreparedStep
from viewlet.engine.terms.compile_term import WithoutSpark
from viewlet.errors import EndlessLoop, shortened
from viewlet.formatting import plural
from viewlet.loops.definition.compiled import CompiledState
from viewlet.loops.rounds.checkpoints import Checkpoints, Done
from viewlet.loops.rounds.progress import report_round
from viewlet.loops.rounds.task_rounds import TaskRounds
from viewlet.loops.rounds.working import WorkingMaps
from viewlet.store import Contents

_MOST = 1 << 40
"""A row derived more often than this in a round is about to overflow 64 bits."""
_SHOWN = 3


@dataclass
class Round(WithoutSpark):
    """One run of a program: gives its terms access to changes and to maps, before and after the round."""

    maps: WorkingMaps
    changes: dict[str, Rows]
    initial: bool = False

    def run(self, ready: PreparedProgram) -> Rows | None:
        """Refresh the maps of a program; return the change of its result."""
        for step in ready.steps:
            parts = [rows for run in step.terms if (rows := run(self)) is not None]
            if parts and len(delta := self._add(step, Rows.concat(parts))):
                self.changes[step.map.name] = delta
        return self.changes.get(ready.program.view)

    def _add(self, step: PreparedStep, rows: Rows) -> Rows:
        if step.map.stored:
            return self.maps.add(step.map.name, rows)
        return rows if step.is_netted else rows.consolidate(step.map.sums)

    def change(self, bag: str) -> Rows | None:
        return self.changes.get(bag)

    def old(self, bag: str) -> Contents:
        return self.maps.old(bag)

    def new(self, bag: str) -> Contents:
        return self.maps.new(bag)


class TooMuch(Exception):
    """The changes of an epoch reach so many rows that starting over is cheaper."""


@dataclass(frozen=True)
class PreparedState:
    """A state whose step can be run."""

    compiled: CompiledState
    ready: PreparedProgram
    initial: PreparedProgram | None

    @property
    def name(self) -> str:
        return self.compiled.name

    @property
    def feed(self) -> str:
        return self.compiled.feed

    @property
    def bag(self) -> str:
        """The bag of the state, or of its history."""
        return self.ready.program.view

    def visible(self, rows: Rows) -> Rows:
        """Rows of the bag with the names of the state's columns; in a history, the round is the last column."""
        program = self.ready.program
        return rows.select(program.stored).rename([f.name for f in program.columns])


@dataclass
class Steps:
    """The steps of a loop's states, which may read each other, and the progress of running them."""

    view: str
    states: Sequence[PreparedState]
    maps: WorkingMaps
    last: int
    """The last round that may derive rows."""
    most: int | None = None
    """The number of rows beyond which starting over is cheaper."""
    sizes: dict[int, int] = field(default_factory=dict)
    """How many rows each round changed."""
    checkpoints: Checkpoints | None = None
    """Where rounds are checkpointed."""
    tasks: TaskRounds | None = None
    """Runs rounds on a cluster if that is cheaper."""
    resumed: int | None = None
    """The last round of an interrupted run that this one resumes from."""
    _handled: int = 0

    def run_all(self, changes: Mapping[str, Rows], *, initial: bool = False) -> dict[str, Rows]:
        """Run every step on changes of bags; return the change of each state."""
        self.maps.begin_round()
        self._handled += sum(map(len, changes.values()))
        if self.most is not None and self._handled > self.most:
            raise TooMuch
        for state in self.states:
            if state.compiled.keeps_feed and state.feed in changes:
                self.maps.add(state.feed, changes[state.feed])
        found = None if self.tasks is None else self.tasks.run(self.maps, changes, initial=initial)
        if found is None:
            found = {s.bag: Round(self.maps, dict(changes), initial).run(s.ready) for s in self.states}
        return {s.name: s.visible(rows) for s in self.states if (rows := found.get(s.bag)) is not None}

    def done(self) -> dict[str, Rows]:
        """The rows that the steps had read in an interrupted run."""
        found = Done() if self.checkpoints is None else self.checkpoints.done()
        self.sizes.update(found.sizes)
        self.resumed = max(found.sizes, default=None)
        return found.moved

    def feeds(self, rows: Mapping[str, Rows]) -> dict[str, Rows]:
        """Rows of states by the names under which steps read them."""
        return {s.feed: rows[s.name] for s in self.states if len(rows.get(s.name, ()))}

    def count(self, number: int, now: Mapping[str, Rows]) -> None:
        """Record the rows that a round is about to read: their number and a checkpoint."""
        self.sizes[number] = sum(map(len, now.values()))
        if self.checkpoints is not None:
            self.checkpoints.add(self.sizes, now)
        report_round(self.view, self.sizes)


class Rounds(Steps):
    """Refreshes the histories of states."""

    def run(self, changes: Mapping[str, Rows], *, initial: bool = False, stop: int | None = None) -> dict[str, Rows]:
        """Run rounds on the changes of the loop's inputs, up to `stop` if given; return the change of each history."""
        done = self.done()
        made = self.run_all({**changes, **self.feeds(done)}, initial=initial)
        waiting, changed = added((made, negated(done))), [made]
        while waiting:
            first = min(int(round_of(rows).min()) for rows in waiting.values())
            if stop is not None and first >= stop:
                break
            now = {name: rows.filter(round_of(rows) == first) for name, rows in waiting.items()}
            later = {name: rows.filter(round_of(rows) != first) for name, rows in waiting.items()}
            self.count(first, now)
            self._refuse_endless(first, now)
            made = self.run_all(self.feeds(now))
            waiting = added((later, made))
            changed.append(made)
        return added(changed)

    def _refuse_endless(self, number: int, now: Mapping[str, Rows]) -> None:
        largest = max(int(np.abs(rows.weights).max(initial=0)) for rows in now.values())
        brings = any((rows.weights > 0).any() for rows in now.values())
        if brings and (number > self.last or largest > _MOST):
            hint = "a cycle of UNION ALL never ends: use UNION, USING KEY or a condition"
            raise endless(self.view, self.sizes, now, f"{hint}; MAX RECURSION LEVEL n allows more rounds")


def round_of(rows: Rows) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The round of each row of a history: its last column."""
    return values_of(rows[rows.names[-1]], "i8")


def added(changes: Sequence[Mapping[str, Rows]]) -> dict[str, Rows]:
    """Changes of states, added up."""
    parts: dict[str, list[Rows]] = {}
    for some in changes:
        for name, rows in some.items():
            parts.setdefault(name, []).append(rows)
    netted = {name: Rows.concat(rows).consolidate() for name, rows in parts.items()}
    return {name: rows for name, rows in netted.items() if len(rows)}


def negated(rows: Mapping[str, Rows]) -> dict[str, Rows]:
    return {name: some.negated() for name, some in rows.items()}


def endless(view: str, sizes: Mapping[int, int], now: Mapping[str, Rows], hint: str) -> EndlessLoop:
    """An error with some of the rows that keep changing and the sizes of the last rounds."""
    number = max(sizes)
    name, rows = max(now.items(), key=lambda item: len(item[1]))
    shown = rows.take(np.arange(min(_SHOWN, len(rows)))).arrow().to_pylist()
    listed = ", ".join(f"({', '.join(shortened(v) for v in row.values())})" for row in shown)
    last = dict(list(sizes.items())[-5:])
    error = EndlessLoop(
        f"view {view}: the loop does not end: round {number} still changes {plural(len(rows), 'row')} of {name}, "
        f"such as {listed}; the last rounds changed {', '.join(f'{n:,}' for n in last.values())}",
        hint=hint,
    )
    error.sizes, error.rows = last, shown
    return error
