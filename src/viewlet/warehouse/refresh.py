"""One refresh or fill of one view: access to what it reads, and to where its changes go."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from viewlet.columns.rows import Rows
from viewlet.engine.engine import Engine
from viewlet.engine.epoch import EpochDeltas
from viewlet.engine.whole_bag import Source
from viewlet.store import Contents, Layout, Transaction
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.maintained import Maintained

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse


class Refresh:
    """The context in which a view refreshes or fills itself.

    `replaced`: tables and views that replace those of the catalog in this transaction. `inputs`: for a trial fill, the
    rows to use instead of the contents of the inputs.
    """

    def __init__(
        self,
        warehouse: Warehouse,
        deltas: EpochDeltas,
        thing: Maintained,
        engine: Engine,
        replaced: Mapping[str, Table | Maintained] | None = None,
        inputs: Mapping[str, Rows] | None = None,
    ) -> None:
        self.warehouse = warehouse
        self.deltas = deltas
        self.thing = thing
        self.engine = engine
        self._replaced = replaced or {}
        self._inputs = inputs
        self.started = time.perf_counter()
        self.memory: Any = warehouse.memory.pop(thing.name, None)
        """The state that the last refresh passed to `remember`, if this process committed it; otherwise None."""

    @property
    def transaction(self) -> Transaction:
        return self.deltas.transaction

    def delta(self, name: str) -> Rows | None:
        """The epoch's change of an input, with the names of its columns; None if it does not change."""
        rows = self.deltas.changes.get(name)
        return None if rows is None else visible(self.find(name), rows)

    def rows(self, name: str) -> Rows:
        """All rows of an input after the epoch, with the names of its columns."""
        if self._inputs is None:
            return visible(self.find(name), self.after(name).consolidated())
        return visible(self.find(name), self._inputs[name] if name in self._inputs else self.after(name).nothing())

    def rows_unnetted(self, name: str) -> Rows:
        """The same, but a row may occur several times; all weights are positive."""
        if self._inputs is None and self.after(name).layout.form == "table":
            found = self.after(name).scan()
            if (found.weights > 0).all():
                return visible(self.find(name), found)
        return self.rows(name)

    def sources(self) -> dict[str, Source]:
        """All inputs after the epoch, to be read in pieces; in a trial, none: its rows become the deltas instead."""
        if self._inputs is not None:
            self.deltas.changes.update(self._inputs)
            return {}
        return {name: Source(self.after(name), self.find(name).stored) for name in self.thing.reads}

    def rows_before(self, name: str) -> Rows:
        """All rows of an input before the epoch."""
        return visible(self.find(name), self.transaction.before(name).consolidated())

    def before(self, bag: str) -> Contents:
        """A bag before the epoch."""
        return self.transaction.before(bag)

    def after(self, bag: str) -> Contents:
        """A bag with all that the epoch has added to it so far."""
        return self.transaction.contents(bag)

    def emit(self, rows: Rows) -> None:
        """Append a change to the result, and record the net change for its readers."""
        named = rows.select([f.name for f in self.thing.fields]).rename(self.thing.stored)
        self.deltas.add_unnetted(self.thing.name, named, self.thing.layout)

    def keep(self, bag: str, rows: Rows, layout: Layout) -> None:
        """Append a change to a bag of state."""
        self.transaction.append(bag, rows, layout)

    def remember(self, value: Any) -> None:
        """Keep state in memory for the next refresh, if this one commits."""
        self.deltas.remembered[self.thing.name] = value

    def record(self, more: Mapping[str, Any]) -> dict[str, Any]:
        """This run's entry in the epoch's record."""
        changes = self.deltas.changes
        rows_in = {bag: changes.rows(bag) for bag in self.thing.reads if bag in changes}
        spent = (time.perf_counter() - self.started) * 1e3
        return {"rows_in": rows_in, **changes.counts(self.thing.name), **more, "ms": round(spent, 3)}

    def find(self, name: str) -> Table | Maintained:
        """A table or view as of this transaction."""
        return self._replaced.get(name) or self.warehouse.catalog.find(name)


def visible(found: Table | Maintained, rows: Rows) -> Rows:
    """Stored rows with only the columns that users see, under the users' names."""
    return rows.select(found.stored).rename([f.name for f in found.fields])
