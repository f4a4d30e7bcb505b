"""The catalog: tables and views by name, as documents of the store.

A view's document holds everything that keeping it needs: the definition, the compiled program, and the
pieces of Spark's plan that only Spark can run. So a warehouse opens in a new process without analysing,
compiling or recomputing anything.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from viewlet import arguments
from viewlet.engine.prepared import PreparedProgram, prepare
from viewlet.errors import NameTaken, SqlError, StoreError, UnknownName, UntrustedCode
from viewlet.plan.types import Field
from viewlet.program.codec import VERSION, from_json, to_json
from viewlet.program.identity import Identity, identity
from viewlet.program.program import Program, Step, has_users_code
from viewlet.warehouse.expectations import Constraint
from viewlet.warehouse.tables import Table
from viewlet.warehouse.watermarks import Watermark


@dataclass(frozen=True)
class View:
    """A result that is kept fresh."""

    name: str
    program: Program
    definition: str | None
    """The SQL text; None where the view was defined by a DataFrame."""
    fragments: Mapping[str, bytes] = field(default_factory=dict)
    """Pieces of Spark's own plan, by the operator they stand for; `whole` is the definition, where no text says it."""
    inputs: tuple[str, ...] = ()
    """The tables and views that `whole` reads, in its order."""
    is_stabilized: bool = False
    """Whether ties that Spark leaves open were decided; then `whole`, not the text, is what must hold."""
    policy: str = "AUTO"
    position: int = 0
    created: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    """The settings of Spark under which the definition was made, and means what it means."""
    spark: str = ""
    """The version of Spark that the definition was made with."""
    changing: tuple[str, ...] = ()
    """Spark's classes of the functions in it that mean something else in some version."""
    trusted: bool = True
    """Whether the code that is stored with it may run: fragments of Spark's plan, and functions of users."""

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.program.columns

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The tables and views whose change matters to this one."""
        return self.program.reads

    @cached_property
    def shareable(self) -> dict[Identity, Step]:
        """The maps that other views can use too, by what they hold."""
        partial = {self.name, *(c.map for c in self.program.closing)}  # other views need closed groups too
        steps = [s for s in self.program.steps if s.map.stored and s.map.name not in partial]
        return {same: s for s in steps if (same := identity(s.terms, s.map.sums)) is not None}

    @cached_property
    def ready(self) -> PreparedProgram:
        """The program with its terms compiled."""
        if has_users_code(self.program):
            self._refuse_untrusted()
        return prepare(self.program)

    def fragment(self, name: str) -> bytes:
        """A piece of Spark's plan, to be run."""
        self._refuse_untrusted()
        return self.fragments[name]

    def _refuse_untrusted(self) -> None:
        if not self.trusted:
            raise UntrustedCode(
                f"view {self.name} runs code that is stored in the warehouse, which was opened with trust=False",
                hint="open it with trust=True if you trust whoever wrote it",
            )


def table_document(table: Table) -> dict[str, Any]:
    return {
        "fields": to_json(table.fields),
        "primary_key": list(table.primary_key),
        "append_only": table.append_only,
        "trusted": table.trusted,
        "static": table.static,
        "watermark": table.watermark and [table.watermark.column, table.watermark.delay],
        "aside_of": table.aside_of,
        "defaults": [list(pair) for pair in table.defaults],
        "constraints": [[c.name, c.text, c.action, to_json(c.expr), list(c.settings)] for c in table.constraints],
    }


def read_table(name: str, document: Mapping[str, Any]) -> Table:
    return Table(
        name,
        from_json(document["fields"]),
        tuple(document["primary_key"]),
        document["append_only"],
        document["trusted"],
        document.get("static", False),
        Watermark(*document["watermark"]) if document.get("watermark") else None,
        document.get("aside_of", ""),
        tuple((column, text) for column, text in document.get("defaults", ())),
        tuple(
            Constraint(name, text, action, from_json(expr), tuple((k, v) for k, v in settings))
            for name, text, action, expr, settings in document.get("constraints", ())
        ),
    )


def view_document(view: View) -> dict[str, Any]:
    return {
        "version": VERSION,
        "program": to_json(view.program),
        "definition": view.definition,
        "fragments": {k: base64.b64encode(v).decode() for k, v in view.fragments.items()},
        "inputs": list(view.inputs),
        "is_stabilized": view.is_stabilized,
        "policy": view.policy,
        "position": view.position,
        "created": view.created,
        "settings": dict(view.settings),
        "spark": view.spark,
        "changing": list(view.changing),
    }


def read_view(name: str, document: Mapping[str, Any], *, trusted: bool) -> View:
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
    )


class Catalog:
    """The tables and views of a warehouse, decoded once."""

    def __init__(self, documents: Mapping[str, Any], *, trust: bool = True) -> None:
        self.tables: dict[str, Table] = {}
        self.views: dict[str, View] = {}
        for key, document in documents.items():
            kind, _, name = key.partition("/")
            if kind == "table":
                self.tables[name] = read_table(name, document)
            elif kind == "view":
                self.views[name] = read_view(name, document, trusted=trust)
        self.views = dict(sorted(self.views.items(), key=lambda item: item[1].position))

    def with_tables(self, tables: Iterable[Table]) -> Catalog:
        """The same views over other tables of some names."""
        other = Catalog({})
        other.tables, other.views = {**self.tables, **{t.name: t for t in tables}}, self.views
        return other

    def names(self) -> tuple[str, ...]:
        return (*self.tables, *self.views)

    def known(self, name: str) -> str | None:
        """A table's or view's own spelling of its name, if there is one of that name."""
        wanted = arguments.text("the name of a table or view", name).lower()
        return next((known for known in self.names() if known.lower() == wanted), None)

    def find(self, name: str) -> Table | View:
        """The table or view of a name; names are compared as Spark does, without regard to case."""
        known = self.known(name)
        if known is None:
            there = ", ".join(self.names()) or "none yet"
            raise UnknownName(f"there is no table or view named {name}", hint=f"there are: {there}")
        return self.tables[known] if known in self.tables else self.views[known]

    def table(self, name: str) -> Table:
        found = self.find(name)
        if isinstance(found, View):
            raise UnknownName(f"{name} is a view: only tables can be changed", hint="change the tables that it reads")
        return found

    def view(self, name: str) -> View:
        found = self.find(name)
        if isinstance(found, Table):
            raise UnknownName(f"{name} is a table, not a view")
        return found

    def refuse_taken(self, name: str) -> None:
        """A new name must be free."""
        if not arguments.text("the name of a table or view", name).strip():
            raise SqlError("a table or view needs a name")
        if re.search(r"\.(index|clock|dropped|m\d+)$", name, re.IGNORECASE):
            raise SqlError(f"`{name}` is the name of what Viewlet keeps of a table or view", hint="choose another one")
        if (known := self.known(name)) is not None:
            kind, hint = ("table", "drop it first") if known in self.tables else ("view", "drop it, or replace it")
            raise NameTaken(f"there is a {kind} named {known} already", hint=hint)

    def schemas(self) -> dict[str, tuple[Field, ...]]:
        """What each table and view looks like to a definition."""
        return {**{n: t.fields for n, t in self.tables.items()}, **{n: v.fields for n, v in self.views.items()}}

    def maps(self, settings: Mapping[str, str], *, without: Collection[str] = ()) -> dict[Identity, Step]:
        """The maps of all views but some that a view under some settings could share, by what they hold."""
        views = [v for v in self.views.values() if v.name not in without and v.settings == settings]
        return {same: step for v in reversed(views) for same, step in v.shareable.items()}

    def map_names(self, *, without: Collection[str] = ()) -> frozenset[str]:
        """The names of all maps of all views but some."""
        return frozenset(m.name for v in self.views.values() if v.name not in without for m in v.program.maps)

    def own_maps(self, *views: View) -> list[str]:
        """The maps of some views that no other view shares; the views themselves are among them."""
        others = self.map_names(without={v.name for v in views})
        return list(dict.fromkeys(m.name for v in views for m in v.program.maps if m.stored and m.name not in others))

    def static(self) -> frozenset[str]:
        """The tables that never change once a view reads them, and the views over nothing else."""
        found = {t.name for t in self.tables.values() if t.static}
        for view in self.views.values():
            if set(view.reads) <= found:
                found.add(view.name)
        return frozenset(found)

    def growing(self) -> frozenset[str]:
        """The tables and views that rows are only added to."""
        tables = {t.name for t in self.tables.values() if t.append_only or t.static}
        return frozenset(tables | {v.name for v in self.views.values() if v.program.grows})

    def readers(self, name: str) -> list[str]:
        """The views that read a table or view, directly or through others, in their order."""
        found = {name}
        for view in self.views.values():
            if found & set(view.reads):
                found.add(view.name)
        return [v for v in self.views if v in found and v != name]
