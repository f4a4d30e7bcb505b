"""The rounds of a loop along the edges of a graph, one by one: on what changed, on everything, with views made anew each time.

Each round is timed, with the graph in memory and sorted by both ends of its edges. Where values settle, a change that
deltas hold back waits until it adds up to more; where paths are followed, all ways go through the same states.
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
    """How many edges start at what rounds read, in all of them; without deltas, all edges."""
    values: Rows | None = None
    """What vertices have in the end, where that depends on the way."""

    @property
    def total(self) -> float:
        return sum(self.times)

    def tail(self, share: float = 0.1) -> float:
        """What the rounds took from the first on that changes less than a share of what the largest does."""
        small = [at for at, size in enumerate(self.sizes) if size < share * max(self.sizes)]
        after = [at for at in small if at > int(np.argmax(self.sizes))]
        return sum(self.times[after[0] :]) if after else 0.0


Round = tuple[Any, int]
"""The vertices that a round changes, and how many edges start at what it reads."""


def run(rounds: Iterator[Round]) -> Course:
    """All rounds, timed."""
    course, started = Course(), time.perf_counter()
    for changed, edges in rounds:
        course.times.append((time.perf_counter() - started) * 1e3)
        course.sizes.append(len(changed))
        course.edges += edges
        started = time.perf_counter()
    return course


def sort(edges: Edges) -> None:
    """Let edges be found by both ends, as rounds will look for them."""
    edges.leaving(np.zeros(1, dtype=np.int64))
    assert edges.arrivals().matrix.shape


def views(programs: tuple[Any, ...], inputs: Inputs) -> list[Rows | None]:
    """The invariant views of a loop."""
    maps = WorkingMaps.in_memory()
    return [None if p is None else delta_of(p, maps, inputs, initial=True) for p in programs]


# ——— values that settle


def ranks(state: PreparedGathering, inputs: Inputs, tolerance: float, *, deltas: bool, invariant: bool) -> Course:
    """Rounds until no value changes by more than the tolerance; with deltas, a value that changes by less waits."""
    sums = _begun(state, inputs)
    everyone, length = np.arange(len(sums.vertices)), len(sums.edges)
    leaving, arriving = (
        np.bincount(ends, minlength=len(everyone)) for ends in (sums.edges.sources, sums.edges.targets)
    )

    def rounds() -> Iterator[Round]:
        nonlocal sums
        made, read = sums.add_up(everyone), length
        while True:
            moving, rounded = _moving(sums, made, tolerance), sums.rounded
            yield moving, read
            if not len(moving) and not len(rounded):
                return
            if not invariant:
                sums = _with_views_anew(state, sums, inputs)
            if not deltas:
                sums.hand_on(everyone)
                made = sums.add_up(everyone)
            elif len(moving):
                made, read = sums.spread(moving, by_difference=True), int(leaving[moving].sum())
            else:
                made, read = sums.add_up(rounded), int(arriving[rounded].sum())

    course = run(rounds())
    course.values = sums.shown_rows(np.flatnonzero(sums.shown.present))
    return course


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
    sort(sums.edges)
    return sums


def _with_views_anew(state: PreparedGathering, old: Sums, inputs: Inputs) -> Sums:
    made = _begun(state, inputs)
    made.shown, made.read = old.shown, old.read  # vertices have the same numbers: the views give the same rows
    made.offer_anew(np.arange(len(made.vertices)))
    return made


# ——— paths


def paths(state: PreparedRelaxation, inputs: Inputs, *, deltas: bool, invariant: bool) -> Course:
    """Rounds until nothing gets better; without deltas, every round tries all edges."""
    network, with_deltas, changed = _first_values(state, inputs)
    leaving = np.bincount(network.edges.sources, minlength=len(network.vertices))

    def on_changes(before: Any) -> Iterator[Round]:
        for now in with_deltas:
            yield now, int(leaving[before].sum())
            before = now
        yield before[:0], int(leaving[before].sum())

    def on_everything() -> Iterator[Round]:
        while True:
            if not invariant:
                _first_values(state, inputs)
            now = network.labels.improve(network._along(network.edges.all()))
            yield now, len(network.edges)
            if not len(now):
                return

    return run(on_changes(changed) if deltas else on_everything())


def _first_values(state: PreparedRelaxation, inputs: Inputs) -> tuple[Network, Iterator[Any], Any]:
    """A graph whose first rows have their values; the rounds that follow, and the vertices of these rows."""
    edges, firsts = views(state.programs, inputs)
    assert edges is not None
    assert firsts is not None
    network = Network(state.compiled.offering)
    rounds = network.follow(edges, firsts)
    changed = next(rounds)
    sort(network.edges)
    return network, rounds, changed


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
