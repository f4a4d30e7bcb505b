"""Recursive queries for tests: a list of telling ones, and random ones. All their steps are monotone."""

from __future__ import annotations

import random

QUERIES = {
    "reachable": "WITH RECURSIVE t(v) AS (SELECT 0 UNION SELECT dst FROM t JOIN edges ON src = v) SELECT * FROM t",
    "distances": """WITH RECURSIVE d(v, cost) USING KEY (v) AS (
        SELECT 0, 0 UNION SELECT e.dst, min(d.cost + e.w) FROM d JOIN edges e ON e.src = d.v GROUP BY e.dst)
        SELECT * FROM d""",
    "widest": """WITH RECURSIVE d(v, width) USING KEY (v) AS (
        SELECT a, c FROM s UNION SELECT e.dst, max(least(d.width, e.w)) FROM d JOIN edges e ON e.src = d.v GROUP BY e.dst)
        SELECT * FROM d""",
    "closure": """WITH RECURSIVE t(x, y) AS (
        SELECT src, dst FROM edges UNION SELECT a.x, b.y FROM t a JOIN t b ON a.y = b.x) SELECT * FROM t""",
    "components": """WITH RECURSIVE both(a, b) AS (
        SELECT src, dst FROM edges UNION ALL SELECT dst, src FROM edges),
        c(v, label) USING KEY (v) AS (
        SELECT a, a FROM both UNION SELECT b, min(label) FROM c JOIN both ON a = v GROUP BY b) SELECT * FROM c""",
    "paths": """WITH RECURSIVE p(v, n) AS (
        SELECT a, 0 FROM s UNION ALL SELECT dst, n + 1 FROM p JOIN edges ON src = v WHERE n < 4) SELECT * FROM p""",
    "gaps": """WITH RECURSIVE p(v, n) AS (
        SELECT a, 0 FROM s UNION ALL
        SELECT p.v + 1, p.n + 1 FROM p LEFT JOIN p AS o ON o.v = p.v + 1 WHERE o.v IS NULL AND p.n < 4)
        SELECT * FROM p""",
    "pairs": """WITH RECURSIVE p(v, w, n) AS (
        SELECT a, c, 0 FROM s UNION ALL
        SELECT p.v, o.w, p.n + 1 FROM p JOIN p AS o ON o.v = p.w WHERE p.n < 2) SELECT * FROM p""",
    "parity": """WITH RECURSIVE even(v) AS (SELECT a FROM s UNION SELECT r.b FROM odd JOIN r ON r.a = odd.v),
        odd(v) AS (SELECT a FROM s WHERE false UNION SELECT r.b FROM even JOIN r ON r.a = even.v)
        SELECT even.v, count(*) AS n FROM even JOIN odd ON even.v = odd.v GROUP BY even.v""",
    "guarded": """WITH RECURSIVE t(x, n) AS (
        SELECT a, c FROM s UNION
        SELECT r.b, (t.n + 1) % 4 FROM t JOIN r ON t.x = r.a WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.a = r.b))
        SELECT x, max(n) AS n FROM t GROUP BY x""",
    "steps": """REPEAT x = SELECT a AS v, c AS n FROM s
        STEP SELECT r.b AS v, max(x.n) + 1 AS n FROM x JOIN r ON r.a = x.v GROUP BY r.b LIMIT 3""",
    "ebb": """REPEAT x = SELECT a AS v, 10 AS n FROM s
        STEP SELECT r.a AS v, coalesce(min(x.n), 0) - 1 AS n FROM r LEFT JOIN x ON x.v = r.b GROUP BY r.a
             UNION ALL SELECT c, 1 FROM s WHERE c IS NOT NULL LIMIT 4 RETURN SELECT v, n FROM x WHERE n < 9""",
    "share": """REPEAT x = SELECT a AS v, 1 AS n FROM s
        STEP SELECT x.v, x.n + t.n - (SELECT count(*) FROM r) AS n FROM x, (SELECT sum(n) AS n FROM x) AS t LIMIT 2""",
    "generations": """WITH RECURSIVE g(x, y, n) AS (
        SELECT a, b, 1 FROM r UNION
        SELECT p.b, q.b, g.n % 3 + 1 FROM g JOIN r p ON p.a = g.x JOIN r q ON q.a = g.y) SELECT * FROM g""",
}


def random_query(seed: int) -> str:
    """One or two names, each a UNION or a min or max by key, that read each other and tables."""
    chance = random.Random(seed)
    names = ["p", "q"][: chance.choice([1, 1, 2])]
    merges = {name: chance.choice(["distinct", "distinct", "min", "max"]) for name in names}
    parts = [_definition(chance, name, merges) for name in names]
    return f"WITH RECURSIVE {', '.join(parts)} SELECT * FROM {chance.choice(names)}"


def _definition(chance: random.Random, name: str, merges: dict[str, str]) -> str:
    table = chance.choice(["r", "s"])
    second = "b" if table == "r" else "c"
    initial = f"SELECT a, {second} FROM {table}{chance.choice(['', ' WHERE a < 3', f' WHERE {second} IS NOT NULL'])}"
    key = "" if merges[name] == "distinct" else " USING KEY (x)"
    others = [other for other in merges if other != name] or [name]
    return f"{name}(x, y){key} AS ({initial} UNION {_step(chance, merges[name], others[0], list(merges))})"


def _step(chance: random.Random, merge: str, first: str, names: list[str]) -> str:
    """A join of one or two states with a table."""
    others = chance.choice([[], [], [chance.choice(names)]])
    joined = f"{first} t0 JOIN r ON {chance.choice(['t0.x', 't0.y'])} = r.a"
    for other in others:
        joined += f" JOIN {other} t1 ON t1.x = {chance.choice(['r.b', 't0.y'])}"
    where = chance.choice(
        ["", " WHERE t0.y < 4", " WHERE r.b NOT IN (SELECT c FROM s WHERE c IS NOT NULL)", " WHERE t0.x <> r.b"]
    )
    x, y = chance.choice(["r.b", "t0.x"]), chance.choice(["t0.y", *(["t1.y"] if others else [])])
    more = chance.randrange(3)
    if merge == "distinct":
        return f"SELECT {x}, ({y} + {more}) % 5 FROM {joined}{where}"
    value = f"min({y} + {more})" if merge == "min" else f"max(least({y} + {more}, 6))"
    return f"SELECT {x}, {value} FROM {joined}{where} GROUP BY {x}"
