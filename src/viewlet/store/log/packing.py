"""Small byte strings, compressed in microseconds: LZ4, preceded by the uncompressed size."""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa

_SIZE = struct.Struct("<I")
_LZ4 = pa.Codec("lz4_raw")


def pack(data: Any) -> bytes:
    return _SIZE.pack(len(data)) + bytes(_LZ4.compress(data, asbytes=True))


def unpack(packed: Any) -> pa.Buffer:
    (size,) = _SIZE.unpack_from(packed)
    return _LZ4.decompress(pa.py_buffer(packed)[_SIZE.size :], size)
