"""The bytes of the log: a segment is a mark with the format's version, then frames.

    frame = prefix (magic, sizes, checksums, its own checksum) | header: JSON | blob | end mark

A crash can leave the last frame torn: short, or with sectors that were never written and read as zeros. It was
never promised to anybody, so it is the end of the log. Any other frame that is not whole means that the file
was altered. Each header says how much of its segment was durable when it was written (`synced`), which tells
a gap in what was promised from a gap in a tail that was not.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any

from viewlet.errors import CorruptFile, StoreError
from viewlet.store.files import checksum

VERSION = 3
_SEGMENT = struct.Struct("<8sII")
_PREFIX = struct.Struct("<4sIQIII")
_SEGMENT_MARK, _FRAME_MARK, _END_MARK = b"VIEWLET\n", b"\xf5frm", b"\xf5end"
_SECTOR = 512
SEGMENT_HEAD = _SEGMENT.size


@dataclass(frozen=True, slots=True)
class Frame:
    """A whole frame of a segment: its header, and where it and its blob are."""

    header: dict[str, Any]
    start: int
    blob: int
    end: int


def segment_head() -> bytes:
    """The first bytes of a segment."""
    mark = struct.pack("<8sI", _SEGMENT_MARK, VERSION)
    return mark + struct.pack("<I", checksum(mark))


def check_head(data: memoryview, name: str) -> None:
    """Refuse a segment that is not one, or that another version of the format wrote."""
    if len(data) < SEGMENT_HEAD:
        raise CorruptFile(f"{name} is cut short: {len(data)} bytes are no log segment")
    mark, version, crc = _SEGMENT.unpack_from(data)
    if mark != _SEGMENT_MARK or checksum(data[: SEGMENT_HEAD - 4]) != crc:
        raise CorruptFile(f"{name} was altered: it does not begin as a log segment does")
    if version != VERSION:
        raise StoreError(
            f"{name} is written in format {version}; this version of Viewlet reads format {VERSION}",
            hint="open the warehouse with the version of Viewlet that wrote it",
        )


def encode_frame(header: dict[str, Any], blobs: list[Any]) -> tuple[bytes, int]:
    """The bytes of a frame, and where in them the blob begins."""
    parts, blob = frame_parts(header, blobs)
    return b"".join(parts), blob


def frame_parts(header: dict[str, Any], blobs: list[Any]) -> tuple[list[Any], int]:
    """The bytes of a frame in pieces, of which the blobs are not copied, and where among them the blob begins."""
    text = json.dumps(header, separators=(",", ":")).encode()
    size = sum(map(len, blobs))
    prefix = _PREFIX.pack(_FRAME_MARK, len(text), size, checksum(text), checksum(*blobs), 0)[:-4]
    prefix += struct.pack("<I", checksum(prefix))
    return [prefix + text, *blobs, _END_MARK], _PREFIX.size + len(text)


def read_frames(data: memoryview, start: int, name: str) -> tuple[list[Frame], int]:
    """The whole frames of a segment from a place on, and where they end; what follows is a torn frame or nothing."""
    frames = []
    while start < len(data):
        frame = read_frame(data, start)
        if frame is None:
            _check_torn(data, start, name)
            break
        frames.append(frame)
        start = frame.end
    return frames, start


def read_frame(data: memoryview, start: int) -> Frame | None:
    """The frame at a place, or None if it is not whole."""
    if len(data) - start < _PREFIX.size:
        return None
    mark, text_size, blob_size, text_crc, blob_crc, crc = _PREFIX.unpack_from(data, start)
    if mark != _FRAME_MARK or checksum(data[start : start + _PREFIX.size - 4]) != crc:
        return None
    text, blob = start + _PREFIX.size, start + _PREFIX.size + text_size
    end = blob + blob_size + len(_END_MARK)
    if end > len(data) or data[end - len(_END_MARK) : end] != _END_MARK:
        return None
    if checksum(data[text:blob]) != text_crc or checksum(data[blob : blob + blob_size]) != blob_crc:
        return None
    return Frame(json.loads(bytes(data[text:blob])), start, blob, end)


def _check_torn(data: memoryview, start: int, name: str) -> None:
    """Raise unless the frame at `start` can be the torn end of a log."""
    later = _frame_after(data, start)
    if later is not None and later.header["synced"] > start:
        raise CorruptFile(f"{name} was altered: its record at byte {start:,} is damaged, and whole ones follow")
    if later is None and not _is_short(data, start) and not _has_empty_sector(data, start):
        raise CorruptFile(f"{name} was altered: its last record, at byte {start:,}, is damaged")


def _frame_after(data: memoryview, start: int) -> Frame | None:
    """The last whole frame after a damaged one: it knows best what was durable."""
    whole, found, at = bytes(data[start + 1 :]), None, 0
    while (at := whole.find(_FRAME_MARK, at)) >= 0:
        frame = read_frame(data, start + 1 + at)
        found = frame or found
        at = frame.end - start - 1 if frame else at + 1
    return found


def _is_short(data: memoryview, start: int) -> bool:
    """Whether the file ends within the frame."""
    if len(data) - start < _PREFIX.size:
        return True
    mark, text_size, blob_size, _, _, crc = _PREFIX.unpack_from(data, start)
    whole = mark == _FRAME_MARK and checksum(data[start : start + _PREFIX.size - 4]) == crc
    return whole and start + _PREFIX.size + text_size + blob_size + len(_END_MARK) > len(data)


def _has_empty_sector(data: memoryview, start: int) -> bool:
    """Whether some sector of what follows reads as zeros, as one does that was never written."""
    at = start
    while at < len(data):
        end = min((at // _SECTOR + 1) * _SECTOR, len(data))
        if not any(data[at:end]):
            return True
        at = end
    return False
