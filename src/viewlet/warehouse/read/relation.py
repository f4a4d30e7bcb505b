"""Reading a table or view: its contents at the last committed epoch, and its changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from viewlet import arguments
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.python_values import pandas_values, python_values
from viewlet.columns.rows import Rows
from viewlet.errors import StoreError, UnknownName
from viewlet.formatting import ago, html_table, plural
from viewlet.plan.types import Field
from viewlet.program.program import costliest_tier
from viewlet.store import GoneFile, Snapshot
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.maintained import Maintained
from viewlet.warehouse.read.change_feed import ShowChanges, change_fields, change_schema, feed_frame
from viewlet.warehouse.refresh import visible

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

    from viewlet.warehouse.warehouse import Warehouse


class Relation:
    """A table or view at one committed epoch: the last one when this object was created."""

    def __init__(self, warehouse: Warehouse, found: Table | Maintained) -> None:
        self._warehouse = warehouse
        self._found = found
        self._snapshot: Snapshot = warehouse.store.snapshot()

    def __repr__(self) -> str:
        columns = ", ".join(str(f) for f in self.fields)
        return f"<{self._kind} {self.name} ({columns}): {plural(self._count(), 'row')} at epoch {self.epoch}>"

    def _repr_html_(self) -> str:
        """For notebooks: the first rows with types, the epoch, and the view's costliest tier."""
        return html_table(self.head(), self._caption())

    def _caption(self) -> str:
        last = self._warehouse.store.last_change(self.name)
        changed = "" if last is None else f", changed in epoch {last[0]:,}, {ago(last[1])}"
        notes = () if isinstance(self._found, Table) else self._found.notes
        tier = f", {found}" if (found := costliest_tier(notes)) else ""
        return f"{self._kind} {self.name}: {plural(len(self), 'row')} at epoch {self.epoch:,}{changed}{tier}"

    @property
    def _kind(self) -> str:
        return "table" if isinstance(self._found, Table) else self._found.kind

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The rows as an Arrow C stream, for Polars, pandas, DuckDB or PyArrow."""
        return self.arrow().__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """The rows, as from `rows`."""
        return iter(self.rows())

    def __len__(self) -> int:
        self._warehouse.check_open()
        return self._count()

    def _count(self) -> int:
        return self._snapshot.contents(self.name).total()

    @property
    def name(self) -> str:
        """The name of the table or view."""
        return self._found.name

    @property
    def definition(self) -> Table | Maintained:
        """The declaration of the table or view."""
        return self._found

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [f.name for f in self.fields]

    @property
    def schema(self) -> pa.Schema:
        """The columns with their Arrow types; `fields` has Spark's types."""
        return pa.schema([pa.field(f.name, arrow_type(f.type), f.nullable) for f in self.fields])

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns with Spark's types."""
        return self._found.fields

    @property
    def epoch(self) -> int:
        """The number of the epoch that this object reads."""
        return self._snapshot.epoch

    def as_of(self, epoch: int) -> Relation:
        """Return the relation as of an epoch, while the changes since are kept (`oldest`, `db.set_retention`)."""
        from viewlet.warehouse.read.earlier import EarlierRelation

        return EarlierRelation(self, arguments.number("epoch", epoch))

    def _bag(self) -> Rows:
        """The rows with their weights, each distinct row once."""
        with self._reading():
            return visible(self._found, self._snapshot.contents(self.name).consolidated())

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Raise a specific error if a file is gone because a later epoch replaced it."""
        self._warehouse.check_open()
        try:
            yield
        except GoneFile as error:
            if not self._is_superseded():
                raise
            raise StoreError(
                f"epoch {self.epoch} of {self.name} was superseded", hint="refresh() and read again"
            ) from error

    def _is_superseded(self) -> bool:
        """Whether a writer in another process has replaced the files of this snapshot."""
        store = self._warehouse.store
        store.refresh()
        now = store.snapshot()
        return not now.has(self.name) or now.contents(self.name).refs() != self._snapshot.contents(self.name).refs()

    def arrow(self) -> pa.Table:
        """Return the rows as an Arrow table, in no particular order."""
        bag = self._bag()
        if len(bag) and bag.weights.min() < 0:
            raise StoreError(f"{self.name} lacks rows that were deleted from it, although its table is TRUSTED")
        return self._as_arrow(bag.expanded())

    def _as_arrow(self, rows: Rows) -> pa.Table:
        schema = pa.schema([pa.field(f.name, arrow_type(f.type)) for f in self.fields])
        return pa.Table.from_arrays(list(rows.columns.values()), schema=schema)

    def head(self, count: int = 20) -> pa.Table:
        """Return at most `count` rows as an Arrow table, without reading the others."""
        parts, found = [], 0
        with self._reading():
            for piece in self._pieces(arguments.number("count", count)):
                there = piece.filter(piece.weights > 0).slice(0, count - found)
                parts.append(visible(self._found, there).expanded())
                found += len(parts[-1])
                if found >= count:
                    break
        return self._as_arrow(Rows.concat(parts)).slice(0, count)

    def _pieces(self, size: int) -> Iterator[Rows]:
        """The rows in pieces of about `size`, read on demand."""
        contents, stored = self._snapshot.contents(self.name), tuple(self._found.stored)
        if not contents.is_sorted:
            yield from contents.batches(stored, max(size, 1))
        else:
            count = max(1, contents.rows // max(size, 1))
            yield from (contents.partition(at, count).consolidated().select(stored) for at in range(count))
        yield contents.nothing().select(stored)

    def pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas DataFrame; nested values and intervals of months are as in `rows`."""
        import pandas as pd

        columns = zip(self.fields, self.arrow().columns, strict=True)
        return pd.DataFrame({f.name: pandas_values(self.name, f, column) for f, column in columns})

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples of Python values."""
        columns = zip(self.fields, self.arrow().columns, strict=True)
        return list(zip(*(python_values(self.name, f, column) for f, column in columns), strict=True))

    def spark(self) -> DataFrame:
        """Return the rows as a DataFrame of the caller's Spark session."""
        from viewlet.spark.session.handles import plan_of
        from viewlet.spark.session.jvm import Jvm

        self._warehouse.check_open()
        rows = self._warehouse.reading.frame(self.name, self._snapshot)
        return Jvm(self._warehouse.session).frame(plan_of(rows))

    def round(self, number: int) -> pa.Table:
        """Return a loop's rows after `number` rounds, which are run on its inputs from the start."""
        if isinstance(self._found, Table):
            raise UnknownName(f"{self.name} is a table, which has no rounds")
        rows = self._found.after_rounds(arguments.number("number", number), self._read).expanded()
        return pa.Table.from_arrays([rows[name] for name in self._found.stored], schema=self.schema)

    def _read(self, name: str) -> Rows:
        return visible(self._warehouse.catalog.find(name), self._snapshot.contents(name).consolidated())

    @property
    def oldest(self) -> int:
        """The earliest epoch that `changes` can start after: the changes up to it are no longer kept."""
        return self._warehouse.store.oldest(self.name)

    def changes(self, since: int | None = None) -> pa.Table:
        """Return the changes of each epoch after `since`, up to this one, with the columns of Spark's change feed.

        The default is all changes that are kept, those after `oldest`; `db.set_retention` sets how many.
        With a primary key, a row that replaced another appears as update_preimage and update_postimage.
        """
        parts = [changes for _, changes in self.changes_by_epoch(self.oldest if since is None else since)]
        return pa.concat_tables(parts) if parts else change_schema(self.fields).empty_table()

    def spark_changes(self, since: int | None = None) -> DataFrame:
        """Return the changes as a DataFrame of the caller's Spark session; tasks read those of large epochs."""
        from viewlet.spark.session.arrow_frames import from_arrow
        from viewlet.spark.session.children import active
        from viewlet.spark.session.handles import plan_of
        from viewlet.spark.session.jvm import Jvm

        first = self.oldest if since is None else arguments.number("since", since)
        kept = [entry for entry in self._warehouse.store.feed_contents(self.name, first) if entry[0] <= self.epoch]
        feed = [(contents, ShowChanges.of(self._found, epoch, time)) for epoch, time, contents in kept]
        with active(self._warehouse.sessions.plain) as plain:
            frame = feed_frame(plain, self._warehouse.store.address, feed)
            if frame is None:
                frame = from_arrow(plain, self.changes(first), change_fields(self.fields))
        return Jvm(self._warehouse.session).frame(plan_of(frame))

    def changes_by_epoch(self, since: int) -> list[tuple[int, pa.Table]]:
        """Return the changes of each epoch after `since` that changed anything, with its number."""
        feed = self._warehouse.store.feed(self.name, arguments.number("since", since))
        return [(e, self._epoch_changes(e, at, rows)) for e, at, rows in feed if e <= self.epoch]

    def as_inserted(self) -> pa.Table:
        """All rows as insertions, with the columns of the change feed."""
        return self._epoch_changes(
            self.epoch, self._snapshot.timestamp, self._snapshot.contents(self.name).consolidated()
        )

    def _epoch_changes(self, epoch: int, timestamp: float, rows: Rows) -> pa.Table:
        return ShowChanges.of(self._found, epoch, timestamp)(rows)
