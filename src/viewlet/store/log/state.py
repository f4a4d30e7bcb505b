"""The state of a warehouse after a record: documents, bags, feeds, history. It is immutable; a snapshot just keeps it.

A `Change` is the effect of one record. `apply` alone leads from one state to the next, for the writer, for readers and
in recovery, so recovery restores exactly the earlier state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from viewlet.store.contents import Contents
from viewlet.store.log.retention import Retention, retention_of
from viewlet.store.open_contents import make_contents
from viewlet.store.runs.layout import Layout
from viewlet.store.runs.runs import Handles, Place, Run, RunRef, Types

Json = Any


@dataclass(frozen=True, slots=True)
class Entry:
    """The runs that an epoch added to a bag with a feed."""

    epoch: int
    time: float
    refs: tuple[RunRef, ...]

    @property
    def bytes(self) -> int:
        return sum(ref.size for ref in self.refs)


@dataclass(frozen=True, slots=True)
class Feed:
    """The changes of a bag after epoch `floor`, by epoch."""

    floor: int = 0
    entries: tuple[Entry, ...] = ()
    bytes: int = 0

    def after(self, entry: Entry) -> Feed:
        return Feed(self.floor, (*self.entries, entry), self.bytes + entry.bytes)

    def trimmed(self, retention: Retention, epoch: int, time: float) -> Feed:
        """The feed without entries that are too old at an epoch; the last entry always stays."""
        first, size = 0, self.bytes
        while first < len(self.entries) - 1:
            entry = self.entries[first]
            if not retention.is_past(epoch - entry.epoch, time - entry.time, size):
                break
            first, size = first + 1, size - entry.bytes
        return Feed(self.entries[first - 1].epoch, self.entries[first:], size) if first else self


@dataclass(frozen=True, slots=True)
class Record:
    """An epoch's entry in the history: JSON, parsed only when asked for."""

    epoch: int
    time: float
    text: str


@dataclass(frozen=True, slots=True)
class Bag:
    """A table, map or view: the sum of its runs."""

    layout: Layout
    types: Types
    runs: tuple[Run, ...] = ()
    feed: Feed = Feed()

    def contents(self) -> Contents:
        return make_contents(self.layout, self.runs, self.types)

    def refs(self) -> Iterator[RunRef]:
        """Every run of the bag and of its feed."""
        yield from (run.ref for run in self.runs)
        for entry in self.feed.entries:
            yield from entry.refs


@dataclass(frozen=True, slots=True)
class State:
    """Everything that is committed."""

    epoch: int = 0
    time: float = 0.0
    catalog: Mapping[str, Json] = field(default_factory=dict)
    bags: Mapping[str, Bag] = field(default_factory=dict)
    history: tuple[Record, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)

    def refs(self) -> Iterator[RunRef]:
        """Every run that the state names."""
        for bag in self.bags.values():
            yield from bag.refs()

    def files(self) -> set[str]:
        return {ref.file for ref in self.refs()}


@dataclass(slots=True)
class Change:
    """The effect of a record on the state. An epoch has a number; a merge has none and changes no contents."""

    epoch: int | None = None
    time: float = 0.0
    record: str = ""
    drop: list[str] = field(default_factory=list)
    resume: list[str] = field(default_factory=list)
    """Bags in both `drop` and `create` whose feeds continue."""
    create: dict[str, tuple[Layout, Types]] = field(default_factory=dict)
    gone: dict[str, list[Place]] = field(default_factory=dict)
    add: dict[str, list[RunRef]] = field(default_factory=dict)
    feed: dict[str, list[RunRef]] = field(default_factory=dict)
    put: dict[str, Json] = field(default_factory=dict)
    remove: list[str] = field(default_factory=list)

    def placed(self, segment: str, blob: int) -> Change:
        """The same change with inline runs at their places in the log."""
        return replace(self, add=_placed(self.add, segment, blob), feed=_placed(self.feed, segment, blob))


def _placed(runs: dict[str, list[RunRef]], segment: str, blob: int) -> dict[str, list[RunRef]]:
    return {name: [place_ref(ref, segment, blob) for ref in refs] for name, refs in runs.items()}


def place_ref(ref: RunRef, segment: str, blob: int) -> RunRef:
    """A run in the record's own blob, given by its offset there, at its place in the segment; others unchanged."""
    return ref if ref.file else ref.at(segment, blob + ref.offset)


def apply(state: State, change: Change, handles: Handles, history: int) -> State:
    """The state after a change, with the history limited to the last `history` records."""
    if change.epoch is not None:
        assert change.epoch == state.epoch + 1, f"epoch {change.epoch} after {state.epoch}"
    catalog = state.catalog
    if change.put or change.remove:
        catalog = {key: value for key, value in {**catalog, **change.put}.items() if key not in change.remove}
    new = replace(state, catalog=catalog, bags=_changed_bags(state, change, handles), dropped=_dropped(state, change))
    return new if change.epoch is None else _counted(new, change, history)


def _changed_bags(state: State, change: Change, handles: Handles) -> dict[str, Bag]:
    bags = {name: bag for name, bag in state.bags.items() if name not in change.drop}
    for name, (layout, types) in change.create.items():
        bags[name] = Bag(layout, types, feed=_first_feed(state, change, name))
    for name in {**change.gone, **change.add}:
        bag = bags[name]
        gone = set(change.gone.get(name, ()))
        kept = [run for run in bag.runs if run.ref.place not in gone] if gone else bag.runs
        assert len(kept) + len(gone) == len(bag.runs), f"a merge of `{name}` replaces runs that are not there"
        added = [handles.get(ref, bag.layout, bag.types) for ref in change.add.get(name, ())]
        bags[name] = Bag(bag.layout, bag.types, (*kept, *added), bag.feed)
    for name, refs in change.feed.items():
        bag, entry = bags[name], Entry(change.epoch or 0, change.time, tuple(refs))
        bags[name] = Bag(bag.layout, bag.types, bag.runs, bag.feed.after(entry))
    return bags


def _first_feed(state: State, change: Change, name: str) -> Feed:
    """The feed of a created bag: a resumed one continues, with its old entries if layout and types are the same."""
    if name not in change.resume:
        return Feed((change.epoch or 0) if name in change.drop else state.dropped.get(name, 0))
    old = state.bags[name]
    assert change.epoch is not None, "only an epoch puts a bag in the place of another"
    return old.feed if (old.layout, old.types) == change.create[name] else Feed(change.epoch - 1)


def _dropped(state: State, change: Change) -> Mapping[str, int]:
    """When bags with a feed were dropped: a bag created later under the same name has no feed from before."""
    late = {name: change.epoch or 0 for name in change.drop if name in state.bags and state.bags[name].layout.feed}
    return {**state.dropped, **late} if late else state.dropped


def _counted(state: State, change: Change, history: int) -> State:
    """The state as the next epoch, with its record added and expired history removed."""
    assert change.epoch is not None
    retention = retention_of(state.catalog)
    bags = {name: _trimmed(bag, retention, change.epoch, change.time) for name, bag in state.bags.items()}
    records = (*state.history, Record(change.epoch, change.time, change.record))[-history:]
    return replace(state, epoch=change.epoch, time=change.time, bags=bags, history=records)


def _trimmed(bag: Bag, retention: Retention, epoch: int, time: float) -> Bag:
    feed = bag.feed.trimmed(retention, epoch, time) if bag.feed.entries else bag.feed
    return bag if feed is bag.feed else replace(bag, feed=feed)


def relocate(state: State, moves: Mapping[RunRef, RunRef], handles: Handles) -> State:
    """The same state with some runs at other places."""
    bags = {}
    for name, bag in state.bags.items():
        runs = tuple(
            handles.put(run.moved(moves[run.ref], handles.storage)) if run.ref in moves else run for run in bag.runs
        )
        entries = tuple(replace(e, refs=tuple(moves.get(ref, ref) for ref in e.refs)) for e in bag.feed.entries)
        bags[name] = replace(bag, runs=runs, feed=replace(bag.feed, entries=entries))
    return replace(state, bags=bags)
