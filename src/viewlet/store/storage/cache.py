"""Copies of immutable files on the local disk. Several processes may share a folder of them.

`VIEWLET_CACHE` names the folder, `VIEWLET_CACHE_BYTES` how large it may grow: then what was not used for longest goes.
A copy that is open stays readable.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from threading import Lock
from uuid import uuid4

from viewlet.errors import StoreError
from viewlet.store.files import DATA, LOG, remove

_ROOM = 32 << 30
_OFTEN = 16
"""Eviction looks at the folder whenever so many parts of the room were filled by this process."""


class Cache:
    """The copies of one warehouse's files."""

    def __init__(self, address: str) -> None:
        self.root = _base() / sha256(address.encode()).hexdigest()[:24]
        self._room = int(os.environ.get("VIEWLET_CACHE_BYTES", _ROOM))
        self._added, self._adding = 0, Lock()

    def path(self, file: str) -> Path:
        """Where the copy of a file is, if there is one."""
        return self.root / file

    def has(self, file: str) -> bool:
        """Whether there is a copy; it is used now."""
        path = self.path(file)
        try:
            os.utime(path, ns=(time.time_ns(), os.stat(path).st_mtime_ns))
        except FileNotFoundError:
            return False
        return True

    def add(self, file: str, write: Callable[[Path], None]) -> Path:
        """Let a copy be written, and give it its name when it is whole."""
        path, new = self.path(file), self.path(f"{file}.{uuid4().hex}")
        self._make_folders()
        try:
            write(new)
            size = new.stat().st_size
            new.rename(path)
        finally:
            remove(new)
        self._make_room(size)
        return path

    def drop(self, file: str) -> None:
        remove(self.path(file))

    def _make_folders(self) -> None:
        """They are this user's alone: what is in them is the warehouse's."""
        try:
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
            for folder in (LOG, DATA):
                (self.root / folder).mkdir(exist_ok=True)
        except OSError as reason:
            raise StoreError(
                f"files cannot be cached in {self.root}: {reason}", hint="name another folder: VIEWLET_CACHE"
            ) from reason

    def _make_room(self, size: int) -> None:
        with self._adding:
            self._added += size
            if self._added * _OFTEN < self._room:
                return
            self._added = 0
        found = [(path, path.stat()) for folder in (LOG, DATA) for path in (self.root / folder).iterdir()]
        used = sum(stat.st_size for _, stat in found)
        for path, stat in sorted(found, key=lambda one: one[1].st_atime_ns):
            if used <= self._room:
                return
            used -= stat.st_size
            remove(path)


def _base() -> Path:
    named = os.environ.get("VIEWLET_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "viewlet"
