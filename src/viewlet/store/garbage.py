"""Garbage collection: which files are no longer needed, and removing them.

A file is needed if the state names it, a handle in this process holds it, or the log is read from it. For the sake of
readers in other processes, a file must have been unneeded for a while before it is removed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from viewlet.errors import CorruptFile
from viewlet.store.files import DATA, LOG
from viewlet.store.log.folder.segments import segment_number
from viewlet.store.log.state import State
from viewlet.store.runs.runs import Handles
from viewlet.store.storage.storage import Entry, Storage


def idle_files(state: State, handles: Handles, first: int) -> Mapping[str, Entry]:
    """The unneeded files of a warehouse whose log is read from segment `first` on."""
    storage = handles.storage
    present = {**storage.list(LOG), **storage.list(DATA)}
    needed = state.files() | handles.files()
    idle = [file for file in sorted(present) if file not in needed and not _is_read(file, first)]
    return {file: present[file] for file in idle}


def _is_read(file: str, first: int) -> bool:
    number = segment_number(file)
    return number is not None and number >= first


class Sweeper:
    """Removes files that have been unneeded for long enough."""

    def __init__(self, handles: Handles) -> None:
        self._handles = handles
        self._since: dict[str, float] = {}
        self.last = time.monotonic()

    def sweep(self, state: State, first: int, grace: float, spared: float) -> list[str]:
        """Remove and return files unneeded for `grace` seconds, except those written at `spared` or later."""
        self.last = now = time.monotonic()
        found = idle_files(state, self._handles, first)
        idle = [file for file, entry in found.items() if entry.modified < spared]
        self._since = {file: self._since.get(file, now) for file in idle}
        due = [file for file in idle if now - self._since[file] >= grace]
        return list(self._handles.storage.remove(due))


def bad_files(storage: Storage, state: State) -> list[str]:
    """The files of runs that are missing, cut short or altered; every byte is checked."""
    bad: dict[str, None] = {}
    for ref in sorted(set(state.refs()), key=lambda ref: ref.place):
        storage.forget(ref.file)
        try:
            storage.read(ref.file, ref.offset, ref.size, ref.crc)
        except CorruptFile:
            bad[storage.full_name(ref.file)] = None
    return list(bad)
