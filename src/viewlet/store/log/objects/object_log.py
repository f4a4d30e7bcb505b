"""The log of a warehouse in an object store: one object per record, created by put-if-absent.

    log/‹number›.log = the header of a segment | one frame

Numbers have no gaps, so each record has a single writer: one that finds the next number taken has been overtaken. A
writer that takes over from one that did not end begins with a record of its own (`fence`), after which the earlier one
can add nothing. Each record names the one that holds the full state (`base`); reading begins there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from viewlet.errors import CorruptFile, StoreError
from viewlet.store.files import DATA, LOG, LOST, RESTORE, GoneFile
from viewlet.store.garbage import idle_files
from viewlet.store.limits import Limits
from viewlet.store.log.commit_log import Lock
from viewlet.store.log.folder.mark import Mark
from viewlet.store.log.folder.segments import Reading, Tail, record_name, segment_number
from viewlet.store.log.frames import SEGMENT_HEAD, Frame, encode_frame, head_damage, read_frame, segment_head
from viewlet.store.log.objects.lease import Lease, busy, last_lease
from viewlet.store.log.objects.object_appender import ObjectAppender
from viewlet.store.log.record_json import encode_state, replay
from viewlet.store.log.recovery import Known, Recovery, newest
from viewlet.store.log.state import State
from viewlet.store.runs.runs import Handles
from viewlet.store.storage.objects import Objects

_AT_ONCE = 16
_FENCES = 100
"""Records that an overtaken writer may still add before taking over from it fails."""


@dataclass(frozen=True, slots=True)
class _Object:
    """A record as read: its frame, or what is wrong with it."""

    number: int
    size: int
    frame: Frame | None
    damage: str = ""


class ObjectLog:
    """The log of a warehouse in an object store."""

    def __init__(self, storage: Objects, lease_seconds: float) -> None:
        self._storage, self._lease_seconds = storage, lease_seconds
        self._lease: Lease | None = None

    def exists(self) -> bool:
        return bool(self._numbers())

    def check_there(self) -> None:
        if not self.exists():
            raise StoreError(
                f"there is no warehouse at {self._storage.address}",
                hint="name the address of one, or open it for writing to make one",
            )

    def check_free(self) -> None:
        if self.exists():
            return
        if strangers := sorted(self._storage.names() - {LOG, DATA, LOST, "lease"}):
            some = ", ".join(strangers[:3]) + (" …" if len(strangers) > 3 else "")
            raise StoreError(
                f"{self._storage.address} is no warehouse, and there are other things in it: {some}",
                hint="name a new or an empty address",
            )

    def lock(self) -> Lock:
        self._lease = Lease(self._storage, self._lease_seconds)
        return self._lease

    def make(self) -> None:
        """Begin the log of a new warehouse; fence an existing one against a writer that did not end."""
        assert self._lease is not None
        if self.exists():
            if not self._lease.follows_an_end:
                self._fence()
            return
        if known := self._newest_data()[1]:
            raise CorruptFile(f"{self._storage.address} has no log, though there is {known}", hint=RESTORE)
        self.begin(encode_state(State()), [])

    def begin(self, header: dict[str, Any], blobs: list[Any]) -> None:
        data, _ = encode_frame({**header, "base": 1}, blobs)
        if not self._storage.create(record_name(1), segment_head() + data):
            raise busy(self._storage, "another process")

    def _fence(self) -> None:
        assert self._lease is not None
        for _ in range(_FENCES):
            numbers = self._numbers()
            data, _ = encode_frame({"fence": self._lease.term, "base": self._base(numbers, None)[0]}, [])
            last = max(numbers[-1], self._lease.mark.segment)  # the number of a lost record is not reused
            if self._storage.create(record_name(last + 1), segment_head() + data):
                return
        raise StoreError(f"another process does not stop to write to {self._storage.address}", hint="end it")

    def read(self, tail: Tail | None) -> tuple[Reading, Known]:
        known = Known(Mark())
        if tail is None:  # first, since the log may grow meanwhile
            last = last_lease(self._storage)
            after, file = self._newest_data()
            known = Known(last[0].mark if last is not None else Mark(), file, after)
        return self._read_after(tail, known.mark), known

    def _read_after(self, tail: Tail | None, mark: Mark) -> Reading:
        numbers = self._numbers(after=tail.number if tail is not None else 0)
        if tail is not None and not numbers:
            return Reading([], tail)
        if not numbers:
            raise CorruptFile(f"{self._storage.address} has no log", hint=RESTORE)
        damage = f"{self._full_name(mark.segment)} is missing" if numbers[-1] < mark.segment else ""
        base, wrong = self._base(numbers, tail)
        if tail is not None and base > tail.number:
            tail, numbers = None, self._numbers()
        start = base if tail is None else tail.number + 1
        return self._reading(self._objects(range(start, numbers[-1] + 1)), base, tail, wrong or damage)

    def _base(self, numbers: Sequence[int], tail: Tail | None) -> tuple[int, str]:
        """Which record holds the full state, as the last complete record says; and what is wrong with later ones."""
        damage = ""
        for number in reversed(numbers):
            found = self._object(number)
            damage = found.damage or damage
            if found.frame is not None and "base" in found.frame.header:
                return found.frame.header["base"], damage
        if tail is not None:
            return tail.first, damage
        raise CorruptFile(damage or f"{self._full_name(numbers[0])} is not whole", hint=RESTORE)

    def _reading(self, objects: Sequence[_Object], base: int, tail: Tail | None, damage: str) -> Reading:
        """The result of reading up to the first incomplete record."""
        whole: list[_Object] = []
        for found in objects:
            if found.frame is None:
                damage = found.damage
                break
            whole.append(found)
        if tail is None:
            if not whole:
                raise CorruptFile(damage, hint=RESTORE)
            tail = Tail(base, 0, whole[0].size, -1, base)
        end = Tail(
            whole[-1].number if whole else tail.number,
            tail.end + sum(found.size for found in whole),
            tail.base,
            tail.records + len(whole),
            base,
        )
        frames = [(record_name(found.number), found.frame) for found in whole if found.frame is not None]
        return Reading(frames, end, damage)

    def _objects(self, numbers: Iterable[int]) -> list[_Object]:
        with ThreadPoolExecutor(_AT_ONCE, "viewlet-log") as pool:
            return list(pool.map(self._object, numbers))

    def _object(self, number: int) -> _Object:
        """A record. Its blob is not checked here, but when its runs are read."""
        name = record_name(number)
        try:
            data = self._storage.get(name)
        except GoneFile as missing:
            return _Object(number, 0, None, missing.message)
        wrong = head_damage(memoryview(data), name)
        frame = None if wrong else read_frame(memoryview(data), SEGMENT_HEAD, len(data))
        if frame is None or frame.end != len(data):
            wrong = wrong or f"was altered: its {len(data):,} bytes are no record"
            return _Object(number, len(data), None, f"{self._full_name(number)} {wrong}")
        self._storage.keep(name, data)
        return _Object(number, len(data), frame)

    def recover(self, handles: Handles, limits: Limits) -> Recovery | None:
        """Move everything after the last complete record of a damaged log aside."""
        assert self._lease is not None
        reading, known = self.read(None)
        state = replay(State(), reading, handles, limits)
        damage = known.damage(reading, state.epoch, self._storage)
        if not damage:
            return None
        aside = f"{LOST}/{self._lease.term}"
        later = [record_name(number) for number in self._numbers() if number > reading.tail.number]
        given_up = {*later, *idle_files(state, Handles(self._storage), reading.tail.first)}
        for file in given_up:
            self._storage.put(f"{aside}/{file}", self._storage.get(file))
        self._storage.remove(given_up)
        self._lease.note(Mark(reading.tail.number, 0, state.epoch))
        self._lease.renew()
        self._fence()
        return Recovery(damage, state.epoch, known.epoch, self._storage.full_name(aside))

    def appender(self, tail: Tail, epoch: int) -> ObjectAppender:
        assert self._lease is not None
        return ObjectAppender(self._storage, self._lease, tail, epoch)

    def damaged(self, files: Iterable[str]) -> list[str]:
        read = self._read_after(None, Mark()).tail
        kept = {number for file in files if (number := segment_number(file)) is not None}
        numbers = sorted({*kept, *range(read.first, read.number + 1)})
        return [record_name(found.number) for found in self._objects(numbers) if found.frame is None]

    def _numbers(self, after: int = 0) -> list[int]:
        """The numbers of the records after `after`, ascending."""
        found = (segment_number(file) for file in self._storage.list(LOG, record_name(after)))
        return sorted(number for number in found if number is not None)

    def _newest_data(self) -> tuple[int, str]:
        return newest(file.removeprefix(f"{DATA}/") for file in self._storage.list(DATA))

    def _full_name(self, number: int) -> str:
        return self._storage.full_name(record_name(number))
