"""The checked table of aggregate functions, with the types for which we compute exactly what Spark computes.

A reducer maps the argument columns of some rows, and their groups, to one value per group. NULL arguments are skipped;
a group in which all are NULL gives NULL (0 for counts). Functions of doubles may differ from Spark's in the last bits,
as Spark's own do from run to run, but never with the order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewlet.columns.arrays import from_numpy, truth_of
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.evaluate import compile_expr
from viewlet.columns.hash import hash_array
from viewlet.columns.order import why_not_order
from viewlet.columns.rows import Rows
from viewlet.engine.groups import distinct_sketches as sketches
from viewlet.engine.groups import double_moments as moments
from viewlet.engine.groups import group_sums as sums
from viewlet.engine.groups import listagg as texts
from viewlet.engine.groups import percentile_values as percentiles
from viewlet.engine.groups.grouping import (
    Groups,
    count_each,
    distinct,
    extreme_positions,
    lists_of,
    repeated,
    take_or_null,
    taken,
    without_nulls,
)
from viewlet.engine.terms import user_aggregates as handlers
from viewlet.plan.expr import Call, Column, Reduce
from viewlet.plan.types import FRACTIONAL, INTEGRAL, Type

Reducer = Callable[[Sequence[pa.Array], Groups], pa.Array]


@dataclass(frozen=True, slots=True)
class Entry:
    """A table entry: why a call is refused (None if it is not), and how its reducer is built."""

    refuse: Callable[[Reduce], str | None]
    build: Callable[[Reduce], Reducer]


def why_not_reduce(call: Reduce) -> str | None:
    """Why an aggregate call cannot be evaluated here; None if it can."""
    if call.handlers is not None:
        return None
    entry = _entry(call)
    if entry is None:
        return f"{call.function} is evaluated by Spark alone"
    if why := entry.refuse(call):
        return why
    if call.distinct:
        return next((why for a in call.args if (why := why_not_order(a.type))), None)
    return None


def compile_reduce(call: Reduce) -> Reducer:
    """The reducer of an aggregate call, for rows that already satisfy its WHERE."""
    if call.handlers is not None:
        return lambda args, groups: handlers.replay(handlers.load(call), args, groups)
    entry = _entry(call)
    assert entry is not None, f"{call.function} is evaluated by Spark alone"
    reduce = entry.build(call)
    if not call.distinct:
        return reduce

    def reduce_distinct(args: Sequence[pa.Array], groups: Groups) -> pa.Array:
        return reduce(*distinct(*without_nulls(args, groups)))

    return reduce_distinct


def _entry(call: Reduce) -> Entry | None:
    """The table's entry for a call; for functions with arbitrary parameters, by the bare name."""
    name = call.function.partition("[")[0]
    return TABLE.get(name if name in ("listagg", "approx_count_distinct") else call.function)


def _anything(call: Reduce) -> str | None:
    return None


def _only(*names: str) -> Callable[[Reduce], str | None]:
    """Refuse arguments of other types."""

    def refuse(call: Reduce) -> str | None:
        wrong = [a.type for a in call.args if a.type.name not in names]
        return f"{call.function} of {wrong[0]} is evaluated by Spark alone" if wrong else None

    return refuse


def _orderable(call: Reduce) -> str | None:
    return why_not_order(call.args[0].type)


def _keyable(call: Reduce) -> str | None:
    """Refuses sets of floats: for Spark, two NaN are two elements of a set."""
    kind = call.args[0].type
    return why_not_order(kind) or (f"collect_set of {kind} is evaluated by Spark alone" if kind.has_floats else None)


def _count(call: Reduce) -> Reducer:
    def count(args: Sequence[pa.Array], groups: Groups) -> pa.Array:
        _, kept = without_nulls(args, groups) if args else ((), groups)
        return pa.array(kept.sizes())

    return count


def _count_if(call: Reduce) -> Reducer:
    def count_if(args: Sequence[pa.Array], groups: Groups) -> pa.Array:
        true = truth_of(pc.fill_null(args[0], False))
        return pa.array(groups.take(np.flatnonzero(true)).sizes())

    return count_if


def _extreme(*, largest: bool) -> Callable[[Reduce], Reducer]:
    def build(call: Reduce) -> Reducer:
        def reduce(args: Sequence[pa.Array], groups: Groups) -> pa.Array:
            (array,), kept = without_nulls(args, groups)
            return take_or_null(array, extreme_positions(array, kept, largest))

        return reduce

    return build


def _mode(*, largest: bool, one_zero: bool = False) -> Callable[[Reduce], Reducer]:
    """The most frequent value of a group; of several, the smallest or largest. `one_zero`: −0.0 counts as 0.0."""

    def build(call: Reduce) -> Reducer:
        given = _with_one_zero(call.args[0].type) if one_zero else lambda array: array

        def reduce(args: Sequence[pa.Array], groups: Groups) -> pa.Array:
            (array,), counted = count_each(*without_nulls([given(args[0])], groups))
            most = np.zeros(groups.count, dtype=np.int64)
            np.maximum.at(most, counted.of, counted.weights)
            (array,), first = taken([array], counted, np.flatnonzero(counted.weights == most[counted.of]))
            return take_or_null(array, extreme_positions(array, first, largest))

        return reduce

    return build


def _with_one_zero(kind: Type) -> Callable[[pa.Array], pa.Array]:
    """A function that replaces −0.0 by 0.0 in floating-point columns and leaves others as they are."""
    if kind.name not in FRACTIONAL:
        return lambda array: array
    normalize = compile_expr(Call("normalize_float", (Column("x", kind),), kind))
    return lambda array: normalize(Rows.of(pa.table({"x": array})))


def _nothing_binary_inside(call: Reduce) -> str | None:
    """Refuses byte strings: Spark 4.1.0 counts equal ones as different values; later patches of 4.1 do not."""
    kind = call.args[0].type
    return f"{call.function} of {kind} is evaluated by Spark alone" if kind.holds("binary") else why_not_order(kind)


def _nothing_floating_inside(call: Reduce) -> str | None:
    kind = call.args[0].type
    nested = kind.has_floats and kind.name not in FRACTIONAL
    return f"{call.function} of {kind} is evaluated by Spark alone" if nested else why_not_order(kind)


def _ends(*, last: bool, ignore_nulls: bool) -> Callable[[Reduce], Reducer]:
    """`first`, `last`: the plan guarantees that the result does not depend on the choice."""

    def build(call: Reduce) -> Reducer:
        def reduce(args: Sequence[pa.Array], groups: Groups) -> pa.Array:
            arrays, kept = without_nulls(args, groups) if ignore_nulls else (args, groups)
            at = np.full(kept.count, -1, dtype=np.int64)
            rows = np.arange(len(kept)) if last else np.arange(len(kept))[::-1]
            at[kept.of[rows]] = rows
            return take_or_null(arrays[0], at)

        return reduce

    return build


def _collect(*, as_set: bool) -> Callable[[Reduce], Reducer]:
    """The values of each group as an array, in an order independent of the rows' order."""

    def build(call: Reduce) -> Reducer:
        kind = arrow_type(call.type)

        def reduce(args: Sequence[pa.Array], groups: Groups) -> pa.Array:
            arrays, kept = without_nulls(args, groups)
            arrays, kept = distinct(arrays, kept) if as_set else repeated(arrays, kept)
            return lists_of(arrays[0], kept, np.lexsort((hash_array(arrays[0]), kept.of)), kind)

        return reduce

    return build


def collect_in_order(call: Reduce) -> Reducer:
    """collect_list over window frames, whose rows are ordered."""
    kind = arrow_type(call.type)

    def reduce(args: Sequence[pa.Array], groups: Groups) -> pa.Array:
        (array,), kept = without_nulls(args, groups)
        return lists_of(array, kept, np.argsort(kept.of, kind="stable"), kind)

    return reduce


def _bitwise(operation: np.ufunc, start: int) -> Callable[[Reduce], Reducer]:
    def build(call: Reduce) -> Reducer:
        kind = arrow_type(call.type)

        def reduce(args: Sequence[pa.Array], groups: Groups) -> pa.Array:
            (array,), kept = without_nulls(args, groups)
            values = array.to_numpy(zero_copy_only=False).astype(np.int64)
            if operation is np.bitwise_xor:
                values = values * (kept.weights & 1)  # pairs cancel
            result = np.full(kept.count, start, dtype=np.int64)
            operation.at(result, kept.of, values)
            return from_numpy(result.astype(f"i{kind.bit_width // 8}"), kind, kept.sizes() > 0)

        return reduce

    return build


_WHOLE = (*INTEGRAL, "decimal")
_NUMBERS = (*_WHOLE, *FRACTIONAL)

_ENDS = {"first": False, "first_value": False, "any_value": False, "last": True, "last_value": True}

TABLE: dict[str, Entry] = {
    "count": Entry(_anything, _count),
    "count_if": Entry(_only("boolean"), _count_if),
    "sum": Entry(_only(*_NUMBERS), sums.build_sum),
    "try_sum": Entry(_only(*_WHOLE), sums.build_sum),
    "avg": Entry(_only(*_NUMBERS), sums.build_avg),
    "mean": Entry(_only(*_NUMBERS), sums.build_avg),
    "try_avg": Entry(_only(*_NUMBERS), sums.build_avg),
    "min": Entry(_orderable, _extreme(largest=False)),
    "max": Entry(_orderable, _extreme(largest=True)),
    "bool_and": Entry(_only("boolean"), _extreme(largest=False)),
    "bool_or": Entry(_only("boolean"), _extreme(largest=True)),
    "every": Entry(_only("boolean"), _extreme(largest=False)),
    "some": Entry(_only("boolean"), _extreme(largest=True)),
    "any": Entry(_only("boolean"), _extreme(largest=True)),
    **{name: Entry(_anything, _ends(last=last, ignore_nulls=False)) for name, last in _ENDS.items()},
    **{f"{name}[ignore nulls]": Entry(_anything, _ends(last=last, ignore_nulls=True)) for name, last in _ENDS.items()},
    "collect_list": Entry(_anything, _collect(as_set=False)),
    "collect_set": Entry(_keyable, _collect(as_set=True)),
    "approx_count_distinct": Entry(sketches.refuse_count, sketches.build_count),
    "listagg": Entry(texts.refuse_listagg, texts.build_listagg),
    "bit_and": Entry(_only(*INTEGRAL), _bitwise(np.bitwise_and, -1)),
    "bit_or": Entry(_only(*INTEGRAL), _bitwise(np.bitwise_or, 0)),
    "bit_xor": Entry(_only(*INTEGRAL), _bitwise(np.bitwise_xor, 0)),
    "mode[reverseOpt=true]": Entry(_nothing_binary_inside, _mode(largest=False)),
    "mode[reverseOpt=false]": Entry(_nothing_binary_inside, _mode(largest=True)),
    "mode[reverseOpt=true, since 4.2]": Entry(_nothing_floating_inside, _mode(largest=False, one_zero=True)),
    "mode[reverseOpt=false, since 4.2]": Entry(_nothing_floating_inside, _mode(largest=True, one_zero=True)),
    **{name: Entry(percentiles.refuse, build) for name, build in percentiles.BUILDERS.items()},
    **{name: Entry(_only("double"), moments.build_moment) for name in moments.FUNCTIONS},
}
