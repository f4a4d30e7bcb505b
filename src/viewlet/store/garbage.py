"""Files that nothing needs any more: which they are, and removing them.

A file is needed if the state names it, if a handle in this process holds it, or if the log is read from it. Readers in
other processes are given time: a file must have been idle for a while before it goes.
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
    """The files of a warehouse that nobody needs, where its log is read from segment `first` on."""
    storage = handles.storage
    present = {**storage.list(LOG), **storage.list(DATA)}
    needed = state.files() | handles.files()
    idle = [file for file in sorted(present) if file not in needed and not _is_read(file, first)]
    return {file: present[file] for file in idle}


def _is_read(file: str, first: int) -> bool:
    number = segment_number(file)
    return number is not None and number >= first


class Sweeper:
    """Removes files that have been idle long enough."""

    def __init__(self, handles: Handles) -> None:
        self._handles = handles
        self._since: dict[str, float] = {}
        self.last = time.monotonic()

    def sweep(self, state: State, first: int, grace: float, spared: float) -> list[str]:
        """Remove what was idle for `grace` seconds and not written at `spared` or later; the files removed."""
        self.last = now = time.monotonic()
        found = idle_files(state, self._handles, first)
        idle = [file for file, entry in found.items() if entry.modified < spared]
        self._since = {file: self._since.get(file, now) for file in idle}
        due = [file for file in idle if now - self._since[file] >= grace]
        return list(self._handles.storage.remove(due))


def bad_files(storage: Storage, state: State) -> list[str]:
    """The files of runs that are missing, cut short or altered, by checking every byte of each."""
    bad: dict[str, None] = {}
    for ref in sorted(set(state.refs()), key=lambda ref: ref.place):
        storage.forget(ref.file)
        try:
            storage.read(ref.file, ref.offset, ref.size, ref.crc)
        except CorruptFile:
            bad[storage.full_name(ref.file)] = None
    return list(bad)
