"""Files that were written or verified before, kept for the next process: opening a warehouse need not read all of it.

A file that still looks as it did (its size, its times, its inode) was touched by nobody since, provided that it had
rested when it was verified: times are coarse, and a change within the same tick would leave them as they were. What
alters a file below the file system is found by `viewlet recover` and by backups, which read every byte.
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
"""What no change of a file leaves as it was: its size, when bytes and status changed (in nanoseconds), its inode."""
_REST = 3_000_000_000
"""Nanoseconds after its last change before a file is remembered: more than the ticks of any file system."""
_COARSE = 1_000
"""Nanoseconds of the shortest ticks: a multiple of it could be one of the file system's own times."""


class VerifiedFiles:
    """The files of a folder whose bytes were found to be those that were written, and what they looked like then."""

    def __init__(self, root: Path) -> None:
        self._path = root / VERIFIED

    @cached_property
    def _files(self) -> dict[str, Traits]:
        with suppress(OSError, ValueError):  # without it, or where it is damaged, files are verified again
            found = json.loads(self._path.read_bytes())
            if isinstance(found, dict):
                return found
        return {}

    def has(self, file: str, traits: Traits) -> bool:
        return self._files.get(file) == traits

    def add(self, file: str, traits: Traits) -> None:
        """Remember a file that is verified after it looked so, unless it was changed just before."""
        if time.time_ns() - traits[2] >= _REST:
            self._files[file] = traits

    def add_written(self, file: str) -> None:
        """Remember a file that this process wrote, with a time of change that nobody else gives it.

        File systems count time in ticks, this one is in nanoseconds: whoever changes the file, even within the same
        tick, gives it another. One that keeps coarser times does not take it; its files are verified when they are read.
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
        """Keep what is known of the files that are still there."""
        there = {file: traits for file, traits in self._files.items() if (self._path.parent / file).exists()}
        new = self._path.with_suffix(".new")
        with suppress(OSError):  # a full disk, or one that is read-only by now: files are verified again
            new.write_text(json.dumps(there))
            new.replace(self._path)


def traits_of(path: Path) -> Traits | None:
    """What a file looks like; None where there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]
