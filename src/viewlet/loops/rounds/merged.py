"""Rounds with a user-defined merge function: it merges each row with the one of its key.

The effect of such a function cannot be undone, so every epoch runs all rounds from the first rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.differences import values_of_rows
from viewlet.columns.rows import Rows
from viewlet.errors import UnsupportedQuery, shortened
from viewlet.loops.rounds.rounds import Rounds, round_of

Row = tuple[Any, ...]
Function = Callable[[Row, Row], Row]


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Rows from the least to the greatest: NULL first, NaN last."""
    return sorted(rows, key=lambda row: [(v is not None, v != v, 0 if v is None or v != v else v) for v in row])


def merged(
    view: str, function: Function, key_at: Sequence[int], there: dict[Row, Row], rows: Iterable[Row]
) -> set[Row]:
    """Merge rows, in order, with those of their keys; return the keys whose rows change."""
    before: dict[Row, Row | None] = {}
    for row in in_order(rows):
        key = tuple(row[at] for at in key_at)
        before.setdefault(key, there.get(key))
        there[key] = _checked(view, function(there[key], row), key, key_at) if key in there else row
    return {key for key, old in before.items() if there[key] != old}


def _checked(view: str, row: Any, key: Row, key_at: Sequence[int]) -> Row:
    if not isinstance(row, tuple) or tuple(row[at] for at in key_at) != key:
        raise UnsupportedQuery(
            f"view {view}: the merge gives {shortened(row)} for the key {key}",
            hint="give a row, a tuple, with that key",
        )
    return row


@dataclass
class MergedRounds(Rounds):
    """The rounds of one state, from scratch."""

    function: Function | None = None
    key_at: tuple[int, ...] = ()

    def run(self, changes: Mapping[str, Rows], *, initial: bool = False, stop: int | None = None) -> dict[str, Rows]:
        """Run all rounds; return the rows of the state, each with its round."""
        assert initial, "a merge of one's own begins again in every epoch"
        (state,) = self.states
        there, brought = self._resumed(done := self.done())
        made = self.run_all({**changes, **self.feeds(done)}, initial=True)
        number = 0 if self.resumed is None else self.resumed + 1
        while len(now := self._brought(made.get(state.name), there, brought, number)):
            if stop is not None and number >= stop:
                break
            self.count(number, {state.name: now})
            self._refuse_endless(number, {state.name: now})
            made, number = self.run_all(self.feeds({state.name: now})), number + 1
        return {state.name: self._rows(there, brought, there)}

    def _resumed(self, done: Mapping[str, Rows]) -> tuple[dict[Row, Row], dict[Row, int]]:
        """The rows of an interrupted run, and their rounds."""
        found = sorted((row for rows in done.values() for row in values_of_rows(rows)), key=lambda row: row[-1])
        keyed = [(tuple(row[at] for at in self.key_at), row) for row in found]
        return {key: row[:-1] for key, row in keyed}, {key: row[-1] for key, row in keyed}

    def _brought(self, made: Rows | None, there: dict[Row, Row], brought: dict[Row, int], number: int) -> Rows:
        """The rows that the merge of a round has changed."""
        assert self.function is not None
        new = [] if made is None else values_of_rows(made.filter(round_of(made) == number).expanded())
        changed = merged(self.view, self.function, self.key_at, there, (row[:-1] for row in new))
        brought |= dict.fromkeys(changed, number)
        return self._rows(there, brought, changed)

    def _rows(self, there: Mapping[Row, Row], brought: Mapping[Row, int], keys: Iterable[Row]) -> Rows:
        rows = [(*there[key], brought[key]) for key in keys]
        fields = self.states[0].ready.program.columns
        arrays = {f.name: pa.array([r[at] for r in rows], type=arrow_type(f.type)) for at, f in enumerate(fields)}
        return Rows(arrays, np.ones(len(rows), dtype=np.int64))
