"""The checked table: every function that is evaluated here exactly as Spark evaluates it.

A function's rule decides from the types of a call; what it declines, and every function not listed, is
evaluated by Spark. `tests/test_kernels_spark.py` compares each entry with Spark itself, type by type, on the
values at the edges, and fails for an entry it does not know.
"""

from __future__ import annotations

from viewlet.columns.kernels import (
    arithmetic,
    cast,
    collate,
    comparison,
    conditional,
    dates,
    difference_bounds,
    logic,
    nested,
    sketches,
    strings,
)
from viewlet.columns.kernels.kernel import Rule

TABLE: dict[str, Rule] = {
    **comparison.RULES,
    **logic.RULES,
    **conditional.RULES,
    **arithmetic.RULES,
    **cast.RULES,
    **strings.RULES,
    **collate.RULES,
    **dates.RULES,
    **nested.RULES,
    **sketches.RULES,
}

OWN: dict[str, Rule] = difference_bounds.RULES
"""Functions that no query calls and Spark does not have: the compiler writes them."""
