"""The interface of a commit log: a record exists completely or not at all, and one process at a time adds them.

There are two: segment files in a folder, to which records are appended (`folder_log.py`), and one object per record
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
    """Whether a write failed half-way: nothing more may then be written."""

    @property
    def name(self) -> str:
        """The file that holds the last record."""

    @property
    def first(self) -> int:
        """The segment from which reading the log starts."""

    def is_long(self, limits: Limits, share: float = 1.0) -> bool:
        """Whether so many records follow the last full state that it is due again; `share` scales the threshold."""

    def append(self, header: dict[str, Any], blobs: list[Any], *, epoch: int, durable: bool) -> int:
        """Write the record of an epoch; returns the offset of its blob in the file."""

    def follow(self, header: dict[str, Any], blobs: list[Any]) -> int:
        """Restart the log with a record that holds the full state; returns the offset of its blob."""

    def sync(self) -> None:
        """Make everything written so far durable."""

    def confirm(self) -> float:
        """Check that no other writer has taken over; returns a time before which a later writer cannot have written."""

    def close(self) -> None: ...


class CommitLog(Protocol):
    """The log of a warehouse."""

    def exists(self) -> bool:
        """Whether a warehouse exists."""

    def check_there(self) -> None:
        """Refuse to read where there is no warehouse."""

    def check_free(self) -> None:
        """Refuse to create a warehouse where there are other files."""

    def lock(self) -> Lock:
        """Acquire the right to write; the error names its current holder."""

    def make(self) -> None:
        """Begin the log of a new warehouse unless it exists."""

    def begin(self, header: dict[str, Any], blobs: list[Any]) -> None:
        """Begin the log of a new warehouse with a record that holds a state."""

    def read(self, tail: Tail | None) -> tuple[Reading, Known]:
        """The records after `tail`, or all that are needed, and what is known to have been committed."""

    def recover(self, handles: Handles, limits: Limits) -> Recovery | None:
        """Continue a damaged log from its last complete epoch; None if it is undamaged."""

    def appender(self, tail: Tail, epoch: int) -> LogAppender:
        """An appender that continues where reading ended."""

    def damaged(self, files: Iterable[str]) -> list[str]:
        """The damaged files of the log: of those needed for reading, and of `files`."""
