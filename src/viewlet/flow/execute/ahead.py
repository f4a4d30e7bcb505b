"""Independent stages at once: runs are translated ahead of their turn.

What a run translates depends on the increments that it reads and on the state of its stage, which no other run changes.
So what a thread has translated ahead is what the stage's next run would translate, if it reads the same increments;
else it is thrown away, for that run changes the state. The order of runs, and all that they write, are those of one run after the other.
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
"""The increments that a run reads, by where they are."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run was translated, and how many rows were sent to tasks, and back."""

    engine: str
    moved: Mapping[str, int] | None = None

    def record(self) -> dict[str, Any]:
        return {"translated_on": self.engine, **({} if self.moved is None else {"moved": self.moved})}


@dataclass(frozen=True, slots=True)
class Done:
    """What a run translated: where, from how many rows of each input, to what."""

    place: Place
    read: dict[str, int]
    translated: Translated


Translate = Callable[[Stage, Pieces], Done]


class Ahead:
    """Translations, some of them under way."""

    def __init__(self, threads: int, translate: Translate) -> None:
        self._translate = translate
        self._threads = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        self._most = threads - 1
        self._begun: dict[str, tuple[Pieces, Future[Done]]] = {}

    def begin(self, turns: Sequence[Turn], pieces: Callable[[Turn], Pieces]) -> None:
        """Begin with the turns that come next, as far as there are threads."""
        for turn in turns[: self._most]:
            name, wanted = turn.stage.name, pieces(turn)
            if self._threads is not None and not self._has(name, wanted):
                self._begun[name] = wanted, self._threads.submit(self._translate, turn.stage, wanted)

    def take(self, stage: Stage, wanted: Pieces) -> Done:
        """What a run translates: what was begun, or now."""
        begun, done = self._begun.pop(stage.name, (None, None))
        return done.result() if done is not None and begun == wanted else self._translate(stage, wanted)

    def _has(self, name: str, wanted: Pieces) -> bool:
        return name in self._begun and self._begun[name][0] == wanted

    def close(self) -> None:
        """Let go of what is left over."""
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
