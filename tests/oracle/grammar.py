"""The rules of the grammar, in one list; what is more common in real queries comes up more often."""

from __future__ import annotations

from tests.oracle.aggregates import aggregated, grouped_by_sets, grouped_by_time, pivoted, unpivoted
from tests.oracle.joins import crossed, joined, joined_by_name, joined_by_range, lateral, self_joined
from tests.oracle.nested import generated
from tests.oracle.queries import Rule
from tests.oracle.rows import constants, distinct, filtered, named, numbers, projected, top
from tests.oracle.sets import combined
from tests.oracle.subqueries import in_condition, scalar
from tests.oracle.windows import top_per_group, windowed

RULES: tuple[Rule, ...] = (
    filtered, filtered, projected, projected, distinct, top, constants, numbers, named, combined, combined,
    joined, joined, joined, joined_by_range, joined_by_name, crossed, self_joined, lateral,
    aggregated, aggregated, aggregated, grouped_by_sets, grouped_by_time, pivoted, unpivoted,
    windowed, windowed, top_per_group, in_condition, in_condition, scalar, generated, generated,
)  # fmt: skip
