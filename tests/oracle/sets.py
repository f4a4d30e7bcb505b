"""Set operators, with and without ALL."""

from __future__ import annotations

from tests.oracle.queries import Column, Queries, Query, listed, names
from tests.oracle.values import KEYABLE

OPERATORS = ("UNION ALL", "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL", "MINUS")


def combined(g: Queries, depth: int) -> Query | None:
    a, b = g.query(depth - 1), g.query(depth - 1)
    pairs = matching(a, b)
    if not pairs:
        return None
    named = [(x.name, g.new(x.type)) for x, _ in pairs]
    left, right = (
        f"SELECT {listed(named)} FROM ({a.text}) AS a",
        f"SELECT {names(y for _, y in pairs)} FROM ({b.text}) AS b",
    )
    return Query(f"{left} {g.pick(OPERATORS)} {right}", tuple(c for _, c in named))


def matching(a: Query, b: Query) -> list[tuple[Column, Column]]:
    """Columns of two queries that have the same type, each used once."""
    left, pairs = list(b.columns), []
    for x in a.of(KEYABLE):
        y = next((y for y in left if y.type == x.type), None)
        if y is not None:
            left.remove(y)
            pairs.append((x, y))
    return pairs[:3]
