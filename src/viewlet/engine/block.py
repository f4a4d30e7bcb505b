"""Terms as functions: the code that both engines run, in the driver's process or in a task.

A term is compiled once into a closure over Arrow and NumPy columns; running it costs look-ups, arithmetic
and group sums on the delta. What it reads it gets from an `Epoch`: deltas, and maps before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, assert_never

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, Positions, from_numpy, valid_mask, values_of
from viewlet.columns.evaluate import compile_condition, compile_expr
from viewlet.columns.hash import hash_rows
from viewlet.columns.limbs import combine
from viewlet.columns.rows import Rows, Weights, same
from viewlet.columns.sums import encode
from viewlet.columns.types import arrow_type
from viewlet.engine.answers import compile_answer, met, standing_for
from viewlet.engine.fold import compile_fold
from viewlet.engine.gather import compile_gather
from viewlet.engine.leading import compile_leading
from viewlet.engine.regroup import compile_regroup
from viewlet.engine.unnest import compile_unnest
from viewlet.program.terms import (
    Answer,
    Change,
    Combine,
    Compute,
    Constant,
    Fold,
    Gather,
    Leading,
    Match,
    Native,
    Negate,
    Probe,
    Reach,
    Regroup,
    Select,
    Spread,
    Term,
    Then,
    Total,
    Unnest,
)
from viewlet.store import Bound, Contents


class Epoch(Protocol):
    """What a running term can read."""

    initial: bool
    """Whether this is the view's first epoch, which puts in what is there without any data."""

    def change(self, bag: str) -> Rows | None: ...
    def old(self, bag: str) -> Contents: ...
    def new(self, bag: str) -> Contents: ...
    def on_spark(self, term: Native, rows: Rows) -> Rows: ...
    def regroup_on_spark(self, term: Regroup, inputs: Sequence[Rows]) -> Rows: ...


Run = Callable[[Epoch], Rows | None]


def compile_term(term: Term) -> Run:
    """The function that a term denotes; it gives None for no rows."""
    match term:
        case Change():
            return _change(term)
        case Constant():
            return _constant(term)
        case Answer():
            return compile_answer(term)
        case Fold():
            return compile_fold(term)
        case Regroup():
            return compile_regroup(term)
        case Gather():
            return compile_gather(term)
        case Leading():
            return compile_leading(term)
        case Select() | Compute() | Spread() | Unnest() | Native() | Negate() | Probe() | Reach() | Combine() | Total():
            return _then(compile_term(term.rows), compile_step(term))
        case _:
            assert_never(term)


def compile_step(term: Then) -> Callable[[Epoch, Rows], Rows]:
    """The last step of a term, as a function of the rows before it."""
    match term:
        case Select(condition=condition):
            test = compile_condition(condition)
            return lambda epoch, rows: rows.filter(test(rows))
        case Compute(results=results):
            makers = [(r.name, compile_expr(r.expr)) for r in results]
            return lambda epoch, rows: rows.replaced({name: make(rows) for name, make in makers})
        case Spread():
            return _spread(term)
        case Unnest():
            unnest = compile_unnest(term)
            return lambda epoch, rows: unnest(rows)
        case Native():
            return lambda epoch, rows: epoch.on_spark(term, rows)
        case Negate():
            return lambda epoch, rows: rows.negated()
        case Probe():
            return _probe(term)
        case Reach():
            return _reach(term)
        case Combine():
            return _combine(term)
        case Total(keys=keys, sums=sums):
            return lambda epoch, rows: encode(rows, keys, sums)
        case _:
            assert_never(term)


def _then(first: Run, step: Callable[[Epoch, Rows], Rows]) -> Run:
    def run(epoch: Epoch) -> Rows | None:
        rows = first(epoch)
        if rows is None:
            return None
        result = step(epoch, rows)
        return result if len(result) else None

    return run


def _change(term: Change) -> Run:
    names = [f.name for f in term.columns]

    def run(epoch: Epoch) -> Rows | None:
        rows = epoch.change(term.bag)
        if rows is None or not len(rows):
            return None
        columns = dict(zip(names, rows.columns.values(), strict=False))
        return rows.replaced(_weighed(columns, term.weight, rows.weights))

    return run


def _weighed(columns: dict[str, pa.Array], name: str | None, weights: Weights) -> dict[str, pa.Array]:
    """Columns with the weights as a last one, where that is wanted."""
    return columns if name is None else {**columns, name: from_numpy(weights, pa.int64())}


def _constant(term: Constant) -> Run:
    values = list(zip(*term.rows, strict=True)) if term.rows else [()] * len(term.columns)
    columns = {f.name: pa.array(list(v), type=arrow_type(f.type)) for f, v in zip(term.columns, values, strict=True)}
    rows = Rows(columns, np.ones(len(term.rows), dtype=np.int64))
    return lambda epoch: rows if epoch.initial and len(rows) else None


def _spread(term: Spread) -> Callable[[Epoch, Rows], Rows]:
    names = [f.name for f in term.columns]
    makers = [[compile_expr(e) for e in projection] for projection in term.projections]

    def step(epoch: Epoch, rows: Rows) -> Rows:
        parts = [Rows({n: make(rows) for n, make in zip(names, made, strict=True)}, rows.weights) for made in makers]
        return Rows.concat(parts)

    return step


def _probe(term: Probe) -> Callable[[Epoch, Rows], Rows]:
    index = tuple(m.map_column for m in term.on)

    def step(epoch: Epoch, rows: Rows) -> Rows:
        contents = epoch.new(term.map) if term.version == "new" else epoch.old(term.map)
        rows = _with_keys(rows, term.on)
        if not index:
            found = contents.scan() if term.sums is None else standing_for(term.sums, contents.scan())
            at, found = _all_pairs(len(rows), found)
        else:
            keys = [rows[m.column] for m in term.on]
            at, found = _with_own_keys(keys, index, *contents.lookup(index, hash_rows(keys, len(rows))))
            if term.sums is not None:
                at, found = met(term.sums, at, found)
        return _netted(term, _paired(term, rows.take(at), found), found)

    return step


def _with_own_keys(
    keys: Sequence[pa.Array], index: Sequence[str], at: Positions, found: Rows
) -> tuple[Positions, Rows]:
    """Of what was found by hash, the rows whose keys are those that were looked for."""
    equal = same(keys, at, [found[c] for c in index], np.arange(len(at)))
    return (at, found) if equal.all() else (at[equal], found.filter(equal))


def _paired(term: Probe | Reach, met: Rows, found: Rows) -> Rows:
    """Rows beside what they met; weights multiply."""
    taken = _weighed({name: found[c] for c, name in term.take}, term.weight, found.weights)
    return Rows({**met.columns, **taken}, met.weights * found.weights)


def _netted(term: Probe | Reach, pairs: Rows, found: Rows) -> Rows:
    """Without the pairs of what left the map; sums that are carried on net by themselves."""
    return pairs.consolidate() if term.weight is None and (found.weights < 0).any() else pairs


def _reach(term: Reach) -> Callable[[Epoch, Rows], Rows]:
    index = tuple(m.map_column for m in term.on)

    def step(epoch: Epoch, rows: Rows) -> Rows:
        contents = epoch.new(term.map) if term.version == "new" else epoch.old(term.map)
        rows = _with_keys(rows, term.on)
        keys = [rows[m.column] for m in term.on]
        low, high = (None if b is None else Bound(rows[b[0]], b[1]) for b in (term.low, term.high))
        if term.adds:
            found = contents.add_within(index, term.order, keys, low, high, len(rows))
            return _paired(term, rows, found).filter(_says_something(found))
        within = contents.within(index, term.order, hash_rows(keys, len(rows)), low, high)
        at, found = _with_own_keys(keys, index, *within)
        return _netted(term, _paired(term, rows.take(at), found), found)

    return step


def _says_something(found: Rows) -> Mask:
    there = found.weights != 0
    for column in found.columns.values():
        there |= values_of(column, "i8") != 0
    return there


def _combine(term: Combine) -> Callable[[Epoch, Rows], Rows]:
    def step(epoch: Epoch, rows: Rows) -> Rows:
        made: dict[str, pa.Array] = {}
        for part in term.parts:
            values = combine(rows, part.terms, part.limbs)
            made |= {name: from_numpy(v, pa.int64()) for name, v in zip(part.columns, values, strict=True)}
        return Rows({**{k: rows[k] for k in term.keys}, **made}, rows.weights)

    return step


def _with_keys(rows: Rows, on: tuple[Match, ...]) -> Rows:
    """The rows that can have a partner: NULL equals nothing."""
    keep = np.ones(len(rows), dtype=np.bool_)
    for match in on:
        if not match.null_safe and rows[match.column].null_count:
            keep &= valid_mask(rows[match.column])
    return rows.filter(keep)


def _all_pairs(count: int, others: Rows) -> tuple[Positions, Rows]:
    at = np.repeat(np.arange(count), len(others))
    return at, others.take(np.tile(np.arange(len(others)), count))
