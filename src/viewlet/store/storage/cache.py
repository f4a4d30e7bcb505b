"""Copies of immutable files on the local disk. Several processes may share a folder.

`VIEWLET_CACHE` names the folder, `VIEWLET_CACHE_BYTES` its maximum size; beyond that, the least recently used copies
are removed. An open copy stays readable.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Container
from hashlib import sha256
from pathlib import Path
from threading import Lock
from uuid import uuid4

from viewlet.errors import StoreError
from viewlet.store.files import remove

_ROOM = 32 << 30
_BLOCK = 512
_LATELY = 3_600.0
_TRIES = 3
_UNFINISHED = ".new-"
FULL = {errno.ENOSPC, errno.EDQUOT}
_OFTEN = 16
"""Eviction runs whenever this process has added this fraction (1/16) of the maximum size."""


class Cache:
    """The copies of one warehouse's files."""

    def __init__(self, address: str) -> None:
        self.root = _base() / sha256(address.encode()).hexdigest()[:24]
        self._room = int(os.environ.get("VIEWLET_CACHE_BYTES", _ROOM))
        self._added, self._adding = 0, Lock()

    def path(self, file: str) -> Path:
        """Where a file's copy is, or would be."""
        return self.root / file

    def has(self, file: str) -> bool:
        """Whether there is a copy; marks it as used."""
        path = self.path(file)
        try:
            os.utime(path, ns=(time.time_ns(), os.stat(path).st_mtime_ns))
        except FileNotFoundError:
            return False
        return True

    def add(self, file: str, write: Callable[[Path], None]) -> Path:
        """Write a copy under a temporary name and rename it once complete.

        If the folder is deleted meanwhile it is created again; if the disk is full, other copies are removed.
        """
        for _ in range(_TRIES - 1):
            try:
                return self._add(file, write)
            except (OSError, StoreError) as failure:
                if not self._mend(failure if isinstance(failure, OSError) else failure.__cause__):
                    raise
        return self._add(file, write)

    def _mend(self, failure: BaseException | None) -> bool:
        """Whether another attempt may succeed."""
        if isinstance(failure, FileNotFoundError):
            return str(failure.filename).startswith(str(self.root))
        if not isinstance(failure, OSError) or failure.errno not in FULL:
            return False
        return self._evict(0) > 0

    def _add(self, file: str, write: Callable[[Path], None]) -> Path:
        path, new = self.path(file), self.path(f"{file}{_UNFINISHED}{uuid4().hex}")
        self._make_folder(path.parent)
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

    def forget_others(self, folder: str, there: Container[str]) -> None:
        """Drop copies of files that no longer exist; recently used ones may still be on their way to the store."""
        if not (self.root / folder).is_dir():
            return
        for path in (self.root / folder).iterdir():
            if f"{folder}/{path.name}" not in there and time.time() - _used(path) > _LATELY:
                remove(path)

    def _make_folder(self, folder: Path) -> None:
        """Create folders that only this user can read, since the copies are the warehouse's data."""
        try:
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.mkdir(exist_ok=True)
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
        self._evict(self._room)

    def _evict(self, room: int) -> int:
        """Remove least recently used copies until the rest fit into `room` bytes; returns how many."""
        found = [path for path in self.root.glob("*/*") if path.is_file() and not path.suffix.startswith(_UNFINISHED)]
        sizes = {path: _size(path) for path in found}
        used, gone = sum(sizes.values()), 0
        for path in sorted(found, key=_used):
            if used <= room:
                break
            used -= sizes[path]
            gone += remove(path)
        return gone


def _used(path: Path) -> float:
    """When a copy was last used; 0 if another process has just removed it."""
    try:
        return path.stat().st_atime
    except FileNotFoundError:
        return 0.0


def _size(path: Path) -> int:
    try:
        return path.stat().st_blocks * _BLOCK
    except FileNotFoundError:
        return 0


def _base() -> Path:
    named = os.environ.get("VIEWLET_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "viewlet"
