"""Bytes on disk: written and synced before a record names them, checked before they are read."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from viewlet.errors import CorruptFile, StoreError

LOG, DATA, MARK, LOST, VERIFIED = "log", "data", "mark", "lost", "verified"
RESTORE = "restore the file from a backup"


Look = tuple[int, int, int]


class GoneFile(CorruptFile):
    """A file that a record names is missing: lost, or superseded and removed since a reader looked."""


def checksum(*pieces: Any, start: int = 0) -> int:
    """The checksum of bytes, which may come in pieces; `start` is the checksum of what came before."""
    crc = start
    for piece in pieces:
        crc = zlib.crc32(piece, crc)
    return crc


def write_file(path: Path, pieces: Iterable[Any]) -> None:
    """Write a new file with these bytes; it is not durable yet."""
    try:
        with open(path, "xb") as file:
            file.writelines(pieces)
    except OSError as reason:
        remove(path)
        raise StoreError(f"{path} could not be written: {reason}", hint="make room on the disk") from reason


def sync_files(paths: Iterable[Path]) -> None:
    """Make files and their names durable."""
    directories = set()
    for path in paths:
        sync(path)
        directories.add(path.parent)
    for directory in directories:
        sync(directory)


def sync(path: Path) -> None:
    """Make a file's bytes, or a directory's entries, durable."""
    with opened(path) as descriptor:
        os.fsync(descriptor)


def remove(path: Path) -> bool:
    """Delete a file if it exists; returns whether it did."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True


def read_checked(path: Path, offset: int, size: int, crc: int, name: str = "") -> pa.Buffer:
    """The bytes of a file (mapped) or of a piece of a log segment (read), with their checksum verified.

    Errors name the path, or `name`, of which it is a copy.
    """
    data = map_file(path, size, name) if path.parent.name != LOG else _read_piece(path, offset, size)
    if data.size != size:
        raise CorruptFile(f"{name or path} is cut short: {data.size:,} of {size:,} bytes are there", hint=RESTORE)
    if checksum(data) != crc:
        raise CorruptFile(f"{name or path} was altered: its checksum is not the one recorded", hint=RESTORE)
    return data


def map_file(path: Path, size: int, name: str = "") -> pa.Buffer:
    """The bytes of a whole file, mapped; errors name the path, or `name`, of which it is a copy."""
    actual = look_at(path)[0]
    if actual != size:
        raise CorruptFile(f"{name or path} has {actual:,} bytes where {size:,} were written", hint=RESTORE)
    try:
        with pa.memory_map(str(path), "r") as file:
            return file.read_buffer()
    except FileNotFoundError:
        raise GoneFile(f"{path} is missing", hint=RESTORE) from None


def look_at(path: Path) -> Look:
    """What changes when a file does: its size, modification time and inode."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise GoneFile(f"{path} is missing", hint=RESTORE) from None
    return found.st_size, found.st_mtime_ns, found.st_ino


def _read_piece(path: Path, offset: int, size: int) -> pa.Buffer:
    with opened(path) as descriptor:
        return pa.py_buffer(os.pread(descriptor, size, offset))


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """A read-only descriptor of a file that should exist."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        raise GoneFile(f"{path} is missing", hint=RESTORE) from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)
