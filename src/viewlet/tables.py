"""Tables: what they are declared to be, and whether a change to one is right.

A change is checked before anything runs, against the table as the epoch found it and what the epoch has
changed so far. What is needed for that is an index: for a table with a primary key its rows by key, else
the hashes of its rows. A table declared TRUSTED, or append-only without a key, keeps none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, from_numpy, valid_mask
from viewlet.columns.evaluate import compile_expr
from viewlet.columns.rows import Rows, add_up, group
from viewlet.columns.types import arrow_type
from viewlet.errors import RejectedEpoch
from viewlet.plan.expr import Call, Column
from viewlet.plan.types import FRACTIONAL, Field
from viewlet.store import Contents, Layout

HASHES = ("_h1", "_h2")


@dataclass(frozen=True, slots=True)
class Table:
    """An input that changes."""

    name: str
    fields: tuple[Field, ...]
    primary_key: tuple[str, ...] = ()
    append_only: bool = False
    trusted: bool = False
    static: bool = False
    """Whether it stays as it is once a view reads it."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.fields)

    @property
    def layout(self) -> Layout:
        return Layout(columns=self.names, key=self.names, form="table", feed=True)

    @property
    def index(self) -> str | None:
        """The bag that tells whether a row is there."""
        unchecked = (self.trusted or self.append_only) and not self.primary_key
        return None if unchecked else f"{self.name}.index"

    @property
    def index_layout(self) -> Layout:
        if self.primary_key:
            return Layout(columns=self.names, key=self.primary_key)
        return Layout(columns=HASHES, key=HASHES[:1])

    @property
    def types(self) -> dict[str, pa.DataType]:
        return {f.name: arrow_type(f.type) for f in self.fields}

    def bags(self) -> list[tuple[str, Layout, dict[str, pa.DataType]]]:
        """What the store keeps of a table: its rows and its index."""
        kept = [(self.name, self.layout, self.types)]
        if self.index is not None:
            types = self.types if self.primary_key else dict.fromkeys(HASHES, pa.int64())
            kept.append((self.index, self.index_layout, types))
        return kept

    def empty(self) -> Rows:
        return Rows.empty(self.types)


def row_hashes(rows: Rows) -> Rows:
    """Two hashes of each row: together, its identity."""
    hashes = [from_numpy(rows.hashes(seed=seed).view(np.int64), pa.int64()) for seed in (0, 1)]
    return Rows(dict(zip(HASHES, hashes, strict=True)), rows.weights)


@dataclass
class TableChanges:
    """What an epoch does to one table, checked as it comes."""

    table: Table
    index: Contents | None
    pending: list[Rows] = field(default_factory=list)

    def insert(self, rows: Rows) -> None:
        """Put rows in."""
        rows = self._normalized(rows)
        if self.table.primary_key:
            self._refuse_null_keys(rows)
            self._refuse_repeated_keys(rows)
            there = self._with_key_of(rows)
            if len(there):
                self._reject_row(
                    rows, self._in(rows, there), "its key is already there", hint="use upsert to replace rows"
                )
        self._take(rows)

    def delete(self, rows: Rows) -> None:
        """Take whole rows away, one copy for each row given."""
        self._refuse_append_only("delete")
        rows = self._normalized(rows)
        if self.table.index is not None:
            self._refuse_missing(rows)
        self._take(rows.negated())

    def delete_keys(self, keys: Rows) -> None:
        """Take away the rows with these primary keys."""
        self._refuse_append_only("delete")
        keys = self._normalized(keys)
        self._refuse_null_keys(keys)
        self._refuse_repeated_keys(keys)
        there = self._with_key_of(keys)
        if len(there) < len(keys):
            self._reject_row(keys, ~self._in(keys, there), "it is not there")
        self._take(there.negated())

    def upsert(self, rows: Rows) -> None:
        """Put rows in, each instead of the one with its key."""
        if not self.table.primary_key:
            raise RejectedEpoch(
                f"table {self.table.name}: upsert needs a primary key",
                hint="declare PRIMARY KEY (…), or delete and insert",
            )
        self._refuse_append_only("upsert")
        rows = self._normalized(rows)
        self._refuse_null_keys(rows)
        self._refuse_repeated_keys(rows)
        self._take(self._with_key_of(rows).negated())
        self._take(rows)

    def delta(self) -> Rows:
        """The net change."""
        return Rows.concat(self.pending).consolidate() if self.pending else self.table.empty()

    def index_delta(self, delta: Rows) -> Rows:
        """What the net change means for the index."""
        return delta if self.table.primary_key else row_hashes(delta).consolidate()

    def _take(self, rows: Rows) -> None:
        """Note a change; small ones are put together as they double, so that many cost little more than one."""
        self.pending.append(rows)
        while len(self.pending) > 1 and len(self.pending[-2]) <= 2 * len(self.pending[-1]):
            self.pending[-2:] = [Rows.concat(self.pending[-2:])]

    def _normalized(self, rows: Rows) -> Rows:
        """Keys as Spark compares them: −0.0 is 0.0."""
        floats = [f for f in self.table.fields if f.name in self.table.primary_key and f.type.name in FRACTIONAL]
        fixed = {f.name: compile_expr(Call("normalize_float", (Column(f.name, f.type),), f.type))(rows) for f in floats}
        return rows.with_columns(fixed) if fixed else rows

    def _with_key_of(self, rows: Rows) -> Rows:
        """The rows of the table, as changed so far, whose key is among those of the given rows."""
        assert self.index is not None
        key = self.table.primary_key
        hashes = np.unique(rows.hashes(key))
        _, found = self.index.lookup(key, hashes)
        parts = [found, *(p.filter(np.isin(p.hashes(key), hashes)) for p in self.pending)]
        there = Rows.concat([p.select(self.table.names) for p in parts]).consolidate()
        return there.filter(self._in(there, rows)) if len(there) else there

    def _in(self, rows: Rows, others: Rows) -> Mask:
        """Which rows have a key that is among the others'."""
        key = self.table.primary_key
        both = Rows.concat([rows.select(key), others.select(key)])
        first, groups = group(list(both.columns.values()), len(both))
        seen = np.zeros(len(first), dtype=np.bool_)
        seen[groups[len(rows) :]] = True
        return seen[groups[: len(rows)]]

    def _refuse_append_only(self, what: str) -> None:
        if self.table.append_only:
            raise RejectedEpoch(f"table {self.table.name} is append-only: {what} is not possible")

    def _refuse_null_keys(self, rows: Rows) -> None:
        for name in self.table.primary_key:
            if rows[name].null_count:
                self._reject_row(rows, ~valid_mask(rows[name]), f"NULL in the primary key column {name}")

    def _refuse_repeated_keys(self, rows: Rows) -> None:
        first, groups = group([rows[k] for k in self.table.primary_key], len(rows))
        if len(first) < len(rows):
            again = np.ones(len(rows), dtype=np.bool_)
            again[first] = False
            self._reject_row(rows, again, f"the same key as row {int(first[groups[np.flatnonzero(again)[0]]]) + 1}")

    def _refuse_missing(self, rows: Rows) -> None:
        """Every row that is to go must be there, as often as it is given."""
        assert self.index is not None
        wanted = row_hashes(rows.weighted(np.ones(len(rows), dtype=np.int64)))
        if self.table.primary_key:
            there = row_hashes(self._with_key_of(rows))
        else:
            hashes = np.unique(wanted.hashes(HASHES[:1]))
            _, found = self.index.lookup(HASHES[:1], hashes)
            there = Rows.concat([found.select(HASHES), *(row_hashes(p) for p in self.pending)])
        both = Rows.concat([wanted.negated(), there])
        first, groups = group(list(both.columns.values()), len(both))
        left = add_up(both.weights, groups, len(first))
        if (left[groups[: len(rows)]] < 0).any():
            self._reject_row(rows, left[groups[: len(rows)]] < 0, "it is not there, or not that often")

    def _reject_row(self, rows: Rows, bad: Mask, reason: str, hint: str | None = None) -> None:
        at = int(np.flatnonzero(bad)[0])
        raise RejectedEpoch(
            f"table {self.table.name}, row {at + 1} ({_show_row(rows, at, self.table)}): {reason}", hint=hint
        )


def _show_row(rows: Rows, at: int, table: Table) -> str:
    """A row, or its key, for an error message."""
    shown = table.primary_key or tuple(rows.names)[:4]
    return ", ".join(f"{name}={_short(rows[name][at].as_py())}" for name in shown)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "…"
