"""Where the rows of a term are after each of its steps, and the fewest moves that achieve it.

Along a chain, columns that are equal by construction share a number, so rows partitioned by `l_orderkey` are also
partitioned by the `o_orderkey` that they matched. Independent look-ups may be reordered, since products commute. With
the rules of figure 5.2 of the thesis, which push a move through any step, all well-formed versions of a term are orders
of its look-ups with moves in between. The search chooses one with the fewest moves, then with the fewest moves to all
partitions, then closest to the original order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal

from viewlet.plan.expr import Column
from viewlet.plan.types import Field
from viewlet.program.access import Get, Range
from viewlet.program.distributed import Anywhere, Local, Partitioned, Replicated, Tag
from viewlet.program.terms import (
    KEY,
    Combine,
    Filter,
    GroupSums,
    Leaders,
    Negate,
    Probe,
    Project,
    SparkRowwise,
    Term,
    Unnest,
)

Ids = Mapping[str, int]
Kind = Literal["local", "partitioned", "replicated", "anywhere"]


@dataclass(frozen=True, slots=True)
class Spot:
    """A tag in terms of column numbers."""

    kind: Kind
    by: tuple[int, ...] = ()


LOCAL, REPLICATED, ANYWHERE = Spot("local"), Spot("replicated"), Spot("anywhere")


@dataclass(frozen=True, slots=True)
class Run:
    """A step that runs where the rows are; the column numbers and the spot after it."""

    step: Term
    ids: Ids
    spot: Spot


Action = Spot | Run
"""A move to a spot, or a step."""
Cost = tuple[int, int, int]
"""Moves; moves to every partition; look-ups moved forward."""


def spot_of(tag: Tag, ids: Ids) -> Spot:
    """A tag as a spot; anywhere if it names a column without a number."""
    match tag:
        case Local():
            return LOCAL
        case Replicated():
            return REPLICATED
        case Partitioned(columns) if all(c in ids for c in columns):
            return Spot("partitioned", tuple(ids[c] for c in columns))
        case _:
            return ANYWHERE


def tag_of(spot: Spot, ids: Ids, columns: Sequence[Field]) -> Tag:
    """A spot as a tag, by the current names of columns."""
    names = {ids[f.name]: f.name for f in reversed(columns)}
    match spot.kind:
        case "local":
            return Local()
        case "replicated":
            return Replicated()
        case "partitioned" if all(i in names for i in spot.by):
            return Partitioned(tuple(names[i] for i in spot.by))
        case _:
            return Anywhere()


class Routes:
    """Finds the moves of terms, given the tags of maps."""

    def __init__(self, tags: Mapping[str, Tag], *, reorder: bool) -> None:
        self.tags, self.reorder = tags, reorder
        self._numbers: Iterator[int] = count()

    def number(self, columns: Sequence[Field]) -> dict[str, int]:
        """A new number for each column."""
        return {f.name: next(self._numbers) for f in columns}

    def follow(self, step: Term, ids: Ids) -> Ids:
        """The column numbers after a step."""
        match step:
            case Filter() | Negate() | Leaders():
                return ids
            case Project(results=results):
                return {
                    r.name: ids[r.expr.name] if isinstance(r.expr, Column) else next(self._numbers) for r in results
                }
            case Unnest() | GroupSums() | Combine():
                kept = step.keys if not isinstance(step, Unnest) else tuple(ids)
                return {**self.number(step.columns), **{f.name: ids[f.name] for f in step.columns if f.name in kept}}
            case Probe():
                own = {m.map_column: ids[m.column] for m in reversed(step.read.on)}
                taken = {new: own[name] if name in own else next(self._numbers) for name, new in step.take}
                return {**ids, **taken} | ({} if step.weight is None else {step.weight: next(self._numbers)})
            case _:
                return self.number(step.columns)

    def best(self, spot: Spot, ids: Ids, steps: Sequence[Term], goal: Tag | None) -> tuple[Cost, tuple[Action, ...]]:
        """The cheapest moves and steps from a spot to a goal, if there is one."""
        if not steps:
            return _arrival(spot, ids, goal), ()
        first, rest = steps[0], steps[1:]
        if isinstance(first, Probe):
            return self._best_look_up(spot, ids, steps, goal)
        moves: tuple[Action, ...] = (LOCAL,) if isinstance(first, SparkRowwise) and spot != LOCAL else ()
        run = Run(first, self.follow(first, ids), LOCAL if moves else spot)
        cost, actions = self.best(run.spot, run.ids, rest, goal)
        return _plus(cost, (len(moves), 0, 0)), (*moves, run, *actions)

    def _best_look_up(
        self, spot: Spot, ids: Ids, steps: Sequence[Term], goal: Tag | None
    ) -> tuple[Cost, tuple[Action, ...]]:
        probes = _leading_probes(steps) if self.reorder else [steps[0]]
        ready = [(i, p) for i, p in enumerate(probes) if isinstance(p, Probe) and _needed(p) <= set(ids)]
        in_place = [(i, p) for i, p in ready if self._wanted(p, spot, ids) is None]
        tried = [self._look_up(spot, ids, i, p, steps, goal) for i, p in in_place[:1] or ready]
        return min(tried, key=lambda found: found[0])

    def _look_up(
        self, spot: Spot, ids: Ids, at: int, probe: Probe, steps: Sequence[Term], goal: Tag | None
    ) -> tuple[Cost, tuple[Action, ...]]:
        wanted = self._wanted(probe, spot, ids)
        after = self.follow(probe, ids)
        run = Run(probe, after, self._after(probe, wanted or spot, after))
        cost, actions = self.best(run.spot, run.ids, [*steps[:at], *steps[at + 1 :]], goal)
        moves: tuple[Action, ...] = () if wanted is None else (wanted,)
        return _plus(cost, (len(moves), int(wanted == REPLICATED), at)), (*moves, run, *actions)

    def _wanted(self, probe: Probe, spot: Spot, ids: Ids) -> Spot | None:
        """The spot from which rows can be looked up; None if they are there."""
        match self.tags[probe.map]:
            case Local():
                return None if spot == LOCAL else LOCAL
            case Replicated():
                return REPLICATED if spot == LOCAL else None
            case Partitioned(columns):
                own = {m.map_column: ids[m.column] for m in reversed(probe.read.on)}
                there = Spot("partitioned", tuple(own[c] for c in columns)) if set(columns) <= set(own) else REPLICATED
                return None if spot in (there, REPLICATED) else there
            case _:
                raise AssertionError(f"{probe.map} is looked up, and has no place")

    def _after(self, probe: Probe, spot: Spot, ids: Ids) -> Spot:
        """The spot of the pairs: replicated rows match rows of a partitioned map where these are."""
        tag = self.tags[probe.map]
        if spot != REPLICATED or not isinstance(tag, Partitioned):
            return spot
        one_by_one = isinstance(probe.read, Get) or (isinstance(probe.read, Range) and not probe.read.adds)
        names = {own: ids[new] for own, new in probe.take} | {m.map_column: ids[m.column] for m in probe.read.on}
        return spot_of(tag, names) if one_by_one and tag.columns != (KEY,) else ANYWHERE


def _leading_probes(steps: Sequence[Term]) -> list[Term]:
    """The look-ups at the start, before any other step."""
    end = next((i for i, step in enumerate(steps) if not isinstance(step, Probe)), len(steps))
    return list(steps[:end])


def _needed(probe: Probe) -> set[str]:
    """The columns that a look-up reads from its rows."""
    bounds = (probe.read.low, probe.read.high) if isinstance(probe.read, Range) else ()
    return {m.column for m in probe.read.on} | {b[0] for b in bounds if b is not None}


def _arrival(spot: Spot, ids: Ids, goal: Tag | None) -> Cost:
    """The cost of the last move; for replicated rows, each partition just keeps its share."""
    if goal is None or spot == spot_of(goal, ids) or (spot == REPLICATED and isinstance(goal, Partitioned)):
        return (0, 0, 0)
    return (1, int(isinstance(goal, Replicated)), 0)


def _plus(a: Cost, b: Cost) -> Cost:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])
