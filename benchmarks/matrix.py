"""Matrix programs beside NumPy from scratch: changed rows, on the same machine, in one run.

    python -m benchmarks.matrix --sizes 1000 2000 --largest 4000 --out figures.md

Powers A¹⁶ under each model, least squares over a square and a tall matrix, T ← A·T + B for thin and wide T, and batches
of rows that a Zipf distribution picks (tables 6.2 and 6.4 of the thesis). Of each program at each size, the page says
which strategy was chosen, which was fastest, and how much that one was faster.
"""

from __future__ import annotations

import argparse
import re
import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measure import grid, measured, say, timed
from viewlet import matrix
from viewlet.matrix import Expected, LowRank, Machine, Maintained, RowChange, models

STEPS = 16
SHORT, SLOW = 5, 2_000
"""Milliseconds of a refresh up to which it is measured more often, and of an evaluation beyond which it is measured once,
without a run before it to warm up."""
LONGEST = 5e12
"""Operations of NumPy beyond which a program is left out: about a minute."""
RANDOM = np.random.default_rng(1)
Way = dict[str, str]
"""A strategy and a model; empty for what the cost model chooses."""


class Figure(NamedTuple):
    """What NumPy and a refresh took, in milliseconds."""

    program: str
    way: str
    is_chosen: bool
    scratch: float
    refresh: float
    error: str

    def line(self) -> list[str]:
        told = f"{self.way}{' (chosen)' if self.is_chosen else ''}"
        times = [f"{ms:,.2f}" for ms in (self.scratch, self.refresh)]
        return [self.program, told, *times, f"{self.scratch / self.refresh:,.1f}", self.error]


@dataclass
class Case:
    """A program, where it starts, the input that changes, and what NumPy runs in its place."""

    name: str
    function: Callable[..., Any]
    inputs: dict[str, Any]
    changing: str
    ways: tuple[Way, ...]


WAYS: tuple[Way, ...] = (
    {"strategy": "incremental", "model": "linear"},
    {"strategy": "incremental", "model": "exponential"},
    {"strategy": "incremental", "model": "skip-4"},
    {"strategy": "hybrid", "model": "linear"},
    {"strategy": "hybrid", "model": "skip-4"},
    {"strategy": "reevaluate", "model": "linear"},
    {"strategy": "reevaluate", "model": "exponential"},
    {},
)
PLAIN: tuple[Way, ...] = (
    {"strategy": "incremental"},
    {"strategy": "hybrid"},
    {"strategy": "reevaluate"},
    {},
)


BATCHED: tuple[Way, ...] = (
    {"strategy": "incremental", "model": "exponential"},
    {"strategy": "hybrid", "model": "exponential"},
    {"strategy": "reevaluate", "model": "exponential"},
    {},
)
CHOSEN: tuple[Way, ...] = ({},)


def stable(n: int) -> np.ndarray:
    """A matrix whose powers neither vanish nor explode."""
    return RANDOM.normal(size=(n, n)) / np.sqrt(n)


def largest(n: int, tall: int) -> Iterator[Case]:
    """The same programs at a size that leaves time only for what the cost model chooses."""
    for case in cases(n, tall):
        case.ways = CHOSEN
        yield case


def cases(n: int, tall: int) -> Iterator[Case]:
    yield Case(f"A¹⁶, n = {n:,}", models.power(STEPS), {"A": stable(n)}, "A", WAYS)
    if 2 * STEPS * n**3 < LONGEST:
        yield Case(f"sum of powers, n = {n:,}", models.sum_of_powers(STEPS), {"A": stable(n)}, "A", WAYS)
    square = {"X": stable(n) + 2 * np.eye(n), "y": RANDOM.normal(size=(n, 1))}
    yield Case(f"least squares, {n:,} × {n:,}", least_squares, square, "X", PLAIN)
    rows = {"X": RANDOM.normal(size=(tall, 100)), "y": RANDOM.normal(size=(tall, 1))}
    yield Case(f"least squares, {tall:,} × 100", least_squares, rows, "X", PLAIN)
    for p in sorted({p for p in (1, 100, 1000, n) if p <= n and 2 * STEPS * n * n * p < LONGEST}):
        A, B = stable(n), RANDOM.normal(size=(n, p))
        yield Case(f"T ← A·T + B, n = {n:,}, p = {p:,}", models.general(STEPS), {"A": A, "B": B, "T0": B}, "A", WAYS)


def least_squares(X: Any, y: Any) -> Any:
    return np.linalg.inv(X.T @ X) @ (X.T @ y)


def run(case: Case, machine: Machine, times: int) -> Iterator[Figure]:
    """One changed row, in each way."""
    scratch = statistics.median(evaluations(lambda: case.function(**case.inputs)))
    for way in case.ways:
        say(f"{case.name}: {way or 'chosen'}")
        state = started(case, way, machine)
        refresh = statistics.median(refreshes(partial(update_one_row, case, state), times))
        yield figure(case.name, way, state, scratch, refresh)


def started(case: Case, way: Way, machine: Machine) -> Maintained:
    options = {**way, "machine": machine, "expected": Expected(rates={case.changing: 1.0})}
    shapes = {name: value.shape for name, value in case.inputs.items()}
    return matrix.program(case.function, **shapes).start(**case.inputs, options=options)


def figure(name: str, way: Way, state: Maintained, scratch: float, refresh: float) -> Figure:
    chosen = state.compiled.chosen
    error = f"{max(state.check().values()):.0e}" if scratch < SLOW else "not evaluated"
    return Figure(name, f"{chosen.model} {chosen.strategy}", not way, scratch, refresh, error)


def evaluations(work: Callable[[], Any]) -> list[float]:
    """The milliseconds of some evaluations from scratch; of one, where that takes long."""
    first = timed(work)
    return [first] if first > SLOW else [timed(work) for _ in range(3)]


def refreshes(work: Callable[[], float], times: int) -> list[float]:
    """The milliseconds of some refreshes; of twenty times as many, where they are short."""
    spent = measured(work, times)
    return spent if statistics.median(spent) > SHORT else measured(work, 20 * times)


def update_one_row(case: Case, state: Maintained) -> float:
    """Changes one row; the milliseconds that the refresh took."""
    return state.update(**one_row(case)).seconds * 1e3


def one_row(case: Case) -> dict[str, RowChange]:
    rows = case.inputs[case.changing]
    row, other = RANDOM.integers(len(rows), size=2)
    return {case.changing: RowChange(changed={int(row): 0.7 * rows[row] + 0.3 * rows[other]})}


def batches(n: int, count: int, machine: Machine) -> Iterator[Figure]:
    """Batches of changes of rows that a Zipf distribution picks: the steeper, the fewer rows they touch."""
    case = Case(f"A¹⁶, n = {n:,}", models.power(STEPS), {"A": stable(n)}, "A", BATCHED)
    scratch = statistics.median(evaluations(lambda: case.function(**case.inputs)))
    for factor in (5.0, 4.0, 3.0, 2.0, 1.0, 0.0):
        updates = [batch(n, count, factor) for _ in range(4)]
        touched = int(np.any(updates[-1].u, axis=1).sum())
        name = f"{case.name}, {count:,} changes of {touched:,} rows (Zipf {factor:.0f})"
        for way in case.ways:
            say(f"{name}: {way or 'chosen'}")
            state = started(case, way, machine)
            spent = [state.update(A=update).seconds * 1e3 for update in updates]
            yield figure(name, way, state, scratch, statistics.median(spent[1:]))


def batch(n: int, count: int, factor: float) -> LowRank:
    """Changes of rows, of which the first are picked the more often the higher the factor is."""
    chances = np.arange(1, n + 1.0) ** -factor
    u = np.zeros((n, count))
    u[RANDOM.choice(n, size=count, p=chances / chances.sum()), np.arange(count)] = 1
    return LowRank(u, RANDOM.normal(size=(n, count)) / n)


def choices(figures: Iterable[Figure]) -> Iterator[list[str]]:
    """What was chosen for each program, beside the fastest of all strategies and models that were tried."""
    ways: dict[str, dict[str, float]] = {}
    chosen: dict[str, str] = {}
    for found in figures:
        times = ways.setdefault(found.program, {})
        times[found.way] = min(found.refresh, times.get(found.way, found.refresh))
        if found.is_chosen:
            chosen[found.program] = found.way
    for program, times in ways.items():
        if len(times) > 1:
            best = min(times, key=times.__getitem__)
            yield [program, chosen[program], best, f"{times[chosen[program]] / times[best]:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, nargs="*", default=[500, 1000], help="measured in every way")
    parser.add_argument("--largest", type=int, nargs="*", default=[], help="measured as chosen")
    parser.add_argument("--batched", type=int, nargs="*", default=[1000], help="sizes for batches of changes")
    parser.add_argument("--only", default="", help="a regular expression of the programs to measure")
    parser.add_argument("--tall", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    machine = Machine.measure()
    sized = [cases(n, min(arguments.tall, 100_000)) for n in arguments.sizes]
    sized += [largest(n, arguments.tall) for n in arguments.largest]
    wanted = (case for found in sized for case in found if re.search(arguments.only, case.name))
    figures = [found for case in wanted for found in run(case, machine, arguments.times)]
    figures += [found for n in arguments.batched for found in batches(n, arguments.batch, machine)]
    text = page(figures, machine)
    print(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")


def page(figures: list[Figure], machine: Machine) -> str:
    speed = f"{machine.flops / 1e9:.0f} billion operations a second, reading {machine.reading / 1e9:.0f} GB a second"
    headings = ["program", "refreshed", "NumPy, ms", "refresh, ms", "times faster", "relative error"]
    chosen = grid(["program", "chosen", "fastest", "chosen beside fastest"], choices(figures))
    return f"On a machine of {speed}.\n\n{grid(headings, (f.line() for f in figures))}\n\n{chosen}\n"


if __name__ == "__main__":
    main()
