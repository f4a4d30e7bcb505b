"""Subqueries in conditions and in the select list, correlated or not."""

from __future__ import annotations

from tests.oracle.expressions import condition
from tests.oracle.queries import INTEGERS, Queries, Query, listed, pairs_of
from tests.oracle.values import JOINABLE, KEYS, NUMBERS


def in_condition(g: Queries, depth: int) -> Query | None:
    """IN and EXISTS, negated or not, of one column or two, under OR, correlated by an equality or an inequality."""
    a, b = g.query(depth - 1), g.query(g.pick([0, 0, depth - 2]))
    pairs = pairs_of(a, b, JOINABLE)
    if not pairs:
        return None
    (x, y), (u, w) = g.pick(pairs), g.pick(pairs)
    source, equal = f"FROM ({b.text}) AS b", f"b.{y.name} = q.{x.name}"
    tests = [
        f"{x.name} IN (SELECT {y.name} {source})",
        f"{x.name} NOT IN (SELECT {y.name} {source})",
        f"({x.name}, {u.name}) IN (SELECT {y.name}, {w.name} {source})",
        f"({x.name}, {u.name}) NOT IN (SELECT {y.name}, {w.name} {source})",
        f"EXISTS (SELECT 1 {source} WHERE {equal})",
        f"NOT EXISTS (SELECT 1 {source} WHERE {equal})",
        f"EXISTS (SELECT 1 {source} WHERE {condition(g, b)})",
        f"{x.name} IN (SELECT {y.name} {source}) OR {condition(g, a)}",
    ]
    if numbers := pairs_of(a, b, NUMBERS):
        m, n = g.pick(numbers)
        tests.append(f"{g.pick(['', 'NOT '])}EXISTS (SELECT 1 {source} WHERE {equal} AND b.{n.name} < q.{m.name})")
        tests.append(f"EXISTS (SELECT 1 {source} WHERE b.{n.name} > q.{m.name})")
    return Query(f"SELECT * FROM ({a.text}) AS q WHERE {g.pick(tests)}", a.columns)


def scalar(g: Queries, depth: int) -> Query | None:
    """A subquery as a value: an aggregate of everything, or of what belongs to the row."""
    a, b = g.query(depth - 1), g.query(g.pick([0, 0, depth - 2]))
    numbers, pairs = b.of(INTEGERS), pairs_of(a, b, KEYS)
    if not numbers:
        return None
    z, where = g.pick(numbers), ""
    if pairs and not g.chance(3):
        x, y = g.pick(pairs)
        where = f" WHERE b.{y.name} {g.pick(['=', '=', '<=', '<=>'])} q.{x.name}"
    call, kind = g.pick([(f"max(b.{z.name})", z.type), (f"sum(b.{z.name})", "bigint"), ("count(*)", "bigint"), (f"coalesce(min(b.{z.name}), 0)", "int")])  # fmt: skip
    text = f"(SELECT {call} FROM ({b.text}) AS b{where})"
    against = a.of(INTEGERS)
    if against and g.chance(2):
        return Query(
            f"SELECT * FROM ({a.text}) AS q WHERE {g.pick(against).name} {g.pick(['<', '>=', '='])} {text}", a.columns
        )
    named = [(f"q.{c.name}", g.new(c.type)) for c in a.columns[:4]] + [
        (text, g.new(kind if "coalesce" not in call else z.type))
    ]
    return Query(f"SELECT {listed(named)} FROM ({a.text}) AS q", tuple(c for _, c in named))
