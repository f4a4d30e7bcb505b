"""The mark: how far the log is durable. It is kept in a file of its own, so that a truncated log is detected.

It is written after each sync of the log, and synced itself only where a segment begins or ends. It therefore never
claims too much; after a power cut it may claim too little. Two slots are written in turn, so one is always whole.
"""

from __future__ import annotations

import os
import struct
from dataclasses import astuple, dataclass
from pathlib import Path

from viewlet.errors import CorruptFile
from viewlet.store.files import MARK, checksum, opened, sync

_SLOT = struct.Struct("<8sQQQI")
_NAME = b"VIEWMARK"
_SECTOR = 512
_REMAKE = "restore it from a backup, or believe the log: `viewlet.connect(path, recover=True)`, `viewlet recover`"


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """The log is durable up to the byte `end` of a segment, and with it an epoch."""

    segment: int = 0
    end: int = 0
    epoch: int = 0


def read_mark(root: Path) -> Mark:
    """The mark of a warehouse; every warehouse has one."""
    path = root / MARK
    if not path.exists():
        raise CorruptFile(f"{path} is missing: nothing says how far the log is durable", hint=_REMAKE)
    with opened(path) as descriptor:
        slots = [_decode(os.pread(descriptor, _SLOT.size, at)) for at in (0, _SECTOR)]
    marks = [mark for mark in slots if mark is not None]
    if not marks:
        raise CorruptFile(f"{path} was altered: nothing says how far the log is durable", hint=_REMAKE)
    return max(marks)


class MarkWriter:
    """Advances the mark; `advance` writes to the page cache, without a sync."""

    def __init__(self, root: Path) -> None:
        self._path = root / MARK
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o644)
        self._turn = 0

    def advance(self, mark: Mark) -> None:
        os.pwrite(self._descriptor, _encode(mark), self._turn * _SECTOR)
        self._turn = 1 - self._turn

    def sync(self) -> None:
        os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


def make_mark(root: Path, mark: Mark) -> None:
    """Write a durable mark."""
    writer = MarkWriter(root)
    writer.advance(mark)
    writer.advance(mark)
    writer.sync()
    writer.close()
    sync(root)


def _encode(mark: Mark) -> bytes:
    data = _SLOT.pack(_NAME, *astuple(mark), 0)[:-4]
    return data + struct.pack("<I", checksum(data))


def _decode(data: bytes) -> Mark | None:
    """The mark in a slot, or None if the slot is damaged."""
    if len(data) != _SLOT.size or checksum(data[:-4]) != int.from_bytes(data[-4:], "little"):
        return None
    return Mark(*_SLOT.unpack(data)[1:-1])
