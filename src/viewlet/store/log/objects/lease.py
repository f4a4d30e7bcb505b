"""One writer at a time where no lock is released when a process ends: a lease that is renewed, or expires.

Each lease is an object, `lease/‹term›`, created by put-if-absent: of all that want the next term, one gets it. The
holder of the last term renews it regularly. A writer that finds it expired takes the next term and fences the log
(`object_log.py`); the fence also keeps out an earlier writer that was merely slow.

Like the mark of a folder, the lease also says how far the log was written.
"""

from __future__ import annotations

import json
import logging
import math
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from threading import Event, Lock, Thread
from uuid import uuid4

from viewlet.errors import StoreError, WarehouseBusy
from viewlet.store.log.folder.mark import Mark
from viewlet.store.storage.objects import Objects
from viewlet.store.storage.storage import Entry

logger = logging.getLogger(__name__)

_FOLDER = "lease"
_CLOCKS = 2.0  # the error, in seconds, of objects' times, which are whole seconds


@dataclass(frozen=True, slots=True)
class Held:
    """The content of a lease."""

    term: int
    writer: str
    host: str
    process: int
    record: int = 0
    epoch: int = 0
    released: bool = False

    @property
    def mark(self) -> Mark:
        return Mark(self.record, 0, self.epoch)

    def encode(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    def is_of_ended_process(self) -> bool:
        """Whether its process ran on this machine and no longer exists."""
        if self.host != socket.gethostname():
            return False
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return True
        except PermissionError:  # it runs, for another user
            pass
        return False


def last_lease(storage: Objects) -> tuple[Held, Entry] | None:
    """The lease of the last term, and its storage entry, which has the time of renewal."""
    entries = storage.list(_FOLDER)
    terms = _terms(entries)
    if not terms:
        return None
    name = _name(terms[-1])
    try:
        return Held(**json.loads(storage.get(name))), entries[name]
    except (ValueError, TypeError):
        return Held(terms[-1], "", "", 0), entries[name]


class Lease:
    """Held from construction until `release`, or until another process takes the next term."""

    def __init__(self, storage: Objects, seconds: float) -> None:
        self._storage, self._seconds = storage, seconds
        last = last_lease(storage)
        if last is not None:
            _refuse_if_held(storage, *last, seconds)
        before = last[0] if last is not None else Held(0, "", "", 0)
        self.follows_an_end = before.released
        """Whether the previous writer released its lease, and so will write nothing more."""
        self._held = Held(before.term + 1, uuid4().hex, socket.gethostname(), os.getpid(), before.record, before.epoch)
        self._take()
        self._changing, self._ended = Lock(), Event()
        self.lost = False
        self._thread = Thread(target=self._renew_on, name="viewlet-lease", daemon=True)
        self._thread.start()

    @property
    def term(self) -> int:
        return self._held.term

    @property
    def mark(self) -> Mark:
        """How far the log was written when the lease was last renewed, at least."""
        return self._held.mark

    def _take(self) -> None:
        name = _name(self.term)
        if not self._storage.create(name, self._held.encode()):
            raise busy(self._storage, "another process")
        if self._storage.create(name, replace(self._held, writer="nobody").encode()):
            raise StoreError(
                f"the object store of {self._storage.address} replaces objects that are to be made only once",
                hint="a warehouse needs put-if-absent: a PUT with If-None-Match",
            )
        older = [term for term in _terms(self._storage.list(_FOLDER)) if term < self.term]
        self._storage.remove(map(_name, older))

    def note(self, mark: Mark) -> None:
        """What the next renewal says of the log."""
        self._held = replace(self._held, record=mark.segment, epoch=mark.epoch)

    def renew(self) -> float:
        """Renew the lease; returns a time before which no later writer can have written, −∞ if the lease is lost."""
        with self._changing:
            now = time.time()
            self.lost = self.lost or any(term > self.term for term in _terms(self._storage.list(_FOLDER)))
            if self.lost:
                return -math.inf
            self._storage.put(_name(self.term), self._held.encode())
            return now - _CLOCKS

    def _renew_on(self) -> None:
        while not self._ended.wait(self._seconds / 3) and not self.lost:
            try:
                self.renew()
            except StoreError as failure:
                logger.warning("the lease of %s was not renewed: %s", self._storage.address, failure)

    def release(self) -> None:
        """Let others write at once."""
        self._ended.set()
        self._thread.join()
        self._held = replace(self._held, released=True)
        try:
            self.renew()
        except StoreError as failure:
            logger.warning("the lease of %s was not released: %s", self._storage.address, failure)


def busy(storage: Objects, who: str, wait: str = "") -> WarehouseBusy:
    return WarehouseBusy(
        f"{who} is writing to the warehouse at {storage.address}",
        hint=f"close it there{wait}, or open the warehouse with read_only=True",
    )


def _refuse_if_held(storage: Objects, held: Held, entry: Entry, seconds: float) -> None:
    left = seconds - (time.time() - entry.modified)
    if held.released or left <= 0 or held.is_of_ended_process():
        return
    raise busy(storage, f"process {held.process} on {held.host}", f", wait up to {left:.0f} s if it has ended")


def _name(term: int) -> str:
    return f"{_FOLDER}/{term:020}"


def _terms(entries: Mapping[str, Entry]) -> list[int]:
    names = (name.removeprefix(f"{_FOLDER}/") for name in entries)
    return sorted(int(name) for name in names if name.isdigit())
