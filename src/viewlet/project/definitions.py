"""What a project defines: datasets, and the queries that fill them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from viewlet.errors import ProjectError

Kind = Literal["materialized view", "streaming table", "temporary view", "view", "sink"]


@dataclass(frozen=True)
class Dataset:
    """Something that a project makes."""

    name: str
    kind: Kind
    where: str
    """The file and line that define it."""
    schema: Any = None
    """The columns that it is declared to have: a DDL text or a StructType."""
    format: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    """Of a sink; of others, the properties of the table."""

    @property
    def policy(self) -> str:
        """How it is to be refreshed: `incremental_strict` and its like, as Databricks spells them."""
        return self.options.get("refresh_policy", "AUTO").replace("_", " ").upper()


@dataclass(frozen=True)
class Query:
    """What fills a dataset: a function that gives a DataFrame, or a text."""

    name: str
    target: str
    query: Callable[[], Any] | str
    where: str
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Definitions:
    """All that a project defines, by names in lower case."""

    qualifiers: frozenset[str] = frozenset()
    datasets: dict[str, Dataset] = field(default_factory=dict)
    queries: dict[str, list[Query]] = field(default_factory=dict)
    """By their targets."""
    code: str = ""
    """What tells the project's Python files from other versions of them."""

    def plain(self, name: str, where: str = "") -> str:
        """A name without the catalog and schema that the project has anyway."""
        *before, last = [part.strip("`") for part in name.split(".")]
        if strange := [part for part in before if part.lower() not in self.qualifiers]:
            raise ProjectError(
                f"{where + ': ' if where else ''}{name} is of {strange[0]}, which is not the project's",
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

    def find(self, name: str) -> Dataset | None:
        return self.datasets.get(name.lower())

    def flows(self, dataset: Dataset) -> list[Query]:
        return self.queries.get(dataset.name.lower(), [])

    def check(self) -> None:
        """Every query has a target, and every view one query."""
        for target, queries in self.queries.items():
            if target not in self.datasets:
                raise ProjectError(f"{queries[0].where}: there is no {queries[0].target} for flow {queries[0].name}")
        for dataset in self.datasets.values():
            one = dataset.kind not in ("streaming table", "sink")
            if dataset.kind == "sink" and (dataset.format.lower() != "parquet" or not dataset.options.get("path")):
                raise ProjectError(
                    f"{dataset.where}: sink {dataset.name} is {dataset.format} without a place here",
                    hint='create_sink(name, "parquet", {"path": …})',
                )
            if one and len(self.flows(dataset)) != 1:
                raise ProjectError(f"{dataset.where}: {dataset.kind} {dataset.name} needs one query")
