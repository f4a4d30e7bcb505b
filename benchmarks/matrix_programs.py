"""Matrix programs in memory beside NumPy from scratch: one changed row, and batches of rows (tables 6.2 and 6.4)."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from benchmarks.measure import measured, say, timed
from viewlet import matrix
from viewlet.matrix import Expected, LowRank, Machine, MaintainedProgram, RowChange, models

STEPS = 16
SHORT, SLOW = 5, 2_000
"""Milliseconds up to which a refresh is measured more often, and beyond which anything is measured once, without a run
before it to warm up."""
LONGEST = 5e12
"""Operations of NumPy beyond which a program is left out: about a minute."""
CHECKED = 1 << 23
"""Entries of a program's inputs up to which its result is compared with NumPy's."""
RANDOM = np.random.default_rng(1)
Way = dict[str, str]
"""A strategy and a model; empty for what the cost model chooses."""
CHOSEN: Way = {}
PLAIN: tuple[Way, ...] = ({"strategy": "incremental"}, {"strategy": "hybrid"}, {"strategy": "reevaluate"})
POWERS: tuple[Way, ...] = (
    {"strategy": "incremental", "model": "linear"},
    {"strategy": "incremental", "model": "exponential"},
    {"strategy": "incremental", "model": "skip-4"},
    {"strategy": "hybrid", "model": "linear"},
    {"strategy": "hybrid", "model": "exponential"},
    {"strategy": "hybrid", "model": "skip-4"},
    {"strategy": "reevaluate", "model": "linear"},
    {"strategy": "reevaluate", "model": "exponential"},
)
LOOPS: tuple[Way, ...] = (*POWERS, {"strategy": "incremental", "model": "krylov"})
BATCHED: tuple[Way, ...] = tuple({**way, "model": "exponential"} for way in PLAIN)
HEADINGS = [
    "NumPy",
    "its threads",
    "refresh",
    "times faster",
    "chosen",
    "fastest",
    "chosen beside fastest",
    "relative error",
]


@dataclass
class Case:
    """A program of some size, where it starts, the input that changes, and the ways to refresh it."""

    name: str
    size: str
    function: Callable[..., Any]
    inputs: dict[str, Any]
    changing: str
    ways: tuple[Way, ...]


@dataclass(frozen=True)
class Found:
    """What a refresh took in one way, in milliseconds."""

    way: str
    refresh: float
    error: str


def stable(n: int) -> np.ndarray:
    """A matrix whose powers neither vanish nor explode."""
    return RANDOM.normal(size=(n, n)) / np.sqrt(n)


def least_squares(X: Any, y: Any) -> Any:
    return np.linalg.inv(X.T @ X) @ (X.T @ y)


def cases(n: int, widths: Sequence[int]) -> Iterator[Case]:
    """The programs over square matrices, each made when its turn comes."""
    size = f"{n:,}"
    yield Case("A¹⁶", size, models.power(STEPS), {"A": stable(n)}, "A", POWERS)
    if 2 * STEPS * n**3 < LONGEST:
        yield Case("I + A + … + A¹⁵", size, models.sum_of_powers(STEPS), {"A": stable(n)}, "A", LOOPS)
    square = {"X": stable(n) + 2 * np.eye(n), "y": RANDOM.normal(size=(n, 1))}
    yield Case("least squares, n × n", size, least_squares, square, "X", PLAIN)
    for p in sorted({p for p in (*widths, n) if p <= n and 2 * STEPS * n * n * p < LONGEST}):
        name, (A, B) = f"T ← A·T + B, p = {p:,}", (stable(n), RANDOM.normal(size=(n, p)))
        yield Case(name, size, models.general(STEPS), {"A": A, "B": B, "T0": B}, "A", LOOPS)


def tall(rows: int) -> Iterator[Case]:
    inputs = {"X": RANDOM.normal(size=(rows, 100)), "y": RANDOM.normal(size=(rows, 1))}
    yield Case("least squares, n × 100", f"{rows:,}", least_squares, inputs, "X", PLAIN)


def changed_rows(found: Iterator[Case], only: str, all_ways: bool, times: int) -> Iterator[list[str]]:
    """A row of the table for each program: the way that was chosen beside NumPy and, if asked for, beside all others."""
    machine = Machine.measure()
    for case in found:
        if re.search(only, case.name):
            scratch = _from_scratch(case)
            ways = (*case.ways, CHOSEN) if all_ways else (CHOSEN,)
            yield [case.name, case.size, *_line(scratch, [_refreshed(case, way, machine, times) for way in ways])]


def _from_scratch(case: Case) -> tuple[float, int]:
    """The milliseconds of NumPy with one thread of BLAS or with all, whichever is faster, and how many those are."""
    most = max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
    return min((_with_threads(case, threads), threads) for threads in sorted({1, most}))


def _with_threads(case: Case, threads: int) -> float:
    say(f"{case.name}, n = {case.size}: NumPy, threads: {threads}")
    with threadpool_limits(threads, user_api="blas"):
        return statistics.median(_repeated(lambda: timed(lambda: case.function(**case.inputs)), 3))


def _line(scratch: tuple[float, int], found: list[Found]) -> list[str]:
    """The last one is what was chosen; the same way measured twice counts once, at its best."""
    chosen, best = found[-1], min(found, key=lambda one: one.refresh)
    taken = min(one.refresh for one in found if one.way == chosen.way)
    numpy, threads = scratch
    figures = [_ms(numpy), str(threads), _ms(taken), f"{numpy / taken:,.1f}", chosen.way]
    others = [best.way, f"{taken / best.refresh:.2f}"] if len(found) > 1 else ["–", "–"]
    return [*figures, *others, chosen.error]


def _ms(milliseconds: float) -> str:
    return f"{milliseconds:,.0f}" if milliseconds >= 100 else f"{milliseconds:.3g}"


def _refreshed(case: Case, way: Way, machine: Machine, times: int) -> Found:
    """One changed row."""
    say(f"{case.name}, n = {case.size}: {way or 'chosen'}")
    state = _started(case, way, machine)
    work = partial(_update_one_row, case, state)
    spent = _repeated(work, times)
    refresh = statistics.median(spent if statistics.median(spent) > SHORT else measured(work, 20 * times))
    return _found(case, way, state, refresh)


def _repeated(work: Callable[[], float], times: int) -> list[float]:
    """The milliseconds of some runs; of one, where that takes long."""
    first = work()
    return [first] if first > SLOW else measured(work, times)


def _started(case: Case, way: Way, machine: Machine) -> MaintainedProgram:
    options = {**way, "machine": machine, "expected": Expected(rates={case.changing: 1.0})}
    shapes = {name: value.shape for name, value in case.inputs.items()}
    return matrix.program(case.function, **shapes).start(**case.inputs, options=options)


def _found(case: Case, way: Way, state: MaintainedProgram, refresh: float) -> Found:
    chosen = state.compiled.chosen
    told = chosen.strategy if case.ways is PLAIN else f"{chosen.model} {chosen.strategy}"
    small = sum(array.size for array in case.inputs.values()) <= CHECKED and way is CHOSEN
    return Found(told, refresh, f"{max(state.check().values()):.0e}" if small else "–")


def _update_one_row(case: Case, state: MaintainedProgram) -> float:
    """Changes one row; the milliseconds that the refresh took."""
    rows = case.inputs[case.changing]
    row, other = RANDOM.integers(len(rows), size=2)
    change = RowChange(changed={int(row): 0.7 * rows[row] + 0.3 * rows[other]})
    return state.update(**{case.changing: change}).seconds * 1e3


def batches(n: int, count: int) -> Iterator[list[str]]:
    """Batches of changes of rows that a Zipf distribution picks: the steeper, the fewer rows they touch."""
    machine = Machine.measure()
    case = Case("A¹⁶", f"{n:,}", models.power(STEPS), {"A": stable(n)}, "A", BATCHED)
    scratch = _from_scratch(case)
    for factor in (5.0, 4.0, 3.0, 2.0, 1.0, 0.0):
        updates = [_batch(n, count, factor) for _ in range(4)]
        touched = int(np.any(updates[-1].u, axis=1).sum())
        found = [_batched(case, way, machine, updates) for way in (*BATCHED, CHOSEN)]
        yield [case.size, f"{factor:.0f}", f"{touched:,}", *_line(scratch, found)]


def _batched(case: Case, way: Way, machine: Machine, updates: list[LowRank]) -> Found:
    say(f"batches, n = {case.size}: {way or 'chosen'}")
    state = _started(case, way, machine)
    spent = [state.update(A=update).seconds * 1e3 for update in updates]
    return _found(case, way, state, statistics.median(spent[1:]))


def _batch(n: int, count: int, factor: float) -> LowRank:
    """Changes of rows, of which the first are picked the more often the higher the factor is."""
    chances = np.arange(1, n + 1.0) ** -factor
    u = np.zeros((n, count))
    u[RANDOM.choice(n, size=count, p=chances / chances.sum()), np.arange(count)] = 1
    return LowRank(u, RANDOM.normal(size=(n, count)) / n)
