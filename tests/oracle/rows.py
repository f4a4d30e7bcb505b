"""Rules that work row by row or on whole rows: filters, projections, DISTINCT, top rows, constants, named queries."""

from __future__ import annotations

from tests.oracle.expressions import condition, expression
from tests.oracle.queries import OPAQUE, REAL, Column, Queries, Query, either, listed, names
from tests.oracle.values import KEYABLE


def filtered(g: Queries, depth: int) -> Query:
    q = g.query(depth - 1)
    text = condition(g, q)
    if g.chance(3):
        text = f"({text}) {g.pick(['AND', 'OR'])} ({condition(g, q)})"
    return Query(f"SELECT * FROM ({q.text}) AS q WHERE {text}", q.columns)


def projected(g: Queries, depth: int) -> Query:
    q = g.query(depth - 1)
    made = [expression(g, q) for _ in range(g.pick(range(1, 4)))]
    named = [(e, g.new(kind)) for e, kind in made] + [(c.name, c) for c in q.columns[:3]]
    return Query(f"SELECT {listed(named)} FROM ({q.text}) AS q", tuple(c for _, c in named))


def distinct(g: Queries, depth: int) -> Query | None:
    q = g.query(depth - 1)
    columns = g.some(q.of(KEYABLE), 3)
    return Query(f"SELECT DISTINCT {names(columns)} FROM ({q.text}) AS q", tuple(columns)) if columns else None


def top(g: Queries, depth: int) -> Query | None:
    """The first rows by all columns, so that no tie is left open; or by some, and Viewlet goes on with the others."""
    q = g.query(depth - 1)
    rest = q.ordered[:4]
    if not rest:
        return None
    by = g.some(rest, 2) if g.chance(4) else rest
    order = ", ".join(c.name + g.pick(["", " DESC", " NULLS LAST", " DESC NULLS FIRST"]) for c in by)
    total = order + "".join(f", {c.name}" for c in rest if c not in by)
    many = g.pick(["LIMIT 1", "LIMIT 3", "LIMIT 2 OFFSET 1", "LIMIT 5 OFFSET 3", "OFFSET 2"])
    text = (
        f"SELECT {names(rest)} FROM ({q.text}) AS q ORDER BY {order if order == total else either(order, total)} {many}"
    )
    return Query(text, tuple(rest))


CONSTANTS = ("(1, 'a', 1.50BD)", "(2, 'b', NULL)", "(NULL, 'a', -1.50BD)", "(7, NULL, 0.00BD)", "(1, 'a', 1.50BD)")


def constants(g: Queries, depth: int) -> Query:
    """VALUES; the first row has a type for each column."""
    columns = tuple(g.new(kind) for kind in ("int", "string", "decimal(3,2)"))
    rows = ", ".join([CONSTANTS[0], *(g.pick(CONSTANTS) for _ in range(g.pick(range(3))))])
    text = f"SELECT {names(columns)} FROM VALUES {rows} AS t({names(columns)})"
    return Query(text, (*columns[:2], Column(columns[2].name, OPAQUE)))


def numbers(g: Queries, depth: int) -> Query:
    """A table function as a leaf."""
    column = g.new("bigint")
    return Query(f"SELECT id AS {column.name} FROM range({g.pick([0, 1, 4])})", (column,))


def named(g: Queries, depth: int) -> Query:
    """A common table expression that is read twice."""
    q, cte = g.query(depth - 1), g.name()
    plain = [c for c in q.columns if c.type not in (REAL, OPAQUE)]
    if not plain:
        return Query(f"WITH {cte} AS ({q.text}) SELECT * FROM {cte}", q.columns)
    text = f"SELECT {names(plain)} FROM {cte} WHERE {condition(g, q)} UNION ALL SELECT {names(plain)} FROM {cte}"
    return Query(f"WITH {cte} AS ({q.text}) {text}", tuple(plain))
