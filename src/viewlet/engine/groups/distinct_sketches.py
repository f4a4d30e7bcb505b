"""approx_count_distinct over rows in memory: registers and the estimate from them (columns/kernels/sketches.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import values_of
from viewlet.columns.evaluate import compile_expr, why_not
from viewlet.columns.kernels.sketches import Estimate, shares
from viewlet.columns.rows import Rows
from viewlet.engine.groups.grouping import Groups, without_nulls
from viewlet.plan.expr import Call, Column, Expr, Literal, Reduce
from viewlet.plan.types import BIGINT


def _hashed(call: Reduce) -> Expr:
    return Call("xxhash64", (Column("x", call.args[0].type),), BIGINT)


def refuse_count(call: Reduce) -> str | None:
    """Why only Spark can estimate a count: the values are of a type that only Spark hashes."""
    return why_not(_hashed(call))


def build_count(call: Reduce) -> Callable[[Sequence[pa.Array], Groups], pa.Array]:
    """The estimate from the least share of each register of a group."""
    constants, hashed = call.args[1], compile_expr(_hashed(call))
    assert isinstance(constants, Literal)
    estimate = Estimate(constants.value)

    def reduce(args: Sequence[pa.Array], groups: Groups) -> pa.Array:
        (array,), kept = without_nulls(args[:1], groups)
        hashes = values_of(hashed(Rows({"x": array}, kept.weights)), "i8")
        register = (hashes.view(np.uint64) >> np.uint64(64 - estimate.bits)).astype(np.int64)
        places, numbers = np.unique(kept.of * estimate.registers + register, return_inverse=True)
        least = np.ones(len(places))
        np.minimum.at(least, numbers, shares(hashes, estimate.bits))
        owners = places // estimate.registers
        total = np.bincount(owners, weights=least, minlength=groups.count).astype(np.float64)
        return pa.array(estimate(total, np.bincount(owners, minlength=groups.count)))

    return reduce
