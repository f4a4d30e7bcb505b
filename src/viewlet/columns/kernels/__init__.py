"""The checked table of all functions that are evaluated here exactly as Spark evaluates them.

A function's rule decides by the types of a call; calls that it declines, and functions that are not listed, are
evaluated by Spark. `tests/test_kernels_spark.py` compares each entry with Spark itself, type by type, on edge cases,
and fails for an entry that it does not know.
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
"""Functions that only the compiler generates: Spark does not have them."""
