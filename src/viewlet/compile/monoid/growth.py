"""Which plans only grow: rows are added to them and never deleted.

    ΔQ ≥ 0 for every Q that is monotone over tables whose deltas are, as append-only and static ones are

Over such an input a monoid is enough (fold.py), where otherwise touched groups would be read again.
"""

from __future__ import annotations

from collections.abc import Collection

from viewlet.plan.nodes import (
    Aggregate,
    Expand,
    Filter,
    Generate,
    Join,
    Plan,
    Project,
    Scan,
    Union,
    Values,
    calls_of,
    children,
)


def grows(plan: Plan, growing: Collection[str]) -> bool:
    """Whether a plan only grows, given the tables, views and maps that do."""
    match plan:
        case Scan(name):
            return name in growing
        case Values():
            return True
        case Filter() | Project() | Expand() | Generate() | Union() | Join(kind="inner" | "semi"):
            return all(grows(child, growing) for child in children(plan))
        case Aggregate() if plan.keys and not calls_of(plan):  # DISTINCT
            return grows(plan.rows, growing)
        case _:
            return False
