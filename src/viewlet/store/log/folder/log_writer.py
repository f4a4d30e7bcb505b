"""Writing the log: frames are appended to the newest segment, and the mark follows how far it is durable."""

from __future__ import annotations

import math
import os
from pathlib import Path
from threading import Lock
from typing import Any

from viewlet.errors import StoreError
from viewlet.store.files import LOG, remove, sync
from viewlet.store.limits import Limits
from viewlet.store.log.folder.mark import Mark, MarkWriter
from viewlet.store.log.folder.segments import Tail, is_long, segment_name
from viewlet.store.log.frames import encode_frame, frame_parts, segment_head

_MOST = 512  # pieces per write: the limit of most systems is 1,024


class LogWriter:
    """Appends frames to the newest segment. After a write that failed half-way it refuses to continue."""

    def __init__(self, root: Path, tail: Tail, epoch: int) -> None:
        """Continue the log after its last complete frame, which belongs to `epoch`; a torn frame is cut off."""
        self.root, self.number, self.epoch, self.durable_epoch = root, tail.number, epoch, epoch
        self._descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        self.end = self.synced = tail.end
        self._base, self._records = tail.base, tail.records
        self.broken = False
        self._syncing = Lock()
        if os.fstat(self._descriptor).st_size != tail.end:
            os.ftruncate(self._descriptor, tail.end)
        os.fsync(self._descriptor)
        self._mark = MarkWriter(root)
        self._mark.advance(Mark(self.number, self.end, epoch))

    @property
    def name(self) -> str:
        return segment_name(self.number)

    @property
    def first(self) -> int:
        return self.number

    @property
    def path(self) -> Path:
        return self.root / self.name

    def is_long(self, limits: Limits, share: float = 1.0) -> bool:
        return is_long(self._records, self.end - self._base, self._base, limits, share)

    def append(self, header: dict[str, Any], blobs: list[Any], *, epoch: int, durable: bool) -> int:
        """Write the frame of an epoch, and sync it if `durable`; returns the offset of its blob in the segment."""
        if self.broken:
            raise StoreError(f"{self.path} could not be written", hint="close the warehouse and open it again")
        parts, blob = frame_parts({**header, "synced": self.synced}, blobs)
        start = self.end
        try:
            for some in range(0, len(parts), _MOST):
                self._write(parts[some : some + _MOST])
            self.end, self.epoch = start + sum(map(len, parts)), epoch
            self._records += 1
            if durable:
                self._sync()
        except OSError as reason:
            self.broken = True
            self._take_back(start)
            raise StoreError(f"{self.path} could not be written: {reason}", hint="make room on the disk") from reason
        return start + blob

    def _write(self, parts: list[Any]) -> None:
        """Write all pieces, with as few system calls as possible."""
        left = [memoryview(part) for part in parts]
        while left:
            written = os.writev(self._descriptor, left)
            while left and written >= len(left[0]):
                written -= len(left.pop(0))
            if left:
                left[0] = left[0][written:]

    def _take_back(self, start: int) -> None:
        """Cut off a frame that failed. If that fails too, or earlier frames may be lost, nothing more is written."""
        whole = self.synced >= start
        try:
            os.ftruncate(self._descriptor, start)
            os.fsync(self._descriptor)
        except OSError:
            return
        self.end = start
        self.broken = not whole

    def sync(self) -> None:
        """Make everything written so far durable."""
        try:
            self._sync()
        except OSError as reason:
            self.broken = True
            raise StoreError(f"{self.path} could not be synced: {reason}", hint="open the warehouse again") from reason

    def confirm(self) -> float:
        return math.inf  # the lock excludes others until it is released

    def _sync(self) -> None:
        with self._syncing:
            epoch, end = self.epoch, self.end  # in this order: the mark may name too old an epoch, never one too new
            if self.synced < end:
                os.fdatasync(self._descriptor)
                self.synced, self.durable_epoch = end, epoch
                self._mark.advance(Mark(self.number, end, epoch))

    def follow(self, header: dict[str, Any], blobs: list[Any]) -> int:
        """Begin the next segment with a frame that holds the full state; returns the offset of its blob."""
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
            self.end = self.synced = self._base = os.fstat(self._descriptor).st_size
            self._records = 0
            self._mark.advance(Mark(self.number, self.end, self.epoch))
            self._mark.sync()
        return blob

    def _give_up(self, path: Path) -> None:
        """Remove a segment that may not be durable. As long as it exists, nothing may be written to the old one."""
        self.broken = True
        try:
            remove(path)
            sync(path.parent)
        except OSError:
            return
        self.broken = False

    def close(self) -> None:
        self._mark.sync()
        self._mark.close()
        os.close(self._descriptor)


def create_segment(root: Path, number: int, header: dict[str, Any], blobs: list[Any]) -> int:
    """Write a new segment under a temporary name, make it durable and rename it; returns the offset of its blob."""
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
