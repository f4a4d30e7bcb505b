"""The interface of everything that a warehouse maintains: SQL views and other kinds.

A kind is a frozen dataclass that derives from `Maintained`, with a line in `KINDS` that names its reader.
Epochs, explain, status, check, changes, drop and the command line know no kind by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self

from viewlet.columns.differences import differences
from viewlet.columns.rows import Rows
from viewlet.errors import InUse, SqlError, StoreError, UnknownName
from viewlet.plan.types import Field
from viewlet.program.program import Note
from viewlet.store import Layout, Snapshot, Transaction

if TYPE_CHECKING:
    from viewlet.engine.engine import Cluster
    from viewlet.warehouse.declare.catalog import Catalog
    from viewlet.warehouse.refresh import Refresh
    from viewlet.warehouse.warehouse import Warehouse

Placement = Mapping[str, str | Sequence[str]]
"""Where to place maps on a cluster: `driver`, `replicated`, or the columns to partition them by."""
Begin = Callable[["Maintained"], "Refresh | None"]
"""Begins the refresh of a view; None if nothing that it reads has changed."""
Reader = Callable[[str, Mapping[str, Any], bool], "Maintained"]
"""Decodes a view from its name and document; the last argument: whether code stored in it may run."""

KINDS: dict[str, str | Reader] = {
    "view": "viewlet.views.view:read",
    "loop": "viewlet.loops.maintained:read",
    "signal": "viewlet.signal.view.maintained:read",
    "matrix": "viewlet.matrix.tables.view:read",
}
"""The function that decodes documents of each kind, or its address, from which it is imported on first use."""


class Maintained(ABC):
    """A view of any kind: refreshed in every epoch that changes what it reads."""

    kind: ClassVar[str]
    """The kind's name in messages, and the prefix of its documents' keys."""
    name: str
    position: int
    """The order of definition, which is the order of refresh."""

    @property
    @abstractmethod
    def fields(self) -> tuple[Field, ...]:
        """The columns that users and other definitions see."""

    @property
    @abstractmethod
    def reads(self) -> tuple[str, ...]:
        """The tables and views whose changes can change this one."""

    @property
    def mentions(self) -> tuple[str, ...]:
        """All tables and views that its definition names, including those that cannot affect it."""
        return self.reads

    @abstractmethod
    def fill(self, run: Refresh) -> dict[str, Any]:
        """Compute it from its inputs and emit all rows, even if there are none; return its part of the record."""

    @abstractmethod
    def refresh(self, run: Refresh) -> dict[str, Any]:
        """Apply an epoch's deltas and emit the change; return its part of the record."""

    @abstractmethod
    def recompute(self, warehouse: Warehouse) -> Rows:
        """Its contents computed from scratch, for `check`."""

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """Its serialized form, as JSON, from which another process can decode it."""

    @abstractmethod
    def explain(self, warehouse: Warehouse, *, verbose: bool = False) -> str:
        """How it is maintained, and why no cheaper way applies."""

    def explain_distributed(
        self, warehouse: Warehouse, placement: Placement | None = None, *, verbose: bool = False
    ) -> str:
        """Where its state is placed on a cluster, and what an epoch does there."""
        return f"{self.kind} {self.name} is refreshed at the driver"

    @classmethod
    def refresh_all(cls, things: Sequence[Self], begin: Begin) -> Iterator[tuple[Refresh, dict[str, Any]]]:
        """Refresh views of this kind in order; yield each run and its part of the record."""
        for thing in things:
            if (run := begin(thing)) is not None:
                yield run, thing.refresh(run)

    def outline(self) -> str:
        """How it would be maintained, before it is created: `explain` without sizes and costs."""
        return f"{self.kind} {self.name} → {', '.join(f.name for f in self.fields)}"

    @property
    def key(self) -> str:
        """The key of its document."""
        return f"{self.kind}/{self.name}"

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns of its bag that hold its fields."""
        return tuple(f.name for f in self.fields)

    @property
    def layout(self) -> Layout:
        """The layout of its bag."""
        return Layout(columns=self.stored, key=self.stored, feed=True)

    @property
    def bags(self) -> tuple[str, ...]:
        """Its bags: its result and its state."""
        return (self.name,)

    @property
    def steps(self) -> int:
        """The number of steps of a refresh, for the choice of the engine."""
        return 1

    @property
    def grows(self) -> bool:
        """Whether it only receives insertions."""
        return False

    @property
    def statement(self) -> str | None:
        """The SQL statement that would create it, if there is one."""
        return None

    @property
    def notes(self) -> tuple[Note, ...]:
        """Its operators with their tiers and reasons, if it has operators."""
        return ()

    @property
    def meanings(self) -> Mapping[str, str]:
        """Descriptions of its bags of state."""
        return {}

    @property
    def properties(self) -> Mapping[str, str]:
        """The properties that DESCRIBE EXTENDED shows for this kind only."""
        return {}

    def check(self, warehouse: Warehouse, snapshot: Snapshot) -> Rows:
        """The rows in which its contents differ from its definition, at a snapshot of the last epoch."""
        found = snapshot.contents(self.name).consolidated().select(self.stored)
        return self.differences(warehouse, found.rename([f.name for f in self.fields]))

    def differences(self, warehouse: Warehouse, found: Rows) -> Rows:
        """The recomputed rows that `found` lacks, with positive weights; its surplus rows, with negative weights."""
        return differences(self.recompute(warehouse), found, self.fields)

    def after_rounds(self, number: int, read: Callable[[str], Rows]) -> Rows:
        """The rows of a loop after some rounds; `read` returns its inputs by name."""
        raise UnknownName(f"{self.name} is a {self.kind}, which has no rounds")

    def evict(
        self, transaction: Transaction, table: str, mark: int, own: Collection[str], cluster: Cluster | None = None
    ) -> None:
        """Evict the state that a table's watermark has passed, from the bags in `own`, which nothing else shares."""
        return  # most kinds have nothing to evict

    def follow_data(self, warehouse: Warehouse) -> None:
        """Recompile, if another program suits the data better; nothing that users see changes."""
        return  # most kinds have only one program

    def is_same(self, other: Maintained) -> bool:
        """Whether it is known to mean the same as another, so that replacing that one changes nothing."""
        return False

    def at(self, position: int) -> Self:
        """The same at another position."""
        return replace(self, position=position)  # type: ignore[type-var]  # kinds are dataclasses

    def pinned(self, warehouse: Warehouse) -> Self:
        """The same with its meaning fixed, so that columns added to its inputs do not change it."""
        return self

    def narrowed(self, warehouse: Warehouse, catalog: Catalog, redefined: Collection[str], columns: str) -> Self:
        """The same over tables that have lost `columns`; refused if it may read them."""
        raise InUse(f"{self.kind} {self.name} may read {columns}", hint="drop it first")

    def renamed(self, warehouse: Warehouse, to: str) -> Self:
        """The same under another name."""
        raise SqlError(f"{self.kind} {self.name} cannot be renamed", hint="create it under the other name")


def read_maintained(key: str, document: Mapping[str, Any], *, trusted: bool) -> Maintained:
    """Decode a document."""
    kind, _, name = key.partition("/")
    if kind not in KINDS:
        raise StoreError(f"{name} is a {kind}, which this version of Viewlet does not know", hint="use a newer one")
    found = KINDS[kind]
    if isinstance(found, str):
        module, _, function = found.partition(":")
        found = KINDS[kind] = getattr(import_module(module), function)
    read: Reader = found
    return read(name, document, trusted)
