"""Which plans only grow: their rows are never deleted.

    ΔQ ≥ 0 for every Q that is monotone over tables with Δ ≥ 0, such as append-only and static ones

Over such an input a monoid suffices (fold.py) where touched groups would have to be reread otherwise.
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
