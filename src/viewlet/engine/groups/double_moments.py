"""Variance and related functions per group, computed from exact sums of powers, as maps of them are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from viewlet.columns.exact.digits import doubles_of
from viewlet.columns.exact.double_sums import add_powers
from viewlet.columns.exact.moments import Powers, finalize
from viewlet.engine.groups.grouping import Groups, without_nulls
from viewlet.plan.expr import Reduce
from viewlet.plan.sums import POWERS

FUNCTIONS = {
    **{name: name for name in ("var_pop", "var_samp", "stddev_pop", "stddev_samp", "skewness", "kurtosis")},
    **{name: name for name in ("covar_pop", "covar_samp", "corr", "corr[since 4.3]")},
    "variance": "var_samp",
    "stddev": "stddev_samp",
    "std": "stddev_samp",
}
"""The functions evaluated here, and the function that each stands for."""


def build_moment(call: Reduce) -> Callable[[Sequence[pa.Array], Groups], pa.Array]:
    """A function of the central moments of one column, or of two columns over rows where neither is NULL."""
    function = FUNCTIONS[call.function]

    def reduce(args: Sequence[pa.Array], groups: Groups) -> pa.Array:
        arrays, kept = without_nulls(args, groups)
        values = [doubles_of(array) for array in arrays]
        totals = add_powers(POWERS[function], values, kept.weights, kept.of, kept.count)
        return finalize(function, Powers.of(totals, kept.sizes()))

    return reduce
