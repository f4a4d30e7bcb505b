"""`viewlet flow run | status | trace`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from viewlet.flow.execute.report import status_text, summary_text, trace_plot, trace_text
from viewlet.formatting import plural

if TYPE_CHECKING:
    from viewlet.database import Database

Open = Callable[..., "Database"]


def add_flow_commands(parser: argparse.ArgumentParser, parents: Sequence[Any], open_warehouse: Open) -> None:
    """Add the commands for flows."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(name: str, command: Callable[[Database, argparse.Namespace], str], text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, parents=parents, help=text, description=text)
        added.add_argument("name", metavar="FLOW", nargs="?" if name == "status" else None)
        added.set_defaults(command=lambda arguments: _say(open_warehouse, command, arguments, write=name == "run"))
        return added

    run = add("run", _run, "run a flow until nothing is left to do")
    run.add_argument("--runs", type=int, metavar="N", help="stop after this many runs of stages")
    run.add_argument("--seconds", type=float, metavar="N", help="fail if it takes longer than this")
    add("status", _status, "what waits for each stage of a flow, or for all flows")
    trace = add("trace", _trace, "what ran of a flow, when and why")
    trace.add_argument("--plot", action="store_true", help="a line for each stage, a mark for each run")


def _say(
    open_warehouse: Open,
    command: Callable[[Database, argparse.Namespace], str],
    arguments: argparse.Namespace,
    *,
    write: bool,
) -> int:
    with open_warehouse(arguments, write=write) as db:
        print(command(db, arguments))
    return 0


def _run(db: Database, arguments: argparse.Namespace) -> str:
    counts = db.run_flow(arguments.name, runs=arguments.runs, seconds=arguments.seconds)
    return "\n".join(f"{stage}: {plural(n, 'run')}" for stage, n in counts.items()) or "nothing to do"


def _status(db: Database, arguments: argparse.Namespace) -> str:
    if arguments.name is None:
        return summary_text([db.flow_status(name) for name in db.flows])
    return status_text(db.flow_status(arguments.name))


def _trace(db: Database, arguments: argparse.Namespace) -> str:
    return (trace_plot if arguments.plot else trace_text)(db.flow_trace(arguments.name))
