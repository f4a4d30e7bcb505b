"""The definitions of a project: datasets, and the queries that fill them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from viewlet.errors import ProjectError
from viewlet.project.auto_cdc import AutoCdc

Kind = Literal["materialized view", "streaming table", "temporary view", "view", "sink"]


@dataclass(frozen=True)
class Dataset:
    """A dataset of a project."""

    name: str
    kind: Kind
    where: str
    """The file and line that define it."""
    schema: Any = None
    """The declared columns: DDL text or a StructType."""
    format: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    """The options of a sink, or the properties of a table."""
    auto_cdc: AutoCdc | None = None
    """The flow of change events whose resulting state it is, as a view."""
    part_of: str = ""
    """The dataset with which it is selected and fully refreshed, if not on its own."""
    required: tuple[str, ...] = ()
    """The NOT NULL columns."""

    @property
    def is_table(self) -> bool:
        """Whether flows append to it."""
        return self.kind in ("streaming table", "sink") and self.auto_cdc is None

    @property
    def selected_as(self) -> str:
        return self.part_of or self.name

    @property
    def policy(self) -> str:
        """The refresh policy, in Databricks' spelling, such as `incremental_strict`."""
        return self.options.get("refresh_policy", "AUTO").replace("_", " ").upper()


@dataclass(frozen=True)
class Query:
    """The query of a dataset: a function that returns a DataFrame, or SQL text."""

    name: str
    target: str
    query: Callable[[], Any] | str
    where: str
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Definitions:
    """The definitions of a project, by name in lower case."""

    qualifiers: frozenset[str] = frozenset()
    datasets: dict[str, Dataset] = field(default_factory=dict)
    queries: dict[str, list[Query]] = field(default_factory=dict)
    """Queries by target."""
    auto_cdc: list[AutoCdc] = field(default_factory=list)
    code: str = ""
    """A fingerprint of the project's Python files."""

    def plain(self, name: str, where: str = "") -> str:
        """A name without the project's own catalog and schema."""
        *before, last = [part.strip("`") for part in name.split(".")]
        if strange := [part for part in before if part.lower() not in self.qualifiers]:
            raise ProjectError(
                f"{where + ': ' if where else ''}{name} is in {strange[0]}, which is not a catalog or schema of the project",
                hint="names in a warehouse have one part; give catalog and schema in the project's file",
            )
        return last

    def add(self, dataset: Dataset) -> None:
        known = self.datasets.setdefault(dataset.name.lower(), dataset)
        if known is not dataset:
            raise ProjectError(f"{dataset.where}: {dataset.name} is defined in {known.where} already")

    def add_query(self, query: Query) -> None:
        others = self.queries.setdefault(query.target.lower(), [])
        if any(q.name.lower() == query.name.lower() for q in others):
            raise ProjectError(f"{query.where}: {query.target} has two flows named {query.name}")
        others.append(query)

    def add_auto_cdc(self, flow: AutoCdc) -> None:
        self.auto_cdc.append(flow)

    def find(self, name: str) -> Dataset | None:
        return self.datasets.get(name.lower())

    def flows(self, dataset: Dataset) -> list[Query]:
        return self.queries.get(dataset.name.lower(), [])

    def check(self) -> None:
        """Refuse queries without a target, and views without exactly one query; split flows of change events."""
        for flow in self.auto_cdc:
            self._split(flow)
        for target, queries in self.queries.items():
            if target not in self.datasets:
                raise ProjectError(f"{queries[0].where}: there is no {queries[0].target} for flow {queries[0].name}")
        for dataset in self.datasets.values():
            one = dataset.kind not in ("streaming table", "sink")  # these may have any number of flows
            if dataset.kind == "sink" and (dataset.format.lower() != "parquet" or not dataset.options.get("path")):
                raise ProjectError(
                    f"{dataset.where}: sink {dataset.name} has format {dataset.format}, and needs parquet with a path",
                    hint='create_sink(name, "parquet", {"path": …}); others belong in viewlet.sql',
                )
            if one and len(self.flows(dataset)) != 1:
                raise ProjectError(f"{dataset.where}: {dataset.kind} {dataset.name} needs one query")

    def _split(self, flow: AutoCdc) -> None:
        """Replace a flow of change events by a streaming table of events, and its target by a view over it."""
        target = self.find(flow.target)
        if target is None or target.kind != "streaming table":
            raise ProjectError(
                f"{flow.where}: there is no streaming table {flow.target} for AUTO CDC",
                hint=f"CREATE STREAMING TABLE {flow.target}; create_streaming_table in Python",
            )
        if self.flows(target) or target.auto_cdc is not None:
            raise ProjectError(f"{flow.where}: {target.name} has another flow, and AUTO CDC needs it for itself")
        self.add(Dataset(flow.events, "streaming table", flow.where, part_of=target.name, required=flow.required))
        self.add_query(Query(flow.name, flow.events, flow.read_events, flow.where, flow.settings))
        self.datasets[target.name.lower()] = replace(target, auto_cdc=flow)
