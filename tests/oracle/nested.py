"""Nested data to rows: generators in FROM, in the select list, OUTER or not, over arrays, maps and structs."""

from __future__ import annotations

from tests.oracle.queries import INTEGERS, Column, Queries, Query, names
from tests.oracle.values import ARRAY, JSON, MAP, STRUCT, STRUCTS

GENERATORS = {
    ARRAY: (("explode({})", ("int",)), ("posexplode({})", ("int", "int")), ("explode(transform({}, x -> x + 1))", ("int",))),
    MAP: (("explode({})", ("string", "int")), ("posexplode({})", ("int", "string", "int"))),
    STRUCTS: (("inline({})", ("int", "string")), ("explode({})", (STRUCT,))),
    JSON: (
        ("explode(from_json({}, 'array<int>'))", ("int",)),
        ("json_tuple({}, 'x', 'y')", ("string", "string")),
        ("variant_explode(try_parse_json({}))", ("int", "string", "opaque")),
    ),
}  # fmt: skip


def generated(g: Queries, depth: int) -> Query | None:
    """A generator over a nested column."""
    q = g.query(depth - 1)
    columns = q.of(tuple(GENERATORS))
    if not columns:
        return stacked(g, q) if g.chance(3) else None
    column = g.pick(columns)
    call, kinds = g.pick(GENERATORS[column.type])
    made, call = [g.new(kind) for kind in kinds], call.format(column.name)
    kept = [c for c in q.columns if c != column or g.chance(2)][:3]
    return Query(place(g, q, call, kept, made), (*kept, *made))


def place(g: Queries, q: Query, call: str, kept: list[Column], made: list[Column]) -> str:
    """The query with the generator in one of the places where it may stand."""
    listed, new = names([*kept, *made]), names(made)
    if "variant_explode" in call:
        return f"SELECT {listed} FROM ({q.text}) AS q, LATERAL {call} AS l({new})"
    outer = call.startswith(("explode", "posexplode", "inline"))
    how = g.pick(["view", "outer view", "select", "lateral"] if outer else ["view", "outer view"])
    if how == "select":
        before = f"{names(kept)}, " if kept else ""
        return f"SELECT {before}{g.pick([call, call.replace('(', '_outer(', 1)])} AS ({new}) FROM ({q.text}) AS q"
    if how == "lateral":
        return f"SELECT {listed} FROM ({q.text}) AS q, LATERAL {call} AS l({new})"
    return f"SELECT {listed} FROM ({q.text}) AS q LATERAL VIEW {'OUTER ' if 'outer' in how else ''}{call} l AS {new}"


def stacked(g: Queries, q: Query) -> Query | None:
    """Columns of one type as rows."""
    numbers = q.of(INTEGERS)
    if not numbers:
        return None
    x, y = g.pick(numbers), g.pick(q.of((g.pick(numbers).type,)))
    if x.type != y.type:
        y = x
    kept, new = list(q.columns[:2]), g.new(x.type)
    text = (
        f"SELECT {names([*kept, new])} FROM ({q.text}) AS q LATERAL VIEW stack(2, {x.name}, {y.name}) l AS {new.name}"
    )
    return Query(text, (*kept, new))
