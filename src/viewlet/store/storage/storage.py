"""What the store asks of the place where a warehouse is: files that are written once, and read as local ones.

A file has a name within the warehouse, `data/…` or `log/…`. What is written counts only once a record of the log names
it, so that writing is no commit: the log is (`log/commit_log.py`).
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
    """A file as a folder lists it: how many bytes it has, and when they were written."""

    size: int
    modified: float


class Storage(Protocol):
    """Immutable files, by name."""

    @property
    def address(self) -> str:
        """What opens the same storage in another process."""

    @property
    def root(self) -> Path:
        """The local folder: the warehouse itself, or what is cached of it."""

    def full_name(self, file: str) -> str:
        """A file as errors name it."""

    def path(self, file: str) -> Path:
        """A local file with these bytes, which are fetched if need be."""

    def look(self, file: str) -> Look:
        """What changes when the local file does."""

    def read(self, file: str, offset: int, size: int, crc: int) -> pa.Buffer:
        """Some bytes of a file, which are those that were written, or an error."""

    def forget(self, file: str) -> None:
        """Let the next `read` see the file itself, not what is cached or known of it."""

    def close(self) -> None:
        """Keep what the writer knows of the files for the next process."""

    def write(self, file: str, pieces: Iterable[Any]) -> None:
        """A new file, to be read by anybody at once; durable only after `sync`."""

    def sync(self, files: Iterable[str]) -> None:
        """Make files durable."""

    def remove(self, files: Iterable[str]) -> Sequence[str]:
        """Delete files, as far as they are there; which were, as far as the storage can tell."""

    def prepare(self, *folders: str) -> None:
        """Make folders, where a storage has such."""

    def names(self) -> set[str]:
        """What is at the top of it."""

    def list(self, folder: str) -> Mapping[str, Entry]:
        """The files of a folder, by name."""
