"""What the store asks of a commit log: a record is there whole, or not at all, and one process adds them.

There are two: segments of a folder that records are appended to (`folder_log.py`), and objects of a record each
(`object_log.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from viewlet.store.limits import Limits
from viewlet.store.log.folder.segments import Reading, Tail
from viewlet.store.log.recovery import Known, Recovery
from viewlet.store.runs.runs import Handles


class Lock(Protocol):
    """The right to write, held until `release`."""

    def release(self) -> None: ...


class LogAppender(Protocol):
    """Adds records to a log."""

    durable_epoch: int
    end: int
    """Grows with each record."""
    broken: bool
    """Whether a write failed half-way, so that nothing more may be written."""

    @property
    def name(self) -> str:
        """The file that the last record is in."""

    @property
    def first(self) -> int:
        """The segment from which the log is read."""

    def is_long(self, limits: Limits, share: float = 1.0) -> bool:
        """Whether so much follows the whole state that it is time to write that anew, or nearly: a share of so much."""

    def append(self, header: dict[str, Any], blobs: list[Any], *, epoch: int, durable: bool) -> int:
        """Write a record, after which the warehouse is at an epoch; the place of its blob in the file."""

    def follow(self, header: dict[str, Any], blobs: list[Any]) -> int:
        """Begin the log anew with a record that holds the whole state; the place of its blob."""

    def sync(self) -> None:
        """Make all that was written durable."""

    def confirm(self) -> float:
        """Make sure that nobody has taken over; the time before which no later writer can have written anything."""

    def close(self) -> None: ...


class CommitLog(Protocol):
    """The log of a warehouse."""

    def exists(self) -> bool:
        """Whether there is a warehouse."""

    def check_there(self) -> None:
        """Refuse to read where there is no warehouse."""

    def check_free(self) -> None:
        """Refuse to make a warehouse where other things are."""

    def lock(self) -> Lock:
        """Take the right to write, or say who has it."""

    def make(self) -> None:
        """Begin the log of a new warehouse, unless it is there."""

    def begin(self, header: dict[str, Any], blobs: list[Any]) -> None:
        """Begin the log of a new warehouse with a record that holds a state."""

    def read(self, tail: Tail | None) -> tuple[Reading, Known]:
        """The records after `tail`, or all that matter; and what is known to have been committed."""

    def recover(self, handles: Handles, limits: Limits) -> Recovery | None:
        """Continue from the last complete epoch of a damaged log; None if there is nothing wrong."""

    def appender(self, tail: Tail, epoch: int) -> LogAppender:
        """Take up the log where reading it ended."""

    def damaged(self, files: Iterable[str]) -> list[str]:
        """Which files of the log are not whole: those that are read, and some more."""
