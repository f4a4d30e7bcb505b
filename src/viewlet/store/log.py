"""The log: what was committed, in order. Recovery reads it and nothing else.

Segments are numbered; the newest begins with the whole state, so older ones matter only for the inline runs
that they hold. A segment appears under its name when its first frame is durable, never before.
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from viewlet.errors import CorruptFile, StoreError
from viewlet.store.files import LOG, opened, remove, sync
from viewlet.store.frames import SEGMENT_HEAD, Frame, check_head, encode_frame, frame_parts, read_frames, segment_head

_MOST = 512  # pieces that are written at once: systems take 1,024


@dataclass(frozen=True, slots=True)
class Tail:
    """How far a log was read: the number of its newest segment, and the end of the last whole frame there."""

    number: int
    end: int


def segment_name(number: int) -> str:
    return f"{LOG}/{number}.log"


def segments(root: Path) -> list[int]:
    """The numbers of the segments, ascending."""
    if not (root / LOG).is_dir():
        return []
    return sorted(int(path.stem) for path in (root / LOG).glob("*.log") if path.stem.isdigit())


def read_log(root: Path, tail: Tail | None = None) -> tuple[list[Frame], Tail]:
    """The frames after `tail`, or all of the newest segment if that is a newer one."""
    numbers = segments(root)
    if not numbers:
        raise CorruptFile(f"{root / LOG} has no segment", hint="restore the log from a backup")
    if tail is None or tail.number != numbers[-1]:
        tail = Tail(numbers[-1], SEGMENT_HEAD)
    frames, end = _read_segment(root, tail.number, tail.end)
    if tail.end == SEGMENT_HEAD and not frames:
        raise CorruptFile(f"{root / segment_name(tail.number)} is cut short: its first record is not whole")
    return frames, Tail(tail.number, end)


def check_segment(root: Path, number: int) -> None:
    """Raise if a segment is not whole."""
    if not _read_segment(root, number, SEGMENT_HEAD)[0]:
        raise CorruptFile(f"{root / segment_name(number)} is cut short: its first record is not whole")


def _read_segment(root: Path, number: int, start: int) -> tuple[list[Frame], int]:
    path = root / segment_name(number)
    with opened(path) as descriptor:
        if not os.fstat(descriptor).st_size:
            raise CorruptFile(f"{path} is empty")
        with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as data:
            check_head(data, str(path))
            return read_frames(data, start, str(path))


class LogWriter:
    """Appends frames to the newest segment. After a write that failed half-way it refuses to go on."""

    def __init__(self, root: Path, tail: Tail) -> None:
        """Take up the log at its last whole frame; a torn one is cut off."""
        self.root, self.number = root, tail.number
        self._descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        self.end = self.synced = tail.end
        self.broken = False
        self._syncing = Lock()
        if os.fstat(self._descriptor).st_size != tail.end:
            os.ftruncate(self._descriptor, tail.end)
        os.fsync(self._descriptor)

    @property
    def name(self) -> str:
        return segment_name(self.number)

    @property
    def path(self) -> Path:
        return self.root / self.name

    def append(self, header: dict[str, Any], blobs: list[Any], *, durable: bool) -> int:
        """Write a frame, synced if it is to be durable now; the place of its blob in the segment."""
        if self.broken:
            raise StoreError(f"{self.path} could not be written", hint="close the warehouse and open it again")
        parts, blob = frame_parts({**header, "synced": self.synced}, blobs)
        start = self.end
        try:
            for some in range(0, len(parts), _MOST):
                self._write(parts[some : some + _MOST])
            self.end = start + sum(map(len, parts))
            if durable:
                self._sync()
        except OSError as reason:
            self.broken = True
            self._take_back(start)
            raise StoreError(f"{self.path} could not be written: {reason}", hint="make room on the disk") from reason
        return start + blob

    def _write(self, parts: list[Any]) -> None:
        """Write all of some pieces, as one as far as the system lets us."""
        left = [memoryview(part) for part in parts]
        while left:
            written = os.writev(self._descriptor, left)
            while left and written >= len(left[0]):
                written -= len(left.pop(0))
            if left:
                left[0] = left[0][written:]

    def _take_back(self, start: int) -> None:
        """Cut off a frame that failed. Where that fails, or earlier frames may be lost, nothing more is written."""
        whole = self.synced >= start
        try:
            os.ftruncate(self._descriptor, start)
            os.fsync(self._descriptor)
        except OSError:
            return
        self.end = start
        self.broken = not whole

    def sync(self) -> None:
        """Make all that was written durable."""
        try:
            self._sync()
        except OSError as reason:
            self.broken = True
            raise StoreError(f"{self.path} could not be synced: {reason}", hint="open the warehouse again") from reason

    def _sync(self) -> None:
        with self._syncing:
            end = self.end
            if self.synced < end:
                os.fdatasync(self._descriptor)
                self.synced = end

    def follow(self, header: dict[str, Any], blobs: list[Any]) -> int:
        """Begin the next segment with a frame that holds the whole state; the place of its blob."""
        self.sync()
        try:
            blob = create_segment(self.root, self.number + 1, header, blobs)
        except OSError as reason:
            self._give_up(self.root / segment_name(self.number + 1))
            raise StoreError(f"no new log segment could be begun: {reason}", hint="make room on the disk") from reason
        with self._syncing:
            os.close(self._descriptor)
            self.number += 1
            self._descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
            self.end = self.synced = os.fstat(self._descriptor).st_size
        return blob

    def _give_up(self, path: Path) -> None:
        """Take back a segment that may not be durable. While it has its name, nothing may go to the old one."""
        self.broken = True
        try:
            remove(path)
            sync(path.parent)
        except OSError:
            return
        self.broken = False

    def close(self) -> None:
        os.close(self._descriptor)


def create_segment(root: Path, number: int, header: dict[str, Any], blobs: list[Any]) -> int:
    """Write a new segment beside the log, make it durable, and give it its name; the place of the blob."""
    new, path = root / LOG / f"{number}.new", root / segment_name(number)
    head = segment_head()
    data, blob = encode_frame({**header, "synced": len(head)}, blobs)
    with open(new, "wb") as file:
        file.write(head + data)
        file.flush()
        os.fsync(file.fileno())
    os.rename(new, path)
    sync(path.parent)
    return len(head) + blob
