"""What a warehouse keeps fresh: SQL views, and whatever else plugs in here.

A kind is a frozen dataclass that derives from `Maintained`, with a line in `KINDS` that says how its document is read.
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
"""Where some maps are to be on a cluster: `driver`, `replicated`, or the columns to partition them by."""
Begin = Callable[["Maintained"], "Refresh | None"]
"""Begins the refresh of something; None if nothing that it reads has changed."""
Reader = Callable[[str, Mapping[str, Any], bool], "Maintained"]
"""Makes something maintained of its name and document; the last argument: whether code stored in it may run."""

KINDS: dict[str, str | Reader] = {
    "view": "viewlet.views.view:read",
    "loop": "viewlet.loops.maintained:read",
    "signal": "viewlet.signal.view.maintained:read",
    "matrix": "viewlet.matrix.tables.view:read",
}
"""How the documents of each kind are read: a function, or where one is found when the first is needed."""


class Maintained(ABC):
    """Something that is brought up to date in every epoch that changes what it reads."""

    kind: ClassVar[str]
    """The word for people, and the prefix of its document's key."""
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
        """The tables and maintained things whose change matters to this one."""

    @property
    def mentions(self) -> tuple[str, ...]:
        """All that its definition names, also what cannot make a difference to it."""
        return self.reads

    @abstractmethod
    def fill(self, run: Refresh) -> dict[str, Any]:
        """Make it from what its inputs hold, and emit all of it, even no rows; what the record shall say."""

    @abstractmethod
    def refresh(self, run: Refresh) -> dict[str, Any]:
        """Bring it up to date with an epoch's deltas, and emit what changes; what the record shall say."""

    @abstractmethod
    def recompute(self, warehouse: Warehouse) -> Rows:
        """What it should hold, computed from scratch, for `check`."""

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """All that makes it again in another process, as JSON."""

    @abstractmethod
    def explain(self, warehouse: Warehouse, *, verbose: bool = False) -> str:
        """How it is maintained, and why not better."""

    def explain_distributed(
        self, warehouse: Warehouse, placement: Placement | None = None, *, verbose: bool = False
    ) -> str:
        """Where its state is on a cluster, and what an epoch of it takes there."""
        return f"{self.kind} {self.name} is refreshed at the driver"

    @classmethod
    def refresh_all(cls, things: Sequence[Self], begin: Begin) -> Iterator[tuple[Refresh, dict[str, Any]]]:
        """Bring things of this kind up to date, in their order; what the record shall say of each that was reached."""
        for thing in things:
            if (run := begin(thing)) is not None:
                yield run, thing.refresh(run)

    def outline(self) -> str:
        """How it would be maintained, before it is there: `explain` without sizes and costs."""
        return f"{self.kind} {self.name} → {', '.join(f.name for f in self.fields)}"

    @property
    def key(self) -> str:
        """Under which key its document is kept."""
        return f"{self.kind}/{self.name}"

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns of its bag that hold the fields."""
        return tuple(f.name for f in self.fields)

    @property
    def layout(self) -> Layout:
        """How its bag is kept."""
        return Layout(columns=self.stored, key=self.stored, feed=True)

    @property
    def bags(self) -> tuple[str, ...]:
        """The bags that it keeps or passes on: itself, and its state."""
        return (self.name,)

    @property
    def steps(self) -> int:
        """Of how many steps a refresh consists, for the choice of an engine."""
        return 1

    @property
    def grows(self) -> bool:
        """Whether rows are only ever added to it."""
        return False

    @property
    def statement(self) -> str | None:
        """The SQL statement that makes it again, if there is one."""
        return None

    @property
    def notes(self) -> tuple[Note, ...]:
        """Its operators, with tiers and reasons, if it consists of such."""
        return ()

    @property
    def meanings(self) -> Mapping[str, str]:
        """What its bags of state hold, as far as words say it."""
        return {}

    @property
    def properties(self) -> Mapping[str, str]:
        """What DESCRIBE EXTENDED says of it beside what it says of everything."""
        return {}

    def check(self, warehouse: Warehouse, snapshot: Snapshot) -> Rows:
        """The rows in which what is there, as the last epoch left it, differs from the definition."""
        found = snapshot.contents(self.name).consolidated().select(self.stored)
        return self.differences(warehouse, found.rename([f.name for f in self.fields]))

    def differences(self, warehouse: Warehouse, found: Rows) -> Rows:
        """In which rows it is wrong: what is expected but not found, less what is found but not expected."""
        return differences(self.recompute(warehouse), found, self.fields)

    def after_rounds(self, number: int, read: Callable[[str], Rows]) -> Rows:
        """What it would hold after so many rounds over rows that are read by name, where it is a loop."""
        raise UnknownName(f"{self.name} is a {self.kind}, which has no rounds")

    def evict(
        self, transaction: Transaction, table: str, mark: int, own: Collection[str], cluster: Cluster | None = None
    ) -> None:
        """Drop state that a table's watermark has passed from the bags that nothing else shares."""
        return  # there is nothing to drop unless a kind says so

    def follow_data(self, warehouse: Warehouse) -> None:
        """Be maintained in another way from now on, where that suits what is read better; nothing that users see changes."""
        return  # there is one way only unless a kind says so

    def is_same(self, other: Maintained) -> bool:
        """Whether it is known to mean what another does, so that it need not take its place."""
        return False

    def at(self, position: int) -> Self:
        """The same at another place in the order."""
        return replace(self, position=position)  # type: ignore[type-var]  # kinds are dataclasses

    def pinned(self, warehouse: Warehouse) -> Self:
        """The same, which keeps its meaning when tables that it reads get further columns."""
        return self

    def narrowed(self, warehouse: Warehouse, catalog: Catalog, redefined: Collection[str], columns: str) -> Self:
        """The same over the tables of a catalog in which columns are gone, if it does not read them."""
        raise InUse(f"{self.kind} {self.name} may read {columns}", hint="drop it first")

    def renamed(self, warehouse: Warehouse, to: str) -> Self:
        """The same under another name."""
        raise SqlError(f"{self.kind} {self.name} cannot be renamed", hint="create it under the other name")


def read_maintained(key: str, document: Mapping[str, Any], *, trusted: bool) -> Maintained:
    """What a document describes."""
    kind, _, name = key.partition("/")
    if kind not in KINDS:
        raise StoreError(f"{name} is a {kind}, which this version of Viewlet does not know", hint="use a newer one")
    found = KINDS[kind]
    if isinstance(found, str):
        module, _, function = found.partition(":")
        found = KINDS[kind] = getattr(import_module(module), function)
    read: Reader = found
    return read(name, document, trusted)
