"""Whole cases: tables, their first rows, views, and epochs of changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from tests.oracle.grammar import RULES
from tests.oracle.queries import Column, Queries, Query
from tests.oracle.values import KEYS, NESTED, SCALARS, declared, skewed, value

Row = tuple[Any, ...]


@dataclass(frozen=True)
class TableCase:
    name: str
    columns: tuple[Column, ...]
    has_key: bool

    @property
    def ddl(self) -> str:
        body = ", ".join(f"{c.name} {declared(c.type)}" for c in self.columns)
        return f"CREATE TABLE {self.name} ({body}{', PRIMARY KEY (id)' if self.has_key else ''})"


@dataclass(frozen=True)
class Change:
    """insert rows; or delete or upsert rows picked by their position among those there."""

    table: str
    kind: str
    rows: tuple[Row, ...] = ()
    picks: tuple[int, ...] = ()


@dataclass(frozen=True)
class Case:
    tables: tuple[TableCase, ...]
    views: tuple[tuple[str, Query], ...]
    epochs: tuple[tuple[Change, ...], ...] = field(default=())
    settings: Mapping[str, str] = field(default_factory=dict)
    """The settings of the session."""

    def __repr__(self) -> str:
        lines = [f"SET {name} = {value}" for name, value in self.settings.items()]
        lines += [t.ddl for t in self.tables] + [f"{name}: {q.text}" for name, q in self.views]
        lines += [f"epoch {i + 1}: {changes}" for i, changes in enumerate(self.epochs)]
        return "Case(\n  " + "\n  ".join(lines) + "\n)"


@st.composite
def tables(draw: Any) -> tuple[TableCase, ...]:
    made = []
    for i in range(draw(st.integers(1, 2))):
        has_key = draw(st.booleans())
        more = draw(st.lists(st.one_of(st.sampled_from(SCALARS), st.sampled_from(NESTED)), min_size=1, max_size=3))
        kinds = ["int", draw(st.sampled_from(KEYS)), *more]
        columns = [Column(f"{'ab'[i]}{j}", kind) for j, kind in enumerate(kinds)]
        made.append(TableCase(f"t{i}", tuple([Column("id", "int"), *columns] if has_key else columns), has_key))
    return tuple(made)


_HOW = (value, skewed, value, value, value, value)
"""How the values of each column of a table are drawn: one is skewed."""


def rows_for(table: TableCase, most: int) -> st.SearchStrategy[list[Row]]:
    cells = [
        st.integers(0, 40) if c.name == "id" else kind(c.type) for c, kind in zip(table.columns, _HOW, strict=False)
    ]
    unique = (lambda row: row[0]) if table.has_key else None
    return st.lists(st.tuples(*cells), max_size=most, unique_by=unique)


@st.composite
def epoch(draw: Any, made: tuple[TableCase, ...]) -> tuple[Change, ...]:
    changes = []
    for table in made:
        kind = draw(st.sampled_from(["none", "insert", "insert", "delete", "replace", "both"]))
        if kind in ("insert", "both"):
            changes.append(Change(table.name, "insert", tuple(draw(rows_for(table, 6)))))
        if kind in ("delete", "both"):
            changes.append(Change(table.name, "delete", picks=tuple(draw(st.lists(st.integers(0, 50), max_size=5)))))
        if kind == "replace" and table.has_key:
            changes.append(Change(table.name, "upsert", tuple(draw(rows_for(table, 6)))))
    return tuple(changes)


SETTINGS = {
    "spark.sql.session.timeZone": ("UTC", "America/New_York", "Europe/Berlin", "Asia/Tokyo", "Asia/Kathmandu"),
    "spark.sql.ansi.enabled": ("true", "false"),
    "spark.sql.shuffle.partitions": ("2", "1", "5"),
    "spark.sql.caseSensitive": ("false", "true"),
}
"""What sessions are set to; the first of each is what the others are simplified to."""


def settings() -> st.SearchStrategy[dict[str, str]]:
    return st.fixed_dictionaries({name: st.sampled_from(values) for name, values in SETTINGS.items()})


def elsewhere(given: Mapping[str, str]) -> dict[str, str]:
    """Other settings: those of somebody who opens the warehouse later."""
    return {name: SETTINGS[name][SETTINGS[name].index(value) - 1] for name, value in given.items()}


@st.composite
def cases(draw: Any, depth: int = 4) -> Case:
    made, chosen = draw(tables()), draw(settings())
    lenient = chosen["spark.sql.ansi.enabled"] == "false"
    known = {t.name: list(t.columns) for t in made}
    views: list[tuple[str, Query]] = []
    for i in range(draw(st.integers(1, 3))):
        query = Queries(draw, known, RULES, "cde"[i], lenient=lenient).query(draw(st.integers(1, depth)))
        views.append((f"v{i}", query))
        if len({c.name for c in query.columns}) == len(query.columns):
            known = {**known, f"v{i}": list(query.columns)}
    first = tuple(Change(t.name, "insert", tuple(draw(rows_for(t, 12)))) for t in made)
    epochs = draw(st.lists(epoch(made), min_size=1, max_size=3))
    return Case(made, tuple(views), (first, *epochs), chosen)
