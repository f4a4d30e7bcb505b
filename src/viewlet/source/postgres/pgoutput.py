"""Decodes messages of PostgreSQL's logical replication, from the plugin `pgoutput` in protocol version 1.

Values are in PostgreSQL's text form (PostgreSQL's manual, "Logical Replication Message Formats").
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from viewlet.source.net_changes import UNCHANGED, Unchanged

Value = str | None | Unchanged
Tuple = tuple[Value, ...]
SINCE_1970 = 946_684_800
"""Seconds from 1970 to 2000, PostgreSQL's epoch."""


@dataclass(frozen=True, slots=True)
class Begin:
    """The start of a transaction; `lsn` is that of its commit."""

    lsn: int
    time: float
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Commit:
    """The end of a transaction; `end` is the position after it."""

    end: int


@dataclass(frozen=True, slots=True)
class Relation:
    """The current definition of a table, sent before its changes."""

    oid: int
    name: str
    identity: str
    """The replica identity, which determines old rows: d, n, f or i, as in `pg_class.relreplident`."""
    columns: tuple[tuple[str, int], ...]
    """Names and type OIDs."""


@dataclass(frozen=True, slots=True)
class Insert:
    """An inserted row."""

    oid: int
    new: Tuple


@dataclass(frozen=True, slots=True)
class Update:
    """An updated row; `old` is sent if the key changed, or if the replica identity is full."""

    oid: int
    old: Tuple | None
    new: Tuple


@dataclass(frozen=True, slots=True)
class Delete:
    """A deleted row."""

    oid: int
    old: Tuple


@dataclass(frozen=True, slots=True)
class Truncate:
    """The truncation of tables."""

    oids: tuple[int, ...]


Message = Begin | Commit | Relation | Insert | Update | Delete | Truncate


class _Bytes:
    """A message and a position in it."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 1

    def take(self, form: str) -> int:
        (value,) = struct.unpack_from(f">{form}", self.data, self.at)
        self.at += struct.calcsize(form)
        return int(value)

    def letter(self) -> str:
        return chr(self.take("B"))

    def text(self) -> str:
        end = self.data.index(b"\0", self.at)
        found, self.at = self.data[self.at : end].decode(), end + 1
        return found

    def tuple(self) -> Tuple:
        return tuple(self.value() for _ in range(self.take("h")))

    def value(self) -> Value:
        match self.letter():
            case "n":
                return None
            case "u":
                return UNCHANGED
            case "t":
                start = self.at + 4
                self.at = start + self.take("i")
                return self.data[start : self.at].decode()
        raise AssertionError("protocol version 1 has text values alone")


def decode(data: bytes) -> Message | None:
    """Decode a message; None if it does not concern rows."""
    read = _READERS.get(data[:1])
    return None if read is None else read(_Bytes(data))


def _begin(data: _Bytes) -> Begin:
    return Begin(data.take("q"), data.take("q") / 1e6 + SINCE_1970)


def _commit(data: _Bytes) -> Commit:
    data.take("B")  # flags
    data.take("q")  # the LSN of the commit
    return Commit(data.take("q"))


def _relation(data: _Bytes) -> Relation:
    oid, schema, name, identity = data.take("I"), data.text(), data.text(), data.letter()
    columns = tuple(_column(data) for _ in range(data.take("h")))
    return Relation(oid, f"{schema}.{name}", identity, columns)


def _column(data: _Bytes) -> tuple[str, int]:
    data.take("B")  # flags: part of the key
    name, kind = data.text(), data.take("I")
    data.take("i")  # the type's modifier
    return name, kind


def _insert(data: _Bytes) -> Insert:
    oid, _ = data.take("I"), data.letter()
    return Insert(oid, data.tuple())


def _update(data: _Bytes) -> Update:
    oid, old = data.take("I"), None
    if data.letter() != "N":  # K or O: the old key, or the old row
        old = data.tuple()
        data.letter()
    return Update(oid, old, data.tuple())


def _delete(data: _Bytes) -> Delete:
    oid, _ = data.take("I"), data.letter()
    return Delete(oid, data.tuple())


def _truncate(data: _Bytes) -> Truncate:
    count, _ = data.take("i"), data.take("B")
    return Truncate(tuple(data.take("I") for _ in range(count)))


_READERS: dict[bytes, Callable[[_Bytes], Message]] = {
    b"B": _begin, b"C": _commit, b"R": _relation, b"I": _insert, b"U": _update, b"D": _delete, b"T": _truncate,
}  # fmt: skip


def parse_lsn(text: str) -> int:
    """Parse a position in PostgreSQL's log, such as `16/B374D848`."""
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) | int(low, 16)


def show_lsn(lsn: int) -> str:
    """Format a position in PostgreSQL's log."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
