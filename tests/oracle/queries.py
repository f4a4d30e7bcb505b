"""Random queries: every operator that views are made of, nested, over typed columns.

A query is SQL text with named, typed columns, so that the next operator can be put on top of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

from tests.oracle.values import KEYS, NUMBERS

Draw = Callable[..., object]
FLOATS = ("double", "float")
ORDERED = ("int", "bigint", "smallint", "decimal(10,2)", "decimal(38,4)", "double", "float", "string", "boolean", "date", "timestamp", "timestamp_ntz", "binary")  # fmt: skip


@dataclass(frozen=True)
class Column:
    name: str
    type: str


@dataclass(frozen=True)
class Query:
    """A query as SQL text, and the columns it has."""

    text: str
    columns: tuple[Column, ...]
    features: frozenset[str] = frozenset()

    def of(self, types: tuple[str, ...]) -> list[Column]:
        return [c for c in self.columns if c.type in types]


def scan(name: str, columns: list[Column]) -> Query:
    return Query(f"SELECT * FROM {name}", tuple(columns))


class Queries:
    """Draws queries over some tables."""

    def __init__(
        self, draw: Callable[[st.SearchStrategy[object]], object], tables: dict[str, list[Column]], prefix: str = "c"
    ) -> None:
        self._draw = draw
        self.tables = tables
        self._count = 0
        self._prefix = prefix

    def pick(self, items: object) -> object:
        return self._draw(st.sampled_from(list(items)))  # type: ignore[call-overload]

    def chance(self, one_in: int) -> bool:
        return self._draw(st.integers(0, one_in - 1)) == 0

    def name(self) -> str:
        self._count += 1
        return f"{self._prefix}{self._count}"

    def query(self, depth: int) -> Query:
        """A query of some depth."""
        if depth == 0:
            table = str(self.pick(sorted(self.tables)))
            return scan(table, self.tables[table])
        rule = self.pick(RULES)
        made = rule(self, depth)  # type: ignore[operator]
        return made if made is not None else self.filter(depth)

    # ——— operators

    def filter(self, depth: int) -> Query:
        q = self.query(depth - 1)
        return Query(f"SELECT * FROM ({q.text}) AS q WHERE {self.condition(q)}", q.columns, q.features | {"filter"})

    def project(self, depth: int) -> Query:
        q = self.query(depth - 1)
        picked = [self.expression(q) for _ in range(int(self.pick(range(1, 4))))]  # type: ignore[call-overload]
        named = [(e, Column(self.name(), t)) for e, t in picked] + [(c.name, c) for c in q.columns[:3]]
        text = ", ".join(f"{e} AS {c.name}" for e, c in named)
        return Query(f"SELECT {text} FROM ({q.text}) AS q", tuple(c for _, c in named), q.features | {"project"})

    def union(self, depth: int) -> Query | None:
        a, b = self.query(depth - 1), self.query(depth - 1)
        pairs = self._matching(a, b)
        if not pairs:
            return None
        op = str(self.pick(["UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL", "UNION ALL"]))
        columns = tuple(Column(self.name(), x.type) for x, _ in pairs)
        left = ", ".join(f"{x.name} AS {c.name}" for (x, _), c in zip(pairs, columns, strict=True))
        right = ", ".join(y.name for _, y in pairs)
        return Query(
            f"SELECT {left} FROM ({a.text}) AS a {op} SELECT {right} FROM ({b.text}) AS b",
            columns,
            a.features | b.features | {op.lower()},
        )

    def _matching(self, a: Query, b: Query) -> list[tuple[Column, Column]]:
        """Columns of two queries that have the same type, each used once."""
        left, pairs = list(b.columns), []
        for x in a.columns:
            y = next((y for y in left if y.type == x.type and (x.type in ORDERED)), None)
            if y is not None:
                left.remove(y)
                pairs.append((x, y))
        return pairs[:3]

    def join(self, depth: int) -> Query | None:
        a, b = self.query(depth - 1), self.query(max(0, depth - 2))
        kind = str(
            self.pick(
                ["JOIN", "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"]
            )
        )
        pairs = [(x, y) for x in a.columns for y in b.columns if x.type == y.type and x.type in KEYS]
        if not pairs:
            return None
        x, y = self.pick(pairs)  # type: ignore[misc]
        sign = "<=>" if self.chance(6) else "="
        condition = f"a.{x.name} {sign} b.{y.name}"
        more = [(x, y) for x in a.of(NUMBERS) for y in b.of(NUMBERS) if x.type == y.type]
        if more and self.chance(3):
            x, y = self.pick(more)  # type: ignore[misc]
            condition += f" AND a.{x.name} {self.pick(['<', '>=', '<>'])} b.{y.name}"
        sides = [("a", c) for c in a.columns[:4]] + (
            [] if "SEMI" in kind or "ANTI" in kind else [("b", c) for c in b.columns[:4]]
        )
        columns = [Column(self.name(), c.type) for _, c in sides]
        picked = ", ".join(f"{side}.{c.name} AS {new.name}" for (side, c), new in zip(sides, columns, strict=True))
        text = f"SELECT {picked} FROM ({a.text}) AS a {kind} ({b.text}) AS b ON {condition}"
        return Query(text, tuple(columns), a.features | b.features | {kind.lower()})

    def aggregate(self, depth: int) -> Query:
        q = self.query(depth - 1)
        keys = [] if self.chance(5) else self._some(q.of(KEYS), 2)
        calls = [self.reduce(q) for _ in range(int(self.pick(range(1, 4))))]  # type: ignore[call-overload]
        named = [(k.name, Column(self.name(), k.type)) for k in keys] + [(e, Column(self.name(), t)) for e, t in calls]
        picked = ", ".join(f"{e} AS {c.name}" for e, c in named)
        by = f" GROUP BY {', '.join(k.name for k in keys)}" if keys else ""
        having = f" HAVING count(*) {self.pick(['>', '<'])} {self.pick([1, 2, 3])}" if keys and self.chance(4) else ""
        text = f"SELECT {picked} FROM ({q.text}) AS q{by}{having}"
        kinds = {"aggregate" if keys else "global aggregate", *(e.split("(")[0] for e, _ in calls)}
        return Query(text, tuple(c for _, c in named), q.features | kinds)

    def distinct(self, depth: int) -> Query | None:
        q = self.query(depth - 1)
        columns = self._some([c for c in q.columns if c.type in ORDERED], 3)
        if not columns:
            return None
        picked = ", ".join(c.name for c in columns)
        return Query(f"SELECT DISTINCT {picked} FROM ({q.text}) AS q", tuple(columns), q.features | {"distinct"})

    def window(self, depth: int) -> Query | None:
        q = self.query(depth - 1)
        keys = self._some(q.of(KEYS), 1)
        if not keys:
            return None
        # rank and sums over RANGE frames: the same whatever the order of ties
        order = self._some([c for c in q.columns if c.type in ORDERED], 2)
        calls = ["count(*) OVER (PARTITION BY {p})"]
        if order:
            by = ", ".join(c.name + str(self.pick(["", " DESC", " NULLS LAST"])) for c in order)
            calls += [
                f"rank() OVER (PARTITION BY {{p}} ORDER BY {by})",
                f"dense_rank() OVER (PARTITION BY {{p}} ORDER BY {by})",
            ]
        call = str(self.pick(calls)).format(p=keys[0].name)
        kind = "int" if "rank" in call else "bigint"
        rest = [c for c in q.columns if c.type in ORDERED][:3]
        new = Column(self.name(), kind)
        text = f"SELECT {', '.join([*(c.name for c in rest), f'{call} AS {new.name}'])} FROM ({q.text}) AS q"
        return Query(text, (*rest, new), q.features | {"window"})

    def top_per_group(self, depth: int) -> Query | None:
        q = self.query(depth - 1)
        rest = [c for c in q.columns if c.type in ORDERED][:4]
        keys = [c for c in rest if c.type in KEYS]
        if not keys:
            return None
        new, key = Column(self.name(), "int"), self.pick(keys)
        by = ", ".join(c.name for c in rest)  # all columns: no tie is left open
        inner = (
            f"SELECT {by}, row_number() OVER (PARTITION BY {key.name} ORDER BY {by}) AS {new.name} FROM ({q.text}) AS q"  # type: ignore[attr-defined]
        )
        return Query(
            f"SELECT * FROM ({inner}) AS w WHERE {new.name} <= {self.pick([1, 2])}",
            (*rest, new),
            q.features | {"top per group"},
        )

    def limit(self, depth: int) -> Query | None:
        q = self.query(depth - 1)
        rest = [c for c in q.columns if c.type in ORDERED][:4]
        if not rest:
            return None
        by = ", ".join(c.name for c in rest)
        return Query(
            f"SELECT {by} FROM ({q.text}) AS q ORDER BY {by} LIMIT {self.pick([1, 3])}",
            tuple(rest),
            q.features | {"limit"},
        )

    def in_subquery(self, depth: int) -> Query | None:
        a, b = self.query(depth - 1), self.query(0)
        pairs = [(x, y) for x in a.columns for y in b.columns if x.type == y.type and x.type in KEYS]
        if not pairs:
            return None
        x, y = self.pick(pairs)  # type: ignore[misc]
        how = self.pick(
            [
                f"{x.name} IN (SELECT {y.name} FROM ({b.text}) AS b)",
                f"EXISTS (SELECT 1 FROM ({b.text}) AS b WHERE b.{y.name} = q.{x.name})",
                f"{x.name} NOT IN (SELECT {y.name} FROM ({b.text}) AS b)",
            ]
        )
        return Query(f"SELECT * FROM ({a.text}) AS q WHERE {how}", a.columns, a.features | b.features | {"subquery"})

    # ——— expressions

    def _some(self, columns: list[Column], most: int) -> list[Column]:
        if not columns:
            return []
        count = int(self.pick(range(1, min(most, len(columns)) + 1)))  # type: ignore[call-overload]
        return list(dict.fromkeys(self.pick(columns) for _ in range(count)))  # type: ignore[misc]

    def condition(self, q: Query) -> str:
        column = self.pick([c for c in q.columns if c.type in ORDERED] or q.columns)
        c = column.name  # type: ignore[attr-defined]
        kind = column.type  # type: ignore[attr-defined]
        tests = [f"{c} IS NOT NULL", f"{c} IS NULL"]
        if kind in NUMBERS:
            tests += [
                f"{c} > 0",
                f"{c} <= 1 OR {c} IS NULL",
                f"{c} <> 1",
                f"NOT ({c} = 2)",
                f"{c} IN (1, 2, NULL)",
                f"{c} BETWEEN -1 AND 2",
            ]
        if kind == "string":
            tests += [f"{c} >= 'a'", f"{c} LIKE 'a%'", f"{c} IN ('a', 'b')", f"length({c}) = 1", f"upper({c}) = 'B'"]
        if kind == "boolean":
            tests += [c, f"NOT {c}"]
        if kind == "date":
            tests += [f"{c} < DATE'2024-01-01'", f"year({c}) = 2024"]
        other = [d for d in q.columns if d.type == kind and d.name != c and kind in ORDERED]
        if other:
            tests.append(f"{c} {self.pick(['=', '<', '<=>'])} {self.pick(other).name}")  # type: ignore[attr-defined]
        return str(self.pick(tests))

    def expression(self, q: Query) -> tuple[str, str]:
        column = self.pick([c for c in q.columns if c.type in ORDERED] or q.columns)
        c = column.name  # type: ignore[attr-defined]
        kind = column.type  # type: ignore[attr-defined]
        if kind not in ORDERED:
            return c, kind
        options = [(c, kind), (f"coalesce({c}, {c})", kind), (f"{c} IS NULL", "boolean")]
        if kind in ("int", "bigint", "smallint"):
            options += [
                (f"CAST({c} + 1 AS int)" if kind == "smallint" else f"{c} % 7", "int" if kind == "smallint" else kind),
                (f"CAST({c} AS string)", "string"),
                (f"CASE WHEN {c} > 0 THEN {c} ELSE -1 END", "int" if kind == "smallint" else kind),
            ]
        if kind == "decimal(10,2)":
            options += [(f"CAST({c} * 2 AS decimal(10,2))", kind), (f"CAST({c} AS double)", "double")]
        if kind == "double":
            options += [(f"{c} * 2", kind), (f"-{c}", kind), (f"abs({c})", kind)]
        if kind == "string":
            options += [
                (f"concat({c}, 'x')", kind),
                (f"length({c})", "int"),
                (f"substring({c}, 1, 1)", kind),
                (f"upper({c})", kind),
                (f"repeat({c}, 2)", kind),
            ]
        if kind == "date":
            options += [(f"year({c})", "int"), (f"date_add({c}, 1)", kind)]
        return self.pick(options)  # type: ignore[return-value]

    def reduce(self, q: Query) -> tuple[str, str]:
        options = [("count(*)", "bigint")]
        column = self.pick(q.columns)
        c = column.name  # type: ignore[attr-defined]
        kind = column.type  # type: ignore[attr-defined]
        options += [(f"count({c})", "bigint")]
        if kind in ORDERED:
            options += [(f"min({c})", kind), (f"max({c})", kind), (f"count(DISTINCT {c})", "bigint")]
        sums = {
            "int": "bigint",
            "smallint": "bigint",
            "bigint": "bigint",
            "double": "double",
            "float": "double",
            "decimal(10,2)": "decimal(20,2)",
        }
        if kind in sums:
            options += [(f"sum({c})", sums[kind])] * 3 + [
                (f"avg({c})", "decimal(14,6)" if kind == "decimal(10,2)" else "double"),
                (f"sum({c}) FILTER (WHERE {c} > 0)", sums[kind]),
            ]
        if kind == "boolean":
            options += [(f"bool_or({c})", kind)]
        return self.pick(options)  # type: ignore[return-value]


RULES = (
    Queries.filter, Queries.project, Queries.union, Queries.join, Queries.join, Queries.aggregate, Queries.aggregate,
    Queries.distinct, Queries.window, Queries.top_per_group, Queries.limit, Queries.in_subquery,
)  # fmt: skip
