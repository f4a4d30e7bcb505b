"""One run of one maintained thing in an epoch: what it reads, and where its changes go."""

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
    """What a maintained thing is given to refresh or fill itself with.

    `replaced` are tables and things that the transaction puts in the place of those of the catalog; `inputs` are rows
    that stand for all that is there, where a fill is only a trial.
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
        """What the last refresh that was committed in this process remembered; None after anything else."""

    @property
    def transaction(self) -> Transaction:
        return self.deltas.transaction

    def delta(self, name: str) -> Rows | None:
        """What the epoch changes in something that is read, under the names of its columns; None for nothing."""
        rows = self.deltas.changes.get(name)
        return None if rows is None else visible(self.find(name), rows)

    def rows(self, name: str) -> Rows:
        """All rows of something that is read, as the epoch leaves it, under the names of its columns."""
        if self._inputs is None:
            return visible(self.find(name), self.after(name).consolidated())
        return visible(self.find(name), self._inputs[name] if name in self._inputs else self.after(name).nothing())

    def rows_unnetted(self, name: str) -> Rows:
        """The same where a row may come several times; none is taken away again."""
        if self._inputs is None and self.after(name).layout.form == "table":
            found = self.after(name).scan()
            if (found.weights > 0).all():
                return visible(self.find(name), found)
        return self.rows(name)

    def sources(self) -> dict[str, Source]:
        """All that is read, as the epoch leaves it, to be read piece by piece; a trial has what it is given instead."""
        if self._inputs is not None:
            self.deltas.changes.update(self._inputs)
            return {}
        return {name: Source(self.after(name), self.find(name).stored) for name in self.thing.reads}

    def rows_before(self, name: str) -> Rows:
        """The same as the epoch found it."""
        return visible(self.find(name), self.transaction.before(name).consolidated())

    def before(self, bag: str) -> Contents:
        """A bag as it was before the epoch."""
        return self.transaction.before(bag)

    def after(self, bag: str) -> Contents:
        """A bag as it is with all that the epoch has added to it so far."""
        return self.transaction.contents(bag)

    def emit(self, rows: Rows) -> None:
        """Add a change to the result, and pass on what it comes to."""
        named = rows.select([f.name for f in self.thing.fields]).rename(self.thing.stored)
        self.deltas.add_unnetted(self.thing.name, named, self.thing.layout)

    def keep(self, bag: str, rows: Rows, layout: Layout) -> None:
        """Add a change to a bag of state."""
        self.transaction.append(bag, rows, layout)

    def remember(self, value: Any) -> None:
        """Hold state in memory until the next refresh, should this one be committed."""
        self.deltas.remembered[self.thing.name] = value

    def record(self, more: Mapping[str, Any]) -> dict[str, Any]:
        """What the epoch's record says of this run."""
        changes = self.deltas.changes
        rows_in = {bag: changes.rows(bag) for bag in self.thing.reads if bag in changes}
        spent = (time.perf_counter() - self.started) * 1e3
        return {"rows_in": rows_in, **changes.counts(self.thing.name), **more, "ms": round(spent, 3)}

    def find(self, name: str) -> Table | Maintained:
        """A table or something maintained, as the transaction leaves it."""
        return self._replaced.get(name) or self.warehouse.catalog.find(name)


def visible(found: Table | Maintained, rows: Rows) -> Rows:
    """The columns that users see, under the users' names."""
    return rows.select(found.stored).rename([f.name for f in found.fields])
