"""Variance and its relatives, of doubles.

Moments are taken about the mean of the distances from each group's least value: exactly zero for equal
values, whatever their size, and the same in whatever order the rows come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, from_numpy
from viewlet.engine.local.groups import Groups, without_nulls
from viewlet.engine.local.sums import add_doubles, doubles_of
from viewlet.errors import EvaluationError
from viewlet.plan.expr import Reduce

Doubles = np.ndarray[Any, np.dtype[np.float64]]
Build = Callable[[Reduce], Callable[[Sequence[pa.Array], Groups], pa.Array]]


def centred(array: pa.Array, groups: Groups) -> Doubles:
    """The distance of each value from the mean of its group."""
    values = doubles_of(array)
    least = np.full(groups.count, np.inf)
    np.minimum.at(least, groups.of, values)
    offsets = values - least[groups.of]
    means = add_doubles(offsets, groups) / np.maximum(groups.sizes(), 1)
    return offsets - means[groups.of]


def _variance(*, sample: bool, root: bool) -> Build:
    """Σ(x − x̄)² / n or, of a sample, / (n − 1); a sample of one has none."""

    def build(call: Reduce) -> Callable[[Sequence[pa.Array], Groups], pa.Array]:
        def reduce(args: Sequence[pa.Array], groups: Groups) -> pa.Array:
            (array,), kept = without_nulls(args, groups)
            sizes = kept.sizes()
            spread = add_doubles(centred(array, kept) ** 2, kept) / np.maximum(sizes - sample, 1)
            return from_numpy(np.sqrt(spread) if root else spread, pa.float64(), sizes > sample)

        return reduce

    return build


def _shape(*, order: int) -> Build:
    """skewness √n·m₃/m₂^1.5 (order 3), kurtosis n·m₄/m₂² − 3 (order 4); NULL where nothing varies."""

    def build(call: Reduce) -> Callable[[Sequence[pa.Array], Groups], pa.Array]:
        def reduce(args: Sequence[pa.Array], groups: Groups) -> pa.Array:
            (array,), kept = without_nulls(args, groups)
            distance, sizes = centred(array, kept), kept.sizes()
            m2, high = add_doubles(distance**2, kept), add_doubles(distance**order, kept)
            result = np.sqrt(sizes) * high / np.sqrt(m2**3) if order == 3 else sizes * high / m2**2 - 3.0
            return from_numpy(result, pa.float64(), (sizes > 0) & (m2 != 0))

        return reduce

    return build


CENTRAL: dict[str, Build] = {
    "var_pop": _variance(sample=False, root=False),
    "var_samp": _variance(sample=True, root=False),
    "variance": _variance(sample=True, root=False),
    "stddev_pop": _variance(sample=False, root=True),
    "stddev_samp": _variance(sample=True, root=True),
    "stddev": _variance(sample=True, root=True),
    "std": _variance(sample=True, root=True),
    "skewness": _shape(order=3),
    "kurtosis": _shape(order=4),
}


def _joint(finish: Callable[[Doubles, Doubles, Groups], tuple[Doubles, Mask]]) -> Build:
    """A function of the distances of two columns from their means, over the rows that have both."""

    def build(call: Reduce) -> Callable[[Sequence[pa.Array], Groups], pa.Array]:
        def reduce(args: Sequence[pa.Array], groups: Groups) -> pa.Array:
            (x, y), kept = without_nulls(args, groups)
            values, valid = finish(centred(x, kept), centred(y, kept), kept)
            return from_numpy(values, pa.float64(), valid)

        return reduce

    return build


def _covar_pop(x: Doubles, y: Doubles, groups: Groups) -> tuple[Doubles, Mask]:
    sizes = groups.sizes()
    return add_doubles(x * y, groups) / np.maximum(sizes, 1), sizes > 0


def _covar_samp(x: Doubles, y: Doubles, groups: Groups) -> tuple[Doubles, Mask]:
    sizes = groups.sizes()
    return add_doubles(x * y, groups) / np.maximum(sizes - 1, 1), sizes > 1


def _corr(x: Doubles, y: Doubles, groups: Groups) -> tuple[Doubles, Mask]:
    spread, valid = np.sqrt(add_doubles(x * x, groups) * add_doubles(y * y, groups)), groups.sizes() > 1
    if (valid & (spread == 0)).any():
        raise EvaluationError("DIVIDE_BY_ZERO: corr of a column that does not vary")
    return add_doubles(x * y, groups) / np.where(valid, spread, 1.0), valid


JOINT: dict[str, Build] = {
    "covar_pop": _joint(_covar_pop),
    "covar_samp": _joint(_covar_samp),
    "corr": _joint(_corr),
}
