"""The bytes of the log: a segment is a header with the format's version, then frames.

    frame = prefix (magic, sizes, checksums, its own checksum) | header: JSON, packed | blob | end mark

A crash can leave the last frame torn: short, or with sectors that were never written and read as zeros. It was never
acknowledged, so the log ends before it. Any other incomplete frame means that the file was altered. The mark says how
much is durable; since it may lag behind after a power cut, each header also says how much of its segment was durable
when it was written (`synced`).
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any

from viewlet.errors import StoreError
from viewlet.store.files import checksum
from viewlet.store.log.packing import pack, unpack

VERSION = 7
_SEGMENT = struct.Struct("<8sII")
_PREFIX = struct.Struct("<4sIQIII")
_SEGMENT_MARK, _FRAME_MARK, _END_MARK = b"VIEWLET\n", b"\xf5frm", b"\xf5end"
_SECTOR = 512
SEGMENT_HEAD = _SEGMENT.size


@dataclass(frozen=True, slots=True)
class Frame:
    """A complete frame of a segment: its header, and its offset and its blob's."""

    header: dict[str, Any]
    start: int
    blob: int
    end: int

    @property
    def blob_end(self) -> int:
        return self.end - len(_END_MARK)


def segment_head() -> bytes:
    """The first bytes of a segment."""
    mark = struct.pack("<8sI", _SEGMENT_MARK, VERSION)
    return mark + struct.pack("<I", checksum(mark))


def head_damage(data: memoryview, name: str) -> str:
    """What is wrong with the first bytes of a segment; other versions of the format are refused."""
    if len(data) < SEGMENT_HEAD:
        return f"is cut short: {len(data)} bytes are no log segment"
    mark, version, crc = _SEGMENT.unpack_from(data)
    if mark != _SEGMENT_MARK or checksum(data[: SEGMENT_HEAD - 4]) != crc:
        return "was altered: it does not begin as a log segment does"
    if version != VERSION:
        raise StoreError(
            f"{name} is written in format {version}; this version of Viewlet reads format {VERSION}",
            hint="open the warehouse with the version of Viewlet that wrote it",
        )
    return ""


def encode_frame(header: dict[str, Any], blobs: list[Any]) -> tuple[bytes, int]:
    """The bytes of a frame, and the offset of its blob."""
    parts, blob = frame_parts(header, blobs)
    return b"".join(parts), blob


def frame_parts(header: dict[str, Any], blobs: list[Any]) -> tuple[list[Any], int]:
    """The bytes of a frame in pieces, without copying the blobs, and the offset of the first blob."""
    text = pack(json.dumps(header, separators=(",", ":")).encode())
    size = sum(map(len, blobs))
    prefix = _PREFIX.pack(_FRAME_MARK, len(text), size, checksum(text), checksum(*blobs), 0)[:-4]
    prefix += struct.pack("<I", checksum(prefix))
    return [prefix + text, *blobs, _END_MARK], _PREFIX.size + len(text)


def read_frames(data: memoryview, start: int, durable: int) -> tuple[list[Frame], int, str]:
    """The complete frames of a segment from `start` on, where they end, and what is wrong there.

    A torn frame beyond `durable` is not wrong. Blobs of durable frames are checked when their runs are read, not here.
    """
    frames: list[Frame] = []
    while start < len(data):
        frame = read_frame(data, start, durable)
        if frame is None:
            return frames, start, _damage(data, start, durable)
        frames.append(frame)
        start = frame.end
    return frames, start, _cut_short(data, durable) if start < durable else ""


def read_frame(data: memoryview, start: int, durable: int = 0) -> Frame | None:
    """The frame at an offset, or None if it is incomplete; the blob of a durable frame is not checked."""
    if len(data) - start < _PREFIX.size:
        return None
    mark, text_size, blob_size, text_crc, blob_crc, crc = _PREFIX.unpack_from(data, start)
    if mark != _FRAME_MARK or checksum(data[start : start + _PREFIX.size - 4]) != crc:
        return None
    text, blob = start + _PREFIX.size, start + _PREFIX.size + text_size
    end = blob + blob_size + len(_END_MARK)
    if end > len(data) or data[end - len(_END_MARK) : end] != _END_MARK:
        return None
    if checksum(data[text:blob]) != text_crc:
        return None
    if end > durable and checksum(data[blob : blob + blob_size]) != blob_crc:
        return None
    return Frame(json.loads(bytes(unpack(data[text:blob]))), start, blob, end)


def _damage(data: memoryview, start: int, durable: int) -> str:
    """What is wrong with the incomplete frame at `start`; "" if it can be the torn end of a log."""
    if start < durable and len(data) < durable:
        return _cut_short(data, durable)
    later = _frame_after(data, start)
    if start < durable or (later is not None and later.header["synced"] > start):
        return f"was altered: its record at byte {start:,} is damaged"
    if later is None and not _is_short(data, start) and not _has_empty_sector(data, start):
        return f"was altered: its last record, at byte {start:,}, is damaged"
    return ""


def _cut_short(data: memoryview, durable: int) -> str:
    return f"is cut short: {len(data):,} of {durable:,} bytes are there"


def _frame_after(data: memoryview, start: int) -> Frame | None:
    """The last complete frame after a damaged one: its `synced` is the most recent."""
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
    """Whether a sector from `start` on is all zeros, as one that was never written is."""
    at = start
    while at < len(data):
        end = min((at // _SECTOR + 1) * _SECTOR, len(data))
        if not any(data[at:end]):
            return True
        at = end
    return False
