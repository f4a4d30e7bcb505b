"""What a flow knows between its runs: cursors, queues, run counts, the states of framing and runnable functions.

It is a bag of small documents, one for each stage and flow; a run commits those that it changed, with its outputs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from viewlet.columns.rows import Rows
from viewlet.errors import FlowError
from viewlet.flow.connector import Connector
from viewlet.flow.graph import Graph
from viewlet.store import Contents, Layout, Transaction

LAYOUT = Layout(columns=("part", "document"), key=("part",))
TYPES = {"part": pa.string(), "document": pa.string()}


class Bags(Protocol):
    """Where bags are read: a snapshot, or a transaction."""

    def contents(self, bag: str) -> Contents: ...


def as_json(what: str, value: Any) -> Any:
    """A value as it is after it was stored, so that functions see the same whether or not it was in between."""
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError) as error:
        raise FlowError(
            f"{what} cannot be kept: {error}", hint="numbers, texts, truth values, None, lists, and dicts of texts"
        ) from error


def control_bag(flow: str) -> str:
    return f"{flow}.state_control"


def chunk_bag(flow: str, name: str, number: int) -> str:
    """The bag that holds what one run wrote to a flow."""
    return f"{flow}.flow_{name}.{number}"


@dataclass(slots=True)
class StageControl:
    """When a stage ran, what waits for it, and what its runnable function remembers."""

    runs: int = 0
    since: int | None = None
    """The turn of the scheduler at which it became runnable; None where it is not."""
    connectors: dict[str, Connector] = field(default_factory=dict)
    runnable_state: Any = None


@dataclass(slots=True)
class Control:
    """A flow between two runs."""

    turn: int = 0
    """How often the scheduler has chosen."""
    cursors: dict[str, int | None] = field(default_factory=dict)
    """The epoch up to which the changes of each source were read; None before the first."""
    stages: dict[str, StageControl] = field(default_factory=dict)
    chunks: dict[str, list[int]] = field(default_factory=dict)
    """The chunks of each flow that are stored."""
    written: dict[str, int] = field(default_factory=dict)
    """How many chunks each flow has had."""
    stored: dict[str, str] = field(default_factory=dict)
    """The documents as they were read or committed last."""

    @staticmethod
    def of(graph: Graph) -> Control:
        """A flow that has not run."""
        made = Control()
        made.fit(graph)
        return made

    def fit(self, graph: Graph) -> None:
        """Have a place for every source and stage of a graph, and for no other one."""
        self.cursors = {name: self.cursors.get(name) for name in graph.sources}
        self.stages = {name: self.stages.get(name, StageControl()) for name in graph.scheduled}
        for name, stage in graph.scheduled.items():
            known = self.stages[name].connectors
            self.stages[name].connectors = {i.flow: known.get(i.flow, Connector()) for i in stage.inputs}

    def forget_removed(self, graph: Graph, transaction: Transaction) -> None:
        """Drop the chunks that all consumers have removed."""
        for flow, numbers in self.chunks.items():
            needed = {n for s in graph.consumers(flow) for n in self.stages[s.name].connectors[flow].chunks()}
            for number in (n for n in numbers if n not in needed):
                transaction.drop(chunk_bag(graph.name, flow, number))
            self.chunks[flow] = [n for n in numbers if n in needed]

    def documents(self) -> dict[str, str]:
        """What is stored, by part."""
        parts: dict[str, Any] = {"schedule": [self.turn, self.cursors]}
        for name, stage in self.stages.items():
            connectors = {flow: c.to_json() for flow, c in stage.connectors.items()}
            parts[f"stage/{name}"] = [stage.runs, stage.since, connectors, stage.runnable_state]
        for flow, count in self.written.items():
            parts[f"flow/{flow}"] = [count, self.chunks.get(flow, [])]
        return {part: json.dumps(document) for part, document in parts.items()}

    def save(self, flow: str, transaction: Transaction) -> None:
        """Write what has changed since it was read."""
        now = self.documents()
        gone = [(p, d, -1) for p, d in self.stored.items() if now.get(p) != d]
        come = [(p, d, 1) for p, d in now.items() if self.stored.get(p) != d]
        columns = {name: pa.array([row[at] for row in (*gone, *come)], TYPES[name]) for at, name in enumerate(TYPES)}
        weights = np.array([row[2] for row in (*gone, *come)], dtype=np.int64)
        transaction.append(control_bag(flow), Rows(columns, weights), LAYOUT)
        self.stored = now

    @staticmethod
    def load(flow: str, bags: Bags) -> Control:
        """A flow as its last run left it."""
        rows = bags.contents(control_bag(flow)).consolidated()
        made = Control()
        made.stored = dict(zip(rows["part"].to_pylist(), rows["document"].to_pylist(), strict=True))
        for part, document in sorted(made.stored.items()):
            made._read(part, json.loads(document))
        return made

    def _read(self, part: str, document: Any) -> None:
        kind, _, name = part.partition("/")
        match kind:
            case "schedule":
                self.turn, self.cursors = document
            case "stage":
                runs, since, connectors, remembered = document
                read = {flow: Connector.from_json(d) for flow, d in connectors.items()}
                self.stages[name] = StageControl(runs, since, read, remembered)
            case "flow":
                self.written[name], self.chunks[name] = document
