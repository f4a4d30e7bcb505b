"""The state of a flow between runs: cursors, queues, run counts, the states of framing and runnable functions.

It is stored as a bag of small documents, one for each stage, flow and increment. A run commits those that it changed,
with its outputs, so its cost does not depend on how many increments wait.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from viewlet.columns.rows import Rows
from viewlet.errors import FlowError
from viewlet.flow.define.graph import Graph
from viewlet.flow.increments.connector import Connector, Increment
from viewlet.store import Contents, Layout, Transaction

LAYOUT = Layout(columns=("part", "document"), key=("part",))
TYPES = {"part": pa.string(), "document": pa.string()}


class Bags(Protocol):
    """A snapshot or a transaction, from which bags are read."""

    def contents(self, bag: str) -> Contents: ...


def as_json(what: str, value: Any) -> Any:
    """A value after a round trip through JSON, so that functions see the same whether or not it was stored."""
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError) as error:
        raise FlowError(
            f"{what} cannot be stored: {error}",
            hint="use numbers, strings, booleans, None, lists, and dicts with string keys",
        ) from error


def control_bag(flow: str) -> str:
    return f"{flow}.state_control"


def chunk_bag(flow: str, name: str, number: int) -> str:
    """The bag of the rows that one run wrote to a flow."""
    return f"{flow}.flow_{name}.{number}"


@dataclass(slots=True)
class StageControl:
    """A stage's run count, queues, and the state of its runnable function."""

    runs: int = 0
    since: int | None = None
    """The turn of the scheduler at which it became runnable; None if it is not."""
    connectors: dict[str, Connector] = field(default_factory=dict)
    runnable_state: Any = None


@dataclass(slots=True)
class Control:
    """The state of a flow between two runs."""

    turn: int = 0
    """The number of the scheduler's choices so far."""
    cursors: dict[str, int | None] = field(default_factory=dict)
    """The epoch up to which the changes of each source were read; None before the first."""
    stages: dict[str, StageControl] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)
    """How many chunks each flow has had so far."""
    held: dict[str, set[int]] = field(default_factory=dict)
    """The chunks of each flow that are stored."""
    stored: dict[str, str] = field(default_factory=dict)
    """The documents as last read or committed."""

    @staticmethod
    def of(graph: Graph) -> Control:
        """The state of a flow that has not run."""
        made = Control()
        made.fit(graph)
        return made

    def fit(self, graph: Graph) -> None:
        """Add missing sources, stages and queues of a graph and remove others."""
        self.cursors = {name: self.cursors.get(name) for name in graph.sources}
        self.stages = {name: self.stages.get(name, StageControl()) for name in graph.scheduled}
        for name, stage in graph.scheduled.items():
            known = self.stages[name].connectors
            self.stages[name].connectors = {i.flow: known.get(i.flow, Connector()) for i in stage.inputs}

    def new_chunk(self, flow: str) -> int:
        """Allocate the number of a new chunk."""
        number = self.written.get(flow, 0)
        self.written[flow] = number + 1
        self.held.setdefault(flow, set()).add(number)
        return number

    def referenced(self) -> dict[str, set[int]]:
        """The chunks of each flow that some consumer has not removed yet."""
        found: dict[str, set[int]] = {}
        for stage in self.stages.values():
            for flow, connector in stage.connectors.items():
                if chunks := connector.chunks():
                    found.setdefault(flow, set()).update(chunks)
        return found

    def forget_removed(self, name: str, transaction: Transaction) -> None:
        """Drop the chunks of a flow that all consumers have removed."""
        needed = self.referenced()
        for flow, numbers in self.held.items():
            for number in numbers - needed.get(flow, set()):
                transaction.drop(chunk_bag(name, flow, number))
        self.held = needed

    def documents(self) -> dict[str, str]:
        """The documents to store, by part."""
        parts: dict[str, Any] = {"schedule": [self.turn, self.cursors]}
        parts |= {f"flow/{flow}": count for flow, count in self.written.items()}
        for name, stage in self.stages.items():
            queues = {}
            for flow, queue in stage.connectors.items():
                growing = None if queue.growing is None else queue.growing.to_json()
                queues[flow] = [queue.removed, growing, queue.framing_state]
                numbered = enumerate(queue.complete, queue.removed)
                parts |= {f"increment/{name}/{flow}/{number}": i.to_json() for number, i in numbered}
            parts[f"stage/{name}"] = [stage.runs, stage.since, queues, stage.runnable_state]
        return {part: json.dumps(document) for part, document in parts.items()}

    def save(self, flow: str, transaction: Transaction) -> None:
        """Write the documents that have changed."""
        now = self.documents()
        gone = [(p, d, -1) for p, d in self.stored.items() if now.get(p) != d]
        come = [(p, d, 1) for p, d in now.items() if self.stored.get(p) != d]
        columns = {name: pa.array([row[at] for row in (*gone, *come)], TYPES[name]) for at, name in enumerate(TYPES)}
        weights = np.array([row[2] for row in (*gone, *come)], dtype=np.int64)
        transaction.append(control_bag(flow), Rows(columns, weights), LAYOUT)
        self.stored = now

    @staticmethod
    def load(flow: str, bags: Bags) -> Control:
        """The stored state of a flow."""
        rows = bags.contents(control_bag(flow)).consolidated()
        made = Control()
        made.stored = dict(zip(rows["part"].to_pylist(), rows["document"].to_pylist(), strict=True))
        increments = []
        for part, text in made.stored.items():
            kind, _, name = part.partition("/")
            if kind == "increment":
                stage, queue, number = name.split("/")
                increments.append((stage, queue, int(number), json.loads(text)))
            else:
                made._read(kind, name, json.loads(text))
        for stage, queue, _, document in sorted(increments, key=lambda i: i[:3]):
            made.stages[stage].connectors[queue].complete.append(Increment.from_json(document))
        made.held = made.referenced()
        return made

    def _read(self, kind: str, name: str, document: Any) -> None:
        match kind:
            case "schedule":
                self.turn, self.cursors = document
            case "flow":
                self.written[name] = document
            case "stage":
                runs, since, queues, remembered = document
                connectors = {
                    flow: Connector([], None if growing is None else Increment.from_json(growing), state, removed)
                    for flow, (removed, growing, state) in queues.items()
                }
                self.stages[name] = StageControl(runs, since, connectors, remembered)
