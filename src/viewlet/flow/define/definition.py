"""The public classes of flows: named stages, connected by flows of rows (§2 of the paper)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal, TypeVar

from viewlet import arguments
from viewlet.errors import FlowError, shortened
from viewlet.flow.define.processor import COLUMNS, ProcessorStage, TimeMode
from viewlet.flow.increments.framing import Framing
from viewlet.flow.increments.routing import Route, RouteBy
from viewlet.flow.increments.runnable import Runnable, all_inputs, any_input
from viewlet.sql.schema import read_schema

Translate = Callable[..., Any]
Function = TypeVar("Function", bound=Callable[..., Any])
Form = Literal["group", "arrow", "row", "rows"]
"""How a stage is called: for each group, with all groups as Arrow, for each row, or with all rows as Arrow."""
Grouping = Literal["right outer", "full outer"]


class Input:
    """How a stage reads a flow: the groups of its rows, their order in a group, and its increments."""

    def __init__(
        self,
        route_by: str | Sequence[str] | Route | Callable[[dict[str, Any]], Any] = (),
        *,
        order_by: str | Sequence[str] = (),
        framing: Framing | None = None,
    ) -> None:
        """`route_by`: columns (none: one group), ALL, or a function; `order_by`: columns; `framing`: None is by run."""
        self.route_by: RouteBy = (
            route_by if isinstance(route_by, Route) or callable(route_by) else arguments.texts("route_by", route_by)
        )
        self.order_by = arguments.texts("order_by", order_by)
        self.framing = framing


class Output:
    """A flow that a stage writes, optionally kept as a table."""

    def __init__(
        self,
        schema: Any,
        *,
        table: str | None = None,
        primary_key: str | Sequence[str] = (),
        every_run: bool = False,
    ) -> None:
        """`table`: keep the rows as a table; with a primary key, each row replaces the one with its key.

        If the schema has a column `_change_type`, rows may also delete. `every_run`: a run that writes nothing adds an
        empty increment; by default it adds none.
        """
        self.schema, self.table, self.every_run = schema, table, every_run
        self.primary_key = arguments.texts("the primary key of an output", primary_key)


class State:
    """The state of a stage between its runs: a loopback flow, which is also a table."""

    def __init__(
        self,
        schema: Any,
        *,
        route_by: str | Sequence[str] = (),
        order_by: str | Sequence[str] = (),
        primary_key: str | Sequence[str] = (),
        grouping: Grouping = "right outer",
        table: str | None = None,
    ) -> None:
        """`route_by`: the columns of a group's key; `grouping`: "full outer" visits all groups that have state.

        `table`: its name, by default those of the flow and the stage, with `_` between.
        """
        if grouping not in ("right outer", "full outer"):
            raise FlowError(f"{shortened(grouping)} is not a grouping", hint='"right outer" or "full outer"')
        self.schema, self.grouping, self.table = schema, grouping, table
        self.route_by = arguments.texts("route_by", route_by)
        self.order_by = arguments.texts("order_by", order_by)
        self.primary_key = arguments.texts("the primary key of a state", primary_key)


@dataclass(frozen=True)
class SourceDefinition:
    """A flow from outside: the changes of a table or view, or rows that are passed to each run."""

    name: str
    table: str | None
    schema: Any


@dataclass(frozen=True)
class StageDefinition:
    """One stage as declared."""

    name: str
    translate: Translate
    form: Form
    inputs: Mapping[str, Input]
    outputs: Mapping[str, Output]
    state: State | None = None
    runnable: Runnable = field(default_factory=all_inputs)
    key: Any = None
    """The schema of the grouping key, if no columns define it."""


class Flow:
    """A dataflow program: sources and stages, connected by named flows; cycles are allowed."""

    def __init__(self, name: str, *, backpressure: bool = True) -> None:
        """`backpressure`: a stage whose outputs all wait to be read does not run while another one can."""
        self.name = arguments.text("the name of a flow", name)
        self.backpressure = backpressure
        self.sources: dict[str, SourceDefinition] = {}
        self.stages: dict[str, StageDefinition] = {}
        self.views: dict[str, str] = {}

    def source(self, name: str, *, table: str | None = None, schema: Any = None) -> None:
        """Add a flow from outside: the changes of a table or view, or rows of a schema, passed to `run_flow`.

        Rows of a table have its columns and `_change_type`: insert, delete, update_preimage or update_postimage. The
        first increment is the table's contents.
        """
        if name in self.sources:
            raise FlowError(f"flow {self.name} has two sources named {name}")
        if schema is not None and table is not None:
            raise FlowError(f"source {name} of flow {self.name} has both a table and a schema", hint="give only one")
        reads = None if schema is not None else table or name
        self.sources[name] = SourceDefinition(arguments.text("the name of a source", name), reads, schema)

    def view(self, name: str, query: str) -> None:
        """Add a view as a stage: a query over tables, including those that the flow writes; its changes are a flow.

        It is created, kept fresh and dropped with the flow.
        """
        self.source(name, table=name)
        self.views[name] = query

    def stage(
        self,
        *,
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Any] | None = None,
        state: State | None = None,
        runnable: Runnable | None = None,
        vectorized: bool = False,
        key: Any = None,
        name: str | None = None,
    ) -> Callable[[Function], Function]:
        """Add a stage: `translate(key, inputs, state)`, called for each group.

        `inputs`: for each flow an `Input`, or what to route it by; `outputs`: for each flow an `Output`, or its schema.
        The function returns its output as `{flow: rows}`, or yields `(flow, row)`; the rows of "state" are the
        group's new state. With one output and no state, it may return or yield just rows.
        `vectorized`: it is called once, with an Arrow table of the keys and one for each flow, whose column `_group` is
        the number of a row's key. `runnable`: when it runs and what it reads. `key`: the key's columns as a schema, if
        neither a state nor an input routed by columns defines them.
        """

        def add(translate: Function) -> Function:
            form: Form = "arrow" if vectorized else "group"
            read = {flow: how if isinstance(how, Input) else Input(how) for flow, how in inputs.items()}
            wanted = runnable or all_inputs()
            called, function = name or translate.__name__, _function(translate)
            self._add(StageDefinition(called, function, form, read, _outputs(outputs or {}), state, wanted, key))
            return translate

        return add

    def row_wise(
        self, input: str, outputs: Mapping[str, Any], *, vectorized: bool = False, name: str | None = None
    ) -> Callable[[Function], Function]:
        """Add a stage that works row by row: it returns or yields rows, and runs in the stage that writes its input.

        With several outputs it returns `{flow: rows}`, or yields `(flow, row)`. `vectorized`: it is called with
        an Arrow table of rows.
        """

        def add(translate: Function) -> Function:
            form: Form = "rows" if vectorized else "row"
            called, function = name or translate.__name__, _function(translate)
            self._add(StageDefinition(called, function, form, {input: Input()}, _outputs(outputs)))
            return translate

        return add

    def processor(
        self,
        processor: Any,
        *,
        input: str,
        route_by: str,
        outputs: Mapping[str, Any],
        time_mode: TimeMode = "none",
        event_time: str | None = None,
        delay: timedelta = timedelta(0),
        ticks: str | None = None,
        name: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Add a stage with the methods of Spark's `StatefulProcessor`; one output receives their rows.

        `route_by`: the columns of the key as a schema, as in "user STRING". `time_mode`: by what time timers expire,
        "processing time" or "event time", the latter with its column and the delay of its watermark. `ticks`: a
        flow that only advances time. A stage with timers visits all keys that have state, one without only those
        with rows.
        """
        if len(outputs) != 1:
            raise FlowError(f"a processor of flow {self.name} has {len(outputs)} outputs", hint="give it exactly one")
        names = tuple(f.name for f in read_schema("route_by", route_by).fields)
        made = processor() if isinstance(processor, type) else processor
        calls = ProcessorStage(made, input, next(iter(outputs)), names, time_mode, event_time, delay, clock)
        grouping: Grouping = "right outer" if time_mode == "none" else "full outer"
        self._add(
            StageDefinition(
                name or type(made).__name__,
                calls,
                "arrow",
                {input: Input(names)} | ({ticks: Input(Route.DISCARD)} if ticks else {}),
                _outputs(outputs),
                State(f"{route_by}, {COLUMNS}", route_by=names, grouping=grouping),
                any_input() if ticks else all_inputs(),
            )
        )

    def _add(self, made: StageDefinition) -> None:
        if made.name in self.stages:
            raise FlowError(f"flow {self.name} has two stages named {made.name}", hint="name=…")
        self.stages[made.name] = made


def _outputs(given: Mapping[str, Any]) -> dict[str, Output]:
    return {flow: how if isinstance(how, Output) else Output(how) for flow, how in given.items()}


def _function(given: Any) -> Translate:
    """The function of a stage; for a class or an object, its method `translate`."""
    made = given() if isinstance(given, type) else given
    function: Translate = getattr(made, "translate", made)
    return function
