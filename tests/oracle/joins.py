"""Joins of every kind: on equality, NULL-safe or not, with more conditions, by ranges, USING, NATURAL, LATERAL, to itself."""

from __future__ import annotations

from tests.oracle.queries import INTEGERS, Column, Queries, Query, listed, names, pairs_of
from tests.oracle.values import JOINABLE, NUMBERS

KINDS = ("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")


def joined(g: Queries, depth: int) -> Query | None:
    """A join on an equality, and now and then on a comparison more."""
    a, b = g.query(depth - 1), g.query(depth - 2)
    pairs = pairs_of(a, b, JOINABLE)
    if not pairs:
        return None
    x, y = g.pick(pairs)
    condition = f"a.{x.name} {'<=>' if g.chance(5) else '='} b.{y.name}"
    more = pairs_of(a, b, NUMBERS)
    if more and g.chance(3):
        x, y = g.pick(more)
        condition += f" {g.pick(['AND', 'AND', 'OR'])} a.{x.name} {g.pick(['<', '>=', '<>'])} b.{y.name}"
    return _on(g, a, b, g.pick(KINDS), condition)


def joined_by_range(g: Queries, depth: int) -> Query | None:
    """No equality at all: an inequality or a range. The right side is kept small, for the result not to explode."""
    a, b = g.query(depth - 1), _few(g.query(0))
    pairs = pairs_of(a, b, NUMBERS) if b else []
    if b is None or not pairs:
        return None
    (x, y), (_, z) = g.pick(pairs), g.pick(pairs)
    between = f"a.{x.name} BETWEEN b.{y.name} AND b.{z.name}" if z.type == y.type else f"a.{x.name} <> b.{y.name}"
    return _on(g, a, b, g.pick(KINDS), g.pick([f"a.{x.name} < b.{y.name}", f"a.{x.name} >= b.{y.name}", between]))


def crossed(g: Queries, depth: int) -> Query | None:
    a, b = g.query(depth - 1), _few(g.query(0))
    return _on(g, a, b, "CROSS JOIN", None) if b else None


def self_joined(g: Queries, depth: int) -> Query | None:
    """One query on both sides."""
    a = g.query(depth - 1)
    keys = a.of(JOINABLE)
    if not keys:
        return None
    x, others = g.pick(keys), a.of(NUMBERS)
    more = f" AND a.{g.pick(others).name} < b.{g.pick(others).name}" if others and g.chance(2) else ""
    return _on(g, a, a, g.pick(KINDS), f"a.{x.name} = b.{x.name}{more}")


def joined_by_name(g: Queries, depth: int) -> Query | None:
    """USING and NATURAL: the key has one name on both sides, and comes once."""
    a, b = g.query(depth - 1), g.query(depth - 2)
    pairs = pairs_of(a, b, JOINABLE)
    if not pairs:
        return None
    (x, y), key = g.pick(pairs), g.name()
    left = [(c.name, g.new(c.type)) for c in a.columns[:3]]
    right = [(c.name, g.new(c.type)) for c in b.columns[:3]]
    sides = [f"(SELECT {listed([(k.name, Column(key, k.type)), *own])} FROM ({q.text}) AS s)" for k, own, q in ((x, left, a), (y, right, b))]  # fmt: skip
    kind = g.pick(KINDS)
    text = (
        f"NATURAL {kind} {sides[1]} AS b"
        if g.chance(2) and not _one_sided(kind)
        else f"{kind} {sides[1]} AS b USING ({key})"
    )
    columns = [Column(key, x.type), *(c for _, c in left), *([] if _one_sided(kind) else [c for _, c in right])]
    return Query(f"SELECT {names(columns)} FROM {sides[0]} AS a {text}", tuple(columns))


def lateral(g: Queries, depth: int) -> Query | None:
    """A query in FROM that reads the rows to its left: an aggregate, the first rows, or just the rows that match."""
    a, b = g.query(depth - 1), g.query(depth - 2)
    pairs, numbers = pairs_of(a, b, JOINABLE), b.of(INTEGERS)
    if not pairs or not numbers:
        return None
    (x, y), z, new = g.pick(pairs), g.pick(numbers), g.new("int")
    where = f"FROM ({b.text}) AS b WHERE b.{y.name} {g.pick(['=', '=', '<=>'])} a.{x.name}"
    total, kind = g.pick([("max({})", z.type), ("sum({})", "bigint"), ("count({})", "bigint")])
    inner, kind = g.pick(
        [
            (f"SELECT {total.format('b.' + z.name)} AS {new.name} {where}", kind),
            (f"SELECT b.{z.name} AS {new.name} {where} ORDER BY b.{z.name} LIMIT 1", z.type),
            (f"SELECT b.{z.name} AS {new.name} {where}", z.type),
        ]
    )
    kept, how = a.columns[:4], g.pick([", LATERAL ({})", " LEFT JOIN LATERAL ({})", " JOIN LATERAL ({})"])
    left = [(f"a.{c.name}", g.new(c.type)) for c in kept]
    text = f"SELECT {listed(left)}, l.{new.name} FROM ({a.text}) AS a{how.format(inner)} AS l"
    return Query(text, (*(c for _, c in left), Column(new.name, kind)))


def _on(g: Queries, a: Query, b: Query, kind: str, condition: str | None) -> Query:
    sides = [("a", c) for c in a.columns[:4]] + ([] if _one_sided(kind) else [("b", c) for c in b.columns[:4]])
    named = [(f"{side}.{c.name}", g.new(c.type)) for side, c in sides]
    on = f" ON {condition}" if condition else ""
    text = f"SELECT {listed(named)} FROM ({a.text}) AS a {kind} ({b.text}) AS b{on}"
    return Query(text, tuple(c for _, c in named))


def _one_sided(kind: str) -> bool:
    return "SEMI" in kind or "ANTI" in kind


def _few(q: Query) -> Query | None:
    """The first three rows of a query."""
    by = q.ordered
    return Query(f"SELECT {names(by)} FROM ({q.text}) AS f ORDER BY {names(by)} LIMIT 3", tuple(by)) if by else None
