"""A validated flow: the writers and readers of each flow of rows, with all columns and keys resolved."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from viewlet.errors import FlowError, UnknownName
from viewlet.flow.define.definition import Flow, Form, Grouping, Input, Output, StageDefinition, Translate
from viewlet.flow.define.names import STATE
from viewlet.flow.increments.framing import Framing
from viewlet.flow.increments.routing import RouteBy
from viewlet.flow.increments.runnable import Runnable
from viewlet.formatting import suggestion
from viewlet.plan.types import STRING, Field
from viewlet.sql.schema import read_schema
from viewlet.warehouse.declare.tables import Table

CHANGE_TYPE = Field("_change_type", STRING, False)
Fields = tuple[Field, ...]


@dataclass(frozen=True)
class Source:
    """A flow from outside."""

    name: str
    table: str | None
    """The table or view whose changes it holds; None if rows are passed to each run."""
    fields: Fields


@dataclass(frozen=True)
class StageInput:
    """A flow that a stage reads."""

    flow: str
    fields: Fields
    route_by: RouteBy
    order_by: tuple[str, ...]
    framing: Framing | None


@dataclass(frozen=True)
class StageOutput:
    """A flow that a stage writes."""

    flow: str
    fields: Fields
    table: Table | None
    every_run: bool


@dataclass(frozen=True)
class StageState:
    """The loopback flow of a stage."""

    table: Table
    route_by: tuple[str, ...]
    order_by: tuple[str, ...]
    grouping: Grouping


@dataclass(frozen=True)
class Stage:
    """A validated stage."""

    name: str
    translate: Translate
    form: Form
    inputs: tuple[StageInput, ...]
    outputs: tuple[StageOutput, ...]
    state: StageState | None
    runnable: Runnable
    key: Fields

    @property
    def is_row_wise(self) -> bool:
        return self.form in ("row", "rows")

    @property
    def written_fields(self) -> dict[str, Fields]:
        """The columns of its outputs and of its state."""
        fields = {o.flow: o.fields for o in self.outputs}
        return fields if self.state is None else {**fields, STATE: self.state.table.fields}

    @property
    def tables(self) -> list[Table]:
        """The tables that it writes."""
        kept = [o.table for o in self.outputs if o.table is not None]
        return [*kept, *([self.state.table] if self.state is not None else [])]


@dataclass(frozen=True)
class Graph:
    """Sources and stages, in the order of definition."""

    name: str
    sources: Mapping[str, Source]
    stages: Mapping[str, Stage]
    backpressure: bool
    views: tuple[str, ...] = ()
    """The views that are created and dropped with it."""

    @cached_property
    def scheduled(self) -> dict[str, Stage]:
        """The stages that the scheduler runs; the others are pipelined into the writers of their input."""
        return {name: stage for name, stage in self.stages.items() if not stage.is_row_wise}

    def consumers(self, flow: str) -> list[Stage]:
        """The scheduled stages that read a flow, each with its own queue."""
        return [s for s in self.scheduled.values() if any(i.flow == flow for i in s.inputs)]

    def pipelined(self, flow: str) -> list[Stage]:
        """The row-wise stages that run where a flow is written."""
        return [s for s in self.stages.values() if s.is_row_wise and s.inputs[0].flow == flow]

    def written_by(self, stage: Stage) -> list[str]:
        """The flows that a run of a stage writes, including those of stages pipelined into it."""
        found = [o.flow for o in stage.outputs]
        for flow in found:  # grows during the loop
            found += [o.flow for more in self.pipelined(flow) for o in more.outputs]
        return found

    @cached_property
    def kept(self) -> dict[str, Table]:
        """The flows that are kept as tables."""
        return {o.flow: o.table for s in self.stages.values() for o in s.outputs if o.table is not None}

    @cached_property
    def cyclic(self) -> frozenset[str]:
        """The scheduled stages that can cause themselves to run again."""
        return frozenset(name for name in self.scheduled if name in self._reached(name))

    def _reached(self, start: str) -> set[str]:
        found: set[str] = set()
        waiting = [start]
        while waiting:
            for output in self.stages[waiting.pop()].outputs:
                readers = [*self.consumers(output.flow), *self.pipelined(output.flow)]
                waiting += [s.name for s in readers if s.name not in found]
                found.update(s.name for s in readers)
        return found

    @property
    def tables(self) -> list[Table]:
        """The tables that the flow writes."""
        return [table for stage in self.stages.values() for table in stage.tables]


def resolve(flow: Flow, schemas: Mapping[str, Fields]) -> Graph:
    """Validate a flow against the existing tables and views."""
    _check_name(f"flow {flow.name}", flow.name)
    sources = {name: Source(name, s.table, _source_fields(flow, name, schemas)) for name, s in flow.sources.items()}
    written = _written(flow, sources)
    stages = {name: _stage(flow, definition, written) for name, definition in flow.stages.items()}
    graph = Graph(flow.name, sources, stages, flow.backpressure, tuple(flow.views))
    _check_graph(graph, written)
    return graph


def tables_of(flow: Flow) -> list[Table]:
    """The tables that a flow writes, known without its sources."""
    found = []
    for made in flow.stages.values():
        fields = {name: read_schema(f"{flow.name}.{name}", how.schema).fields for name, how in made.outputs.items()}
        outputs = [_output(flow.name, name, how, fields[name]).table for name, how in made.outputs.items()]
        state = _state(flow.name, made, f"stage {made.name} of flow {flow.name}")
        found += [table for table in (*outputs, None if state is None else state.table) if table is not None]
    return found


def _source_fields(flow: Flow, name: str, schemas: Mapping[str, Fields]) -> Fields:
    source = flow.sources[name]
    if source.table is None:
        return read_schema(f"{flow.name}.{name}", source.schema).fields
    known = next((n for n in schemas if n.lower() == str(source.table).lower()), None)
    if known is None:
        raise UnknownName(
            f"flow {flow.name} reads {source.table}, which is not a table or view",
            hint=f"{suggestion(str(source.table), schemas)}; a source without a table needs a schema",
        )
    if any(f.name.lower() == CHANGE_TYPE.name for f in schemas[known]):
        raise FlowError(f"table {known} has a column {CHANGE_TYPE.name} of its own, which flow {flow.name} cannot read")
    return (*schemas[known], CHANGE_TYPE)


def _written(flow: Flow, sources: Mapping[str, Source]) -> dict[str, Fields]:
    """The columns of every flow of rows; raise if one has two writers."""
    found = {name: source.fields for name, source in sources.items()}
    for stage in flow.stages.values():
        for name, output in stage.outputs.items():
            _check_name(f"stage {stage.name} of flow {flow.name}", name)
            if name in found or name == STATE:
                reason = "is reserved for a stage's own state" if name == STATE else "already has a writer"
                raise FlowError(f"stage {stage.name} of flow {flow.name} writes {name}, which {reason}")
            found[name] = read_schema(f"{flow.name}.{name}", output.schema, ()).fields
    return found


def _stage(flow: Flow, made: StageDefinition, written: Mapping[str, Fields]) -> Stage:
    where = f"stage {made.name} of flow {flow.name}"
    _check_name(where, made.name)
    if not made.inputs:
        raise FlowError(f"{where} reads nothing", hint="give it a flow to read")
    for name in made.inputs:
        if name not in written:
            raise UnknownName(f"{where} reads {name}, which nothing writes", hint=suggestion(name, written))
    inputs = tuple(_input(where, name, how, written[name]) for name, how in made.inputs.items())
    outputs = tuple(_output(flow.name, name, how, written[name]) for name, how in made.outputs.items())
    state = _state(flow.name, made, where)
    key = () if made.form in ("row", "rows") else _key(where, made, inputs, state)
    stage = Stage(made.name, made.translate, made.form, inputs, outputs, state, made.runnable, key)
    _check_keys(where, stage)
    return stage


def _input(where: str, name: str, how: Input, fields: Fields) -> StageInput:
    if isinstance(how.route_by, tuple):
        _check_columns(f"{where}: {name} is routed by", how.route_by, fields)
    _check_columns(f"{where}: {name} is ordered by", how.order_by, fields)
    return StageInput(name, fields, how.route_by, how.order_by, how.framing)


def _output(flow: str, name: str, how: Output, fields: Fields) -> StageOutput:
    if how.table is None:
        return StageOutput(name, fields, None, how.every_run)
    kept = tuple(f for f in fields if f.name != CHANGE_TYPE.name)
    declared = read_schema(how.table, kept, how.primary_key)
    is_growing = len(kept) == len(fields) and not how.primary_key
    table = Table(how.table, declared.fields, declared.primary_key, append_only=is_growing, flow=flow)
    return StageOutput(name, fields, table, how.every_run)


def _state(flow: str, made: StageDefinition, where: str) -> StageState | None:
    if made.state is None:
        return None
    name = made.state.table or f"{flow}_{made.name}"
    declared = read_schema(name, made.state.schema, made.state.primary_key)
    _check_columns(f"{where}: its state is routed by", made.state.route_by, declared.fields)
    _check_columns(f"{where}: its state is ordered by", made.state.order_by, declared.fields)
    clustered = made.state.route_by or (declared.fields[0].name,)  # the index has all rows, and is merged sooner
    table = Table(name, declared.fields, declared.primary_key, clustered=clustered, flow=flow)
    return StageState(table, made.state.route_by, made.state.order_by, made.state.grouping)


def _key(where: str, made: StageDefinition, inputs: Iterable[StageInput], state: StageState | None) -> Fields:
    """The columns of the grouping key: as declared, or those of the state, or of the first input routed by columns."""
    if made.key is not None:
        return read_schema(f"the key of {made.name}", made.key).fields
    if state is not None:
        return tuple(state.table.field(name) for name in state.route_by)
    for routed in inputs:
        if isinstance(routed.route_by, tuple):
            return tuple(f for name in routed.route_by for f in routed.fields if f.name == name)
    raise FlowError(f"{where} is routed by functions alone", hint='declare the key that they return: key="site STRING"')


def _check_keys(where: str, stage: Stage) -> None:
    """Refuse inputs whose routing columns do not have the types of the key."""
    wanted = [f.type for f in stage.key]
    for routed in stage.inputs:
        if stage.is_row_wise or not isinstance(routed.route_by, tuple):
            continue
        types = [f.type for name in routed.route_by for f in routed.fields if f.name == name]
        if types != wanted:
            given, key = (", ".join(map(str, found)) or "nothing" for found in (types, wanted))
            raise FlowError(
                f"{where}: {routed.flow} is routed by {given}, but the stage's key is {key}",
                hint="route by columns of the same types, or by a function",
            )


def _check_columns(what: str, names: Iterable[str], fields: Fields) -> None:
    for name in names:
        if name not in [f.name for f in fields]:
            raise UnknownName(f"{what} {name}, which is not a column", hint=suggestion(name, [f.name for f in fields]))


def _check_name(where: str, name: str) -> None:
    if not re.fullmatch(r"\w+", name):
        raise FlowError(f"{where}: `{name}` is not a valid name in a flow", hint="use letters, digits and _")


def _check_graph(graph: Graph, written: Iterable[str]) -> None:
    """Refuse flows that are neither read nor kept, tables written twice, and cycles of row-wise stages."""
    for flow in written:
        if flow not in graph.kept and not graph.consumers(flow) and not graph.pipelined(flow):
            raise FlowError(
                f"nothing reads {flow} of flow {graph.name}", hint="let a stage read it, or keep it: Output(…, table=…)"
            )
    tables = [t.name.lower() for t in graph.tables]
    if twice := next((t for t in tables if tables.count(t) > 1), None):
        raise FlowError(
            f"flow {graph.name} would store two outputs or states in table {twice}", hint="name another table: table=…"
        )
    for stage in graph.stages.values():
        if stage.is_row_wise and _circles(graph, stage.name, ()):
            raise FlowError(
                f"stage {stage.name} of flow {graph.name} is row-wise and feeds itself",
                hint="route one stage of the cycle by key",
            )


def _circles(graph: Graph, name: str, above: tuple[str, ...]) -> bool:
    """Whether a row-wise stage reaches one above it through row-wise stages only."""
    if name in above:
        return True
    outputs = graph.stages[name].outputs
    return any(_circles(graph, s.name, (*above, name)) for o in outputs for s in graph.pipelined(o.flow))
