"""Detecting that a log lacks committed epochs, and continuing from the last complete one.

A log that was cut between two records looks complete. That more was committed is known from the mark and from the data
files, whose names begin with an epoch that was durable when they were written. Continuing without the lost epochs must
be requested; it moves what is given up aside and deletes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from viewlet.errors import CorruptFile
from viewlet.store.files import DATA, LOST, MARK, sync, write_file
from viewlet.store.garbage import idle_files
from viewlet.store.limits import Limits
from viewlet.store.log.folder.mark import Mark, make_mark, read_mark
from viewlet.store.log.folder.segments import Reading, read_log, segment_name, segment_numbers
from viewlet.store.log.record_json import replay
from viewlet.store.log.state import State
from viewlet.store.runs.runs import Handles
from viewlet.store.storage.folder import Folder
from viewlet.store.storage.storage import Storage


@dataclass(frozen=True, slots=True)
class Known:
    """What is known to have been committed, independently of the log."""

    mark: Mark
    file: str = ""
    """The data file that was written after the latest epoch."""
    after: int = 0

    @property
    def epoch(self) -> int:
        return max(self.mark.epoch, self.after)

    def damage(self, reading: Reading, epoch: int, storage: Storage) -> str:
        """What is wrong with a log that was found to end at an epoch."""
        if reading.damage or epoch >= self.epoch:
            return reading.damage
        log, data = storage.full_name(segment_name(reading.tail.number)), storage.full_name(f"{DATA}/{self.file}")
        return f"{log} ends at epoch {epoch}, and {data} was written after epoch {self.after}"


def newest(names: Iterable[str]) -> tuple[int, str]:
    """The latest durable epoch that the names of data files prove, and the file."""
    found = [(int(epoch), name) for name in names if (epoch := name.partition("-")[0]).isdigit()]
    return max(found, default=(0, ""))


def what_is_known(root: Path, mark: Mark) -> Known:
    """What the mark and the names of the data files prove."""
    after, name = newest(os.listdir(root / DATA))
    return Known(mark, name, after)


def lost_epochs(epoch: int, known: int) -> str:
    """Which of the known epochs are lost if the log ends at `epoch`."""
    if known <= epoch:
        return f"the epochs up to {epoch} are whole"
    return f"epoch {known} is lost" if known == epoch + 1 else f"epochs {epoch + 1} to {known} are lost"


def error_of(damage: str, epoch: int, known: int) -> CorruptFile:
    """An error that says what is wrong with a log, what is lost, and how to continue."""
    return CorruptFile(
        f"{damage}; {lost_epochs(epoch, known)}",
        hint=f"restore the log from a backup, or continue from epoch {epoch} with what there is: "
        "`viewlet.connect(path, recover=True)`, `viewlet recover`",
    )


@dataclass(frozen=True, slots=True)
class Recovery:
    """A recovery: its reason, the epoch it continued from, the last epoch known committed, and where the rest is."""

    damage: str
    epoch: int
    known: int
    aside: str

    def __str__(self) -> str:
        lost = lost_epochs(self.epoch, self.known)
        return f"{self.damage}; {lost}, and what is left of it is in {self.aside}; continuing from epoch {self.epoch}"


def recover(root: Path, handles: Handles, limits: Limits) -> Recovery | None:
    """Cut a damaged log back to its last complete record; None if it is undamaged. The writer's lock must be held."""
    mark = _mark_if_whole(root)
    known = what_is_known(root, mark or Mark())
    reading = read_log(root, known.mark)
    state = replay(State(), reading, handles, limits)
    damage = known.damage(reading, state.epoch, handles.storage)
    if mark is None:
        damage = damage or f"{root / MARK} was lost"
    if not damage:
        return None
    aside = _make_folder(root)
    _set_aside(root, reading, state, aside)
    make_mark(root, Mark(reading.tail.number, reading.tail.end, state.epoch))
    return Recovery(damage, state.epoch, known.epoch, str(aside))


def _mark_if_whole(root: Path) -> Mark | None:
    try:
        return read_mark(root)
    except CorruptFile:
        return None


def _make_folder(root: Path) -> Path:
    folder = next(path for i in count(1) if not (path := root / LOST / str(i)).exists())
    folder.mkdir(parents=True)
    return folder


def _set_aside(root: Path, reading: Reading, state: State, aside: Path) -> None:
    """Move what the last complete state does not need: later segments, the rest of this one, unneeded files."""
    tail = reading.tail
    path = root / segment_name(tail.number)
    rest = path.read_bytes()[tail.end :]
    if rest:
        write_file(aside / f"{path.name}.from-{tail.end}", [rest])
        os.truncate(path, tail.end)
        sync(path)
    later = [root / segment_name(number) for number in segment_numbers(root) if number > tail.number]
    idle = idle_files(state, Handles(Folder(root)), tail.number)
    for file in {*later, *(root / name for name in idle)} - {path}:
        file.rename(aside / file.name)
    for folder in (path.parent, root / DATA, aside):
        sync(folder)
