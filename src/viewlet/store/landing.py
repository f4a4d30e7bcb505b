"""Landing a change: its runs get their places, then one record makes it so.

Order is everything: files are durable before the record that names them is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from viewlet.store.runs import Run, RunRef
from viewlet.store.state import Change
from viewlet.store.writing import save


@dataclass(slots=True)
class Draft:
    """A change whose runs have no place in the log yet."""

    change: Change
    add: dict[str, list[Run]] = field(default_factory=dict)
    feed: dict[str, list[Run]] = field(default_factory=dict)

    def runs(self) -> list[Run]:
        """Each run of the draft once."""
        every = [run for runs in (*self.add.values(), *self.feed.values()) for run in runs]
        return list({id(run): run for run in every}.values())


@dataclass(slots=True)
class Placement:
    """Where each run of a draft goes: inline ones to the blob, the others to files."""

    inline: list[Run]
    filed: dict[int, Run]
    offsets: dict[int, int]

    @property
    def blobs(self) -> list[Any]:
        return [run.ref.data for run in self.inline]

    def ref(self, run: Run) -> RunRef:
        """The run as the record names it."""
        if id(run) in self.offsets:
            return run.ref.at("", self.offsets[id(run)])
        return self.filed[id(run)].ref

    def change(self, draft: Draft) -> Change:
        def refs(runs: dict[str, list[Run]]) -> dict[str, list[RunRef]]:
            return {name: [self.ref(run) for run in some] for name, some in runs.items() if some}

        return replace(draft.change, add=refs(draft.add), feed=refs(draft.feed))


def place(runs: Iterable[Run], inline_bytes: int) -> Placement:
    """Keep the small runs inline, as long as they fit together, and write files of the others."""
    inline: list[Run] = []
    filed: dict[int, Run] = {}
    offsets: dict[int, int] = {}
    used = 0
    for run in sorted(runs, key=lambda run: run.ref.size):
        if run.ref.data is None:
            filed[id(run)] = run
        elif run.ref.kind == "parquet" or (used + run.ref.size > inline_bytes and run.ref.kind == "map"):
            filed[id(run)] = save(run)
        else:
            inline.append(run)
            offsets[id(run)] = used
            used += run.ref.size
    return Placement(inline, filed, offsets)
