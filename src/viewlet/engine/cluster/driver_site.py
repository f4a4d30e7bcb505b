"""The driver's own statements: gathers, and small maps that are kept on the driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from viewlet.columns.rows import Rows
from viewlet.engine.cluster.shares import together
from viewlet.engine.epoch import Bags, Deltas
from viewlet.engine.terms.compile_term import CompiledTerm, WithoutSpark
from viewlet.program.distributed import Arrival, Compute, Move, Statement, Update
from viewlet.store import Contents, make_contents


@dataclass(frozen=True, slots=True)
class Anew:
    """A run of programs from scratch, over the whole contents of tables."""

    emptied: frozenset[str] = frozenset()
    """Maps that start empty, whatever they held."""
    superseded: frozenset[str] = frozenset()
    """The maps among them that stay: the difference to their old contents is added and passed on."""


def before(bags: Bags, bag: str, anew: Anew | None) -> Contents:
    """A map at the start of the run."""
    contents = bags.before(bag)
    if anew is None or bag not in anew.emptied:
        return contents
    return make_contents(contents.layout, (), contents.types)


@dataclass
class DriverSite(WithoutSpark):
    """What the driver's statements read: results from tasks, and maps."""

    deltas: Deltas
    results: dict[str, Rows]
    instead: Mapping[str, str] = field(default_factory=dict)
    """For the current statement, the results that stand in for the deltas of maps."""
    initial: bool = False
    anew: Anew | None = None

    def run(self, statement: Statement, terms: Mapping[str, CompiledTerm]) -> None:
        """Run one of the driver's statements."""
        match statement:
            case Compute(name, given=given):
                self._put(name, terms[name](replace(self, instead=dict(given))))
            case Move(name, source, _, _, columns):
                self._put(name, together([self.change(source)], columns))
            case Update():
                self._update(statement)
            case Arrival():
                raise AssertionError("changes arrive on the partitions")

    def _put(self, name: str, rows: Rows | None) -> None:
        if rows is not None and len(rows):
            self.results[name] = rows

    def _update(self, statement: Update) -> None:
        sources = [*(self.change(name) for name in statement.sources), self._superseded(statement.name)]
        rows = together(sources, statement.map.columns)
        if rows is None:
            return
        if not statement.map.stored:
            self._put(statement.name, rows.consolidate(statement.map.sums))
            return
        layout = self.deltas.bags.layout(statement.name)
        assert layout is not None, f"{statement.name} is kept, and not there"
        self.deltas.add_unnetted(statement.name, rows, layout)

    def _superseded(self, name: str) -> Rows | None:
        """The old contents of a map that is made anew, negated."""
        is_anew = self.anew is not None and name in self.anew.superseded
        return self.deltas.bags.before(name).consolidated().negated() if is_anew else None

    def change(self, bag: str) -> Rows | None:
        name = self.instead.get(bag, bag)
        return self.results[name] if name in self.results else self.deltas.changes.get(name)

    def old(self, bag: str) -> Contents:
        return before(self.deltas.bags, bag, self.anew)

    def new(self, bag: str) -> Contents:
        return self.deltas.bags.contents(bag)
