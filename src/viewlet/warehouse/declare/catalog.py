"""The catalog: tables and views by name, as documents of the store.

A document holds everything needed to maintain a table or view, so a new process opens a warehouse without analysing,
compiling or recomputing anything. "View" here means anything the warehouse maintains, of any kind.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from viewlet import arguments
from viewlet.errors import InUse, NameTaken, SqlError, UnknownName
from viewlet.formatting import suggestion
from viewlet.plan.types import Field
from viewlet.program.codec import from_json, to_json
from viewlet.warehouse.declare.expectations import Constraint
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.declare.watermarks import Watermark
from viewlet.warehouse.maintained import Maintained, read_maintained
from viewlet.warehouse.source import read_source, source_document

_OURS = re.compile(
    r"\.(index|clock|dropped|files|file_rows|positions|versions|m\d+|(state|round|first)_\w+|flow_\w+\.\d+)$",
    re.IGNORECASE,
)
"""Suffixes reserved for the names of internal bags."""


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
        "clustered": list(table.clustered),
        "flow": table.flow,
        "source": source_document(table.source),
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
        tuple(document.get("clustered", ())),
        document.get("flow", ""),
        read_source(document.get("source")),
    )


class Catalog:
    """The tables and views of a warehouse, decoded once."""

    def __init__(self, documents: Mapping[str, Any], *, trust: bool = True) -> None:
        self.tables: dict[str, Table] = {}
        self.views: dict[str, Maintained] = {}
        """Everything maintained, in dependency order."""
        self.flows: dict[str, Mapping[str, Any]] = {}
        """The documents of flows, decoded when a flow runs: flows are run, not maintained."""
        self.projects: dict[str, Mapping[str, Any]] = {}
        """What each project defined when it was last run."""
        self.sinks: dict[str, Mapping[str, Any]] = {}
        """The documents of sinks, which deliver tables and views to other systems."""
        for key, document in documents.items():
            kind, _, name = key.partition("/")
            if kind == "table":
                self.tables[name] = read_table(name, document)
            elif kind == "flow":
                self.flows[name] = document
            elif kind == "project":
                self.projects[name] = document
            elif kind == "sink":
                self.sinks[name] = document
            elif name:
                self.views[name] = read_maintained(key, document, trusted=trust)
        self.views = dict(sorted(self.views.items(), key=lambda item: item[1].position))

    def with_tables(self, tables: Iterable[Table]) -> Catalog:
        """A catalog in which these tables replace those of the same names."""
        other = Catalog({})
        other.tables, other.views = {**self.tables, **{t.name: t for t in tables}}, self.views
        other.flows = self.flows
        return other

    def names(self) -> tuple[str, ...]:
        return (*self.tables, *self.views)

    def known(self, name: str) -> str | None:
        """The name of a table or view as declared, or None if there is none; lookup ignores case."""
        wanted = arguments.text("the name of a table or view", name).lower()
        return next((known for known in self.names() if known.lower() == wanted), None)

    def find(self, name: str) -> Table | Maintained:
        """The table or view of that name; lookup ignores case, as in Spark."""
        known = self.known(name)
        if known is None:
            raise UnknownName(f"there is no table or view named {name}", hint=suggestion(name, self.names()))
        return self.tables[known] if known in self.tables else self.views[known]

    def table(self, name: str) -> Table:
        found = self.find(name)
        if isinstance(found, Maintained):
            raise UnknownName(f"{name} is a view: only tables can be changed", hint="change the tables that it reads")
        return found

    def view(self, name: str) -> Maintained:
        found = self.find(name)
        if isinstance(found, Table):
            raise UnknownName(f"{name} is a table, not a view")
        return found

    def refuse_taken(self, name: str) -> None:
        """Refuse a name that is empty, reserved or already in use."""
        if not arguments.text("the name of a table or view", name).strip():
            raise SqlError("a table or view needs a name")
        if _OURS.search(name):
            raise SqlError(f"`{name}` is a name that Viewlet reserves for its own data", hint="choose another one")
        if (known := self.known(name)) is not None:
            if known in self.tables:
                raise NameTaken(f"there is already a table named {known}", hint="drop it first")
            raise NameTaken(f"there is already a {self.views[known].kind} named {known}", hint="drop it, or replace it")
        if name.lower() in map(str.lower, self.flows):
            raise NameTaken(f"there is already a flow named {name}", hint="drop it, or replace it")

    def flows_reading(self, name: str) -> list[str]:
        """The flows that read a table or view."""
        read = {flow: document["sources"].values() for flow, document in self.flows.items()}
        return [flow for flow, tables in read.items() if name.lower() in (str(t).lower() for t in tables if t)]

    def sinks_of(self, name: str) -> list[str]:
        """The sinks of a table or view."""
        return [sink for sink, document in self.sinks.items() if document["of"] == name]

    def refuse_used(self, names: Iterable[str], *, own: Collection[str] = ()) -> None:
        """Refuse to drop tables and views that have sinks or that flows other than their `own` read."""
        for name in names:
            if flows := [flow for flow in self.flows_reading(name) if flow not in own]:
                raise InUse(f"{', '.join(flows)} read {name}", hint="drop the flow first: db.drop_flow")
            if sinks := self.sinks_of(name):
                raise InUse(f"{name} has sinks: {', '.join(sinks)}", hint="drop the sink first: DROP SINK …")

    def refuse_followed(self, names: Iterable[str]) -> None:
        """Refuse to restart the change feed of a table or view that flows read."""
        for name in names:
            if flows := self.flows_reading(name):
                raise InUse(f"{', '.join(flows)} read {name}, whose change feed would start over", hint="drop the flow")

    def refuse_written(self, table: Table) -> None:
        """Refuse to drop or alter a table that a flow writes."""
        if table.flow in self.flows:
            raise InUse(
                f"flow {table.flow} writes {table.name}", hint="drop the flow, or create it again with replace=True"
            )

    def refuse_altered(self, table: Table) -> None:
        """Refuse to alter a table that a flow or a source feeds."""
        self.refuse_written(table)
        if table.source is not None:
            raise InUse(f"table {table.name} is fed by a {table.source.kind}", hint="drop it, and create it again")

    def schemas(self) -> dict[str, tuple[Field, ...]]:
        """The columns of each table and view, as definitions see them."""
        return {**{n: t.fields for n, t in self.tables.items()}, **{n: v.fields for n, v in self.views.items()}}

    def bags(self, *, without: Collection[str] = ()) -> frozenset[str]:
        """The bags of all views except some."""
        return frozenset(bag for v in self.views.values() if v.name not in without for bag in v.bags)

    def own_bags(self, *views: Maintained) -> list[str]:
        """The bags of these views that no other view shares, including those of the views themselves."""
        others = self.bags(without={v.name for v in views})
        return list(dict.fromkeys(bag for v in views for bag in v.bags if bag not in others))

    def static(self) -> frozenset[str]:
        """The STATIC tables, which never change once a view reads them, and the views over only such tables."""
        found = {t.name for t in self.tables.values() if t.static}
        for view in self.views.values():
            if set(view.reads) <= found:
                found.add(view.name)
        return frozenset(found)

    def growing(self) -> frozenset[str]:
        """The tables and views that only receive insertions."""
        tables = {t.name for t in self.tables.values() if t.append_only or t.static}
        return frozenset(tables | {v.name for v in self.views.values() if v.grows})

    def readers(self, name: str) -> list[str]:
        """The views that read a table or view, directly or through others, in dependency order."""
        found = {name}
        for view in self.views.values():
            if found & set(view.reads):
                found.add(view.name)
        return [v for v in self.views if v in found and v != name]
