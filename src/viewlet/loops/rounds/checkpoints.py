"""Checkpoints of rounds, from which a restarted process resumes.

A checkpoint holds ΔX of each round (REX, section 4.3). A step's maps depend only on the sum of all that it has read, in
whatever batches, so resuming takes one run of the step on that sum, not one for each round. Short runs write nothing.
Checkpoints belong to one piece of work: a definition, the epoch that it starts from, and the changes that it is given.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from viewlet.columns.rows import Rows

AFTER = 2.0
"""Seconds after which a run starts to write checkpoints."""
_WEIGHT = "_weight"
_FORMAT = 2
"""The version of the format; checkpoints of other versions are ignored."""
Moved = Mapping[str, Rows]
"""The rows that a round reads, by state."""


@dataclass
class Done:
    """The progress of an interrupted run: how many rows each round changed, and all rows that the steps have read."""

    sizes: dict[int, int] = field(default_factory=dict)
    moved: dict[str, Rows] = field(default_factory=dict)


class Checkpoints:
    """The checkpoints of one loop, in a folder of their own."""

    def __init__(self, root: Path, view: str, work: Callable[[], str]) -> None:
        self._folder = root / "loops" / quote(view, safe="")
        self._work = work
        self._started = time.monotonic()
        self._is_ours = False
        """Whether the contents of the folder belong to this work."""
        self._waiting: list[Moved] = []

    def done(self) -> Done:
        """The progress of an interrupted run of the same work; checkpoints of other work are deleted."""
        if not self._folder.exists():
            return Done()
        label = self._folder / "work"
        self._is_ours = label.exists() and label.read_text(encoding="utf-8") == self._work()
        if not self._is_ours:
            shutil.rmtree(self._folder)
            return Done()
        found = Done()
        parts: dict[str, list[Rows]] = {}
        for path in sorted(self._folder.glob("*.arrow")):
            with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
                table = reader.read_all()
            found.sizes |= {int(n): size for n, size in json.loads(table.schema.metadata[b"sizes"]).items()}
            parts.setdefault(path.stem.split(".", 1)[1], []).append(_rows(table))
        found.moved = {state: Rows.concat(rows).consolidate() for state, rows in parts.items()}
        return found

    def add(self, sizes: Mapping[int, int], moved: Moved) -> None:
        """Record the rows that a round reads; write all that are not written yet once checkpoints are due."""
        self._waiting.append(moved)
        if not self.is_due:
            return
        waiting, self._waiting = self._waiting, []
        states = dict.fromkeys(name for some in waiting for name in some)
        parts = {state: [some[state] for some in waiting if state in some] for state in states}
        self.write(sizes, {state: Rows.concat(rows).consolidate() for state, rows in parts.items()})

    @property
    def is_due(self) -> bool:
        """Whether the run has taken long enough to write checkpoints."""
        return time.monotonic() - self._started >= AFTER

    def write(self, sizes: Mapping[int, int], moved: Moved) -> None:
        """Write rows at once."""
        self._begin()
        for state, rows in moved.items():
            self._write(f"{max(sizes):06}.{state}", rows, sizes)

    def _begin(self) -> None:
        if not self._is_ours:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / "work").write_text(self._work(), encoding="utf-8")
            self._is_ours = True

    def _write(self, name: str, rows: Rows, sizes: Mapping[int, int]) -> None:
        """Write a file atomically."""
        table = pa.table({**rows.columns, _WEIGHT: pa.array(rows.weights)})
        table = table.replace_schema_metadata({"sizes": json.dumps(dict(sizes))})
        unfinished = self._folder / f"{name}.unfinished"
        with pa.OSFile(str(unfinished), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        unfinished.replace(self._folder / f"{name}.arrow")


def _rows(table: pa.Table) -> Rows:
    weights = table[_WEIGHT].to_numpy()
    return Rows.of(table.drop_columns([_WEIGHT]).combine_chunks(), weights)


def fingerprint(definition: str, epoch: int, changes: Mapping[str, Rows]) -> str:
    """An identifier of a piece of work, independent of the order of rows."""
    digest = sha256(f"{_FORMAT}\n{epoch}\n{definition}".encode())
    for bag, rows in sorted(changes.items()):
        total = int((rows.hashes() * rows.weights.astype(np.uint64)).sum(dtype=np.uint64))
        digest.update(f"\n{bag} {len(rows)} {total}".encode())
    return digest.hexdigest()
