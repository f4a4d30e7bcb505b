"""Tables: their declarations, and the bags that the store keeps for each.

A table with a primary key has an index of its rows by key, with their fingerprints; a table without one has an index of
row hashes. A TRUSTED table, whose keys are not checked, and an append-only table without a key have no index.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import from_numpy
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.evaluate import compile_expr
from viewlet.columns.fresh_names import free_name
from viewlet.columns.hash import Hashes
from viewlet.columns.kernels.collate import folding
from viewlet.columns.rows import Rows
from viewlet.plan.expr import Call, Column
from viewlet.plan.types import FRACTIONAL, Field
from viewlet.store import Layout
from viewlet.store.runs.layout import Names
from viewlet.warehouse.declare import watermarks
from viewlet.warehouse.declare.expectations import (
    DROPPED_LAYOUT,
    DROPPED_TYPES,
    REJECTED,
    Constraint,
    rejected_fields,
)
from viewlet.warehouse.declare.watermarks import LATE, Watermark

if TYPE_CHECKING:
    from viewlet.warehouse.source import Source

HASHES = ("_h1", "_h2")


@dataclass(frozen=True)
class Table:
    """A table, the input of views."""

    name: str
    fields: tuple[Field, ...]
    primary_key: tuple[str, ...] = ()
    append_only: bool = False
    trusted: bool = False
    static: bool = False
    """Whether it refuses changes once a view reads it."""
    watermark: Watermark | None = None
    aside_of: str = ""
    """The table whose late or rejected rows it holds."""
    defaults: tuple[tuple[str, str], ...] = ()
    """Columns with the SQL expressions for statements that omit them."""
    constraints: tuple[Constraint, ...] = ()
    clustered: tuple[str, ...] = ()
    """The columns that rows are looked up by, other than the primary key; the index then holds whole rows."""
    flow: str = ""
    """The flow that writes it."""
    source: Source | None = None
    """The source that feeds it, if any."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.fields)

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns of its bag that hold its fields."""
        return self.names

    def field(self, name: str) -> Field:
        return self.fields[self.names.index(name)]

    def default(self, name: str) -> str:
        """The SQL expression for a column that a statement omits."""
        return next((text for column, text in self.defaults if column.lower() == name.lower()), "NULL")

    @cached_property
    def layout(self) -> Layout:
        return Layout(columns=self.names, key=self.names, form="table", feed=True)

    @cached_property
    def index(self) -> str | None:
        """The bag in which the existence of rows is checked; None if changes are not checked."""
        is_trusted = self.trusted or (self.source is not None and not self.primary_key)
        unchecked = is_trusted or (self.append_only and not self.primary_key)
        return None if unchecked and not self.clustered else f"{self.name}.index"

    @cached_property
    def index_layout(self) -> Layout:
        indexes = (self.clustered,) if self.primary_key and self.clustered not in ((), self.key) else ()
        key = self.key or self.clustered or self.hashes[:1]
        return Layout(tuple(self.index_types), key, indexes, fingerprints=bool(self.primary_key))

    @cached_property
    def hashes(self) -> tuple[str, ...]:
        """The names of the index's columns for the hashes of a row."""
        return tuple(free_name(name, self.names) for name in HASHES)

    @cached_property
    def index_types(self) -> dict[str, pa.DataType]:
        if not self.primary_key and not self.clustered:
            return dict.fromkeys(self.hashes, pa.int64())
        return {**self.types, **dict.fromkeys(self.folded.values(), pa.string())}

    @cached_property
    def folded(self) -> dict[str, str]:
        """The collated columns of the primary key, with the columns of the index that hold them folded."""
        collated = [f.name for f in self.fields if f.name in self.primary_key and f.type.name == "collated"]
        return {name: free_name(f"_folded_{name}", self.names) for name in collated}

    @cached_property
    def key(self) -> Names:
        """The columns of the index to compare keys by: collated columns are replaced by their folded ones."""
        return tuple(self.folded.get(name, name) for name in self.primary_key)

    def with_key(self, rows: Rows) -> Rows:
        """Rows with the folded columns of their keys."""
        if not self.folded:
            return rows
        folds = {name: folding(self.field(name).type.args[0]) for name in self.folded}
        return rows.with_columns({self.folded[n]: fold(rows[n]) for n, fold in folds.items() if fold is not None})

    def normalized(self, rows: Rows) -> Rows:
        """Rows with their keys normalized as Spark compares them: −0.0 becomes 0.0."""
        floats = [f for f in self.fields if f.name in self.primary_key and f.type.name in FRACTIONAL]
        fixed = {f.name: compile_expr(Call("normalize_float", (Column(f.name, f.type),), f.type))(rows) for f in floats}
        return rows.with_columns(fixed) if fixed else rows

    def key_hashes(self, rows: Rows) -> Hashes:
        """A hash of each row's key, or of the whole row if there is no key."""
        return self.with_key(self.normalized(rows)).hashes(self.key or None)

    @cached_property
    def clock(self) -> str | None:
        """The bag of the table's clock, for its watermark."""
        return None if self.watermark is None else f"{self.name}.clock"

    @cached_property
    def late(self) -> Table | None:
        """The table of its late rows."""
        if self.watermark is None:
            return None
        return Table(f"{self.name}{LATE}", self.fields, append_only=True, aside_of=self.name)

    @cached_property
    def rejected(self) -> Table | None:
        """The table of its rejected rows, which violate a KEEP ASIDE constraint."""
        if not any(c.action == "KEEP ASIDE" for c in self.constraints):
            return None
        return Table(f"{self.name}{REJECTED}", rejected_fields(self.fields), append_only=True, aside_of=self.name)

    @cached_property
    def dropped(self) -> str | None:
        """The bag that counts the rows that constraints dropped."""
        return f"{self.name}.dropped" if any(c.action == "DROP ROW" for c in self.constraints) else None

    @property
    def asides(self) -> list[Table]:
        """The tables that hold its late, rejected and unreadable rows; they are created and dropped with it."""
        own = [table for table in (self.late, self.rejected) if table is not None]
        return own if self.source is None else [*own, *self.source.asides(self)]

    @cached_property
    def types(self) -> dict[str, pa.DataType]:
        return {f.name: arrow_type(f.type) for f in self.fields}

    def bags(self) -> list[tuple[str, Layout, dict[str, pa.DataType]]]:
        """The bags of a table: its rows, index, clock and counts of dropped rows, and those of its source."""
        kept = [(self.name, self.layout, self.types)]
        if self.index is not None:
            kept.append((self.index, self.index_layout, self.index_types))
        if self.clock is not None:
            kept.append((self.clock, watermarks.LAYOUT, watermarks.TYPES))
        if self.dropped is not None:
            kept.append((self.dropped, DROPPED_LAYOUT, DROPPED_TYPES))
        return kept if self.source is None else [*kept, *self.source.bags(self)]

    def index_rows(self, rows: Rows) -> Rows:
        """The entries of the index for some rows."""
        has_rows = self.primary_key or self.clustered
        return self.with_key(rows) if has_rows else row_hashes(rows, self.hashes)

    def empty(self) -> Rows:
        return Rows.empty(self.types)


def row_hashes(rows: Rows, names: Names = HASHES) -> Rows:
    """Two hashes of each row, which together identify it."""
    hashes = [from_numpy(rows.hashes(seed=seed).view(np.int64), pa.int64()) for seed in (0, 1)]
    return Rows(dict(zip(names, hashes, strict=True)), rows.weights)
