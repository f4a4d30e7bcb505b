"""Dataflows: stateful stages, routed by key, for what queries cannot express.

from viewlet import flow

counts = flow.Flow("counts")
counts.source("words")                                     # the changes of table `words`

@counts.stage(inputs={"words": "word"}, state=flow.State("word STRING, n BIGINT", route_by="word"))
def count(word, inputs, state):
    n = state[0]["n"] if state else 0
    yield "state", {"word": word, "n": n + len(inputs["words"])}

db.create_flow(counts)
db.run_flow("counts")
db.table("counts_count").rows()

The model is that of D. Logothetis, C. Olston, B. Reed, K. Webb and K. Yocum, *Programming Bulk-Incremental Dataflows*.
"""

from viewlet.flow.define.definition import Flow, Grouping, Input, Output, State
from viewlet.flow.increments.framing import Framing, by_column, by_count, by_day, by_punctuation
from viewlet.flow.increments.routing import ALL, DISCARD
from viewlet.flow.increments.runnable import (
    Decision,
    Runnable,
    Waiting,
    all_inputs,
    any_input,
    look_up,
    prefer,
    temporal_join,
)

__all__ = [
    "ALL",
    "DISCARD",
    "Decision",
    "Flow",
    "Framing",
    "Grouping",
    "Input",
    "Output",
    "Runnable",
    "State",
    "Waiting",
    "all_inputs",
    "any_input",
    "by_column",
    "by_count",
    "by_day",
    "by_punctuation",
    "look_up",
    "prefer",
    "temporal_join",
]
