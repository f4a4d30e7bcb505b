"""Lists the files of a folder and finds those that changed since the last reading."""

from __future__ import annotations

import fnmatch
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from viewlet.errors import RejectedEpoch
from viewlet.source.files.folder_source import Folder

TICK = 0.02
"""Seconds within which a file system may give two changes the same time; files are read once their time is older."""
MOST_BYTES = 64 << 20
"""Bytes of files read for one epoch; a larger file is read alone."""


@dataclass(frozen=True, slots=True)
class FileState:
    """The identity of a version of a file."""

    size: int
    changed: int
    """Nanoseconds since 1970."""
    inode: int


@dataclass(frozen=True, slots=True)
class FileChange:
    """A new, changed or deleted file."""

    file: str
    """Its path relative to the folder."""
    before: FileState | None
    now: FileState | None

    @property
    def size(self) -> int:
        return self.now.size if self.now else 0


def state_of(file: Path | BinaryIO) -> FileState:
    found = os.stat(file) if isinstance(file, Path) else os.fstat(file.fileno())
    return FileState(found.st_size, found.st_mtime_ns, found.st_ino)


def list_files(folder: Folder) -> dict[str, FileState]:
    """The files of a folder by relative path; names that start with _ or . are ignored, as in Spark."""
    root = Path(folder.path)
    if not root.is_dir():
        raise RejectedEpoch(f"there is no folder {root}", hint="make it, or drop the table that reads it")
    pattern = folder.option("pathGlobFilter", "*")
    found: dict[str, FileState] = {}
    for path in _walk(root, deep=folder.is_set("recursiveFileLookup")):
        if fnmatch.fnmatchcase(path.name, pattern):
            try:
                found[str(path.relative_to(root))] = state_of(path)
            except FileNotFoundError:  # deleted since it was listed
                continue
    return found


def _walk(root: Path, *, deep: bool) -> Iterator[Path]:
    for entry in os.scandir(root):
        if entry.name.startswith(("_", ".")):
            continue
        if entry.is_file():
            yield Path(entry.path)
        elif deep and entry.is_dir():
            yield from _walk(Path(entry.path), deep=True)


def find_changes(folder: Folder, known: Mapping[str, FileState], *, only_new: bool) -> list[FileChange]:
    """The changed files, oldest first; `only_new`: ignore changes of files already read."""
    there = list_files(folder)
    changed = [FileChange(f, known.get(f), there.get(f)) for f in {**known, **there} if known.get(f) != there.get(f)]
    wanted = [c for c in changed if c.before is None] if only_new else changed
    return sorted(wanted, key=lambda c: (c.now.changed if c.now else 0, c.file))


def batches(changes: list[FileChange]) -> Iterator[list[FileChange]]:
    """The changes in portions of one epoch each."""
    batch: list[FileChange] = []
    for change in changes:
        if batch and sum(c.size for c in batch) + change.size > MOST_BYTES:
            yield batch
            batch = []
        batch.append(change)
    if batch:
        yield batch


def wait_until_settled(changes: list[FileChange]) -> None:
    """Wait until any further change would alter the files' times."""
    newest = max((c.now.changed for c in changes if c.now), default=0) / 1e9
    wait = newest + TICK - time.time()
    if 0 < wait <= TICK:
        time.sleep(wait)
