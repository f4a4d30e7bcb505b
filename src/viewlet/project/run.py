"""Runs a project: creates or replaces its datasets, reads new data, and runs flows.

A dataset is created when something reads it, before its reader, so the order always follows from the queries. Each step
is a commit of its own; after an interruption, the next run continues.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from viewlet.errors import InUse, NameTaken, ProjectError, ViewletError, kind_of
from viewlet.formatting import plural, suggestion
from viewlet.plan.types import Field
from viewlet.plan.words import quoted
from viewlet.project.definitions import Dataset, Definitions, Query
from viewlet.project.read_project import inside, load
from viewlet.project.reads import Evaluation, ProjectReads
from viewlet.project.run_flow import cut_at_windows, run_flow
from viewlet.project.spec import Spec, find_spec, read_spec
from viewlet.project.streaming_tables import ProjectFlows
from viewlet.project.surroundings import Surroundings, read_surroundings
from viewlet.sink.parquet_folder import ParquetFolder
from viewlet.sql.queries import fields_of
from viewlet.sql.schema import read_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from viewlet.database import Database


@dataclass(frozen=True)
class Selection:
    """The datasets to run; by default all."""

    refresh: frozenset[str] | None = None
    full: frozenset[str] = frozenset()
    """The datasets to rebuild from scratch."""
    all_full: bool = False

    def has(self, name: str) -> bool:
        return self.refresh is None or name.lower() in self.refresh | self.full

    def is_full(self, name: str) -> bool:
        return self.all_full or name.lower() in self.full


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run for a dataset."""

    name: str
    kind: str
    what: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: {self.what}"


@dataclass(frozen=True)
class Trial:
    """A dry run: it creates everything in an empty warehouse, without reading data."""

    target: Database | None
    """The project's real warehouse, if it exists."""

    def foresee(self, dataset: Dataset, *, is_same: bool, is_full: bool) -> str:
        """The outcome that a run would have for a dataset."""
        if self.target is None or self.target._warehouse.catalog.known(dataset.name) is None:
            return "would be created"
        if is_full:
            return "would be rebuilt from scratch"
        if not is_same and dataset.is_table:
            return f"holds other columns than its flows give now: it needs --full-refresh {dataset.selected_as}"
        return "would stay as it is" if is_same else "would be replaced"


@dataclass
class ProjectRun:
    """One run of a project in a warehouse."""

    db: Database
    spec: Spec
    selection: Selection = field(default_factory=Selection)
    trial: Trial | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    _done: list[str] = field(default_factory=list)
    _doing: list[str] = field(default_factory=list)
    _prints: dict[str, str] = field(default_factory=dict)

    def run(self) -> list[Outcome]:
        """Update the warehouse to the project's definitions and to the data of its sources."""
        from viewlet.spark.project_session import ProjectSession
        from viewlet.spark.session.children import active, clone

        self._spark = clone(self.db._warehouse.sessions.child)
        for name, value in self.spec.configuration.items():
            self._spark.conf.set(name, value)
        self.definitions = Definitions(self.spec.qualifiers)
        self._reads = ProjectReads(self.db, self._spark, self.definitions, is_trial=self.trial is not None)
        self._reads.needed = self._needed
        self._session = ProjectSession(self._reads)
        with active(self._spark), inside(self.spec.root):
            surroundings = read_surroundings(self.spec.root)
            self._reads.sources.update(surroundings.make_tables(self.db, read=self.trial is None))
            load(self.spec, self.definitions, self._session, self._spark)
            self._prints = self._claim()
            self._reset()
            for dataset in self._selected():
                self._needed(dataset.name)
            self._put(self._prints)
            if self.trial is None:
                self._bring_up_to_date()
                self._send(surroundings)
        return self.outcomes

    def _selected(self) -> list[Dataset]:
        names = (self.selection.refresh or frozenset()) | self.selection.full
        if unknown := [name for name in names if self.definitions.find(name) is None]:
            hint = suggestion(unknown[0], [d.name for d in self.definitions.datasets.values()])
            raise ProjectError(f"project {self.spec.name} has no {unknown[0]}", hint=hint)
        return [d for d in self.definitions.datasets.values() if self.selection.has(d.name)]

    @property
    def _target(self) -> Database:
        """The project's real warehouse."""
        return self.db if self.trial is None or self.trial.target is None else self.trial.target

    def _claim(self) -> dict[str, str]:
        """Record the project's names before creating any; return the known fingerprints of datasets."""
        catalog = self._target._warehouse.catalog
        known: dict[str, str] = dict(catalog.projects.get(self.spec.name, {}).get("datasets", {}))
        for dataset in self.definitions.datasets.values():
            if dataset.name not in known and dataset.kind != "temporary view" and catalog.known(dataset.name):
                raise NameTaken(
                    f"{dataset.where}: {dataset.name} already exists, and is not part of project {self.spec.name}",
                    hint="give the project its own warehouse",
                )
            known.setdefault(dataset.name, "")
        self._put(known)
        return known

    def _put(self, datasets: dict[str, str]) -> None:
        """Store the fingerprint that each dataset was last created from."""
        warehouse = self.db._warehouse
        document = {"datasets": dict(sorted(datasets.items()))}
        if warehouse.catalog.projects.get(self.spec.name) == document:
            return
        with warehouse.writing(), warehouse.store.begin() as transaction:
            transaction.put(f"project/{self.spec.name}", document)
            transaction.commit({"kind": "project", "name": self.spec.name})

    def _reset(self) -> None:
        """Drop the tables to be rebuilt from scratch; views over them are created again."""
        catalog = self.db._warehouse.catalog
        for dataset in self.definitions.datasets.values():
            is_full = dataset.is_table and self.selection.is_full(dataset.selected_as)
            if is_full and catalog.known(dataset.name) in catalog.tables:
                self._drop(dataset.name)

    def _drop(self, name: str) -> None:
        """Drop a dataset and the project's views that read it."""
        readers = self.db._warehouse.catalog.readers(name)
        if others := [reader for reader in readers if reader not in self._prints]:
            raise InUse(
                f"{', '.join(others)} read {name}, and are not part of project {self.spec.name}", hint="drop them"
            )
        self.db.drop(name, cascade=True)

    def _needed(self, name: str) -> None:
        """Create a dataset, unless this run has done so."""
        dataset = self.definitions.find(name)
        if dataset is None or dataset.name in self._doing:
            return
        self._doing.append(dataset.name)
        try:
            if dataset.kind == "temporary view":  # it may read streams, so each reader evaluates it anew
                frame = self._frame(self.definitions.flows(dataset)[0])
                frame.createOrReplaceTempView(quoted(dataset.name))
            elif dataset.name not in self._done:
                self._make(dataset)
                self._done.append(dataset.name)
        except ViewletError as error:
            raise _at(dataset.where, error) from error
        finally:
            self._doing.pop()

    def _frame(self, query: Query) -> DataFrame:
        """The DataFrame of a query; its reads are recorded in the current evaluation."""
        from pyspark.errors import AnalysisException

        try:
            with self._settings(query):
                if isinstance(query.query, str):
                    return self._reads.query(query.query)
                with self._session.theirs():
                    found: DataFrame = query.query()
        except AnalysisException as error:
            raise ProjectError(f"{query.where}: {' '.join(str(error).splitlines()[0].split())}") from error
        if not hasattr(found, "isStreaming"):
            raise ProjectError(f"{query.where}: {query.name} returned {kind_of(found)}, not a DataFrame")
        return found

    @contextmanager
    def _settings(self, query: Query) -> Iterator[None]:
        before = {name: self._spark.conf.get(name, None) for name in query.settings}
        for name, value in query.settings.items():
            self._spark.conf.set(name, value)
        try:
            yield
        finally:
            for name, was in before.items():
                self._spark.conf.unset(name) if was is None else self._spark.conf.set(name, was)

    def _make(self, dataset: Dataset) -> None:
        self._make_table(dataset) if dataset.is_table else self._make_view(dataset)

    def _make_view(self, dataset: Dataset) -> None:
        """Create a view, or replace it if its definition has changed."""
        query = self._view_query(dataset)
        with self._reads.evaluating() as evaluation:
            frame = self._frame(query)
        if evaluation.streams:
            raise ProjectError(
                f"{dataset.kind} {dataset.name} reads {', '.join(evaluation.streams)} as a stream",
                hint="read it as a table, or make this a streaming table",
            )
        _check_columns(dataset, fields_of(frame))
        meaning = self._meaning(frame, query)
        there = self.db._warehouse.catalog.known(dataset.name) is not None
        is_same, is_full = self._prints.get(dataset.name) == meaning, self.selection.is_full(dataset.name)
        if there and is_same:
            what = "unchanged"
            if is_full:
                self.db.rebuild(dataset.name)
                what = "recomputed"
        else:
            self._prints[dataset.name] = ""  # in case the run ends before the new fingerprint is stored
            self._put(self._prints)
            self._define(dataset, query, frame, evaluation)
            self._prints[dataset.name] = meaning
            what = f"{'replaced' if there else 'created'}, {plural(len(self.db.table(dataset.name)), 'row')}"
        if self.trial is not None:
            what = self.trial.foresee(dataset, is_same=is_same, is_full=is_full)
        self._say(dataset, what + self._recomputed(dataset.name))

    def _view_query(self, dataset: Dataset) -> Query:
        """The query of a view; for AUTO CDC, it is generated from the columns of the events."""
        flow = dataset.auto_cdc
        if flow is None:
            (query,) = self.definitions.flows(dataset)
            return query
        self._needed(flow.events)
        events = self.db._warehouse.catalog.table(flow.events)
        return Query(dataset.name, dataset.name, flow.query(events.names), flow.where)

    def _define(self, dataset: Dataset, query: Query, frame: DataFrame, evaluation: Evaluation) -> None:
        """Create or replace a view, by its text unless it uses temporary views or settings of its own."""
        definition: Any = frame
        if (
            isinstance(query.query, str)
            and not evaluation.temporary
            and not query.settings
            and not self.spec.configuration
        ):
            definition = self._reads.text(query.query)
        policy = dataset.policy
        try:
            self.db.create_view(dataset.name, definition, policy=policy, replace=True)
        except InUse:  # its columns change, so its readers are created again
            self._drop(dataset.name)
            self.db.create_view(dataset.name, definition, policy=policy)

    def _meaning(self, frame: DataFrame, query: Query) -> str:
        """The fingerprint of a definition; Python functions are identified by the project's files."""
        from viewlet.spark.project_session import fingerprint, runs_python

        code = self.definitions.code if runs_python(frame) else ""
        parts = [fingerprint(frame), code, sorted(query.settings.items()), sorted(self.spec.configuration.items())]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _recomputed(self, name: str) -> str:
        """The operators of a view that have no incremental form, as text."""
        from viewlet.program.program import operators

        program = getattr(self.db._warehouse.catalog.view(name), "program", None)
        notes = [] if program is None else [note for _, note in operators(program.notes) if note.tier == "recompute"]
        return "".join(f"; {note.label} is recomputed on every change: {note.reason}" for note in notes)

    def _make_table(self, dataset: Dataset) -> None:
        """Create the table of a streaming table or sink, unless it exists."""
        fields = self._table_fields(dataset)
        catalog = self.db._warehouse.catalog
        known = catalog.known(dataset.name)
        if known is None:
            self.db.create_table(dataset.name, fields, append_only=True, source=ProjectFlows(self.spec.name))
        elif _shape(catalog.find(known).fields) != _shape(fields):
            raise ProjectError(
                f"{dataset.kind} {dataset.name} has rows with other columns than its flows return now",
                hint=f"viewlet run --full-refresh {dataset.selected_as}",
            )
        what = "created" if known is None else "unchanged"
        if self.trial is not None:
            what = self.trial.foresee(dataset, is_same=self._has_shape(dataset, fields), is_full=self._is_full(dataset))
        self._say(dataset, what)

    def _has_shape(self, dataset: Dataset, fields: tuple[Field, ...]) -> bool:
        """Whether the project's real warehouse has the table with these columns."""
        catalog = self._target._warehouse.catalog
        known = catalog.known(dataset.name)
        return known is not None and _shape(catalog.find(known).fields) == _shape(fields)

    def _is_full(self, dataset: Dataset) -> bool:
        return self.selection.is_full(dataset.selected_as)

    def _table_fields(self, dataset: Dataset) -> tuple[Field, ...]:
        """The declared columns, or those of all flows combined."""
        merged: dict[str, Field] = {}
        for query in self.definitions.flows(dataset):
            for f in fields_of(self._checked_flow(query)):
                if merged.setdefault(f.name.lower(), f).type != f.type:
                    raise ProjectError(f"{query.where}: {f.name} is {f.type}, but has another type in another flow")
        if dataset.schema is not None:
            return tuple(replace(f, nullable=True) for f in read_schema(dataset.name, dataset.schema).fields)
        if not merged:
            raise ProjectError(f"{dataset.kind} {dataset.name} has neither columns nor a flow")
        required = [name.lower() for name in dataset.required]
        return tuple(replace(f, nullable=f.nullable and f.name.lower() not in required) for f in merged.values())

    def _checked_flow(self, query: Query) -> DataFrame:
        """The DataFrame of a flow; raise if the flow cannot run on new rows and its own state."""
        with self._reads.evaluating() as evaluation:
            frame = self._frame(query)
            if not evaluation.streams:
                raise ProjectError(
                    f"{query.where}: flow {query.name} reads no stream",
                    hint="readStream, STREAM(…); or a materialized view",
                )
            cut_at_windows(frame, self._reads, query)
        return frame

    def _bring_up_to_date(self) -> None:
        """Read the sources, then run flows, each after those that it reads."""
        if self._reads.sources:
            self.db.read_sources(*sorted(self._reads.sources))
        for name in self._done:
            dataset = self.definitions.find(name)
            if dataset is None or not dataset.is_table or not self.selection.has(dataset.selected_as):
                continue
            for query in self.definitions.flows(dataset):
                done = run_flow(self.db, self._reads, dataset.name, query, partial(self._frame, query))
                if done:
                    self._say(dataset, f"flow {query.name} {done}")
            if dataset.kind == "sink":
                self._export(dataset)

    def _export(self, dataset: Dataset) -> None:
        path = self.spec.root / dataset.options.get("path", "").removeprefix("file://")
        written = self.db.export(dataset.name, ParquetFolder(path, plain=True))
        if written:
            self._say(dataset, f"{plural(len(written), 'file')} written")

    def _send(self, surroundings: Surroundings) -> None:
        for name, epochs in surroundings.send_sinks(self.db).items():
            if epochs:
                self.outcomes.append(Outcome(name, "sink", f"{plural(epochs, 'epoch')} sent"))

    def _say(self, dataset: Dataset, what: str) -> None:
        self.outcomes.append(Outcome(dataset.name, dataset.kind, what))


def _at(where: str, error: ViewletError) -> ViewletError:
    """An error with the place of the definition, unless it already has one."""
    if any(mark in str(error.args[0]) for mark in (".sql:", ".py:")):
        return error
    return ProjectError(f"{where}: {error.message}", hint=error.hint)


def _shape(fields: Collection[Field]) -> list[tuple[str, str]]:
    return [(f.name.lower(), str(f.type)) for f in fields]


def _check_columns(dataset: Dataset, given: tuple[Field, ...]) -> None:
    if dataset.schema is not None and _shape(read_schema(dataset.name, dataset.schema).fields) != _shape(given):
        raise ProjectError(
            f"{dataset.kind} {dataset.name} is declared with other columns than its query returns",
            hint=f"the query returns {', '.join(map(str, given))}",
        )


def run_project(db: Database, path: Path, selection: Selection, *, trial: Trial | None = None) -> list[Outcome]:
    """Run the project of a folder or specification file."""
    from viewlet.spark.project_session import read_yaml

    spark = db._warehouse.session
    spec = read_spec(find_spec(path), lambda text: read_yaml(spark, text))
    return ProjectRun(db, spec, selection, trial).run()
