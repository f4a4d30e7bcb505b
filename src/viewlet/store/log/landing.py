"""Landing a change: its runs get their places, then one record commits it.

The order is essential: files are durable before the record that names them is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from viewlet.store.log.state import Change
from viewlet.store.runs.runs import Run, RunRef
from viewlet.store.runs.write_runs import name_after, save
from viewlet.store.storage.storage import Storage


@dataclass(slots=True)
class Draft:
    """A change whose runs have no place in the log yet."""

    change: Change
    add: dict[str, list[Run]] = field(default_factory=dict)
    feed: dict[str, list[Run]] = field(default_factory=dict)

    def runs(self) -> list[Run]:
        """The runs of the draft without duplicates."""
        every = [run for runs in (*self.add.values(), *self.feed.values()) for run in runs]
        return list({id(run): run for run in every}.values())


@dataclass(slots=True)
class Placement:
    """Where each run of a draft goes: to the record's blob or to a file. Runs with the same bytes share a place."""

    storage: Storage
    epoch: int
    """A durable epoch, which names the files."""
    inline: list[Run] = field(default_factory=list)
    filed: dict[int, Run] = field(default_factory=dict)
    blobs: list[Any] = field(default_factory=list)
    used: int = 0
    offsets: dict[int, int] = field(default_factory=dict)
    files: dict[int, str] = field(default_factory=dict)

    def add(self, run: Run, room: int) -> None:
        """Place a run, inline if there is room."""
        ref, data = run.ref, id(run.ref.data)
        if ref.data is None:
            self.filed[id(run)] = run
        elif data in self.files:
            self.filed[id(run)] = run.moved(ref.at(self.files[data], 0), self.storage)
        elif data in self.offsets:
            self.inline.append(run)
        elif ref.kind == "parquet" or self.used + ref.size > room:
            self.filed[id(run)] = saved = save(run, self.storage, name_after(self.epoch))
            self.files[data] = saved.ref.file
        else:
            self.inline.append(run)
            self.blobs += ref.data
            self.offsets[data] = self.used
            self.used += ref.size

    def ref(self, run: Run) -> RunRef:
        """The reference to the run that goes into the record."""
        filed = self.filed.get(id(run))
        return filed.ref if filed is not None else run.ref.at("", self.offsets[id(run.ref.data)])

    def change(self, draft: Draft) -> Change:
        def refs(runs: dict[str, list[Run]]) -> dict[str, list[RunRef]]:
            return {name: [self.ref(run) for run in some] for name, some in runs.items() if some}

        return replace(draft.change, add=refs(draft.add), feed=refs(draft.feed))


def place(runs: Iterable[Run], room: int, storage: Storage, epoch: int) -> Placement:
    """Keep the smallest runs inline, as many as fit into `room` together, and write the others to files."""
    made = Placement(storage, epoch)
    for run in sorted(runs, key=lambda run: run.ref.size):
        made.add(run, room)
    return made
