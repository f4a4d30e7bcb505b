"""A distributed program as Spark runs it: stages with exchanges in between, and the driver's statements.

A result that a later stage reads in place travels along to the same partition. So do the runs that a stage writes, up
to the driver: only the attempt whose output Spark uses decides what becomes of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from viewlet.engine.cluster.skew import can_be_split, summed_columns
from viewlet.program.chain import chain, maps_read, source
from viewlet.program.distributed import (
    Arrival,
    Block,
    Compute,
    Distributed,
    Move,
    Partitioned,
    Replicated,
    Statement,
    Tag,
    Update,
    deltas_of,
)
from viewlet.program.terms import Change, FinalizeSums, Fold, Probe, Regroup, Sessionize, Term


@dataclass(frozen=True, slots=True)
class Stage:
    """What every partition does between two exchanges."""

    statements: tuple[Statement, ...]
    moves: tuple[Move, ...] = ()
    """The moves carried out by the exchange after the stage."""
    kept: tuple[str, ...] = ()
    """Results that travel along to the same partition, since a later stage or the driver reads them."""
    once: frozenset[str] = frozenset()
    """Results that are equal on every partition, so that the driver needs only one of them."""
    cut: frozenset[str] = frozenset()
    """Statements with rows on every partition, which may match only the map rows that belong to the partition."""
    before: tuple[Statement, ...] = ()
    """The driver's statements before a stage that reads something that they scatter: a new job begins here."""
    summed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Moves whose rows are only added to maps, with their sums: rows are added up before they move."""
    split: frozenset[str] = frozenset()
    """Moves whose rows may go anywhere, so that those of frequent keys can be dealt out."""

    @property
    def names(self) -> frozenset[str]:
        """All results and maps that the stage reads or makes."""
        made = frozenset(s.name for s in self.statements if not isinstance(s, Arrival))
        read = {name for s in (*self.statements, *self.moves) for name in deltas_of(s)}
        return made | read | {n for s in self.statements if isinstance(s, Compute) for n, _ in maps_read(s.term)}


@dataclass(frozen=True, slots=True)
class StagedEpoch:
    """An epoch of some programs: stages, and what the driver does after the last one."""

    program: Distributed
    stages: tuple[Stage, ...]
    arrivals: tuple[str, ...]
    gathered: frozenset[str]
    """The results that go to the driver."""
    after: tuple[Statement, ...]

    @property
    def driver(self) -> tuple[Statement, ...]:
        """All statements of the driver."""
        return tuple(s for stage in self.stages for s in stage.before) + self.after


def staged(program: Distributed) -> StagedEpoch:
    """Divide a program into stages."""
    there = _stored(program.statements) | {s.name for s in program.statements if isinstance(s, Arrival)}
    gathers = [s for s in program.statements if isinstance(s, Move) and s.transformer == "gather"]
    gathered = frozenset(move.source for move in gathers) - there
    stages, after = _stages(program, gathered)
    read = {name for stage in stages for name in stage.names}
    arrivals = tuple(s.name for s in program.statements if isinstance(s, Arrival) and s.name in read)
    return StagedEpoch(program, stages, arrivals, gathered, after)


def _stages(program: Distributed, gathered: frozenset[str]) -> tuple[tuple[Stage, ...], tuple[Statement, ...]]:
    """The stages, and the driver's statements that can wait until all of them are done."""
    tags = {s.name: s.tag for s in program.statements}
    once = frozenset(name for name, tag in tags.items() if isinstance(tag, Replicated))
    stored, made = _stored(program.statements), set[str]()
    cut_anywhere = frozenset(s.name for s in program.statements if _meets_partitions(s, tags, program))
    stages: list[Stage] = []
    waiting: tuple[Statement, ...] = ()
    for at, block in enumerate(program.blocks):
        if block.mode == "driver":
            waiting += tuple(s for s in block.statements if not _is_exchange(s))
            continue
        before, waiting = (waiting, ()) if any(map(_is_scatter, waiting)) else ((), waiting)
        made |= {s.name for s in (*block.statements, *before)}
        later = _following(program.blocks, at)
        kept = (_read_in(program.blocks[later:]) | gathered) & made - stored
        moves = tuple(m for b in program.blocks[at + 1 : later] for m in _exchanges(b))
        cut = frozenset(s.name for s in block.statements if _meets_partitions(s, tags, program))
        summed = {m.name: names for m in moves if (names := summed_columns(m, program)) is not None}
        split = frozenset(m.name for m in moves if can_be_split(m, program, cut_anywhere))
        stages.append(Stage(block.statements, moves, tuple(sorted(kept)), once, cut, before, summed, split))
        made |= {move.name for move in moves}
    return tuple(stages), waiting


def _following(blocks: Sequence[Block], at: int) -> int:
    """The index of the next block that runs on the partitions."""
    return next((i for i in range(at + 1, len(blocks)) if blocks[i].mode == "workers"), len(blocks))


def _is_scatter(statement: Statement) -> bool:
    return isinstance(statement, Move) and statement.transformer == "scatter"


def _is_exchange(statement: Statement) -> bool:
    return isinstance(statement, Move) and statement.transformer == "repartition"


def _exchanges(block: Block) -> list[Move]:
    return [s for s in block.statements if isinstance(s, Move) and _is_exchange(s)]


def _stored(statements: Sequence[Statement]) -> set[str]:
    """Maps whose deltas are runs, which travel along anyway."""
    return {s.name for s in statements if isinstance(s, Update) and s.map.stored}


def _read_in(blocks: Sequence[Block]) -> set[str]:
    """The results that partitions read in some blocks."""
    there = [s for b in blocks for s in (b.statements if b.mode == "workers" else _exchanges(b))]
    return {name for statement in there for name in deltas_of(statement)}


def _meets_partitions(statement: Statement, tags: Mapping[str, Tag], program: Distributed) -> bool:
    """Whether a statement looks rows that are on every partition up in a partitioned map."""
    if not isinstance(statement, Compute) or not _is_everywhere(statement.term, tags, program.maps):
        return False
    return any(isinstance(s, Probe) and isinstance(program.maps[s.map], Partitioned) for s in chain(statement.term))


def _is_everywhere(term: Term, tags: Mapping[str, Tag], maps: Mapping[str, Tag]) -> bool:
    """Whether a term starts from rows that are on every partition."""
    match source(term):
        case Change(bag):
            return isinstance(tags[bag], Replicated)
        case FinalizeSums(map=name) | Fold(target=name) | Sessionize(target=name):
            return isinstance(maps[name], Replicated)
        case Regroup(inputs) if inputs:
            return isinstance(maps[inputs[0].map], Replicated)
        case _:
            return True
