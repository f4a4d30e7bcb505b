"""Terms as functions: the code that both engines run, in the driver's process or in a task.

A term is compiled once into a closure over Arrow and NumPy columns; running it costs look-ups, arithmetic and group
sums on the delta. An `EpochReader` provides its inputs: deltas, and maps before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, assert_never

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, Positions, from_numpy, valid_mask, values_of
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.evaluate import compile_condition, compile_expr
from viewlet.columns.exact.double_windows import product_digits
from viewlet.columns.exact.encoded_sums import encode, encode_products
from viewlet.columns.exact.limbs import combine
from viewlet.columns.hash import hash_rows
from viewlet.columns.rows import Rows, Weights, same
from viewlet.engine.terms.finalize_sums import compile_finalize, decode_matches, decode_rows
from viewlet.engine.terms.fold_states import compile_fold
from viewlet.engine.terms.regroup_groups import compile_regroup
from viewlet.engine.terms.sessionize import compile_sessionize
from viewlet.engine.terms.top_k import compile_leaders, compile_top_k
from viewlet.engine.terms.unnest import compile_unnest
from viewlet.engine.whole_bag import sample_of
from viewlet.program.access import Get, Match, Range, Scan
from viewlet.program.chain import chain
from viewlet.program.demand import columns_used
from viewlet.program.terms import (
    Change,
    Combine,
    Expand,
    Filter,
    FinalizeSums,
    Fold,
    Following,
    GroupSums,
    Leaders,
    Negate,
    Probe,
    Project,
    Regroup,
    Sessionize,
    SparkRowwise,
    Term,
    TopK,
    Unnest,
    Values,
)
from viewlet.store import Bound, Contents


class EpochReader(Protocol):
    """What a running term can read."""

    initial: bool
    """Whether this is the view's first epoch, which adds rows that exist without any data."""

    def change(self, bag: str) -> Rows | None: ...
    def old(self, bag: str) -> Contents: ...
    def new(self, bag: str) -> Contents: ...
    def on_spark(self, term: SparkRowwise, rows: Rows) -> Rows: ...
    def regroup_on_spark(self, term: Regroup, inputs: Sequence[Rows]) -> Rows: ...


class WithoutSpark:
    """The part of an `EpochReader` that asks Spark, where no operator is left to it."""

    def on_spark(self, term: SparkRowwise, rows: Rows) -> Rows:
        raise AssertionError(f"{term.label} needs Spark, which cannot be asked here")

    def regroup_on_spark(self, term: Regroup, inputs: Sequence[Rows]) -> Rows:
        raise AssertionError(f"{term.target} needs Spark, which cannot be asked here")


_SAMPLE = 256
"""Rows sampled to estimate the work of a step."""

TermFn = Callable[[EpochReader], Rows | None]
StepFn = Callable[[EpochReader, Rows], Rows]


@dataclass(frozen=True, slots=True)
class CompiledTerm:
    """A term as a function; one that starts from a bag's change can process its rows in pieces."""

    start: TermFn
    steps: tuple[StepFn, ...]
    bag: str | None = None
    """The bag whose change it starts from."""
    used: tuple[tuple[int, str], ...] = ()
    """The columns of that change that it uses, by position, with their names in the term."""
    weight: str | None = None
    """The column that receives the weights."""
    is_local: bool = True
    """Whether none of its steps runs on Spark."""
    looked_up: frozenset[tuple[str, str]] = frozenset()
    """The maps that its look-ups read, with the version of each."""
    factor: str | None = None
    """The factor of a product whose change it starts from: the name of its weight or, if it has none, of its map."""
    factors: tuple[str, ...] = ()
    """All factors of that product."""
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The maps of whose touched groups it is a function, with the key of each; empty if it reads anything else."""

    def __call__(self, epoch: EpochReader) -> Rows | None:
        """The term's result in an epoch; None for no rows."""
        return self.after(epoch, self.start(epoch))

    def of(self, epoch: EpochReader, rows: Rows) -> Rows | None:
        """The result for some rows of the change that have only the used columns, under their own names."""
        return self.after(epoch, self.named(rows) if len(rows) else None)

    def named(self, rows: Rows) -> Rows:
        """Rows of the change that have only the used columns, with these renamed as in the term."""
        return _named(rows, rows.columns.values(), self.used, self.weight)

    def after(self, epoch: EpochReader, rows: Rows | None) -> Rows | None:
        """The result of the steps on rows that the term starts from."""
        for step in self.steps:
            if rows is None:
                return None
            rows = step(epoch, rows)
            if not len(rows):
                return None
        return rows

    def work(self, epoch: EpochReader, rows: Rows) -> float:
        """The number of rows that all steps together handle for `rows`, estimated by sampling before each step."""
        total, share = float(len(rows)), 1.0
        for step in self.steps:
            if len(rows) > _SAMPLE:
                share *= len(rows) / _SAMPLE
                rows = sample_of(rows, _SAMPLE)
            rows = step(epoch, rows)
            total += share * len(rows)
            if not len(rows):
                break
        return total


def compile_term(term: Term) -> CompiledTerm:
    """The function that a term denotes."""
    first, *rest = chain(term)
    steps = tuple(compile_step(step) for step in rest if isinstance(step, Following))
    if not isinstance(first, Change):
        reads_more = any(isinstance(step, Probe | SparkRowwise) for step in rest)
        return CompiledTerm(_compile_start(first), steps, groups=() if reads_more else _groups_of(first))
    wanted = columns_used(term)
    used = tuple((at, f.name) for at, f in enumerate(first.columns) if f.name in wanted and f.name != first.weight)
    is_local = not any(isinstance(step, SparkRowwise) for step in rest)
    probes = [step for step in rest if isinstance(step, Probe)]
    factors = _factors(first, probes)
    return CompiledTerm(
        _change(first, used),
        steps,
        first.bag,
        used,
        first.weight,
        is_local,
        frozenset((probe.map, probe.version) for probe in probes),
        factors[0],
        tuple(sorted(factors)),
    )


def _factors(first: Change, probes: Sequence[Probe]) -> list[str]:
    """The factors of a product, by the names of their weights, which are unique to it, or else of their maps."""
    weights = [first.weight, *(probe.weight for probe in probes)]
    named = [weight for weight in weights if weight is not None]
    return named if len(named) == len(weights) else [first.bag, *(probe.map for probe in probes)]


def _groups_of(term: Term) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The maps of whose touched groups a term is a function, with their keys; empty if it reads anything else."""
    match term:
        case FinalizeSums(map=name, keys=keys) if keys:
            return ((name, keys),)
        case Regroup(inputs=inputs) if term.native is None and inputs and all(i.key for i in inputs):
            return tuple((i.map, i.key) for i in inputs)
        case _:
            return ()


def _compile_start(term: Term) -> TermFn:
    match term:
        case Values():
            return _constant(term)
        case FinalizeSums():
            return compile_finalize(term)
        case Fold():
            return compile_fold(term)
        case Regroup():
            return compile_regroup(term)
        case Sessionize():
            return compile_sessionize(term)
        case TopK():
            return compile_top_k(term)
        case _:
            raise AssertionError(f"{term} follows another term")


def compile_step(term: Following) -> Callable[[EpochReader, Rows], Rows]:
    """The last step of a term, as a function of the rows before it."""
    match term:
        case Filter(condition=condition):
            test = compile_condition(condition)
            return lambda epoch, rows: rows.filter(test(rows))
        case Project(results=results):
            makers = [(r.name, compile_expr(r.expr)) for r in results]
            return lambda epoch, rows: rows.replaced({name: make(rows) for name, make in makers})
        case Expand():
            return _spread(term)
        case Unnest():
            unnest = compile_unnest(term)
            return lambda epoch, rows: unnest(rows)
        case SparkRowwise():
            return lambda epoch, rows: epoch.on_spark(term, rows)
        case Leaders():
            leaders = compile_leaders(term)
            return lambda epoch, rows: leaders(rows)
        case Negate():
            return lambda epoch, rows: rows.negated()
        case Probe():
            return _probe(term)
        case Combine():
            return _combine(term)
        case GroupSums(keys=keys, sums=sums):
            return lambda epoch, rows: encode(rows, keys, sums)
        case _:
            assert_never(term)


def _change(term: Change, used: tuple[tuple[int, str], ...]) -> TermFn:
    def run(epoch: EpochReader) -> Rows | None:
        rows = epoch.change(term.bag)
        if rows is None or not len(rows):
            return None
        columns = tuple(rows.columns.values())
        return _named(rows, [columns[at] for at, _ in used], used, term.weight)

    return run


def _named(rows: Rows, columns: Iterable[pa.Array], used: tuple[tuple[int, str], ...], weight: str | None) -> Rows:
    """Columns under the names that a term has for them."""
    named = dict(zip((name for _, name in used), columns, strict=True))
    return rows.replaced(_weighed(named, weight, rows.weights))


def _weighed(columns: dict[str, pa.Array], name: str | None, weights: Weights) -> dict[str, pa.Array]:
    """The columns, followed by the weights if they have a name."""
    return columns if name is None else {**columns, name: from_numpy(weights, pa.int64())}


def _constant(term: Values) -> TermFn:
    values = list(zip(*term.rows, strict=True)) if term.rows else [()] * len(term.columns)
    columns = {f.name: pa.array(list(v), type=arrow_type(f.type)) for f, v in zip(term.columns, values, strict=True)}
    rows = Rows(columns, np.ones(len(term.rows), dtype=np.int64))
    return lambda epoch: rows if epoch.initial and len(rows) else None


def _spread(term: Expand) -> Callable[[EpochReader, Rows], Rows]:
    names = [f.name for f in term.columns]
    makers = [[compile_expr(e) for e in projection] for projection in term.projections]

    def step(epoch: EpochReader, rows: Rows) -> Rows:
        parts = [Rows({n: make(rows) for n, make in zip(names, made, strict=True)}, rows.weights) for made in makers]
        return Rows.concat(parts)

    return step


def _probe(term: Probe) -> Callable[[EpochReader, Rows], Rows]:
    match term.read:
        case Scan():
            meet = _meet_all(term)
        case Get(on):
            meet = _meet_equal(term, on)
        case Range() as within:
            meet = _meet_sums(term, within) if within.adds else _meet_range(term, within)

    def step(epoch: EpochReader, rows: Rows) -> Rows:
        contents = epoch.new(term.map) if term.version == "new" else epoch.old(term.map)
        return meet(contents, _with_keys(rows, term.read.on))

    return step


Meet = Callable[[Contents, Rows], Rows]
"""Rows of a map joined with the given rows."""


def _meet_all(term: Probe) -> Meet:
    def meet(contents: Contents, rows: Rows) -> Rows:
        others = contents.scan() if term.sums is None else decode_rows(term.sums, contents.scan())
        at, found = _all_pairs(len(rows), others)
        return _netted(term, _paired(term, rows.take(at), found), found)

    return meet


def _meet_equal(term: Probe, on: tuple[Match, ...]) -> Meet:
    index = tuple(m.map_column for m in on)

    def meet(contents: Contents, rows: Rows) -> Rows:
        keys = [rows[m.column] for m in on]
        at, found = _with_own_keys(keys, index, *contents.lookup(index, hash_rows(keys, len(rows)), loosely=True))
        if term.sums is not None:
            at, found = decode_matches(term.sums, at, found)
        return _netted(term, _paired(term, rows.take(at), found), found)

    return meet


def _meet_range(term: Probe, within: Range) -> Meet:
    index = tuple(m.map_column for m in within.on)

    def meet(contents: Contents, rows: Rows) -> Rows:
        keys = [rows[m.column] for m in within.on]
        hashes = hash_rows(keys, len(rows))
        at, found = contents.within(index, within.order, hashes, *_bounds(within, rows))
        at, found = _with_own_keys(keys, index, at, found)
        return _netted(term, _paired(term, rows.take(at), found), found)

    return meet


def _meet_sums(term: Probe, within: Range) -> Meet:
    """Each row beside the sums over its range."""
    index = tuple(m.map_column for m in within.on)

    def meet(contents: Contents, rows: Rows) -> Rows:
        keys = [rows[m.column] for m in within.on]
        probes = (index, within.order, keys, *_bounds(within, rows), len(rows))
        if within.lanes:
            at, found = contents.add_within_lanes(*probes, within.lanes)
            return _paired(term, rows.take(at), found)
        found = contents.add_within(*probes)
        return _paired(term, rows, found).filter(_says_something(found))

    return meet


def _bounds(within: Range, rows: Rows) -> tuple[Bound | None, Bound | None]:
    low, high = (None if b is None else Bound(rows[b[0]], b[1]) for b in (within.low, within.high))
    return low, high


def _with_own_keys(
    keys: Sequence[pa.Array], index: Sequence[str], at: Positions, found: Rows
) -> tuple[Positions, Rows]:
    """Of the rows found by hash, those whose keys are equal."""
    equal = same(keys, at, [found[c] for c in index], np.arange(len(at)))
    return (at, found) if equal.all() else (at[equal], found.filter(equal))


def _paired(term: Probe, rows: Rows, found: Rows) -> Rows:
    """Rows beside their matches; weights multiply."""
    taken = _weighed({name: found[c] for c, name in term.take}, term.weight, found.weights)
    return Rows({**rows.columns, **taken}, rows.weights * found.weights)


def _netted(term: Probe, pairs: Rows, found: Rows) -> Rows:
    """The pairs, netted if deleted map rows are among them; pairs that carry the weight are netted later."""
    return pairs.consolidate() if term.weight is None and (found.weights < 0).any() else pairs


def _says_something(found: Rows) -> Mask:
    there = found.weights != 0
    for column in found.columns.values():
        there |= values_of(column, "i8") != 0
    return there


def _combine(term: Combine) -> Callable[[EpochReader, Rows], Rows]:
    def step(epoch: EpochReader, rows: Rows) -> Rows:
        made: dict[str, Weights] = {}
        for part in term.parts:
            values = combine(rows, part.terms, part.limbs)
            made |= dict(zip(part.columns, values, strict=True))
        if term.doubles:
            digits = [found for total in term.doubles for found in product_digits(rows, total)]
            return encode_products(rows, term.keys, made, digits)
        columns = {name: from_numpy(values, pa.int64()) for name, values in made.items()}
        return Rows({**{k: rows[k] for k in term.keys}, **columns}, rows.weights)

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
