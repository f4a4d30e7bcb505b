"""Matrix programs beside NumPy from scratch: one changed row, on the same machine, in one run.

    python -m benchmarks.matrix --sizes 500 1000 2000 --out figures.md

Powers A¹⁶ under each model, least squares over a square and a tall matrix, T ← A·T + B for thin and wide T, and batches
of rows that a Zipf distribution picks (tables 6.2 and 6.4 of the thesis).
"""

from __future__ import annotations

import argparse
import re
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import grid, measured, say, timed
from viewlet import matrix
from viewlet.matrix import Expected, LowRank, Machine, Maintained, RowChange, models

STEPS = 16
SHORT, SLOW = 5, 2_000
"""Milliseconds of a refresh up to which it is measured more often, and of an evaluation beyond which it is measured once,
without a run before it to warm up."""
RANDOM = np.random.default_rng(1)


@dataclass
class Case:
    """A program, where it starts, the input that changes, and what NumPy runs in its place."""

    name: str
    function: Callable[..., Any]
    inputs: dict[str, Any]
    changing: str
    ways: tuple[dict[str, str], ...]


WAYS: tuple[dict[str, str], ...] = (
    {"strategy": "incremental", "model": "linear"},
    {"strategy": "incremental", "model": "exponential"},
    {"strategy": "incremental", "model": "skip-4"},
    {"strategy": "hybrid", "model": "linear"},
    {"strategy": "hybrid", "model": "skip-4"},
    {"strategy": "reevaluate", "model": "linear"},
    {"strategy": "reevaluate", "model": "exponential"},
    {},
)
PLAIN: tuple[dict[str, str], ...] = (
    {"strategy": "incremental"},
    {"strategy": "hybrid"},
    {"strategy": "reevaluate"},
    {},
)


def stable(n: int) -> np.ndarray:
    """A matrix whose powers neither vanish nor explode."""
    return RANDOM.normal(size=(n, n)) / np.sqrt(n)


CHOSEN: tuple[dict[str, str], ...] = ({},)


def largest(n: int, tall: int) -> Iterator[Case]:
    """The same programs at a size that leaves time only for what the cost model chooses."""
    for case in cases(n, tall):
        case.ways = CHOSEN
        if not case.name.startswith("sum of powers"):
            yield case


def cases(n: int, tall: int) -> Iterator[Case]:
    A, X = stable(n), RANDOM.normal(size=(tall, 100))
    yield Case(f"A¹⁶, n = {n:,}", models.power(STEPS), {"A": A}, "A", WAYS)
    yield Case(f"sum of powers, n = {n:,}", models.sum_of_powers(STEPS), {"A": A}, "A", WAYS)
    square = {"X": stable(n) + 2 * np.eye(n), "y": RANDOM.normal(size=(n, 1))}
    yield Case(f"least squares, {n:,} × {n:,}", least_squares, square, "X", PLAIN)
    rows = {"X": X, "y": RANDOM.normal(size=(tall, 1))}
    yield Case(f"least squares, {tall:,} × 100", least_squares, rows, "X", PLAIN)
    for p in sorted({1, min(100, n), n}):
        B = RANDOM.normal(size=(n, p))
        yield Case(f"T ← A·T + B, n = {n:,}, p = {p:,}", models.general(STEPS), {"A": A, "B": B, "T0": B}, "A", WAYS)


def least_squares(X: Any, y: Any) -> Any:
    return np.linalg.inv(X.T @ X) @ (X.T @ y)


def run(case: Case, machine: Machine, times: int) -> Iterator[list[str]]:
    """A line for each way to refresh: NumPy's time, ours, and how many times faster it is."""
    scratch = statistics.median(evaluations(lambda: case.function(**case.inputs)))
    for way in case.ways:
        say(f"{case.name}: {way or 'chosen'}")
        options = {**way, "machine": machine, "expected": Expected(rates={case.changing: 1.0})}
        shapes = {name: value.shape for name, value in case.inputs.items()}
        state = matrix.program(case.function, **shapes).start(**case.inputs, options=options)
        refresh = statistics.median(refreshes(partial(update_one_row, case, state), times))
        chosen = state.compiled.chosen
        told = f"{chosen.model} {chosen.strategy}{'' if way else ' (chosen)'}"
        error = f"{max(state.check().values()):.0e}" if scratch < SLOW else "not evaluated"
        yield [case.name, told, f"{scratch:,.2f}", f"{refresh:,.2f}", f"{scratch / refresh:,.1f}", error]


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
    return {case.changing: RowChange(changed={int(row): 0.5 * (rows[row] + rows[other])})}


def batches(n: int, count: int, machine: Machine) -> Iterator[list[str]]:
    """A batch of changes of rows that a Zipf distribution picks: the steeper, the fewer rows it touches."""
    A = stable(n)
    scratch = statistics.median(evaluations(lambda: models.power(STEPS)(A)))
    ranks = np.arange(1, n + 1.0)
    for factor in (5.0, 3.0, 2.0, 1.0, 0.0):
        state = matrix.program(models.power(STEPS), A=A.shape).start(A=A, options={"machine": machine})
        chances = ranks**-factor / (ranks**-factor).sum()
        u = np.zeros((n, count))
        u[RANDOM.choice(n, size=count, p=chances), np.arange(count)] = 1
        refresh = state.update(A=LowRank(u, RANDOM.normal(size=(n, count)) / n)).seconds * 1e3
        touched = int(u.any(axis=1).sum())
        yield [f"{factor:.0f}", f"{touched:,}", f"{scratch:,.1f}", f"{refresh:,.1f}", f"{scratch / refresh:,.1f}"]


def choices(lines: list[list[str]]) -> Iterator[list[str]]:
    """What was chosen for each program, beside the fastest of all strategies and models that were tried."""
    for name in dict.fromkeys(line[0] for line in lines):
        ways = {line[1]: float(line[3].replace(",", "")) for line in lines if line[0] == name}
        chosen = next(way for way in ways if way.endswith("(chosen)"))
        best = min(ways, key=ways.__getitem__)
        if len(ways) > 1:
            yield [
                name,
                chosen.removesuffix(" (chosen)"),
                best.removesuffix(" (chosen)"),
                f"{ways[chosen] / ways[best]:.2f}",
            ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 1000])
    parser.add_argument("--largest", type=int, nargs="*", default=[])
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
    lines = [line for case in wanted for line in run(case, machine, arguments.times)]
    headings = ["program", "refreshed", "NumPy, ms", "refresh, ms", "times faster", "relative error"]
    zipf = ["Zipf factor", "rows touched", "NumPy, ms", "refresh, ms", "times faster"]
    speed = f"{machine.flops / 1e9:.0f} billion operations and {machine.bytes / 1e9:.0f} GB a second"
    text = f"On a machine of {speed}.\n\n{grid(headings, lines)}\n\nA¹⁶, batches of {arguments.batch:,} changes, n = {arguments.sizes[-1]:,}:\n\n"
    text += grid(zipf, batches(arguments.sizes[-1], arguments.batch, machine)) + "\n"
    text += f"\n{grid(['program', 'chosen', 'fastest', 'chosen beside fastest'], choices(lines))}\n"
    print(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
