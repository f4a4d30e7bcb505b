"""Files that nothing needs any more: which they are, and removing them.

A file is needed if the state names it, if a handle in this process holds it, or if it is the log's newest
segment. Readers in other processes are given time: a file must have been idle for a while before it goes.
"""

from __future__ import annotations

import time
from pathlib import Path

from viewlet.errors import CorruptFile
from viewlet.store.files import DATA, LOG, read_checked, remove
from viewlet.store.log.mark import Mark
from viewlet.store.log.segments import is_whole, segment_name, segment_numbers
from viewlet.store.log.state import State
from viewlet.store.runs.runs import Handles


def idle_files(root: Path, state: State, handles: Handles) -> list[Path]:
    """The files of the warehouse that nobody needs."""
    needed = state.files() | handles.files() | {segment_name(number) for number in segment_numbers(root)[-1:]}
    present = [path for folder in (LOG, DATA) for path in (root / folder).iterdir()]
    return sorted(path for path in present if f"{path.parent.name}/{path.name}" not in needed)


class Sweeper:
    """Removes files that have been idle long enough."""

    def __init__(self, root: Path, handles: Handles) -> None:
        self._root, self._handles = root, handles
        self._since: dict[Path, float] = {}
        self.last = time.monotonic()

    def sweep(self, state: State, grace: float, spared: float) -> list[Path]:
        """Remove what was idle for `grace` seconds and not written at `spared` or later; the files removed."""
        self.last = now = time.monotonic()
        idle = [path for path in idle_files(self._root, state, self._handles) if path.stat().st_mtime < spared]
        self._since = {path: self._since.get(path, now) for path in idle}
        return [path for path in idle if now - self._since[path] >= grace and remove(path)]


def bad_files(root: Path, state: State, mark: Mark) -> list[str]:
    """The files named by the state that are missing, cut short or altered, by checking every byte of each."""
    bad: dict[str, None] = {}
    refs = set(state.refs())
    for file in sorted(
        {segment_name(segment_numbers(root)[-1])} | {ref.file for ref in refs if ref.file.startswith(f"{LOG}/")}
    ):
        if not (root / file).exists() or not is_whole(root, int(Path(file).stem), mark):
            bad[str(root / file)] = None
    for ref in sorted(refs, key=lambda ref: ref.place):
        try:
            read_checked(root / ref.file, ref.offset, ref.size, ref.crc)
        except CorruptFile:
            bad[str(root / ref.file)] = None
    return list(bad)
