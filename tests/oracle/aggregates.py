"""Aggregation: grouped and global, HAVING, GROUPING SETS, PIVOT and UNPIVOT, and groups of time."""

from __future__ import annotations

from tests.oracle.calls import reduce
from tests.oracle.expressions import condition
from tests.oracle.queries import INTEGERS, Column, Queries, Query, either, listed, names
from tests.oracle.values import JOINABLE, KEYS


def aggregated(g: Queries, depth: int) -> Query:
    q = g.query(depth - 1)
    keys = [] if g.chance(5) else g.some(q.of(JOINABLE), 2)
    named = [(k.name, g.new(k.type)) for k in keys] + calls(g, q)
    by = f" GROUP BY {names(keys)}{having(g)}" if keys else ""
    return Query(f"SELECT {listed(named)} FROM ({q.text}) AS q{by}", tuple(c for _, c in named))


def calls(g: Queries, q: Query) -> list[tuple[str, Column]]:
    """Some calls; of those that choose a row one, since several choose theirs together."""
    made = [reduce(g, q) for _ in range(g.pick(range(1, 4)))]
    choices = [call for call, _ in made if "«" in call or "collect_list" in call]
    return [(call, g.new(kind)) for call, kind in made if call not in choices[1:]]


def having(g: Queries) -> str:
    return f" HAVING count(*) {g.pick(['>', '<'])} {g.pick([1, 2, 3])}" if g.chance(4) else ""


def grouped_by_sets(g: Queries, depth: int) -> Query | None:
    q = g.query(depth - 1)
    keys = g.some(q.of(KEYS), 2)
    if not keys:
        return None
    sets = g.pick(["ROLLUP ({0})", "CUBE ({0})", "GROUPING SETS (({0}), ({1}), ())", "GROUPING SETS (({0}), ({0}))"])
    marks = [(f"CAST(grouping({keys[0].name}) AS int)", g.new("int")), ("grouping_id()", g.new("bigint"))]
    named = [(k.name, g.new(k.type)) for k in keys] + g.some(marks, 1) + calls(g, q)
    by = sets.format(names(keys), keys[0].name)
    return Query(f"SELECT {listed(named)} FROM ({q.text}) AS q GROUP BY {by}{having(g)}", tuple(c for _, c in named))


def pivoted(g: Queries, depth: int) -> Query | None:
    """Values of a column become columns."""
    q = g.query(depth - 1)
    across, down, of = q.of(("string", "int")), q.of(KEYS), q.of(INTEGERS)
    if not across or not of:
        return None
    pivot, number = g.pick(across), g.pick(of)
    keys = [c for c in g.some(down, 1) if c != pivot]
    call, kind = g.pick(
        [
            ("sum({})", "bigint"),
            ("max({})", number.type),
            ("count({})", "bigint"),
            (either("first({0})", "min({0})"), number.type),
        ]
    )
    values = ("'a'", "'b'") if pivot.type == "string" else ("1", "2", "NULL")
    made = [g.new(kind) for _ in values]
    inner = [(c.name, g.new(c.type)) for c in (*keys, pivot, number)]
    source = f"SELECT {listed(inner)} FROM ({q.text}) AS q"
    columns = listed(zip(values, made, strict=True))
    argument, over = inner[-1][1].name, inner[-2][1].name
    text = f"SELECT * FROM ({source}) PIVOT ({call.format(argument)} FOR {over} IN ({columns}))"
    return Query(text, (*(c for _, c in inner[:-2]), *made))


def unpivoted(g: Queries, depth: int) -> Query | None:
    """Columns of one type become rows."""
    q = g.query(depth - 1)
    alike = [same for c in q.ordered if len(same := q.of((c.type,))) > 1]
    if not alike:
        return None
    columns, kept = g.pick(alike)[:3], [c for c in q.ordered if c.type in KEYS][:1]
    label, new = g.new("string"), g.new(columns[0].type)
    kept = [c for c in kept if c not in columns]
    source = f"SELECT {names([*kept, *columns])} FROM ({q.text}) AS q"
    text = f"SELECT * FROM ({source}) UNPIVOT {g.pick(['', 'INCLUDE NULLS '])}({new.name} FOR {label.name} IN ({names(columns)}))"
    return Query(text, (*kept, label, new))


WINDOWS = (
    "window({0}, '5 minutes')", "window({0}, '1 hour')", "window({0}, '10 minutes', '5 minutes')",
    "window({0}, '1 day', '1 day', '6 hours')", "session_window({0}, '4 minutes')", "session_window({0}, '5 minutes')",
    "session_window({0}, IF({1}, '4 minutes', '2 hours'))",
)  # fmt: skip


def grouped_by_time(g: Queries, depth: int) -> Query | None:
    """Tumbling, sliding and session windows."""
    q = g.query(depth - 1)
    times = q.of(("timestamp",))
    if not times:
        return None
    time, keys = g.pick(times), g.some(q.of(KEYS), 1) if g.chance(2) else []
    window = g.pick(WINDOWS)
    window = window.format(time.name, condition(g, q) if "{1}" in window else "")
    field = window.split("(")[0]
    bounds = [(f"{field}.start", g.new("timestamp")), (f"{field}.end", g.new("timestamp"))]
    named = [*bounds, *((k.name, g.new(k.type)) for k in keys), *calls(g, q)]
    by = ", ".join([window, *(k.name for k in keys)])
    return Query(f"SELECT {listed(named)} FROM ({q.text}) AS q GROUP BY {by}", tuple(c for _, c in named))
