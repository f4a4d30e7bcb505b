"""Distributed programs for people: the location of maps, and the jobs and stages of an epoch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from viewlet.formatting import plural
from viewlet.program.brief import show_statement
from viewlet.program.distributed import (
    Anywhere,
    Arrival,
    Block,
    Compute,
    Distributed,
    Local,
    Move,
    Partitioned,
    Replicated,
    Statement,
    Tag,
    Update,
)
from viewlet.program.show import show_term
from viewlet.program.terms import KEY

_WIDTH = 68


def show_tag(tag: Tag) -> str:
    match tag:
        case Local():
            return "at the driver"
        case Replicated():
            return "on every partition"
        case Anywhere():
            return "anywhere"
        case Partitioned(()):
            return "on one partition"
        case Partitioned(columns) if columns == (KEY,):
            return "by group"
        case Partitioned(columns):
            return f"by {', '.join(columns)}"


def show_places(places: Mapping[str, Tag]) -> list[str]:
    """The location of each map, one per line."""
    return [_padded(f"  {name}", show_tag(tag)) for name, tag in places.items()]


def show_counts(program: Distributed) -> str:
    """How many jobs and stages an epoch needs."""
    return f"{plural(len(program.jobs), 'job')}, {plural(program.stages, 'stage')}"


def show_blocks(program: Distributed) -> str:
    """How many blocks a program has."""
    driver = len(program.blocks) - program.stages
    return f"{plural(program.stages, 'block')} on the partitions, {driver} at the driver"


def show_jobs(program: Distributed, *, verbose: bool = False) -> list[str]:
    """The statements of each stage, and what the driver does in between."""
    lines = []
    stage = 0
    for number, job in enumerate(program.jobs, 1):
        lines.append(f"job {number}")
        for block in job:
            stage += block.mode == "workers"
            lines.append(f"  stage {stage}" if block.mode == "workers" else f"  {_driver_heading(block)}")
            lines += [f"    {line}" for line in _lines(block, verbose)]
    return lines


def _driver_heading(block: Block) -> str:
    is_exchange = all(isinstance(s, Move) and s.transformer == "repartition" for s in block.statements)
    return "exchange" if is_exchange else "driver"


def _lines(block: Block, verbose: bool) -> Iterator[str]:
    for statement in block.statements:
        yield _padded(_statement(statement, verbose), show_tag(statement.tag), 4)


def _statement(statement: Statement, verbose: bool) -> str:
    match statement:
        case Arrival(name):
            return f"Δ{name}"
        case Compute(name, term):
            shown = show_term(term) if verbose else show_statement(term, {})
            return f"{name} := {_named_results(shown)}"
        case Move(name, source, transformer):
            return f"{name} := {transformer}({_sum((source,))})"
        case Update(kept, sources):
            return f"{kept.name} += {_sum(sources)}"


def _sum(names: tuple[str, ...]) -> str:
    return " + ".join(name if name.startswith("#") else f"Δ{name}" for name in names)


def _named_results(text: str) -> str:
    """The text without the Δ before named results, which are deltas already."""
    return text.replace("Δ#", "#")


def _padded(left: str, right: str, margin: int = 0) -> str:
    return f"{left:<{_WIDTH - margin}}  {right}"
