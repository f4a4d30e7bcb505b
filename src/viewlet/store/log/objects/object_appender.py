"""Appending to the log of an object store: a record is durable once its object exists, one per number."""

from __future__ import annotations

from typing import Any

from viewlet.errors import StoreError, WarehouseBusy
from viewlet.store.limits import Limits
from viewlet.store.log.folder.mark import Mark
from viewlet.store.log.folder.segments import Tail, is_long, record_name
from viewlet.store.log.frames import encode_frame, segment_head
from viewlet.store.log.objects.lease import Lease, last_lease
from viewlet.store.storage.objects import Objects


class ObjectAppender:
    """Adds records after the last one that was read."""

    def __init__(self, storage: Objects, lease: Lease, tail: Tail, epoch: int) -> None:
        self._storage, self._lease = storage, lease
        self._number, self.first = tail.number, tail.first
        self.end, self._base, self._records = tail.end, tail.base, tail.records
        self.durable_epoch = epoch
        self.broken = False

    @property
    def name(self) -> str:
        return record_name(self._number)

    def is_long(self, limits: Limits, share: float = 1.0) -> bool:
        return is_long(self._records, self.end - self._base, self._base, limits, share)

    def append(self, header: dict[str, Any], blobs: list[Any], *, epoch: int, durable: bool) -> int:
        """Write a record, which is durable at once."""
        blob, size = self._create({**header, "base": self.first}, blobs)
        self.durable_epoch = epoch
        self.end += size
        self._records += 1
        self._lease.note(Mark(self._number, 0, epoch))
        return blob

    def follow(self, header: dict[str, Any], blobs: list[Any]) -> int:
        """Write the full state; older records are needed only for their runs."""
        blob, size = self._create({**header, "base": self._number + 1}, blobs)
        self.first = self._number
        self.end = self._base = size
        self._records = 0
        self._lease.note(Mark(self._number, 0, self.durable_epoch))
        return blob

    def _create(self, header: dict[str, Any], blobs: list[Any]) -> tuple[int, int]:
        """Create the next record; returns the offset of its blob, and its size."""
        if self._lease.lost:
            raise self._overtaken()
        if self.broken:
            raise StoreError(f"{self._storage.address} could not be written", hint="open the warehouse again")
        frame, blob = encode_frame({**header, "term": self._lease.term}, blobs)
        data, name = segment_head() + frame, record_name(self._number + 1)
        self.broken = True  # until the object is known to exist: a lost answer leaves it open
        if not self._storage.create(name, data):
            raise self._overtaken()
        self.broken = False
        self._storage.keep(name, data)
        self._number += 1
        return len(data) - len(frame) + blob, len(data)

    def _overtaken(self) -> WarehouseBusy:
        self._lease.lost = True
        last = last_lease(self._storage)
        who = f"process {last[0].process} on {last[0].host}" if last is not None else "another process"
        return WarehouseBusy(
            f"{who} has taken over the warehouse at {self._storage.address}; nothing of this epoch was committed",
            hint="let one process write, or open the warehouse again",
        )

    def sync(self) -> None:
        pass

    def confirm(self) -> float:
        return self._lease.renew()

    def close(self) -> None:
        pass
