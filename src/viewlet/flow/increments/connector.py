"""Connectors: queues of the increments that wait for one consumer of one flow (§4.1).

The rows that a run writes to a flow are a chunk, which is stored once. Each consumer frames chunks on its own, so an
increment consists of pieces of consecutive chunks. A chunk that no connector refers to is deleted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from viewlet.flow.increments.framing import Frame
from viewlet.flow.increments.runnable import Waiting

Piece = tuple[int, int, int]
"""The number of a chunk, and the range of its rows."""


@dataclass(slots=True)
class Increment:
    """Rows that a consumer reads together."""

    key: Any
    pieces: list[Piece]
    is_read: bool = False
    """Whether a run has read it without removing it."""

    def to_json(self) -> list[Any]:
        return [self.key, self.pieces, self.is_read]

    @staticmethod
    def from_json(document: list[Any]) -> Increment:
        key, pieces, is_read = document
        return Increment(key, [(chunk, start, stop) for chunk, start, stop in pieces], is_read)


@dataclass(slots=True)
class Connector:
    """The queue of one consumer."""

    complete: list[Increment] = field(default_factory=list)
    growing: Increment | None = None
    """The increment that may still grow, as its framing key may come again."""
    framing_state: Any = None
    removed: int = 0
    """How many increments have left the queue."""

    def add(self, chunk: int, frames: Iterable[Frame]) -> None:
        """Add the frames of a chunk."""
        for frame in frames:
            if self.growing is not None and self.growing.key != frame.key:
                self._complete()
            if self.growing is None:
                self.growing = Increment(frame.key, [])
            self.growing.pieces.append((chunk, frame.start, frame.stop))
            if frame.is_closed:
                self._complete()

    def _complete(self) -> None:
        assert self.growing is not None
        self.complete.append(self.growing)
        self.growing = None

    def remove(self, count: int = 1) -> None:
        """Take the first increments out of the queue."""
        del self.complete[:count]
        self.removed += count

    @property
    def waiting(self) -> Waiting:
        return Waiting(self.complete[0].key if self.complete else None, len(self.complete))

    @property
    def has_unread(self) -> bool:
        return any(not increment.is_read for increment in self.complete)

    def chunks(self) -> set[int]:
        """The chunks that it refers to."""
        increments = [*self.complete, *([self.growing] if self.growing is not None else [])]
        return {chunk for increment in increments for chunk, _, _ in increment.pieces}
