"""The changes of a table in an epoch, and their checks: keys, deletions, watermarks, constraints.

Each change is checked as it is made, against the table's index before the epoch and the epoch's changes so far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, valid_mask
from viewlet.columns.rows import Rows, Weights, add_up, alike, group
from viewlet.errors import RejectedEpoch, shortened
from viewlet.intake.refusal import RejectedRow
from viewlet.store import Contents
from viewlet.store.access.probe import Pairs, Sorted
from viewlet.store.runs.add_rows import add_together, net_by_key
from viewlet.store.runs.layout import Names
from viewlet.warehouse.declare.expectations import Constraint, Evaluate, rejected_fields
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.declare.watermarks import is_older, latest_in, shown_time

if TYPE_CHECKING:
    from viewlet.warehouse.epoch.load import Loading


@dataclass
class TableChanges:
    """The changes of one table, checked as they are made."""

    table: Table
    index: Contents | None
    pending: list[Sorted] = field(default_factory=list)
    taken: int = 0
    """The number of changes made."""
    mark: int | None = None
    """The watermark; None if the table has none, or no rows yet."""
    late: list[Rows] = field(default_factory=list)
    """Rows older than the watermark."""
    breaks: Evaluate | None = None
    """Evaluates constraints."""
    rejected: list[Rows] = field(default_factory=list)
    """Rows that violate a KEEP ASIDE constraint."""
    dropped: Counter[str] = field(default_factory=Counter)
    """How many rows each constraint dropped."""
    load: Loading | None = None
    """Changes that are already written, not held here."""
    before: int = 0
    """How many rows the earlier pieces of this change had, to number rows in errors."""
    is_share: bool = False
    """Whether the rows are a task's share of those given, so that row numbers mean nothing to the user."""

    def insert(self, rows: Rows) -> None:
        """Insert rows."""
        self.put(rows.filter(self.admit(rows)))

    def replace(self, old: Rows, new: Rows) -> None:
        """Replace old rows by new ones, pair by pair; an old row stays if its new one is not admitted."""
        admitted = self.admit(new)
        self.delete(old.filter(admitted))
        self.put(new.filter(admitted))

    def exchange(self, old: Rows, new: Rows) -> None:
        """Replace rows by others, unchecked: `old` was read from the table as it was before the epoch."""
        if len(old):
            self._take(self._sorted(old).negated())
        if len(new):
            self.put(new)

    def put(self, rows: Rows) -> None:
        """Insert rows that were admitted."""
        self._take(self.checked(rows))

    def checked(self, rows: Rows) -> Sorted:
        """Rows to insert, sorted for the index; raise if a key already exists."""
        given = self._sorted(rows)
        if self.table.primary_key and self.index is not None:
            self._refuse_bad_keys(given)
            if (taken := self._is_taken(given)).any():
                self._reject_row(given.rows, taken, "its key already exists", hint="use upsert to replace rows")
        return given

    def delete(self, rows: Rows) -> None:
        """Delete whole rows, one copy for each row given."""
        self._refuse_append_only("delete")
        self._refuse_final(rows, "delete")
        given = self._sorted(rows)
        if self.index is not None:
            self._refuse_missing(given)
        self._take(given.negated())

    def delete_keys(self, keys: Rows) -> None:
        """Delete the rows with these primary keys; raise if one does not exist."""
        self._refuse_append_only("delete")
        self._refuse_unindexed("delete by key")
        given = self._sorted(keys)
        self._refuse_bad_keys(given)
        there = self._with_key_of(given)
        if len(there) < len(keys):
            self._reject_row(given.rows, self._count(given, self.table.key) < 1, "it does not exist")
        self._refuse_final(there.rows, "delete")
        self._take(there.negated())

    def discard_keys(self, keys: Rows) -> None:
        """Delete the rows with these primary keys, ignoring keys that do not exist."""
        self._refuse_append_only("delete")
        given = self._sorted(keys)
        self._refuse_bad_keys(given)
        self._take(self._with_key_of(given).negated())

    def upsert(self, rows: Rows) -> None:
        """Insert rows, each replacing the row with its key."""
        if not self.table.primary_key:
            raise RejectedEpoch(
                f"table {self.table.name}: upsert needs a primary key",
                hint="declare PRIMARY KEY (…), or delete and insert",
            )
        self._refuse_append_only("upsert")
        self._refuse_unindexed("upsert")
        given = self._sorted(rows.filter(self.admit(rows)))
        self._refuse_bad_keys(given)
        there = self._with_key_of(given)
        self._refuse_final(there.rows, "upsert")
        self._take(there.negated())
        self._take(given)

    def delta(self) -> Rows:
        """The net change."""
        if not self.pending:
            return self.table.empty()
        changed = Sorted.concat(self.pending) if self.taken > 1 else _owned(self.pending[0])
        if self.index is None:
            return net_by_key(changed.rows, self.table.primary_key)
        rows = self._netted(changed) if self.table.primary_key else changed.rows.select(self.table.names).consolidate()
        return rows.select(self.table.names) if self.table.folded else rows

    def latest(self, delta: Rows) -> int | None:
        """The latest event time of the inserted rows, if the table has a watermark."""
        return latest_in(self.table.watermark, self.table.fields, delta) if self.load is None else self.load.latest

    def take_asides(self) -> list[tuple[Table, Rows]]:
        """Remove and return the late and rejected rows, with the tables that keep them."""
        kept = ((self.table.late, self.late), (self.table.rejected, self.rejected))
        found = [(aside, Rows.concat(rows).select(aside.names)) for aside, rows in kept if aside is not None and rows]
        self.late, self.rejected = [], []
        return found

    def _is_older(self, rows: Rows) -> Mask | None:
        """The rows older than the watermark; None if there is none."""
        mark = self.table.watermark
        if mark is None or self.mark is None:
            return None
        return is_older(rows[mark.column], self.table.field(mark.column).type, self.mark)

    def admit(self, rows: Rows) -> Mask:
        """The rows that meet the constraints and are not late; the others are kept aside or dropped."""
        admitted = self._expected(rows)
        older = self._is_older(rows)
        if older is not None and (late := older & admitted).any():
            self.late.append(rows.filter(late))
            admitted &= ~late
        return admitted

    def _expected(self, rows: Rows) -> Mask:
        """The rows that violate no constraint; the others are refused, kept aside or counted as dropped."""
        broken = self._broken(rows)
        if not broken:
            return np.ones(len(rows), dtype=np.bool_)
        aside = np.zeros(len(rows), dtype=np.bool_)
        for constraint, mask in broken.items():
            if constraint.action == "FAIL EPOCH":
                reason = f"it breaks the constraint {constraint.name}, CHECK ({constraint.text})"
                self._reject_row(rows, mask, reason)
            if constraint.action == "KEEP ASIDE":
                aside |= mask
        if aside.any():
            self._set_aside(rows, aside, broken)
        for constraint, mask in broken.items():
            if constraint.action == "DROP ROW" and (mask & ~aside).any():
                self.dropped[constraint.name] += int((mask & ~aside).sum())
        return ~np.logical_or.reduce(list(broken.values()))

    def _broken(self, rows: Rows) -> dict[Constraint, Mask]:
        """The violated constraints, each with the rows that violate it."""
        if self.breaks is None or not len(rows):
            return {}
        found = {constraint: self.breaks(constraint, rows) for constraint in self.table.constraints}
        return {constraint: mask for constraint, mask in found.items() if mask.any()}

    def _set_aside(self, rows: Rows, aside: Mask, broken: Mapping[Constraint, Mask]) -> None:
        """Keep rows aside with the names of the constraints that they violate."""
        names = [", ".join(c.name for c, mask in broken.items() if mask[at]) for at in np.flatnonzero(aside)]
        violated, *_ = rejected_fields(self.table.fields)
        self.rejected.append(rows.filter(aside).with_columns({violated.name: pa.array(names, pa.string())}))

    def _refuse_final(self, rows: Rows, what: str) -> None:
        """Refuse to change rows older than the watermark."""
        older = self._is_older(rows)
        if older is not None and older.any():
            assert self.mark is not None
            reason = f"it is older than the watermark, {shown_time(self.mark)}, so {what} is not possible"
            self._reject_row(rows.select(self.table.names), older, reason, hint="older rows are final")

    def _sorted(self, rows: Rows) -> Sorted:
        """Rows sorted by the key of the index, with its extra columns; without an index, in the order given."""
        if self.index is None:
            return Sorted.as_given(self.table.normalized(rows))
        if self.table.primary_key:
            return Sorted.by(self.table.key, self.table.with_key(self.table.normalized(rows)))
        return Sorted.by(self.index.layout.key, rows.with_columns(self.table.index_rows(rows).columns))

    def _netted(self, changed: Sorted) -> Rows:
        """Net rows; only rows that share a key can cancel. Few rows are returned in the order of their hashes."""
        rows = changed.rows
        if len(rows) > _MANY and changed.are_distinct():
            return rows  # sorted by the thread that writes the index
        return add_together(rows, rows.hashes(changed.key), self.table.index_layout, changed.order)[0]

    def _take(self, changed: Sorted) -> None:
        """Record a change. Pending changes are merged as their sizes double, so that many small ones stay cheap."""
        if self.index is not None and self.index.layout.fingerprints:
            changed.rows.fingerprints(self.index.layout.plain)  # computed once for each row: merging keeps them
        self.pending.append(changed)
        self.taken += 1
        while len(self.pending) > 1 and len(self.pending[-2]) <= 2 * len(self.pending[-1]):
            self.pending[-2:] = [Sorted.concat(self.pending[-2:])]

    def _candidates(self, given: Sorted, wanted: Names) -> Iterator[Pairs]:
        """Pairs of given rows and rows of the index, as changed so far, whose keys have the same hash."""
        assert self.index is not None
        yield from given.find_in_map(self.index, wanted)
        for part in self.pending:
            yield from given.find_in(part, wanted)

    def _count(self, given: Sorted, wanted: Names) -> Weights:
        """For each given row, how many rows of the index, as changed so far, equal it in the `wanted` columns."""
        pairs = list(self._candidates(given, wanted))
        if not pairs:
            return np.zeros(len(given), dtype=np.int64)
        which, found = np.concatenate([at for at, _ in pairs]), Rows.concat([rows for _, rows in pairs])
        same = alike(given.rows.select(wanted).take(which), found)  # all at once: each call has a fixed cost
        return add_up(found.weights * same, which, len(given))

    def _is_taken(self, given: Sorted) -> Mask:
        """The given rows whose key exists. Keys are compared only if rows with the same hash have a positive weight."""
        assert self.index is not None
        near = given.weigh(self.index, self.pending) > 0
        return self._count(given, self.table.key) > 0 if near.any() else near

    def _with_key_of(self, given: Sorted) -> Sorted:
        """The rows of the table, as changed so far, that have the keys of the given rows."""
        keys = given.rows.select(given.key)
        parts = [Rows.empty(self.table.index_types)]
        for which, found in self._candidates(given, self.table.index_layout.columns):
            parts.append(found.filter(alike(keys.take(which), found)))
        there = Sorted.by(given.key, Rows.concat(parts))
        return Sorted.by(given.key, self._netted(there))

    def _refuse_append_only(self, what: str) -> None:
        if self.table.append_only:
            raise RejectedEpoch(
                f"table {self.table.name} is append-only: {what} is not possible",
                hint="insert rows only, or create the table without APPEND ONLY",
            )

    def _refuse_unindexed(self, what: str) -> None:
        if self.index is None:
            raise RejectedEpoch(
                f"table {self.table.name} is TRUSTED, and keeps no index of its keys: {what} is not possible",
                hint="delete whole rows, and insert",
            )

    def _refuse_bad_keys(self, given: Sorted) -> None:
        """Refuse NULL in keys, and keys given twice."""
        rows, key = given.rows, given.key
        for name in self.table.primary_key:
            if rows[name].null_count:
                self._reject_row(rows, ~valid_mask(rows[name]), f"NULL in the primary key column {name}")
        if given.are_distinct():
            return
        first, groups = group([rows[k] for k in key], len(rows), rows.hashes(key))
        if len(first) < len(rows):
            again = np.ones(len(rows), dtype=np.bool_)
            again[first] = False
            original = f"row {self.before + int(first[groups[np.flatnonzero(again)[0]]]) + 1}"
            self._reject_row(rows, again, f"the same key as {'another row' if self.is_share else original}")

    def _refuse_missing(self, given: Sorted) -> None:
        """Refuse to delete rows that do not exist, or not as many times as given."""
        assert self.index is not None
        identifying = self.index.layout.columns
        by_hash = self.index.layout.fingerprints
        there = given.weigh(self.index, self.pending, whole=True) if by_hash else self._count(given, identifying)
        missing = there < _copies(given, identifying)
        if missing.any():
            self._reject_row(given.rows.select(self.table.names), missing, "it does not exist, or not as many times")

    def _reject_row(self, rows: Rows, bad: Mask, reason: str, hint: str | None = None) -> None:
        at = int(np.flatnonzero(bad)[0])
        shown = f" ({show_row(rows, at, self.table)}): {reason}"
        raise RejectedRow(self.table.name, self.before + at + 1, shown, hint, int(bad.sum()))


_MANY = 4_096  # rows from which on the index is written by a thread, during the refresh


def _owned(part: Sorted) -> Sorted:
    """The same rows, copied: the user's arrays may be slices of large buffers."""
    return replace(part, rows=part.rows.copied())


def _copies(given: Sorted, identifying: Names) -> Weights:
    """How many times each row is given."""
    if given.are_distinct():
        return np.ones(len(given), dtype=np.int64)
    _, groups = group([given.rows[name] for name in identifying], len(given))
    return np.bincount(groups)[groups]


def show_row(rows: Rows, at: int, table: Table) -> str:
    """A row, or its key, for an error message."""
    shown = table.primary_key or tuple(rows.names)[:4]
    return ", ".join(f"{name}={shortened(rows[name][at].as_py())}" for name in shown)
