"""Unnesting arrays and maps: a row for each element, with its position."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewlet.columns.arrays import Positions, from_numpy, offsets_of, valid_mask, values_of
from viewlet.columns.evaluate import compile_expr
from viewlet.columns.rows import Rows
from viewlet.engine.groups.grouping import take_or_null
from viewlet.plan.expr import Call
from viewlet.program.terms import Unnest


def compile_unnest(term: Unnest) -> Callable[[Rows], Rows]:
    """The function from rows to those that a generator makes of them, beside the kept columns."""
    call = term.generator
    return _replicate(term, call) if call.function == "replicate_rows" else _explode(term, call)


def _explode(term: Unnest, call: Call) -> Callable[[Rows], Rows]:
    """explode, posexplode, inline: a row per element; with `outer`, a row of NULLs if there are none."""
    nested = compile_expr(call.args[0])
    generated = [f.name for f in term.generated]
    kept = [f.name for f in term.columns if f.name not in generated]

    def run(rows: Rows) -> Rows:
        array = nested(rows)
        starts, counts = _elements(array)
        at = np.repeat(np.arange(len(rows)), np.maximum(counts, 1) if term.outer else counts)
        first = np.flatnonzero(np.diff(at, prepend=-1))
        place = np.arange(len(at)) - np.repeat(first, np.diff(first, append=len(at)))
        element = np.where(counts[at] > 0, starts[at] + place, -1)
        values = _values(array, element, inline=call.function == "inline")
        if call.function == "posexplode":
            places = from_numpy(place.astype(np.int32), pa.int32(), valid=element >= 0)
            values = [places, *values]
        return Rows(
            {**rows.select(kept).take(at).columns, **dict(zip(generated, values, strict=True))}, rows.weights[at]
        )

    return run


def _elements(array: pa.Array) -> tuple[Positions, Positions]:
    """The start of each array's or map's elements, and their number, 0 for NULL."""
    offsets = offsets_of(array)
    counts = np.diff(offsets)
    return offsets[:-1], np.where(valid_mask(array), counts, 0) if array.null_count else counts


def _values(array: pa.Array, at: Positions, *, inline: bool) -> list[pa.Array]:
    """The columns of elements: the values, keys and values of a map, or the fields of a struct."""
    if pa.types.is_map(array.type):
        return [take_or_null(array.keys, at), take_or_null(array.items, at)]
    values = take_or_null(array.values, at)
    if not inline:
        return [values]
    return [pc.struct_field(values, [i]) for i in range(values.type.num_fields)]


def _replicate(term: Unnest, call: Call) -> Callable[[Rows], Rows]:
    """Each row repeated as often as a number says, by its weight."""
    times, *values = map(compile_expr, call.args)
    generated = [f.name for f in term.generated]
    kept = [f.name for f in term.columns if f.name not in generated]

    def run(rows: Rows) -> Rows:
        counts = np.maximum(values_of(times(rows), "i8"), 0)
        columns = rows.select(kept).columns | {n: value(rows) for n, value in zip(generated, values, strict=True)}
        return Rows(columns, rows.weights * counts).filter(counts > 0)

    return run
