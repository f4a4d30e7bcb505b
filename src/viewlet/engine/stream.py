"""Filling maps from what bags hold, piece by piece: no more is in memory than some pieces and what they come to.

A term that starts from a bag's change is linear in it, so it is applied to each piece of the bag by itself; pieces are
worked on by all cores at once, where Arrow and NumPy let go of Python's lock.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from viewlet.columns.rows import Rows
from viewlet.engine.program_run import ProgramRun
from viewlet.engine.terms.compile_term import CompiledTerm

PIECE = 1 << 18
"""Rows of a piece: enough for its overhead not to matter, few enough for the caches."""
_MANY = 1 << 20
"""Partial results of so many rows are added up before more come."""


def contributions(run: ProgramRun, term: CompiledTerm, sums: tuple[str, ...]) -> Rows | None:
    """What a term comes to for all that the bag it starts from holds; None for no rows."""
    assert term.bag is not None, "the term starts from no bag"
    pieces = run.sources[term.bag].pieces([at for at, _ in term.used], PIECE)
    total = PartialSums(sums)
    for rows in _in_parallel(lambda piece: term.of(run, piece), pieces):
        if rows is not None:
            total.add(rows)
    return total.result()


class PartialSums:
    """Rows that come in parts; they are added up on the way where that makes them fewer."""

    def __init__(self, sums: tuple[str, ...]) -> None:
        self._sums = sums
        self._parts: list[Rows] = []
        self._rows = 0
        self._limit = _MANY if sums else None

    def add(self, rows: Rows) -> None:
        self._parts.append(rows)
        self._rows += len(rows)
        if self._limit is not None and self._rows > self._limit:
            self._add_up(self._rows)

    def _add_up(self, before: int) -> None:
        rows = Rows.concat(self._parts).consolidate(self._sums)
        self._parts, self._rows = [rows], len(rows)
        self._limit = None if 2 * len(rows) > before else max(_MANY, 2 * len(rows))

    def result(self) -> Rows | None:
        return Rows.concat(self._parts) if self._parts else None


def _in_parallel(work: Callable[[Rows], Rows | None], pieces: Iterable[Rows]) -> Iterator[Rows | None]:
    """The work on each piece, in order; a few pieces at a time are under way."""
    cores = os.cpu_count() or 1
    waiting: deque[Future[Rows | None]] = deque()
    with ThreadPoolExecutor(cores, "viewlet-fill") as threads:
        for piece in pieces:
            waiting.append(threads.submit(work, piece))
            if len(waiting) > 2 * cores:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
