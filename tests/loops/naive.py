"""Loops run as slowly and plainly as can be, by SQLite: what the tests compare with.

Each round evaluates the user's own queries on whole states. UNION and USING KEY are least fixpoints, which no order of
evaluation can change as long as the steps are monotone; UNION ALL adds up rounds, each a step over the one before.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tests.loops.harness import SCHEMAS
from viewlet.loops.language.syntax import LoopText, State

Row = tuple[Any, ...]
MOST = 200


class Naive:
    """The states of a loop as tables of SQLite."""

    def __init__(
        self, loop: LoopText, tables: Mapping[str, Iterable[Row]], columns: Mapping[str, tuple[str, ...]]
    ) -> None:
        self.loop, self.columns = loop, columns
        self.db = sqlite3.connect(":memory:")
        self.db.create_function("least", 2, _least, deterministic=True)
        for name, schema in SCHEMAS.items():
            self.put(name, tuple(part.split()[0] for part in schema.split(", ")), tables[name])

    def put(self, name: str, columns: tuple[str, ...], rows: Iterable[Row]) -> None:
        """Let a name stand for some rows."""
        self.db.execute(f"DROP TABLE IF EXISTS {name}")
        self.db.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
        self.db.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", list(rows))

    def query(self, text: str | None) -> list[Row]:
        """SQLite has no parentheses around the parts of a union."""
        plain = (text or "").strip()
        return self.db.execute(f"SELECT * FROM {plain}" if plain.startswith("(") else plain).fetchall()

    def result(self) -> Counter[Row]:
        match self.loop.states[0].merge:
            case "all":
                found = self.rounds()
            case "last":
                found = self.last_round()
            case _:
                found = {name: list(rows) for name, rows in self.fixpoint().items()}
        for state in self.loop.states:
            self.put(state.name, self.columns[state.name], found[state.name])
        return Counter(self.query(self.loop.result))

    def rounds(self) -> dict[str, list[Row]]:
        """The rows of all rounds of UNION ALL."""
        last = {s.name: self.query(s.initial) for s in self.loop.states}
        found = {name: list(rows) for name, rows in last.items()}
        for _ in range(MOST):
            if not any(last.values()):
                return found
            for name, rows in last.items():
                self.put(name, self.columns[name], rows)
            last = {s.name: self.query(s.step) for s in self.loop.states}
            for name, rows in last.items():
                found[name] += rows
        raise AssertionError("the loop does not end")

    def last_round(self) -> dict[str, list[Row]]:
        """The rows of the last round of REPEAT."""
        (state,), limit = self.loop.states, self.loop.limit
        rows = self.query(state.initial)
        for _ in range(limit.rounds if limit else 0):
            self.put(state.name, self.columns[state.name], rows)
            rows = self.query(state.step)
        return {state.name: rows}

    def fixpoint(self) -> dict[str, set[Row]]:
        """The least states that hold their first rows and what the steps make of them.

        A step reads what any round has brought, rows that a better one of their key has replaced since among them.
        """
        found: dict[str, set[Row]] = {s.name: set() for s in self.loop.states}
        brought: dict[str, set[Row]] = {s.name: set() for s in self.loop.states}
        for _ in range(MOST):
            for name, rows in found.items():
                brought[name] |= rows
                self.put(name, self.columns[name], brought[name])
            wider = {
                s.name: self.merged(s, [*found[s.name], *self.query(s.initial), *self.query(s.step)])
                for s in self.loop.states
            }
            if wider == found:
                return found
            found = wider
        raise AssertionError("the loop does not end")

    def merged(self, state: State, rows: Iterable[Row]) -> set[Row]:
        """Of UNION the different rows; of USING KEY the least or greatest value of each key, which is the last column."""
        if state.merge == "distinct":
            return set(rows)
        best = max if "max(" in state.step else min
        by_key: dict[Row, list[Any]] = {}
        for *key, value in rows:
            by_key.setdefault(tuple(key), []).append(value)
        kept = {key: [v for v in values if v is not None] for key, values in by_key.items()}
        return {(*key, best(values) if values else None) for key, values in kept.items()}


def _least(a: Any, b: Any) -> Any:
    """The lesser one; NULL does not count."""
    return min((v for v in (a, b) if v is not None), default=None)
