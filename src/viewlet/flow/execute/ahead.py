"""Running independent stages concurrently, by translating runs ahead of their turn.

A translation depends only on the increments that the run reads and on the state of its stage, which no other stage
changes. So a translation made ahead is that of the stage's next run if this reads the same increments; otherwise it is
discarded. The order of runs, and everything they write, are the same as without concurrency.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from viewlet.flow.define.graph import Stage
from viewlet.flow.execute.scheduler import Turn
from viewlet.flow.execute.translate import Translated
from viewlet.flow.increments.connector import Piece

Pieces = Mapping[str, Sequence[Piece]]
"""The locations of the increments that a run reads, by flow."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run was translated, and how many rows went to tasks and back."""

    engine: str
    moved: Mapping[str, int] | None = None

    def record(self) -> dict[str, Any]:
        return {"translated_on": self.engine, **({} if self.moved is None else {"moved": self.moved})}


@dataclass(frozen=True, slots=True)
class Done:
    """A finished translation: where it ran, how many rows of each input it read, and the result."""

    place: Place
    read: dict[str, int]
    translated: Translated


Translate = Callable[[Stage, Pieces], Done]


class Ahead:
    """Translations in progress or done, by stage."""

    def __init__(self, threads: int, translate: Translate) -> None:
        self._translate = translate
        self._threads = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        self._most = threads - 1
        self._begun: dict[str, tuple[Pieces, Future[Done]]] = {}

    def begin(self, turns: Sequence[Turn], pieces: Callable[[Turn], Pieces]) -> None:
        """Start translating the next turns, as many as there are threads."""
        for turn in turns[: self._most]:
            name, wanted = turn.stage.name, pieces(turn)
            if self._threads is not None and not self._has(name, wanted):
                self._begun[name] = wanted, self._threads.submit(self._translate, turn.stage, wanted)

    def take(self, stage: Stage, wanted: Pieces) -> Done:
        """The translation of a run: the one started ahead, if it reads the same increments, or a new one."""
        begun, done = self._begun.pop(stage.name, (None, None))
        return done.result() if done is not None and begun == wanted else self._translate(stage, wanted)

    def _has(self, name: str, wanted: Pieces) -> bool:
        return name in self._begun and self._begun[name][0] == wanted

    def close(self) -> None:
        """Cancel translations that are not needed."""
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
