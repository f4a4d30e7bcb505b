"""The input of an epoch's first tasks: rows from the driver, or runs that tasks read in place.

The runs of a change are net, so any task may read any of them. The runs of a whole bag are not: of a map, each task
reads its own range of hashes; of a table, rows that share a hash with a deleted row meet in an exchange of their own,
and all others stay where they were read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from viewlet.columns.hash import different, is_among
from viewlet.columns.rows import Rows
from viewlet.engine.cluster.exchange import cut, pack, partition_of
from viewlet.engine.cluster.maps import StoredMap
from viewlet.engine.cluster.parcels import Parcel, Parcels
from viewlet.engine.cluster.shares import dealt
from viewlet.engine.epoch import Changes, WrittenChange
from viewlet.program.distributed import Anywhere, Partitioned
from viewlet.store import TableContents


def arriving(changes: Changes, names: Sequence[str], parts: int) -> list[Parcels]:
    """The changes of some bags as parcels for each partition."""
    parcels: list[Parcels] = [(part, []) for part in range(parts)]
    for name in names:
        shares = _shares(changes.written[name], parts) if name in changes.written else _packed(changes[name], parts)
        for part, kind, data in shares:
            parcels[part][1].append(Parcel(kind, name, data))
    return parcels


def _packed(rows: Rows, parts: int) -> Iterator[tuple[int, Any, Any]]:
    return ((part, "rows", pack(share)) for part, share in dealt(rows, parts))


def _shares(written: WrittenChange, parts: int) -> Iterator[tuple[int, Any, Any]]:
    """What each partition reads of the runs of a change or of a whole bag."""
    contents = written.contents
    stored = StoredMap.of(contents, Anywhere())
    if isinstance(contents, TableContents) and not written.is_net and _has_gone(contents):
        yield from _table_shares(contents, parts)
    elif written.is_net or not contents.is_sorted:
        yield from ((part, "bag", replace(stored, refs=stored.refs[part::parts])) for part in range(parts))
    else:
        by_key = replace(stored, tag=Partitioned(contents.layout.key))
        yield from ((part, "bag", by_key) for part in range(parts))


def _has_gone(contents: TableContents) -> bool:
    """Whether a table has deletions, in files or in recent rows, that are not netted yet."""
    return any(ref.sign < 0 for ref in contents.refs()) or bool((contents.recent().weights < 0).any())


def _table_shares(contents: TableContents, parts: int) -> Iterator[tuple[int, Any, Any]]:
    """The shares of a table with deletions; one without files is small, and is netted on the driver."""
    stored = StoredMap.of(contents, Anywhere())
    put = [ref for ref in stored.refs if ref.kind == "parquet" and ref.sign > 0]
    if not put:
        yield from _packed(contents.consolidated(), parts)
        return
    changed = replace(stored, refs=tuple(ref for ref in stored.refs if ref not in put))
    for part in range(parts):
        own = replace(stored, refs=tuple(put[part::parts]))
        yield part, "table", TableShare(own, changed, replace(changed, refs=changed.refs[part::parts]))


@dataclass(frozen=True, slots=True)
class TableShare:
    """A partition's share of a table's files of insertions, all its other runs, and a share of those."""

    put: StoredMap
    changed: StoredMap
    own_changed: StoredMap

    def pieces(self, address: str, part: int, parts: int) -> Iterator[tuple[int, Any, Rows]]:
        """Rows that stay on the partition, and rows that must meet others with their hash."""
        rows, changed = self.put.open(address).scan(), self.changed.open(address).scan()
        gone = different(changed.filter(changed.weights < 0).hashes())
        found = is_among(rows.hashes(), gone)
        yield part, "rows", rows.filter(~found)
        meeting = Rows.concat([rows.filter(found), self.own_changed.open(address).scan()])
        for to, share in cut(meeting, partition_of(meeting.hashes(), parts)):
            yield to, "net", share


@dataclass(frozen=True)
class NetTask:
    """Maps a partition before the first stage: sends table rows that deletions may cancel to where they meet."""

    address: str
    parts: int

    def __call__(self, part: int, arrived: Iterable[Parcels]) -> Iterator[Parcels]:
        out: dict[int, list[Parcel]] = {}
        for parcel in (parcel for _, parcels in arrived for parcel in parcels):
            if parcel.kind != "table":
                out.setdefault(part, []).append(parcel)
                continue
            for to, kind, rows in parcel.data.pieces(self.address, part, self.parts):
                out.setdefault(to, []).append(Parcel(kind, parcel.name, pack(rows)))
        yield from out.items()


def are_net(parcels: Iterable[Parcels]) -> bool:
    """Whether nothing has to meet before the first stage."""
    return all(parcel.kind != "table" for _, own in parcels for parcel in own)
