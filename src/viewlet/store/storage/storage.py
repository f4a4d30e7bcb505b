"""The interface of a warehouse's storage: files that are written once and read as local files.

A file has a name within the warehouse, `data/…` or `log/…`. A written file counts only once a log record names it:
writing is not committing, which is the log's task (`log/commit_log.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from viewlet.store.files import Look


@dataclass(frozen=True, slots=True)
class Entry:
    """A directory entry: a file's size and when it was written."""

    size: int
    modified: float


class Storage(Protocol):
    """Immutable files, by name."""

    @property
    def address(self) -> str:
        """The address that opens the same storage in another process."""

    @property
    def root(self) -> Path:
        """The local folder: the warehouse itself, or its cache."""

    def full_name(self, file: str) -> str:
        """A file's name for error messages."""

    def path(self, file: str) -> Path:
        """A local file with these bytes, fetched if necessary."""

    def look(self, file: str) -> Look:
        """The local file's stat data, which change when the file does."""

    def read(self, file: str, offset: int, size: int, crc: int) -> pa.Buffer:
        """A piece of a file, verified against its checksum."""

    def forget(self, file: str) -> None:
        """Forget the cached copy and earlier verifications, so that the next `read` reads the file itself."""

    def close(self) -> None:
        """Save what the writer has verified for the next process."""

    def write(self, file: str, pieces: Iterable[Any]) -> None:
        """Write a new file, readable at once but durable only after `sync`."""

    def sync(self, files: Iterable[str]) -> None:
        """Make files durable."""

    def remove(self, files: Iterable[str]) -> Sequence[str]:
        """Delete those of the files that exist; returns the deleted ones, as far as the storage can tell."""

    def prepare(self, *folders: str) -> None:
        """Create folders, if the storage has any."""

    def names(self) -> set[str]:
        """The names at the top level."""

    def list(self, folder: str) -> Mapping[str, Entry]:
        """The files of a folder, by name."""
