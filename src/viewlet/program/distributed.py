"""Distributed programs: the location of every map and delta, and the statements that move rows.

The statements are those of a program, split where rows have to move: each computes at one place, or moves rows, or adds
to a map (Nikolic 2016, chapter 5). The single transformer form holds by construction: only a `Move` transports rows,
and it transports named results. State is never moved.

    #1 := Sum[l_orderkey](Δlineitem)     anywhere       stage 1
    #2 := repartition[l_orderkey](#1)
    q.m1 += #2                           [l_orderkey]   stage 2
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from viewlet.plan.types import Field
from viewlet.program.chain import changes_read, maps_read
from viewlet.program.program import Map
from viewlet.program.terms import Term


@dataclass(frozen=True, slots=True)
class Local:
    """On the driver."""


@dataclass(frozen=True, slots=True)
class Partitioned:
    """On the partition given by the hash of some columns; without columns, all rows are on one partition.

    `_key` holds the hash of a group, which gives the partition directly.
    """

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Replicated:
    """A full copy on every partition."""


@dataclass(frozen=True, slots=True)
class Anywhere:
    """On the partitions, each row on any one of them."""


Tag = Local | Partitioned | Replicated | Anywhere

Transformer = Literal["repartition", "scatter", "gather", "retain"]
"""Between partitions; from the driver; to the driver; and, for replicated rows, each partition's share of them."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """The epoch's change of a table or of another program's view, wherever its rows arrive."""

    name: str
    tag: Tag


@dataclass(frozen=True, slots=True)
class Compute:
    """`name := term`: the result of a term at its place; `given` are results that stand in for the deltas of maps."""

    name: str
    term: Term
    tag: Tag
    given: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Move:
    """`name := transformer(source)`: the rows of a result, moved to another place."""

    name: str
    source: str
    transformer: Transformer
    tag: Tag
    columns: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Update:
    """`map += sources`, all of them located with the map; their net is the map's delta."""

    map: Map
    sources: tuple[str, ...]
    tag: Tag

    @property
    def name(self) -> str:
        return self.map.name


Statement = Arrival | Compute | Move | Update

Mode = Literal["driver", "workers"]


@dataclass(frozen=True, slots=True)
class Block:
    """Statements that run together: on the driver, or simultaneously on every partition."""

    mode: Mode
    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Distributed:
    """An epoch of some programs: the location of their maps, and blocks in the order in which they run."""

    maps: Mapping[str, Tag]
    blocks: tuple[Block, ...]

    @property
    def jobs(self) -> tuple[tuple[Block, ...], ...]:
        """The blocks of each job; a job ends where the driver needs its results to start the next."""
        jobs: list[tuple[Block, ...]] = []
        current: tuple[Block, ...] = ()
        for block in self.blocks:
            current = (*current, block)
            if any(isinstance(s, Move) and s.transformer == "scatter" for s in block.statements):
                jobs, current = [*jobs, current], ()
        return tuple(job for job in (*jobs, current) if any(b.mode == "workers" for b in job))

    @property
    def stages(self) -> int:
        """How many blocks run on the partitions."""
        return sum(block.mode == "workers" for block in self.blocks)

    @property
    def statements(self) -> tuple[Statement, ...]:
        return tuple(s for block in self.blocks for s in block.statements)


def mode_of(statement: Statement) -> Mode:
    """Who starts a statement: the driver starts exchanges and runs local statements."""
    if isinstance(statement, Move):
        return "workers" if statement.transformer == "retain" else "driver"
    return "driver" if isinstance(statement.tag, Local) else "workers"


def deltas_of(statement: Statement) -> frozenset[str]:
    """The results and deltas that a statement starts from."""
    match statement:
        case Arrival():
            return frozenset()
        case Compute(term=term, given=given):
            instead = dict(given)
            return frozenset(instead.get(bag, bag) for bag in changes_read(term))
        case Move(source=source):
            return frozenset((source,))
        case Update(sources=sources):
            return frozenset(sources)


def reads_of(statement: Statement) -> frozenset[str]:
    """The results and maps that must be complete before a statement runs; old states of maps always are."""
    if not isinstance(statement, Compute):
        return deltas_of(statement)
    return deltas_of(statement) | {name for name, version in maps_read(statement.term) if version == "new"}
