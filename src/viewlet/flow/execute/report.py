"""Status and trace of a flow: what is queued, and what ran when and why. They run no user code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from viewlet.flow.define.names import ARRIVED, NEWS, SOURCES
from viewlet.flow.define.stored import find_document
from viewlet.flow.execute.control import Control
from viewlet.formatting import aligned, duration

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse


def status(warehouse: Warehouse, name: str) -> dict[str, Any]:
    """The run count and queues of each stage, the cursors of sources, and the sizes of tables."""
    known, document = find_document(warehouse, name)
    snapshot = warehouse.store.snapshot()
    control = Control.load(known, snapshot)
    stages = {}
    for stage in (s for s in document["stages"] if s in control.stages):
        found = control.stages[stage]
        waiting = {flow: len(c.complete) for flow, c in found.connectors.items()}
        growing = [flow for flow, c in found.connectors.items() if c.growing is not None]
        stages[stage] = {"runs": found.runs, "waiting": waiting, "growing": growing}
    pipelined = [s for s in document["stages"] if s not in control.stages]
    tables = {table: snapshot.contents(table).total() for table in document["writes"]}
    return {"name": known, "sources": control.cursors, "stages": stages, "pipelined": pipelined, "tables": tables}


def trace(warehouse: Warehouse, name: str) -> list[dict[str, Any]]:
    """The runs of a flow in the warehouse's history, oldest first."""
    known, _ = find_document(warehouse, name)
    runs = [r for r in warehouse.store.history() if r.get("kind") == "flow" and r["name"] == known]
    return [step for run in runs for step in _steps(run)]


def _steps(run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The steps of a commit: possibly a reading of the sources, then the run of a stage."""
    if arrived := run.pop(ARRIVED, None):
        commit = {name: value for name, value in run.items() if name not in _OF_STAGES}
        yield {**commit, "stage": SOURCES, "read": {}, "written": arrived, "why": NEWS, "ms": 0.0}
    yield run


_OF_STAGES = ("translated_on", "moved")  # fields of a record that concern only its stage


def summary_text(flows: Sequence[dict[str, Any]]) -> str:
    """A line for each flow: its stages, their runs, and the waiting increments."""
    rows = [
        [
            found["name"],
            len(found["stages"]) + len(found["pipelined"]),
            f"{sum(s['runs'] for s in found['stages'].values()):,}",
            f"{sum(n for s in found['stages'].values() for n in s['waiting'].values()):,}",
        ]
        for found in flows
    ]
    return aligned(["flow", "stages", "runs", "waiting"], rows, right=(1, 2, 3))


def status_text(found: dict[str, Any]) -> str:
    """The status of a flow as tables."""
    sources = [[name, "not yet" if epoch is None else f"epoch {epoch}"] for name, epoch in found["sources"].items()]
    stages = [[name, f"{s['runs']:,}", _waiting(s)] for name, s in found["stages"].items()]
    stages += [[name, "", "runs with what writes its input"] for name in found["pipelined"]]
    tables = [[name, f"{rows:,}"] for name, rows in found["tables"].items()]
    parts = [
        aligned(["source", "read up to"], sources),
        aligned(["stage", "runs", "waiting"], stages, right=(1,)),
        aligned(["table", "rows"], tables, right=(1,)),
    ]
    return "\n\n".join(parts)


def _waiting(stage: dict[str, Any]) -> str:
    shown = [f"{flow} {n}{'+' if flow in stage['growing'] else ''}" for flow, n in stage["waiting"].items()]
    return ", ".join(shown)


def trace_text(runs: Sequence[dict[str, Any]]) -> str:
    """A line for each run: what it read and wrote, how long it took, and why it was scheduled."""
    rows = [
        [r["epoch"], r["stage"], _counts(r["read"]), _counts(r["written"]), duration(r["ms"]), r["why"]] for r in runs
    ]
    return aligned(["epoch", "stage", "read", "written", "time", "why"], rows, right=(0, 4))


def _counts(rows: dict[str, int]) -> str:
    return ", ".join(f"{flow} {n:,}" for flow, n in rows.items())


def trace_plot(runs: Sequence[dict[str, Any]], width: int = 100) -> str:
    """A line for each stage with a mark for each run, the latest at the right; heavier marks took longer."""
    shown = runs[-width:]
    longest = max((r["ms"] for r in shown), default=0) or 1
    names = list(dict.fromkeys(r["stage"] for r in shown))
    margin = max(map(len, names), default=0)
    lines = ["".join(_mark(r["ms"] / longest) if r["stage"] == name else " " for r in shown) for name in names]
    return "\n".join(f"{name.ljust(margin)}  {line}".rstrip() for name, line in zip(names, lines, strict=True))


def _mark(share: float) -> str:
    return "▁▂▃▄▅▆▇█"[min(7, int(share * 8))]
