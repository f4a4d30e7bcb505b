"""A SQL view: its definition and its program."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from viewlet.columns.rows import Rows
from viewlet.engine.engine import Cluster
from viewlet.engine.prepared import PreparedProgram, prepare
from viewlet.errors import StoreError, UnknownName
from viewlet.plan.types import Field
from viewlet.plan.words import identifier, read_words
from viewlet.program.codec import VERSION, from_json, to_json
from viewlet.program.identity import Identity, identity
from viewlet.program.program import Note, Program, Step, has_users_code, meanings
from viewlet.store import Layout, Snapshot, Transaction
from viewlet.views.check import differences_by_tasks, differences_to_spark, recompute
from viewlet.views.evict import evict
from viewlet.views.explain import explain, explain_program
from viewlet.views.explain_distributed import explain_distributed
from viewlet.views.follow_data import Weighed, follow_data
from viewlet.views.redefine import over_narrower, under_another_name, with_plan
from viewlet.views.refresh import fill_program, refresh_program
from viewlet.views.refresh_together import refresh_views
from viewlet.warehouse.declare.catalog import Catalog
from viewlet.warehouse.declare.users_code import refuse_untrusted
from viewlet.warehouse.maintained import Begin, Maintained, Placement
from viewlet.warehouse.read.spark_frames import is_for_tasks

if TYPE_CHECKING:
    from viewlet.warehouse.refresh import Refresh
    from viewlet.warehouse.warehouse import Warehouse


@dataclass(frozen=True)
class View(Maintained):
    """The result of a Spark query, kept fresh by a compiled program."""

    kind: ClassVar[str] = "view"
    name: str
    program: Program
    definition: str | None
    """The SQL text; None if the view was defined by a DataFrame."""
    fragments: Mapping[str, bytes] = field(default_factory=dict)
    """Fragments of Spark's plan, by operator; `whole` is the definition, if the text does not suffice."""
    inputs: tuple[str, ...] = ()
    """The tables and views that `whole` reads, in its order."""
    is_stabilized: bool = False
    """Whether ties that Spark leaves open were decided; if so, `whole` rather than the text defines the view."""
    policy: str = "AUTO"
    position: int = 0
    created: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    """The Spark settings under which it was defined, which its meaning depends on."""
    spark: str = ""
    """The version of Spark that it was defined with."""
    changing: tuple[str, ...] = ()
    """The Spark classes of its functions whose meaning differs between versions."""
    trusted: bool = True
    """Whether code stored with it may run: fragments of Spark's plan and user-defined functions."""
    plan: Any = None
    """The compiled plan as JSON; None if it must not be compiled again."""
    weighed: Weighed = field(default_factory=Weighed)
    """The facts that it was compiled with."""

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.program.columns

    @cached_property
    def reads(self) -> tuple[str, ...]:
        return self.program.reads

    @property
    def mentions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.reads, *self.inputs)))

    @property
    def stored(self) -> tuple[str, ...]:
        return self.program.stored

    @property
    def layout(self) -> Layout:
        return self.ready.steps[-1].layout

    @cached_property
    def bags(self) -> tuple[str, ...]:
        return tuple(m.name for m in self.program.maps)

    @property
    def steps(self) -> int:
        return len(self.program.steps)

    @property
    def grows(self) -> bool:
        return self.program.grows

    @property
    def statement(self) -> str | None:
        if self.definition is None:
            return None
        policy = "" if self.policy == "AUTO" else f" REFRESH POLICY {self.policy}"
        return f"CREATE MATERIALIZED VIEW {identifier(self.name)}{policy} AS\n{self.definition}"

    @property
    def properties(self) -> Mapping[str, str]:
        return {"Refresh Policy": self.policy}

    def fill(self, run: Refresh) -> dict[str, Any]:
        return fill_program(self, run)

    def refresh(self, run: Refresh) -> dict[str, Any]:
        return refresh_program(self, run)

    @classmethod
    def refresh_all(cls, things: Sequence[Self], begin: Begin) -> Iterator[tuple[Refresh, dict[str, Any]]]:
        return refresh_views(things, begin)

    def recompute(self, warehouse: Warehouse) -> Rows:
        return recompute(warehouse, self)

    def differences(self, warehouse: Warehouse, found: Rows) -> Rows:
        return differences_to_spark(warehouse, self, found)

    def check(self, warehouse: Warehouse, snapshot: Snapshot) -> Rows:
        if is_for_tasks(self, snapshot):
            return differences_by_tasks(warehouse, self, snapshot)
        return super().check(warehouse, snapshot)

    def explain(self, warehouse: Warehouse, *, verbose: bool = False) -> str:
        return explain(warehouse, self, verbose=verbose)

    def explain_distributed(
        self, warehouse: Warehouse, placement: Placement | None = None, *, verbose: bool = False
    ) -> str:
        return explain_distributed(warehouse, self.program, placement, verbose=verbose)

    def outline(self) -> str:
        return explain_program(self.program)

    def evict(
        self, transaction: Transaction, table: str, mark: int, own: Collection[str], cluster: Cluster | None = None
    ) -> None:
        for eviction in self.program.evictions:
            if eviction.table == table and eviction.map in own:
                evict(transaction, eviction, mark, cluster)

    @property
    def notes(self) -> tuple[Note, ...]:
        return self.program.notes

    @property
    def meanings(self) -> Mapping[str, str]:
        return meanings(self.program)

    def follow_data(self, warehouse: Warehouse) -> None:
        follow_data(warehouse, self)

    def is_same(self, other: Maintained) -> bool:
        return isinstance(other, View) and self._meaning is not None and self._meaning == other._meaning

    @property
    def _meaning(self) -> tuple[object, ...] | None:
        """The definition in comparable form, without comments and spaces; None if text and plan do not determine it."""
        if self.definition is None or ("whole" in self.fragments and not self._plan_says_all):
            return None
        words = tuple(word.text for word in read_words(self.definition))
        return words, self.fields, self.plan, self.policy, self.settings, self.spark

    @property
    def _plan_says_all(self) -> bool:
        """Whether the compiled plan determines the meaning: no other fragments and no user-defined functions."""
        return self.plan is not None and set(self.fragments) <= {"whole"} and not has_users_code(self.program)

    def pinned(self, warehouse: Warehouse) -> View:
        return self if "whole" in self.fragments else with_plan(warehouse, self)

    def narrowed(self, warehouse: Warehouse, catalog: Catalog, redefined: Collection[str], columns: str) -> View:
        return over_narrower(warehouse, self, catalog, redefined, columns)

    def renamed(self, warehouse: Warehouse, to: str) -> View:
        return under_another_name(warehouse, self, to)

    def document(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "program": to_json(self.program),
            "definition": self.definition,
            "fragments": {k: base64.b64encode(v).decode() for k, v in self.fragments.items()},
            "inputs": list(self.inputs),
            "is_stabilized": self.is_stabilized,
            "policy": self.policy,
            "created": self.created,
            "settings": dict(self.settings),
            "spark": self.spark,
            "changing": list(self.changing),
            "plan": self.plan,
            "weighed": asdict(self.weighed),
        }

    @cached_property
    def shareable(self) -> dict[Identity, Step]:
        """The maps that other views can share, by identity."""
        partial = {self.name, *(c.map for c in self.program.evictions)}  # which lack closed groups
        steps = [s for s in self.program.steps if s.map.stored and s.map.name not in partial]
        return {same: s for s in steps if (same := identity(s.terms, s.map.sums)) is not None}

    @cached_property
    def ready(self) -> PreparedProgram:
        """The program with its terms compiled."""
        if not self.trusted and has_users_code(self.program):
            refuse_untrusted(f"view {self.name}")
        return prepare(self.program)

    def fragment(self, name: str) -> bytes:
        """A fragment of Spark's plan; raise if it must not run."""
        if not self.trusted:
            refuse_untrusted(f"view {self.name}")
        return self.fragments[name]


def read(name: str, document: Mapping[str, Any], trusted: bool) -> View:
    """Decode a view."""
    if document["version"] != VERSION:
        raise StoreError(
            f"view {name} was compiled by another version of Viewlet", hint="open the warehouse with that version"
        )
    return View(
        name,
        from_json(document["program"]),
        document["definition"],
        {k: base64.b64decode(v) for k, v in document["fragments"].items()},
        tuple(document["inputs"]),
        document["is_stabilized"],
        document["policy"],
        document["position"],
        document["created"],
        document["settings"],
        document.get("spark", ""),
        tuple(document.get("changing", ())),
        trusted,
        document.get("plan"),
        Weighed(**document.get("weighed", {})),
    )


def sql_view(catalog: Catalog, name: str) -> View:
    """The SQL view of that name; raise for other kinds."""
    found = catalog.view(name)
    if not isinstance(found, View):
        raise UnknownName(f"{found.name} is a {found.kind}, not a view that a query defines")
    return found
