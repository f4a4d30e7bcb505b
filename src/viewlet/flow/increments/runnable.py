"""Runnability: whether a stage may run, and which increments it reads and removes (§2.6).

A runnable function receives what waits on each input and its own small state. It returns a `Decision`, or None if the
stage must wait. Reading and removing are separate, so that an increment can serve as a look-up table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from viewlet.errors import FlowError


@dataclass(frozen=True, slots=True)
class Waiting:
    """The increments waiting on an input."""

    key: Any
    """The framing key of the first one; None if there is none."""
    length: int
    """The number of increments."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The inputs that a run reads and those it removes an increment from, and the function's next state."""

    read: frozenset[str]
    remove: frozenset[str]
    state: Any = None
    skip: Mapping[str, int] = field(default_factory=dict)
    """How many increments of an input are removed unread before the run."""

    @staticmethod
    def of(
        read: Iterable[str],
        remove: Iterable[str] | None = None,
        state: Any = None,
        skip: Mapping[str, int] | None = None,
    ) -> Decision:
        """Read an increment of some inputs; remove what was read, unless `remove` names other inputs."""
        reading = frozenset(read)
        return Decision(reading, reading if remove is None else frozenset(remove), state, skip or {})


Runnable = Callable[[Mapping[str, Waiting], Any], Decision | None]
"""`(waiting, state) -> Decision | None`; `waiting` has all inputs, the state starts as None and must fit JSON."""


@dataclass(frozen=True, slots=True)
class All:
    """Runs when every input has an increment; reads and removes one of each."""

    def __call__(self, waiting: Mapping[str, Waiting], state: Any) -> Decision | None:
        return Decision.of(waiting) if all(w.length for w in waiting.values()) else None


@dataclass(frozen=True, slots=True)
class Either:
    """Runs when some input has an increment; reads and removes one of each that has."""

    def __call__(self, waiting: Mapping[str, Waiting], state: Any) -> Decision | None:
        ready = [name for name, w in waiting.items() if w.length]
        return Decision.of(ready) if ready else None


@dataclass(frozen=True, slots=True)
class Prefer:
    """Prefers one input, but at most `ratio` times in a row while others wait."""

    input: str
    ratio: int

    def __post_init__(self) -> None:
        if self.ratio < 1:
            raise FlowError(f"{self.ratio} is not a ratio", hint="prefer(input, ratio) needs a ratio above zero")

    def __call__(self, waiting: Mapping[str, Waiting], state: int | None) -> Decision | None:
        """The state counts how often the input was preferred since others were read."""
        times = state or 0
        others = [name for name, w in waiting.items() if w.length and name != self.input]
        if waiting[self.input].length and (times < self.ratio or not others):
            return Decision.of([self.input], state=min(times + 1, self.ratio))
        return Decision.of(others, state=0) if others else None


@dataclass(frozen=True, slots=True)
class TemporalJoin:
    """Runs when every input has an increment; reads and removes those with the least framing key."""

    def __call__(self, waiting: Mapping[str, Waiting], state: Any) -> Decision | None:
        if not all(w.length for w in waiting.values()):
            return None
        least = min(w.key for w in waiting.values())
        return Decision.of(name for name, w in waiting.items() if w.key == least)


@dataclass(frozen=True, slots=True)
class LookUp:
    """Like `All`, but some inputs are look-up tables: their newest increment is read and kept."""

    inputs: tuple[str, ...]

    def __call__(self, waiting: Mapping[str, Waiting], state: Any) -> Decision | None:
        if not all(w.length for w in waiting.values()):
            return None
        skip = {name: waiting[name].length - 1 for name in self.inputs}
        return Decision.of(waiting, (name for name in waiting if name not in self.inputs), skip=skip)


def all_inputs() -> Runnable:
    """Run when every input has an increment."""
    return All()


def any_input() -> Runnable:
    """Run when any input has an increment."""
    return Either()


def prefer(input: str, ratio: int = 4) -> Runnable:
    """Run when any input has an increment, one input first."""
    return Prefer(input, ratio)


def temporal_join() -> Runnable:
    """Join increments of equal framing keys."""
    return TemporalJoin()


def look_up(*inputs: str) -> Runnable:
    """Run when every input has an increment; read the newest one of these inputs and keep it for later runs."""
    return LookUp(inputs)
