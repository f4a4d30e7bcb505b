"""The rounds of a loop along the edges of a graph, one by one: on what changed, on everything, with views made anew each time.

Each round is timed. The three ways go through the same states, so they differ in what a round costs, and in nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from viewlet.columns.rows import Rows
from viewlet.loops.gather.run import PreparedGathering
from viewlet.loops.gather.sums import Sums
from viewlet.loops.graph.deltas import delta_of
from viewlet.loops.graph.edges import Edges
from viewlet.loops.relax.labels import Offers
from viewlet.loops.relax.network import Network
from viewlet.loops.relax.run import PreparedRelaxation
from viewlet.loops.rounds.working import WorkingMaps

Inputs = dict[str, Rows]


@dataclass
class Course:
    """What each round of a run took, in milliseconds, and how many rows it changed."""

    times: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    edges: int = 0
    """How many edges start at what changed, in all rounds; without deltas, all edges."""

    @property
    def total(self) -> float:
        return sum(self.times)

    def tail(self, share: float = 0.1) -> float:
        """What the rounds took from the first on that changes less than a share of what the largest does."""
        small = [at for at, size in enumerate(self.sizes) if size < share * max(self.sizes)]
        after = [at for at in small if at > int(np.argmax(self.sizes))]
        return sum(self.times[after[0] :]) if after else 0.0


def run(rounds: Iterator[Any], edges: Edges, *, deltas: bool) -> Course:
    """All rounds, timed, given the vertices that each changes."""
    degrees: Any = ()
    course, started = Course(), time.perf_counter()
    for changed in rounds:
        course.times.append((time.perf_counter() - started) * 1e3)
        course.sizes.append(len(changed))
        degrees = degrees if len(degrees) else np.bincount(edges.sources, minlength=int(edges.targets.max()) + 1)
        course.edges += int(degrees[changed].sum()) if deltas else len(edges)
        started = time.perf_counter()
    return course


def views(programs: tuple[Any, ...], inputs: Inputs) -> list[Rows | None]:
    """The invariant views of a loop."""
    maps = WorkingMaps.in_memory()
    return [None if p is None else delta_of(p, maps, inputs, initial=True) for p in programs]


# ——— values that settle


def ranks(state: PreparedGathering, inputs: Inputs, tolerance: float, *, deltas: bool, invariant: bool) -> Course:
    """Rounds until no value changes by more than the tolerance; with deltas, a value that changes by less waits."""
    sums = _begun(state, inputs)
    everyone = np.arange(len(sums.vertices))

    def rounds() -> Iterator[Any]:
        nonlocal sums
        made = sums.add_up(everyone)
        while True:
            moving = _moving(sums, made, tolerance)
            yield moving
            if not len(moving) and not len(sums.rounded):
                return
            if not invariant:
                sums = _with_views_anew(state, sums, inputs)
            if not deltas:
                sums.hand_on(everyone)
                made = sums.add_up(everyone)
            elif len(moving):
                made = sums.spread(moving, by_difference=True)
            else:
                made = sums.add_up(sums.rounded)

    return run(rounds(), sums.edges, deltas=deltas)


def _moving(sums: Sums, vertices: Any, tolerance: float) -> Any:
    shown, read = (store.values[vertices].view(np.float64) for store in (sums.shown, sums.read))
    return vertices[np.abs(shown - read) >= tolerance]


def _begun(state: PreparedGathering, inputs: Inputs) -> Sums:
    """A graph before its first round."""
    edges, sources, own, first = views(state.programs, inputs)
    assert edges is not None
    assert first is not None
    sums = Sums(state.compiled.gathering)
    sums.change(edges, sources, own)
    sums.begin(first)
    return sums


def _with_views_anew(state: PreparedGathering, old: Sums, inputs: Inputs) -> Sums:
    made = _begun(state, inputs)
    made.shown, made.read = old.shown, old.read  # vertices have the same numbers: the views give the same rows
    made.offer_anew(np.arange(len(made.vertices)))
    return made


# ——— paths


def paths(state: PreparedRelaxation, inputs: Inputs, *, deltas: bool, invariant: bool) -> Course:
    """Rounds until nothing gets better; without deltas, every round tries all edges."""
    edges, firsts = views(state.programs, inputs)
    assert edges is not None
    assert firsts is not None
    network = Network(state.compiled.offering)
    with_deltas = network.follow(edges, firsts)
    if deltas:
        return run(with_deltas, network.edges, deltas=True)
    next(with_deltas)

    def rounds() -> Iterator[Any]:
        while True:
            if not invariant:
                again = Network(state.compiled.offering)
                next(again.follow(*(rows for rows in views(state.programs, inputs) if rows is not None)))
            offers: Offers = network._along(network.edges.all())
            changed = network.labels.improve(offers)
            yield changed
            if not len(changed):
                return

    return run(rounds(), network.edges, deltas=False)


def timed_rounds(loop: Any, inputs: Inputs, tolerance: float) -> dict[str, Course]:
    """The three ways to run a loop's rounds."""
    ways: dict[str, dict[str, bool]] = {
        "with deltas": {"deltas": True, "invariant": True},
        "without deltas": {"deltas": False, "invariant": True},
        "without invariant views": {"deltas": False, "invariant": False},
    }
    if loop.ready.gathered is not None:
        return {name: ranks(loop.ready.gathered, inputs, tolerance, **way) for name, way in ways.items()}
    return {name: paths(loop.ready.relaxed, inputs, **way) for name, way in ways.items()}
