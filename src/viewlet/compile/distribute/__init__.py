"""Distributing programs: where each map is, what moves, and what runs together (Nikolic 2016, chapter 5).

All programs affected by an epoch become one distributed program. Nothing here reads state: sizes and keys come as
`Facts`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from viewlet.compile.cost import ROWS
from viewlet.compile.distribute.emit import NONE, Emitter, Optimizations
from viewlet.compile.distribute.fill import filling, most_rows
from viewlet.compile.distribute.fuse import fuse, single_blocks, without_dead_code
from viewlet.compile.distribute.lineage import Lineage
from viewlet.compile.distribute.place import Placement, grouped
from viewlet.compile.options import Facts
from viewlet.program.chain import chain, changes_read, source
from viewlet.program.distributed import Arrival, Distributed, Move, Replicated, Tag, deltas_of
from viewlet.program.program import Program, Step
from viewlet.program.terms import Change, Regroup, SparkRowwise

Cost = tuple[int, int, float]
"""Jobs, stages, and the rows moved if each table changes in proportion to its size."""
COPIES = 8
"""The factor for rows that are sent to every partition."""


def distribute(
    programs: Sequence[Program],
    facts: Facts,
    *,
    changed: Collection[str] | None = None,
    placement: Mapping[str, Tag] | None = None,
    options: Optimizations | None = None,
    initial: bool = False,
) -> Distributed:
    """The distributed program for an epoch that changes some tables, or all that can change.

    `placement` fixes the location of some maps; others are placed by keys and sizes. `initial`: the programs run for
    the first time, also over static tables, and add rows that exist without any data.
    """
    options = options or Optimizations()
    placed = place(programs, facts, placement)
    steps = placed.steps
    if changed is None:
        changed = {bag for program in programs for bag in program.reads if initial or bag not in facts.static}
    tags = dict(placed.tags)
    if options.search:
        for program in programs:
            fired = _fired(program.steps, changed, initial)
            tags |= _improved(fired, placed, tags, lambda found: _cost(found, facts), options)
    return _distributed(_fired(steps, changed, initial), tags, options)


def distribute_fill(program: Program, facts: Facts, placement: Mapping[str, Tag] | None = None) -> Distributed:
    """The distributed program that fills the maps of a program from the contents of tables.

    A map that does not exist yet counts as large unless it cannot be: sizes guessed from keys may be wrong, and the
    driver has to hold small maps.
    """
    tables = {bag: float(facts.rows.get(bag, ROWS)) for bag in program.reads}
    sizes = {name: round(most) for name, most in most_rows(program, tables).items()}
    known = replace(facts, rows={**sizes, **facts.rows})
    return distribute([filling(program, tables)], known, initial=True, placement=placement)


def why_not_distributed(program: Program) -> str | None:
    """Why a program does not run as blocks on a cluster; None if it does."""
    if (why := why_not_placed(program)) is not None:
        return why
    for step in program.steps:
        for term in step.terms:
            start = source(term)
            native = [s.label for s in chain(term) if isinstance(s, SparkRowwise)]
            if native or (isinstance(start, Regroup) and start.native is not None):
                return f"only Spark evaluates {', '.join(native) or 'what ' + step.map.name + ' is made by'}"
            if isinstance(start, Regroup) and start.inputs and grouped(step) is not start:
                return f"{step.map.name} is more than one function over groups"
    return None


def why_not_placed(program: Program) -> str | None:
    """Why a program has no distributed form; None if it has one."""
    own = {step.map.name for step in program.steps}
    for step in program.steps:
        for term in step.terms:
            others = [] if isinstance(source(term), Change) else [b for b in changes_read(term) if b not in own]
            if others:
                return f"{step.map.name} is made of all rows of {', '.join(others)}, which is no map of the view"
    return None


def place(programs: Sequence[Program], facts: Facts, given: Mapping[str, Tag] | None = None) -> Placement:
    """The initial placement of some programs' maps; shared maps are placed once."""
    steps = tuple({step.map.name: step for program in programs for step in program.steps}.values())
    return Placement(steps, Lineage(steps, facts), given or {})


def _fired(steps: Sequence[Step], changed: Collection[str], initial: bool) -> list[Step]:
    """The statements that a change triggers."""
    moved = set(changed)
    found = []
    for step in steps:
        terms = [t for t in step.terms if moved & set(read := changes_read(t)) or (initial and not read)]
        if terms:
            moved.add(step.map.name)
            found.append(replace(step, terms=tuple(terms)))
    return found


def _distributed(steps: Sequence[Step], tags: Mapping[str, Tag], options: Optimizations) -> Distributed:
    read = {bag for step in steps for term in step.terms for bag in changes_read(term)}
    emitter = Emitter(tags, frozenset(read.union(step.map.name for step in steps)), options)
    for step in steps:
        emitter.step(step)
    statements = without_dead_code(emitter.statements) if options.share else emitter.statements
    return Distributed(emitter.tags, fuse(statements) if options.fuse else single_blocks(statements))


def _improved(
    steps: Sequence[Step],
    placed: Placement,
    tags: Mapping[str, Tag],
    cost_of: Callable[[Distributed], Cost],
    options: Optimizations,
) -> Mapping[str, Tag]:
    """The tags of a program's maps after greedy search: each change that makes the program cheaper is kept."""
    best = dict(tags)
    least, before = cost_of(_distributed(steps, best, options)), None
    while least != before:
        before = least
        for trial in _trials(steps, placed, best):
            cost = cost_of(_distributed(steps, {**best, **trial}, options))
            if cost < least:
                best, least = {**best, **trial}, cost
    return best


def _trials(steps: Sequence[Step], placed: Placement, tags: Mapping[str, Tag]) -> Iterator[Mapping[str, Tag]]:
    """Alternative keys for each map, alone and together with the maps made of its delta."""
    for name in (step.map.name for step in steps):
        for tag in placed.choices.get(name, ()):
            alone, along = {name: tag}, placed.along(name, tag)
            if tag != tags[name]:
                yield alone
                if along != alone:
                    yield along


def _cost(found: Distributed, facts: Facts) -> Cost:
    rows: dict[str, float] = {}
    moved = 0.0
    for statement in found.statements:
        if isinstance(statement, Arrival):
            known = facts.rates or facts.rows
            rows[statement.name] = float(known.get(statement.name, ROWS))
        else:
            rows[statement.name] = sum(rows.get(name, 0.0) for name in deltas_of(statement))
        if isinstance(statement, Move) and statement.transformer != "retain":
            moved += rows[statement.name] * (COPIES if isinstance(statement.tag, Replicated) else 1)
    return len(found.jobs), found.stages, moved


__all__ = ["NONE", "Optimizations", "distribute", "distribute_fill", "place", "why_not_distributed", "why_not_placed"]
