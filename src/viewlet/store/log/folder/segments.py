"""Log segments: what was committed, in order. Recovery reads nothing else.

Segments are numbered. The newest begins with the full state, so older ones are needed only for their inline runs. A
segment gets its name only when its first frame is durable.
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from pathlib import Path

from viewlet.errors import CorruptFile
from viewlet.store.files import LOG, RESTORE, opened
from viewlet.store.limits import Limits
from viewlet.store.log.folder.mark import Mark
from viewlet.store.log.frames import SEGMENT_HEAD, Frame, head_damage, read_frames


@dataclass(frozen=True, slots=True)
class Tail:
    """How far a log was read: the number of its newest segment, and the end of the last complete frame there."""

    number: int
    end: int
    base: int
    """The end of the first frame, which holds the full state."""
    records: int
    """How many frames follow it."""
    first: int
    """The segment that holds it; older ones are needed only for the runs in them."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The frames read from a log, and what is wrong with the rest."""

    frames: list[tuple[str, Frame]]
    """Each with the name of its file."""
    tail: Tail
    damage: str = ""


def segment_name(number: int) -> str:
    return f"{LOG}/{number}.log"


def record_name(number: int) -> str:
    """A segment of one record, as in object stores: zero-padded, so that listings are in the order of numbers."""
    return f"{LOG}/{number:020}.log"


def segment_number(file: str) -> int | None:
    """The number of a segment, from its name; None for other files."""
    number, ends, nothing = file.removeprefix(f"{LOG}/").partition(".log")
    return int(number) if number.isdigit() and ends and not nothing else None


def is_long(records: int, since: int, base: int, limits: Limits, share: float) -> bool:
    """Whether so many records and bytes follow the full state that it should be written again.

    That pays once as much was written since as the state takes. `share` scales the threshold.
    """
    many = records > share * limits.segment_records and since > share * base
    return many or since > limits.segment_bytes


def segment_numbers(root: Path) -> list[int]:
    """The numbers of the segments, ascending."""
    if not (root / LOG).is_dir():
        return []
    return sorted(int(path.stem) for path in (root / LOG).glob("*.log") if path.stem.isdigit())


def read_log(root: Path, mark: Mark, tail: Tail | None = None) -> Reading:
    """The frames after `tail`, or all of the newest segment if `tail` is in an older one.

    The mark must be read first, since the log may grow meanwhile. If the newest segment is missing or its first frame
    is incomplete, the frames are those of the segment before.
    """
    numbers = segment_numbers(root)
    damage = _missing(root, max(numbers, default=0), mark)
    for number in reversed(numbers):
        known = tail if tail is not None and tail.number == number else Tail(number, SEGMENT_HEAD, 0, -1, number)
        frames, end, wrong = _read_segment(root, number, known.end, mark.end if number == mark.segment else 0)
        damage = damage or (wrong and f"{root / segment_name(number)} {wrong}")
        if frames or known.base:
            base = known.base or frames[0].end
            found = [(segment_name(number), frame) for frame in frames]
            return Reading(found, Tail(number, end, base, known.records + len(frames), number), damage)
        damage = damage or f"{root / segment_name(number)} is cut short: its first record is not whole"
    raise CorruptFile(damage or f"{root / LOG} has no segment", hint=RESTORE)


def _missing(root: Path, newest: int, mark: Mark) -> str:
    return f"{root / segment_name(mark.segment)} is missing" if newest < mark.segment else ""


def is_whole(root: Path, number: int, mark: Mark) -> bool:
    """Whether every byte of a segment is intact."""
    frames, end, wrong = _read_segment(root, number, SEGMENT_HEAD, 0)
    return bool(frames) and not wrong and (number != mark.segment or end >= mark.end)


def _read_segment(root: Path, number: int, start: int, durable: int) -> tuple[list[Frame], int, str]:
    with opened(root / segment_name(number)) as descriptor:
        if not os.fstat(descriptor).st_size:
            return [], start, "is empty"
        with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as data:
            wrong = head_damage(data, segment_name(number))
            return ([], start, wrong) if wrong else read_frames(data, start, durable)
