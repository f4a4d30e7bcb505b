"""Verified files, remembered for the next process, so that opening a warehouse need not read all of it.

A file whose size, times and inode are unchanged was not modified since it was verified, provided that it had been at
rest then: times are coarse, and a change within the same tick would not show. Damage below the file system is found by
`viewlet recover` and by backups, which read every byte.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from viewlet.store.files import VERIFIED

Traits = list[int]
"""A file's size, modification and status-change times (in nanoseconds) and inode: any modification alters one."""
_REST = 3_000_000_000
"""Nanoseconds since a file's last change before it is remembered: longer than any file system's tick."""
_COARSE = 1_000
"""The shortest tick in nanoseconds: a multiple of it could be a time set by the file system itself."""


class VerifiedFiles:
    """The files of a folder that were verified, with their traits at that time."""

    def __init__(self, root: Path) -> None:
        self._path = root / VERIFIED

    @cached_property
    def _files(self) -> dict[str, Traits]:
        with suppress(OSError, ValueError):  # if the list is missing or damaged, files are verified again
            found = json.loads(self._path.read_bytes())
            if isinstance(found, dict):
                return found
        return {}

    def has(self, file: str, traits: Traits) -> bool:
        return self._files.get(file) == traits

    def add(self, file: str, traits: Traits) -> None:
        """Remember a verified file by the traits it had before, unless it had changed just then."""
        if time.time_ns() - traits[2] >= _REST:
            self._files[file] = traits

    def add_written(self, file: str) -> None:
        """Remember a file that this process wrote, with a modification time that nobody else gives it.

        File systems set times in ticks, this one is set in nanoseconds, so any later modification, even within the same
        tick, sets another. File systems with coarser times do not store it; their files are verified when read.
        """
        path, now = self._path.parent / file, time.time_ns()
        with suppress(OSError):
            os.utime(path, ns=(now, now))
            traits = traits_of(path)
            if traits is not None and traits[1] == now and now % _COARSE:
                self._files[file] = traits

    def remove(self, file: str) -> None:
        self._files.pop(file, None)

    def save(self) -> None:
        """Save what is known of the files that still exist."""
        there = {file: traits for file, traits in self._files.items() if (self._path.parent / file).exists()}
        new = self._path.with_suffix(".new")
        with suppress(OSError):  # on a full or read-only disk: files are verified again
            new.write_text(json.dumps(there))
            new.replace(self._path)


def traits_of(path: Path) -> Traits | None:
    """The traits of a file; None if it does not exist."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]
