"""Filling functions of groups, one partition at a time.

Runs are sorted by the hash of their key, so a range of hashes holds whole groups, in all maps with that key. The result
of a function over all groups is the concatenation of its results over each range.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import ceil

from viewlet.columns.rows import Rows
from viewlet.engine.program_run import ProgramRun
from viewlet.engine.terms.compile_term import CompiledTerm
from viewlet.program.terms import Regroup, SparkRowwise
from viewlet.store import Contents

PIECE = 1 << 18
"""Rows per piece: enough to outweigh the overhead, few enough for the caches."""


def partitions(run: ProgramRun, term: CompiledTerm) -> list[Partition]:
    """Partitions of a term's input in a run that fills its map, to be evaluated separately; [] if one is enough."""
    contents = [run.new(bag) for bag, _ in term.groups]
    if not all(c.is_sorted and c.layout.key == key for c, (_, key) in zip(contents, term.groups, strict=True)):
        return []
    count = ceil(sum(c.rows for c in contents) / PIECE)
    bags = frozenset(bag for bag, _ in term.groups)
    return [Partition(run, bags, at, count) for at in range(count)] if count > 1 else []


@dataclass(slots=True)
class Partition:
    """A run restricted to the groups in one range of hashes, for the maps `bags`, which it has filled."""

    run: ProgramRun
    bags: Collection[str]
    at: int
    count: int
    initial: bool = True

    def change(self, bag: str) -> Rows | None:
        rows = self.new(bag).consolidated()
        return rows if len(rows) else None

    def old(self, bag: str) -> Contents:
        return self.run.old(bag)

    def new(self, bag: str) -> Contents:
        contents = self.run.new(bag)
        return contents.partition(self.at, self.count) if bag in self.bags else contents

    def on_spark(self, term: SparkRowwise, rows: Rows) -> Rows:
        return self.run.on_spark(term, rows)

    def regroup_on_spark(self, term: Regroup, inputs: Sequence[Rows]) -> Rows:
        return self.run.regroup_on_spark(term, inputs)
