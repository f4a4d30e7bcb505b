"""Percentiles: values at given fractions of a sorted group, as doubles.

With n values in order, `percentile` interpolates around the position (n − 1)·share, counted from 0; `percentile_disc`
takes the value of rank ⌈n·share⌉, counted from 1. −0.0 comes before 0.0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Positions, from_numpy
from viewlet.columns.evaluate import compile_expr
from viewlet.columns.order import ascending, sort
from viewlet.columns.rows import Rows
from viewlet.engine.groups.grouping import Groups, without_nulls
from viewlet.plan.expr import Call, Column, Literal, Reduce
from viewlet.plan.percentiles import shares_in
from viewlet.plan.types import BIGINT, BOOLEAN, DOUBLE, INT

Doubles = np.ndarray[Any, np.dtype[np.float64]]
Look = Callable[[Positions], Doubles]
"""The value of each group at a position, counted from 0."""
Pick = Callable[[Look, Positions, float], Doubles]
"""From a look-up of positions, the number of values per group and a share, the result of each group."""

_ONCE = (Literal(1, BIGINT), Literal(1, INT), Literal(False, BOOLEAN))
"""The remaining arguments of a percentile with frequency 1 in ascending order."""


def refuse(call: Reduce) -> str | None:
    """Why only Spark can evaluate it: shares that are not constant, values that are not numbers, or frequencies."""
    value, shares, *rest = call.args
    if value.type.is_numeric and shares_in(shares) and all(r in _ONCE for r in rest):
        return None
    return f"{call.function}({', '.join(str(a.type) for a in call.args)}) is evaluated by Spark alone"


def _weighted(look: Look, sizes: Positions, share: float) -> Doubles:
    """Linear interpolation, as a weighted sum of both neighbours."""
    place, below, above = _neighbours(look, sizes, share)
    between = (np.ceil(place) - place) * below + (place - np.floor(place)) * above
    return np.where((place == np.floor(place)) | (below == above), below, between)


def _stepped(look: Look, sizes: Positions, share: float) -> Doubles:
    """Linear interpolation, as the lower neighbour plus a fraction of the difference."""
    place, below, above = _neighbours(look, sizes, share)
    between = below + (above - below) * (place - np.floor(place))
    return np.where((place == np.floor(place)) | (below == above), below, between)


def _neighbours(look: Look, sizes: Positions, share: float) -> tuple[Doubles, Doubles, Doubles]:
    """The position in each group, and the values below and above it."""
    place: Doubles = (sizes - 1) * np.float64(share)
    return place, look(np.floor(place).astype(np.int64)), look(np.ceil(place).astype(np.int64))


def _ranked(look: Look, sizes: Positions, share: float) -> Doubles:
    rank = np.ceil(sizes * share).astype(np.int64)
    return look(np.maximum(rank, 1) - 1)


def _builder(pick: Pick, *, descending: bool) -> Callable[[Reduce], Callable[[Sequence[pa.Array], Groups], pa.Array]]:
    def build(call: Reduce) -> Callable[[Sequence[pa.Array], Groups], pa.Array]:
        shares, kind = shares_in(call.args[1]), call.args[0].type
        as_double = compile_expr(Call("cast", (Column("x", kind),), DOUBLE))

        def reduce(args: Sequence[pa.Array], groups: Groups) -> pa.Array:
            arrays, kept = without_nulls(args[:1], groups)
            keys = [~key if descending else key for key in ascending(arrays[0], zeros_differ=True)]
            at = sort([kept.of, *keys], len(kept))
            numbers = as_double(Rows({"x": arrays[0]}, kept.weights)).to_numpy(zero_copy_only=False)[at]
            sizes, ends = kept.sizes(), np.cumsum(kept.weights[at])
            start, values = np.cumsum(sizes) - sizes, np.append(numbers, 0.0)  # an empty group reads an arbitrary value

            def look(place: Positions) -> Doubles:
                return values[ends.searchsorted(start + place, "right")]

            found = [pick(look, np.maximum(sizes, 1), share) for share in shares]
            return _results(found, sizes > 0, one=call.type == DOUBLE)

        return reduce

    return build


def _results(found: list[Doubles], valid: np.ndarray[Any, np.dtype[np.bool_]], *, one: bool) -> pa.Array:
    """One value per group, or a list with one per share."""
    if one:
        return from_numpy(found[0], pa.float64(), valid)
    offsets = pa.array(np.arange(len(valid) + 1, dtype=np.int32) * len(found))
    together = pa.array(np.stack(found, axis=1).reshape(-1))
    return pa.ListArray.from_arrays(offsets, together, mask=pa.array(~valid))


BUILDERS = {
    "percentile": _builder(_weighted, descending=False),
    "percentile[reverse=true]": _builder(_weighted, descending=True),
    "percentile[since 4.3]": _builder(_stepped, descending=False),
    "percentile[reverse=true, since 4.3]": _builder(_stepped, descending=True),
    "percentile_disc": _builder(_ranked, descending=False),
    "percentile_disc[reverse=true]": _builder(_ranked, descending=True),
}
