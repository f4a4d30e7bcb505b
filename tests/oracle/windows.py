"""Window functions, with and without PARTITION BY, over frames of rows and of ranges.

Functions that depend on the order of rows get an order by all the columns that are kept, so that no tie is left open.
"""

from __future__ import annotations

from tests.oracle.calls import SUMS
from tests.oracle.queries import INTEGERS, REAL, Column, Queries, Query, names
from tests.oracle.values import KEYS

ROWS = ("ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", "ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING", "ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING", "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING")  # fmt: skip
RANGES = ("RANGE BETWEEN 1 PRECEDING AND 2 FOLLOWING", "RANGE BETWEEN 2 PRECEDING AND CURRENT ROW", "RANGE BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING", "RANGE BETWEEN CURRENT ROW AND CURRENT ROW")  # fmt: skip


def windowed(g: Queries, depth: int) -> Query | None:
    """One or two window functions over the columns of a query."""
    q = g.query(depth - 1)
    rest = q.ordered[:4]
    if not rest:
        return None
    keys = [c for c in rest if c.type in KEYS]
    by = f"PARTITION BY {names(g.some(keys, 2))} " if keys and not g.chance(5) else ""
    order = total_order(g, rest)
    made = [(call, g.new(kind)) for call, kind in (function(g, rest, by, order) for _ in range(g.pick([1, 1, 2])))]
    calls = ", ".join(f"{call} AS {c.name}" for call, c in made)
    return Query(f"SELECT {names(rest)}, {calls} FROM ({q.text}) AS q", (*rest, *(c for _, c in made)))


def total_order(g: Queries, rest: list[Column]) -> str:
    """An order by all columns; two of them in one query would leave open which of two equal rows gets which results."""
    if g.chance(3):
        return "ORDER BY " + ", ".join(c.name + g.pick([" DESC", " NULLS LAST", ""]) for c in rest)
    return f"ORDER BY {names(rest)}"


def function(g: Queries, rest: list[Column], by: str, order: str) -> tuple[str, str]:
    some = "ORDER BY " + ", ".join(c.name for c in g.some(rest, 2))
    return g.pick([ranking, shifting, choosing, reducing, by_range])(g, rest, by, order, some)


def ranking(g: Queries, rest: list[Column], by: str, order: str, some: str) -> tuple[str, str]:
    call, kind, ties = g.pick(
        [
            ("rank()", "int", True), ("dense_rank()", "int", True), ("percent_rank()", REAL, True), ("cume_dist()", REAL, True),
            ("row_number()", "int", False), ("ntile(3)", "int", False),
        ]
    )  # fmt: skip
    return f"{call} OVER ({by}{some if ties else order})", kind


def shifting(g: Queries, rest: list[Column], by: str, order: str, some: str) -> tuple[str, str]:
    column = g.pick(rest)
    call = g.pick(["lag({0})", "lead({0})", "lag({0}, 2)", "lead({0}, 1, {0})", "lag({0}) IGNORE NULLS"])
    return f"{call.format(column.name)} OVER ({by}{order})", column.type


def choosing(g: Queries, rest: list[Column], by: str, order: str, some: str) -> tuple[str, str]:
    column = g.pick(rest)
    call = g.pick(["first_value({0})", "last_value({0})", "nth_value({0}, 2)", "first_value({0}) IGNORE NULLS", "last_value({0}, true)"])  # fmt: skip
    return f"{call.format(column.name)} OVER ({by}{order} {g.pick(ROWS)})", column.type


def reducing(g: Queries, rest: list[Column], by: str, order: str, some: str) -> tuple[str, str]:
    """Aggregates over a partition, over rows, and over the peers that come before."""
    call, kind = aggregate(g, g.pick(rest))
    return f"{call} OVER ({by}{g.pick(['', some, f'{order} {g.pick(ROWS)}'])})", kind


def by_range(g: Queries, rest: list[Column], by: str, order: str, some: str) -> tuple[str, str]:
    """Aggregates over the rows whose value is near the current row's."""
    numbers = [c for c in rest if c.type in INTEGERS]
    if not numbers:
        return ranking(g, rest, by, order, some)
    call, kind = aggregate(g, g.pick(rest))
    return f"{call} OVER ({by}ORDER BY {g.pick(numbers).name}{g.pick(['', ' DESC'])} {g.pick(RANGES)})", kind


def aggregate(g: Queries, c: Column) -> tuple[str, str]:
    found = [
        ("count(*)", "bigint"),
        (f"count({c.name})", "bigint"),
        (f"min({c.name})", c.type),
        (f"max({c.name})", c.type),
    ]
    if c.type in SUMS:
        found += [(f"sum({c.name})", SUMS[c.type])] * 2
    if c.type in INTEGERS:
        found += [(f"avg({c.name})", REAL), (f"percentile({c.name}, 0.5)", REAL), (f"bit_or({c.name})", c.type)]
    return g.pick(found)


def top_per_group(g: Queries, depth: int) -> Query | None:
    q = g.query(depth - 1)
    rest = q.ordered[:4]
    keys = [c for c in rest if c.type in KEYS]
    if not keys:
        return None
    new, key, call = g.new("int"), g.pick(keys), g.pick(["row_number()", "rank()", "dense_rank()"])
    ranked = f"{call} OVER (PARTITION BY {key.name} ORDER BY {names(rest)}) AS {new.name}"
    inner = f"SELECT {names(rest)}, {ranked} FROM ({q.text}) AS q"
    return Query(f"SELECT * FROM ({inner}) AS w WHERE {new.name} <= {g.pick([1, 2])}", (*rest, new))
