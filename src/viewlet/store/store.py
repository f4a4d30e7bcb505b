"""The store: durable bags and documents, changed only in whole epochs.

    A commit is one record, written and synced last. What no record names is garbage. Recovery reads the log.

One process writes; any number read, each a complete committed epoch. Merging changes no contents.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self, TypeVar

from viewlet.columns.rows import Rows
from viewlet.errors import CorruptFile, StoreError, shortened
from viewlet.store.backup import Backup, back_up
from viewlet.store.contents import Contents
from viewlet.store.files import LOG, GoneFile
from viewlet.store.garbage import bad_files, idle_files
from viewlet.store.limits import Limits
from viewlet.store.log.folder.segments import Tail
from viewlet.store.log.open_log import log_of
from viewlet.store.log.record_json import replay
from viewlet.store.log.recovery import Recovery, error_of
from viewlet.store.log.state import State
from viewlet.store.log.writer import Writer
from viewlet.store.open_contents import make_contents
from viewlet.store.runs.merge_runs import Elsewhere
from viewlet.store.runs.runs import Handles
from viewlet.store.storage.open_storage import Address, open_storage
from viewlet.store.storage.storage import Storage
from viewlet.store.transaction import Transaction, contents_of

T = TypeVar("T")
_read_record = lru_cache(4_096)(json.loads)
_RETRIES = 5


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The warehouse after an epoch. While this process holds it, its files are kept."""

    state: State

    @property
    def epoch(self) -> int:
        return self.state.epoch

    @property
    def timestamp(self) -> float:
        return self.state.time

    @property
    def catalog(self) -> Mapping[str, Any]:
        return MappingProxyType(self.state.catalog)

    @property
    def bags(self) -> tuple[str, ...]:
        return tuple(self.state.bags)

    def has(self, bag: str) -> bool:
        return bag in self.state.bags

    def contents(self, bag: str) -> Contents:
        return contents_of(self.state.bags, bag)


_LONGEST = 3_600_000
"""The longest interval for grouping commits, in milliseconds."""


class Store:
    def __init__(self, storage: Storage, limits: Limits) -> None:
        """Use `Store.open`."""
        self.storage, self.limits = storage, limits
        self._handles, self._log = Handles.of(storage), log_of(storage, limits)
        self._read = State()
        self._tail: Tail | None = None
        self._writer: Writer | None = None
        self._closed = False
        self.recovery: Recovery | None = None
        """What was given up to open the warehouse, if anything."""

    @staticmethod
    def open(
        path: Address,
        *,
        write: bool = True,
        durability: str | int = "epoch",
        recover: bool = False,
        limits: Limits | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> Store:
        """Open a warehouse for writing (created if needed; one process at a time) or only for reading.

        `recover`: if the log lacks committed epochs, continue from its last complete one. `settings` are for the object
        store, in addition to the environment.
        """
        milliseconds = isinstance(durability, int) and not isinstance(durability, bool) and 0 < durability <= _LONGEST
        if not milliseconds and not (isinstance(durability, str) and durability == "epoch"):
            raise StoreError(
                f"{shortened(durability)} is no durability",
                hint='say "epoch", or a number of milliseconds, an hour at most',
            )
        if recover and not write:
            raise StoreError("a warehouse is not recovered by reading it", hint="open it for writing")
        store = Store(open_storage(path, settings), limits or Limits())
        if recover:
            store._log.check_there()
        if write:
            store._open_for_writing(None if durability == "epoch" else int(durability), recover=recover)
        else:
            store._log.check_there()
            store.refresh()
        return store

    def _open_for_writing(self, group: int | None, *, recover: bool) -> None:
        self._log.check_free()
        lock = self._log.lock()
        try:
            self._log.make()
            if recover:
                self.recovery = self._log.recover(self._handles, self.limits)
            self._catch_up()
            assert self._tail is not None
            appender = self._log.appender(self._tail, self.epoch)
            self._writer = Writer(lock, appender, self._handles, self._read, self.limits, group)
        except BaseException:
            lock.release()
            raise
        self._read = State()  # the writer has it: a reference here would keep superseded files alive
        self._writer.tidy()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Finish what is under way. Snapshots stay readable until their files are removed."""
        if not self._closed and self._writer is not None:
            self._writer.close()
            self.storage.close()
        self._closed = True

    @property
    def state(self) -> State:
        return self._read if self._writer is None else self._writer.state

    @property
    def epoch(self) -> int:
        return self.state.epoch

    @property
    def catalog(self) -> Mapping[str, Any]:
        return MappingProxyType(self.state.catalog)

    @property
    def address(self) -> str:
        """The address by which tasks open runs."""
        return self.storage.address

    @property
    def root(self) -> Path:
        """The local folder of the warehouse, or of its cache."""
        return self.storage.root

    def begin(self) -> Transaction:
        """Begin an epoch; only one can be open."""
        return self._writing().begin()

    def snapshot(self) -> Snapshot:
        return Snapshot(self.state)

    def refresh(self) -> int:
        """Move a reader to the last committed epoch, and return it."""
        if self._writer is None:
            for attempt in range(_RETRIES):
                try:
                    self._catch_up()
                    break
                except CorruptFile:  # the writer may have begun a new segment, or removed a failed one, meanwhile
                    if attempt == _RETRIES - 1 or (self._tail is None and attempt):
                        raise
                    self._tail = None
        return self.epoch

    def read(self, action: Callable[[Snapshot], T]) -> T:
        """The result of `action` on the current snapshot, repeated on a newer one if files were removed meanwhile."""
        for _ in range(_RETRIES):
            snapshot = self.snapshot()
            try:
                return action(snapshot)
            except GoneFile:
                self.refresh()
                if self.state is snapshot.state:
                    raise
        return action(self.snapshot())

    def _catch_up(self) -> None:
        reading, known = self._log.read(self._tail)
        state = replay(self._read, reading, self._handles, self.limits)
        if damage := known.damage(reading, state.epoch, self.storage):
            raise error_of(damage, state.epoch, known.epoch)
        self._read, self._tail = state, reading.tail

    def history(self, limit: int | None = None) -> list[dict[str, Any]]:
        """The records of the last epochs, oldest first: what `commit` was given, with `epoch` and `timestamp`."""
        records = self.state.history if limit is None else self.state.history[max(0, len(self.state.history) - limit) :]
        return [{**_read_record(record.text), "epoch": record.epoch, "timestamp": record.time} for record in records]

    def feed(self, bag: str, since: int) -> list[tuple[int, float, Rows]]:
        """What each epoch after `since` changed in a bag: its number, its time, the delta."""
        return [(epoch, time, contents.consolidated()) for epoch, time, contents in self.feed_contents(bag, since)]

    def feed_contents(self, bag: str, since: int) -> list[tuple[int, float, Contents]]:
        """The same as unread contents."""
        if bag not in self.state.bags:
            raise StoreError(f"there is no bag `{bag}`")
        there = self.state.bags[bag]
        if not there.layout.feed:
            raise StoreError(f"`{bag}` keeps no changes", hint="only bags made with a feed do")
        if since > self.state.epoch:
            raise StoreError(
                f"epoch {shortened(since)} is yet to come: the last one is {self.state.epoch}",
                hint="since= an epoch that exists",
            )
        if since < there.feed.floor:
            raise StoreError(
                f"the changes of `{bag}` are kept from epoch {there.feed.floor} on, not from {shortened(since)}",
                hint=f"changes(since={there.feed.floor}), or begin with the full contents, which are those of an epoch",
            )
        result = []
        for entry in there.feed.entries:
            if entry.epoch > since:
                runs = [self._handles.get(ref, there.layout, there.types) for ref in entry.refs]
                result.append((entry.epoch, entry.time, make_contents(there.layout, runs, there.types)))
        return result

    def changed_since(self, bag: str, since: int) -> bool:
        """Whether an epoch after `since` changed a bag with a feed."""
        entries = self.state.bags[bag].feed.entries
        return bool(entries) and entries[-1].epoch > since

    def last_change(self, bag: str) -> tuple[int, float] | None:
        """The last epoch that changed a bag with a feed, and its time; None if there is none."""
        entries = self.state.bags[bag].feed.entries
        return (entries[-1].epoch, entries[-1].time) if entries else None

    def oldest(self, bag: str) -> int:
        """The earliest epoch since which the changes of a bag are kept."""
        return self.state.bags[bag].feed.floor

    def merge_by(self, elsewhere: Elsewhere) -> None:
        """Let another component do background merges, those that it accepts."""
        self._writing().merge_elsewhere = elsewhere

    def settle(self) -> None:
        """Wait for background merges; raises the failure of one, if any."""
        self._writing().settle()

    def clean(self) -> list[str]:
        """Remove and return every file that neither a record nor this process needs."""
        return self._writing().clean()

    def orphans(self) -> list[str]:
        """The files that neither a record nor this process needs."""
        if self._writer is not None:
            return self._writer.orphans()
        assert self._tail is not None
        return list(idle_files(self.state, self._handles, self._tail.first))

    def verify(self) -> list[str]:
        """The missing, truncated or altered files; every byte is checked."""
        segments = {file for file in self.state.files() if file.startswith(f"{LOG}/")}
        bad = [self.storage.full_name(file) for file in self._log.damaged(segments)]
        return list(dict.fromkeys([*bad, *bad_files(self.storage, self.state)]))

    def back_up(self, target: Address) -> Backup:
        """Copy the current epoch and the files that it names to the place of the warehouse's backups."""
        return self.read(lambda snapshot: back_up(snapshot.state, self._handles, target))

    def _writing(self) -> Writer:
        if self._writer is None:
            raise StoreError(f"the warehouse at {self.address} is open for reading only")
        if self._closed:
            raise StoreError(f"the warehouse at {self.address} was closed")
        return self._writer
