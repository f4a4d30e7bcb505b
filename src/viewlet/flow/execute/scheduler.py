"""The scheduler of §4.2: which stage runs next, and why.

Runnable stages run in the order of their run counts, then of how long they have been runnable, so that none runs twice
while another waits. With backpressure, stages are passed over if all of their outputs still wait to be read, as running
them would make nothing runnable. If no other stage can run, they do run, because a runnable function may wait for
several increments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viewlet.errors import FlowError, shortened
from viewlet.flow.define.graph import Graph, Stage
from viewlet.flow.execute.control import Control, StageControl
from viewlet.flow.increments.runnable import Decision


@dataclass(frozen=True, slots=True)
class Turn:
    """A stage to run, and why."""

    stage: Stage
    decision: Decision
    why: str


def next_turns(graph: Graph, control: Control) -> list[Turn]:
    """The runnable stages in order: the first runs next; the others would follow if it changed nothing."""
    answers = {name: decide(graph.name, stage, control.stages[name]) for name, stage in graph.scheduled.items()}
    runnable = {name: decision for name, decision in answers.items() if decision is not None}
    control.turn += 1
    for name, known in control.stages.items():
        known.since = None if name not in runnable else control.turn if known.since is None else known.since
    blocked = [name for name in runnable if graph.backpressure and is_blocked(graph, control, graph.stages[name])]
    candidates = [name for name in runnable if name not in blocked] or list(runnable)
    ordered = sorted(candidates, key=lambda n: (control.stages[n].runs, control.stages[n].since))
    return [Turn(graph.stages[n], runnable[n], _reason(n, control, ordered, blocked)) for n in ordered]


def _reason(name: str, control: Control, candidates: Sequence[str], blocked: Sequence[str]) -> str:
    """Why it is a stage's turn."""
    runs, others = control.stages[name].runs, [other for other in candidates if other != name]
    if not others:
        reasons = ["nothing else can run"]
    elif runs < min(control.stages[other].runs for other in others):
        reasons = [f"it has run least often, ahead of {', '.join(others)}"]
    else:
        reasons = [f"it has waited longest, ahead of {', '.join(others)}"]
    if blocked:
        reasons.append("its outputs wait to be read" if name in blocked else f"held back: {', '.join(blocked)}")
    return "; ".join(reasons)


def decide(flow: str, stage: Stage, control: StageControl) -> Decision | None:
    """The decision of a stage's runnable function, validated."""
    waiting = {name: connector.waiting for name, connector in control.connectors.items()}
    decision = stage.runnable(waiting, control.runnable_state)
    if decision is None or not decision.read:
        return None
    for name in decision.read | decision.remove | decision.skip.keys():
        if name not in waiting or waiting[name].length <= decision.skip.get(name, 0):
            raise FlowError(
                f"the runnable function of stage {stage.name} of flow {flow} takes more increments of {shortened(name)} than are waiting",
                hint="waiting[name].length says how many increments there are",
            )
    return decision


def is_blocked(graph: Graph, control: Control, stage: Stage) -> bool:
    """Whether all outputs of a stage still wait to be read by all of their consumers."""
    flows = graph.written_by(stage)
    if any(flow in graph.kept for flow in flows):
        return False
    read = [graph.consumers(flow) for flow in flows]
    waited_for = [
        all(control.stages[s.name].connectors[flow].has_unread for s in consumers)
        for flow, consumers in zip(flows, read, strict=True)
        if consumers
    ]
    return bool(waited_for) and all(waited_for)
