"""One partition during an epoch: its share of every result, maps opened in place, and runs written here.

The state of a map after the epoch (`new`) is what was committed plus the run that its delta became on this partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, field, replace

from viewlet.columns.rows import Rows
from viewlet.engine.cluster.maps import StoredMap
from viewlet.engine.cluster.shares import together
from viewlet.engine.cluster.written import Written, write_run_of
from viewlet.engine.terms.compile_term import WithoutSpark
from viewlet.program.distributed import Replicated, Update
from viewlet.program.program import Map
from viewlet.store import Contents, make_contents
from viewlet.store.runs.runs import Run
from viewlet.store.runs.write_runs import make_map_run
from viewlet.store.storage.open_storage import storage_at


@dataclass(frozen=True, slots=True)
class Traffic:
    """What stages transferred: bytes through exchanges, bytes of runs read, number of runs read and already open.

    For files in an object store: how many were in the executor's disk cache, and the bytes of those fetched.
    """

    shuffled_bytes: int = 0
    read_bytes: int = 0
    runs_read: int = 0
    runs_at_hand: int = 0
    cache_hits: int = 0
    fetched_bytes: int = 0

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


@dataclass
class Site(WithoutSpark):
    """What the statements of a stage can read on one partition."""

    address: str
    part: int
    parts: int
    inline: int
    """The bytes up to which a run is sent to the driver instead of written to a file."""
    maps: Mapping[str, StoredMap]
    superseded: Mapping[str, StoredMap] = field(default_factory=dict)
    """Maps that are made anew: their old contents are subtracted from the new ones."""
    deltas: dict[str, Rows] = field(default_factory=dict)
    written: dict[str, Written] = field(default_factory=dict)
    instead: Mapping[str, str] = field(default_factory=dict)
    """For the current statement, the results that stand in for the deltas of maps."""
    is_cut: bool = False
    """Whether the current statement sees only this partition's rows of maps."""
    initial: bool = False
    _opened: dict[tuple[str, bool], Contents] = field(default_factory=dict)
    _runs: dict[str, Run] = field(default_factory=dict)
    _used: list[tuple[Run, bool]] = field(default_factory=list)
    """The runs of opened maps, and whether an earlier task of this worker had opened them."""

    def reader(self, given: Iterable[tuple[str, str]], *, is_cut: bool) -> Site:
        """The site as one statement sees it."""
        return replace(self, instead=dict(given), is_cut=is_cut)

    def change(self, bag: str) -> Rows | None:
        name = self.instead.get(bag, bag)
        if name not in self.deltas and name in self._runs:
            self.deltas[name] = self._runs[name].map.as_rows(self.maps[name].layout)
        return self.deltas.get(name)

    def old(self, bag: str) -> Contents:
        key = bag, self.is_cut
        if key not in self._opened:
            whole = self.maps[bag].open(self.address)
            self._used += [(run, run.is_open) for run in whole.runs if run.ref.file]
            self._opened[key] = self.maps[bag].share(whole, self.part, self.parts) if self.is_cut else whole
        return self._opened[key]

    @property
    def traffic(self) -> Traffic:
        """What was read here so far."""
        read = [run.ref.size for run, was_open in self._used if not was_open and run.is_open]
        return Traffic(0, sum(read), len(read), sum(was_open for _, was_open in self._used))

    def new(self, bag: str) -> Contents:
        old = self.old(bag)
        if bag not in self._runs:
            return old
        if old.part is not None:  # all rows of the delta belong here
            return make_contents(old.layout, (*old.runs, self._runs[bag]), old.types).partition(*old.part)
        return make_contents(old.layout, (*old.runs, self._runs[bag]), old.types)

    def put(self, name: str, rows: Rows | None) -> None:
        """Keep a result, unless it is empty."""
        if rows is not None and len(rows):
            self.deltas[name] = rows

    def update(self, statement: Update) -> None:
        """Add results to a map; what they net to is its delta."""
        sources = [*(self.change(name) for name in statement.sources), self._superseded(statement.name)]
        rows = together(sources, statement.map.columns)
        if rows is None:
            return
        if not statement.map.stored:
            self.put(statement.name, rows.consolidate(statement.map.sums))
            return
        self._append(statement.map, rows, counts=not isinstance(statement.tag, Replicated) or self.part == 0)

    def _superseded(self, name: str) -> Rows | None:
        """This partition's old contents of a map that is made anew, negated."""
        stored = self.superseded.get(name)
        if stored is None:
            return None
        return stored.share(stored.open(self.address), self.part, self.parts).consolidated().negated()

    def _append(self, kept: Map, rows: Rows, *, counts: bool) -> None:
        layout = self.maps[kept.name].layout
        for run in make_map_run(rows.select(layout.columns), layout):
            weights = run.map.as_rows(layout).weights
            made = write_run_of(kept.name, run, weights, self.address, self.inline, counts=counts)
            self._runs[kept.name], self.written[kept.name] = made

    def take_over(self, made: Written) -> None:
        """Continue with a run that an earlier stage made here."""
        stored = self.maps.get(made.bag)
        self.written[made.bag] = made
        if stored is not None:
            self._runs[made.bag] = Run(made.ref, stored.layout, stored.types, storage=storage_at(self.address))
