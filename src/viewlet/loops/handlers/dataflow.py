"""A running loop of handlers: the rows of each join key, the state of each group, the rows of the loop.

    Δstate ──▶ join ──▶ aggregate, when the round is done ──▶ state ──▶ Δstate of the next round
    Δrelation ──▶ join

All of this is stored by key, so that an epoch resumes where the last one ended.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from viewlet.errors import UnsupportedQuery
from viewlet.loops.handlers.deltas import Delete, Delta, Insert, Replace, Row, split
from viewlet.loops.handlers.handlers import Handlers

Part = str
_JOIN, _GROUP, _ROW = "join", "group", "row"


@dataclass(frozen=True)
class Places:
    """The positions of the key in a row of the state, and of the join columns in rows of the state and the relation."""

    key: tuple[int, ...]
    left: int
    right: int

    def key_of(self, row: Row) -> Row:
        return tuple(row[at] for at in self.key)


@dataclass
class Dataflow:
    """The rows of a loop and the state of its handlers."""

    handlers: Handlers
    places: Places
    kept: dict[Part, dict[Any, Any]] = field(default_factory=lambda: {_JOIN: {}, _GROUP: {}, _ROW: {}})
    touched: dict[tuple[Part, Any], Row | None] = field(default_factory=dict)
    """The entries changed since the last call; for rows, with their old values."""
    stored: dict[tuple[Part, bytes], bytes] = field(default_factory=dict)

    def follow(self, relation: Iterable[Delta], firsts: Iterable[Delta]) -> Iterator[list[Delta]]:
        """Apply changes of the relation and of the first rows; yield each round's changes of the state."""
        made = self._join(relation, is_left=False)
        moving = self._settle(firsts)
        if moving:
            yield moving
        while moving or made:
            made += self._join(moving, is_left=True)
            moving, made = self._settle(self._aggregate(made)), []
            if moving:
                yield moving

    def _join(self, deltas: Iterable[Delta], *, is_left: bool) -> list[Delta]:
        at = self.places.left if is_left else self.places.right
        handle = self.handlers.join.left if is_left else self.handlers.join.right
        made: list[Delta] = []
        for delta in (part for whole in deltas for part in split(whole, lambda row: row[at])):
            key = delta.row[at]
            if key is None:
                continue  # NULL equals nothing
            left, right = self.kept[_JOIN].setdefault(key, ([], []))
            self.touched[_JOIN, key] = None
            made += handle(left, right, delta)
        return made

    def _aggregate(self, deltas: list[Delta]) -> list[Delta]:
        handler, groups, count = self.handlers.aggregate, self.kept[_GROUP], len(self.places.key)
        if handler is None:
            return deltas
        reached: dict[Row, None] = {}
        for delta in (part for whole in deltas for part in split(whole, lambda row: row[:count])):
            key = tuple(delta.row[:count])
            state = groups[key] if key in groups else handler.zero()
            groups[key], reached[key] = handler.update(state, delta), None
        made: list[Delta] = []
        for key in reached:
            groups[key], more = handler.result(key, groups[key])
            self.touched[_GROUP, key] = None
            made += more
        return made

    def _settle(self, deltas: Iterable[Delta]) -> list[Delta]:
        """Apply deltas to the state; return its changes."""
        changed: list[Delta] = []
        for delta in (part for whole in deltas for part in split(whole, self.places.key_of)):
            key = self._key(delta)
            for made in self.handlers.state.update(self.kept[_ROW].get(key), delta):
                self._put(key, made)
                changed.append(made)
        return changed

    def _key(self, delta: Delta) -> Row:
        """The key of a delta; an adjustment may consist of the key only."""
        row = delta.row
        return tuple(row) if len(row) == len(self.places.key) else self.places.key_of(row)

    def _put(self, key: Row, delta: Delta) -> None:
        rows = self.kept[_ROW]
        self.touched.setdefault((_ROW, key), rows.get(key))
        match delta:
            case Insert(row) | Replace(row) if self.places.key_of(row) == key:
                rows[key] = row
            case Delete():
                rows.pop(key, None)
            case _:
                raise UnsupportedQuery(
                    f"a handler of the state makes {delta} of the row of {key}",
                    hint="give Insert, Delete and Replace of rows with the same key",
                )

    # ——— stored state

    def row_changes(self) -> list[tuple[Row, int]]:
        """The rows that the state has lost and gained since the last call."""
        before = {key: row for (part, key), row in self.touched.items() if part == _ROW}
        now = {key: self.kept[_ROW].get(key) for key in before}
        lost = [(row, -1) for key, row in before.items() if row is not None and row != now[key]]
        return lost + [(row, 1) for key, row in now.items() if row is not None and row != before[key]]

    def stored_changes(self) -> list[tuple[tuple[Part, bytes, bytes], int]]:
        """The changes of all entries (part, key, value) since the last call, with weights."""
        found: list[tuple[tuple[Part, bytes, bytes], int]] = []
        for part, key in self.touched:
            name = part, pickle.dumps(key)
            was = self.stored.pop(name, None)
            if key in self.kept[part]:
                self.stored[name] = pickle.dumps(self.kept[part][key])
            if was != (now := self.stored.get(name)):
                found += [((*name, value), sign) for value, sign in ((was, -1), (now, 1)) if value is not None]
        self.touched = {}
        return found

    def resume(self, entries: Iterable[tuple[Part, bytes, bytes]]) -> None:
        """Restore stored entries."""
        for part, key, value in entries:
            self.stored[part, key] = value
            self.kept[part][pickle.loads(key)] = pickle.loads(value)


def deltas_of(rows: Sequence[tuple[Row, int]]) -> list[Delta]:
    """Changes of a relation as deltas: deletions, then insertions."""
    gone = [Delete(row) for row, count in rows for _ in range(-count)]
    return [*gone, *(Insert(row) for row, count in rows for _ in range(count))]
