"""Filling maps from the contents of bags: piece by piece, and from the best factor of each product.

A term that starts from a bag's change is linear in it, so it is applied to each piece of the bag separately: memory
holds only a few pieces and their results. All cores work on pieces at once, where Arrow and NumPy release Python's
lock. If even the results are large, they are put into the map on the way as runs of their own: a map is the sum of its
runs.

A product has a term for each factor that can change. When all factors are new, only the last term of
Δa₁·b_old + a_new·Δb₁ is nonzero; but each of them alone is the whole product if it reads the other factors as they are
now. The one that handles the fewest rows is run.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from viewlet.columns.rows import Rows
from viewlet.engine.partitions import PIECE, partitions
from viewlet.engine.prepared import PreparedStep
from viewlet.engine.program_run import ProgramRun
from viewlet.engine.terms.compile_term import CompiledTerm, EpochReader
from viewlet.engine.whole_bag import sample_of
from viewlet.program.terms import Regroup, SparkRowwise
from viewlet.progress import report
from viewlet.store import Contents

_MANY = 1 << 20
"""Partial results are added up beyond this many rows."""
_LARGE = 512 << 20
"""Partial results beyond this many bytes are put into the map."""
_SAMPLE = 32
"""Rows sampled from a factor to estimate the work of a term that starts from it."""
_HANDLED = 1 << 20
"""The number of rows that the steps of a term together handle per piece, enough to outweigh the overhead."""


def filled(run: ProgramRun, step: PreparedStep, number: int) -> list[Rows]:
    """The results of a step's terms in a run that fills its maps; `number` is the step's place in the program."""
    parts, progress = [], _FillProgress(run, number)
    for term in step.terms:
        if any(version == "old" and run.was_empty(bag) for bag, version in term.looked_up):
            continue  # it reads an old state, which is empty
        product = _product(step.terms, term)
        epoch, chosen = _cheapest(product, run) if len(product) > 1 else (run, term)
        total = PartialSums(step.map.sums, partial(run.fill, step) if run.fills(step) else None)
        parts.append(_contribution(run, epoch, chosen, total, progress))
    return [rows for rows in parts if rows is not None]


def _product(terms: Sequence[CompiledTerm], term: CompiledTerm) -> list[CompiledTerm]:
    """All terms of the product that a term belongs to; just the term if several products share the factors."""
    if term.factor is None:
        return [term]
    same = [other for other in terms if other.factors == term.factors]
    starts = Counter(other.factor for other in same if other.factor is not None)
    return same if all(count <= term.factors.count(factor) for factor, count in starts.items()) else [term]


def _cheapest(product: Sequence[CompiledTerm], run: ProgramRun) -> tuple[EpochReader, CompiledTerm]:
    """The term of a product with the least estimated work, and the reader it needs."""
    now = _AsNow(run)
    return now, min(product, key=lambda term: _work(run, now, term))


def _work(run: ProgramRun, epoch: EpochReader, term: CompiledTerm) -> float:
    """The number of rows that a term handles, estimated from a sample."""
    sample, count = _sample(run, epoch, term)
    return 0.0 if sample is None else term.work(epoch, sample) * count / len(sample)


def _length(run: ProgramRun, epoch: EpochReader, term: CompiledTerm) -> int:
    """The number of rows per piece of a term's input; fewer if each row matches many."""
    sample, _ = _sample(run, epoch, term) if term.looked_up else (None, 0)
    if sample is None:
        return PIECE
    return max(1, min(PIECE, int(_HANDLED * len(sample) / term.work(epoch, sample))))


def _sample(run: ProgramRun, epoch: EpochReader, term: CompiledTerm) -> tuple[Rows | None, int]:
    """A sample of the rows that a term starts from, None if there are none, and their total number."""
    if term.bag in run.sources:
        source = run.sources[term.bag]
        rows = source.sample([at for at, _ in term.used], _SAMPLE)
        return (None if rows is None else term.named(rows)), source.contents.rows
    rows = term.start(epoch)
    return (None, 0) if rows is None or not len(rows) else (sample_of(rows, _SAMPLE), len(rows))


class _AsNow:
    """A run that reads every map in its current state."""

    def __init__(self, run: ProgramRun) -> None:
        self._run, self.initial = run, run.initial

    def change(self, bag: str) -> Rows | None:
        return self._run.change(bag)

    def old(self, bag: str) -> Contents:
        return self._run.new(bag)

    def new(self, bag: str) -> Contents:
        return self._run.new(bag)

    def on_spark(self, term: SparkRowwise, rows: Rows) -> Rows:
        return self._run.on_spark(term, rows)

    def regroup_on_spark(self, term: Regroup, inputs: Sequence[Rows]) -> Rows:
        return self._run.regroup_on_spark(term, inputs)


class _FillProgress:
    """Reports the progress of filling a program's maps."""

    def __init__(self, run: ProgramRun, number: int) -> None:
        self._view, self._number, self._steps = run.ready.program.view, number, len(run.ready.steps)

    def follow(self, bag: str, pieces: Iterator[Rows], total: int) -> Iterator[Rows]:
        """Passes the pieces of a bag with `total` rows on, reporting each."""
        done = 0
        for piece in pieces:
            yield piece
            done = min(done + len(piece), total)
            text = f"map {self._number + 1} of {self._steps}, {done:,} of {total:,} rows of {bag}"
            report(f"view {self._view}", text, (self._number + done / max(total, 1)) / self._steps)


def _contribution(
    run: ProgramRun, epoch: EpochReader, term: CompiledTerm, total: PartialSums, progress: _FillProgress
) -> Rows | None:
    """A term's result, computed in pieces if possible, without parts already put into the map; None for no rows."""
    if parts := partitions(run, term):
        return _total((partial(term, part) for part in parts), total)
    if term.bag is None or not term.is_local:
        return term(epoch)
    length = _length(run, epoch, term)
    if term.bag in run.sources:
        source = run.sources[term.bag]
        pieces = source.pieces([at for at, _ in term.used], length)
        followed = progress.follow(term.bag, pieces, source.contents.rows)
        return _total((partial(term.of, epoch, piece) for piece in followed), total)
    rows = term.start(epoch)
    if rows is None or len(rows) <= length:
        return term.after(epoch, rows)
    slices = (rows.slice(at, length) for at in range(0, len(rows), length))
    return _total((partial(term.after, epoch, piece) for piece in slices), total)


def _total(work: Iterable[Callable[[], Rows | None]], total: PartialSums) -> Rows | None:
    """The sum of the pieces' results, without parts already put into the map."""
    for rows in _in_parallel(work):
        if rows is not None:
            total.add(rows)
    return total.result()


class PartialSums:
    """Rows that arrive in parts; they are added up on the way if that makes them fewer.

    `keep` receives them when they become too many to be held.
    """

    def __init__(self, sums: tuple[str, ...], keep: Callable[[Rows], None] | None = None) -> None:
        self._sums, self._keep = sums, keep
        self._parts: list[Rows] = []
        self._rows = self._bytes = 0
        self._limit = _MANY if sums else None

    def add(self, rows: Rows) -> None:
        self._parts.append(rows)
        self._rows += len(rows)
        self._bytes += rows.nbytes
        if self._limit is not None and self._rows > self._limit:
            self._add_up(self._rows)
        if self._keep is not None and self._bytes > _LARGE:
            self._keep(Rows.concat(self._parts))
            self._parts, self._rows, self._bytes = [], 0, 0

    def _add_up(self, before: int) -> None:
        rows = Rows.concat(self._parts).consolidate(self._sums)
        self._parts, self._rows, self._bytes = [rows], len(rows), rows.nbytes
        self._limit = None if 2 * len(rows) > before else max(_MANY, 2 * len(rows))

    def result(self) -> Rows | None:
        return Rows.concat(self._parts) if self._parts else None


def _in_parallel(work: Iterable[Callable[[], Rows | None]]) -> Iterator[Rows | None]:
    """The results of some work, in order, with a few pieces in progress at a time."""
    cores = os.cpu_count() or 1
    waiting: deque[Future[Rows | None]] = deque()
    with ThreadPoolExecutor(cores, "viewlet-fill") as threads:
        for piece in work:
            waiting.append(threads.submit(piece))
            if len(waiting) > 2 * cores:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
