"""Reads a PostgreSQL table: a snapshot as of the creation of its replication slot, then the slot's changes.

A slot returns whole transactions, in commit order. Peeking does not advance it; advancing it lets PostgreSQL discard
what is committed here. A process that is killed in between sees transactions again, and skips those that end at or
before the position of its last epoch.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from viewlet.errors import RejectedEpoch, SqlError, StoreError
from viewlet.extras import needed
from viewlet.source.feed import Batch, Portion, Target
from viewlet.source.net_changes import UNCHANGED, NetChanges, Place, readable
from viewlet.source.postgres.pgoutput import (
    Begin,
    Commit,
    Delete,
    Insert,
    Relation,
    Truncate,
    Tuple,
    Update,
    decode,
    parse_lsn,
    show_lsn,
)
from viewlet.source.postgres.source import Postgres
from viewlet.source.postgres.values import SETTINGS, can_hold, reader, wanted
from viewlet.warehouse.declare.tables import Table

if TYPE_CHECKING:
    from psycopg import Connection

    Session = Connection[tuple[Any, ...]]

log = logging.getLogger("viewlet")

CHANGES = 20_000
"""The approximate number of changes of an epoch; transactions are never split."""
CHUNK = 50_000
"""The number of rows of a snapshot that are converted at once."""
BEHIND = 1 << 20
"""The bytes of log that a slot may lag behind while its table does not change."""

Transaction = tuple[int, list[bytes]]
"""The end of a transaction in the log, and its messages."""
Peeked = tuple[list[Transaction], bool]
"""Transactions of a slot, and whether it may have more."""


@contextmanager
def connected(database: str, **more: Any) -> Iterator[Session]:
    """An autocommit session with the text formats of values that are parsed here."""
    psycopg = needed("psycopg", "postgres")
    options = " ".join(f"-c {name}={value.replace(' ', '')}" for name, value in SETTINGS.items())
    try:
        with psycopg.connect(database, autocommit=True, application_name="viewlet", options=options, **more) as session:
            yield session
    except psycopg.Error as error:
        raise StoreError(f"PostgreSQL ({database}): {str(error).strip()}") from error


def _only_row(session: Session, query: str, *values: Any) -> tuple[Any, ...]:
    """The only row of a query."""
    row = session.execute(query, values or None).fetchone()
    assert row is not None, query
    return row


def read_snapshot(source: Postgres, target: Target) -> Generator[Batch, None, None]:
    """Read all rows, unless they were read before."""
    if target.position() is None:
        with connected(source.database) as session:
            yield _snapshot(source, target.table, session)


@dataclass(frozen=True)
class Reading:
    """A table whose rows have been read, and whose changes follow."""

    source: Postgres
    target: Target

    def slot(self, session: Session) -> Slot:
        table = self.target.table
        return Slot(session, self.source.slot_of(table), self.source.publication_of(table))

    def place(self) -> int:
        """The position up to which it was read."""
        position = self.target.position()
        assert position is not None, "its rows are read first"
        return parse_lsn(position["lsn"])

    def batch(self, session: Session, transactions: Sequence[Transaction], lsn: int) -> Batch | None:
        """The changes of transactions, up to a position; None if there are none."""
        changes = _Stream(session, self.source, self.target.table)
        changes.take(transactions)
        return changes.net.batch({"lsn": show_lsn(lsn)}, self.target.stored) if changes.net.records else None


def read_changes(database: str, readings: Sequence[Reading]) -> Generator[Portion, None, None]:
    """Read the changes of tables of a database, up to the same transaction in all of them.

    Each table has a slot of its own; all slots return commits in the same order and at the same positions.
    """
    with connected(database) as session:
        slots, places = [reading.slot(session) for reading in readings], [reading.place() for reading in readings]
        end = slots[0].end()
        while True:
            for slot, place in zip(slots, places, strict=True):
                slot.advance(place)
            peeked = up_to_same([slot.peek(place, end) for slot, place in zip(slots, places, strict=True)])
            if not any(peeked):
                for slot in slots:
                    slot.keep_up(end)
                return
            last = max(transactions[-1][0] for transactions in peeked if transactions)
            made = [r.batch(session, some, last) for r, some in zip(readings, peeked, strict=True)]
            if portion := [
                (r.target.table, batch) for r, batch in zip(readings, made, strict=True) if batch is not None
            ]:
                yield portion
            places = [max(place, last) for place in places]


def up_to_same(peeked: Sequence[Peeked]) -> list[list[Transaction]]:
    """The transactions of slots, up to the last one that all slots with more to come have returned."""
    end = min((transactions[-1][0] for transactions, is_cut in peeked if is_cut and transactions), default=None)
    return [[t for t in transactions if end is None or t[0] <= end] for transactions, _ in peeked]


@dataclass(frozen=True)
class Slot:
    """A replication slot: a position in PostgreSQL's log, and the changes after it."""

    session: Session
    name: str
    publication: str

    def advance(self, lsn: int) -> None:
        """Let PostgreSQL discard the log before a position."""
        confirmed = self._confirmed()
        if lsn > confirmed:
            self.session.execute("SELECT pg_replication_slot_advance(%s, %s)", (self.name, show_lsn(lsn)))

    def end(self) -> int:
        """The end of the flushed log."""
        return parse_lsn(_only_row(self.session, "SELECT pg_current_wal_flush_lsn()")[0])

    def peek(self, lsn: int, end: int) -> Peeked:
        """The next whole transactions between two positions, and whether more may follow."""
        query = """SELECT data FROM pg_logical_slot_peek_binary_changes(%s, %s, %s,
            'proto_version', '1', 'publication_names', %s)"""
        found = self.session.execute(query, (self.name, show_lsn(end), CHANGES, f'"{self.publication}"')).fetchall()
        transactions: list[Transaction] = []
        messages: list[bytes] = []
        for (data,) in found:
            messages.append(data)
            if isinstance(commit := decode(data) if data[:1] == b"C" else None, Commit):
                transactions.append((commit.end, messages))
                messages = []
        return [(at, some) for at, some in transactions if at > lsn], len(found) >= CHANGES

    def keep_up(self, end: int) -> None:
        """Advance the slot of a table that does not change, so that PostgreSQL need not keep the log."""
        if end - self._confirmed() > BEHIND:
            self.advance(end)

    def _confirmed(self) -> int:
        query = "SELECT confirmed_flush_lsn, wal_status FROM pg_replication_slots WHERE slot_name = %s"
        found = self.session.execute(query, (self.name,)).fetchone()
        if found is None or found[1] == "lost":
            raise StoreError(
                f"PostgreSQL no longer has the changes of replication slot {self.name}",
                hint="drop the table and create it again, which reads all rows",
            )
        return parse_lsn(found[0])


@dataclass(frozen=True)
class Columns:
    """The positions of the table's columns in PostgreSQL's rows, and their parsers."""

    places: tuple[int, ...]
    readers: tuple[Any, ...]

    def row(self, values: Tuple | Sequence[str | None]) -> list[Any]:
        picked = zip(self.readers, (values[at] for at in self.places), strict=True)
        return [value if value is None or value is UNCHANGED else read(value) for read, value in picked]


@dataclass
class _Stream:
    """Collects the messages of a slot into a batch."""

    session: Session
    source: Postgres
    table: Table
    columns: Mapping[int, Columns] = field(default_factory=dict)
    net: NetChanges = field(init=False)

    def __post_init__(self) -> None:
        self.net = NetChanges(self.table)

    def take(self, transactions: Sequence[Transaction]) -> None:
        """Add transactions."""
        for _, messages in transactions:
            for data in messages:
                self._take(data)

    def _take(self, data: bytes) -> None:
        place = Place(self.source.name)
        match decode(data):
            case Begin(_, moment):
                self.net.oldest = moment if self.net.oldest is None else self.net.oldest
                return
            case Relation() as relation:
                self.columns = {**self.columns, relation.oid: self._columns(relation)}
                return
            case Insert(oid, new):
                self.net.put(self._row(oid, new), place)
            case Update(oid, old, new):
                self.net.put(self._row(oid, new), place, None if old is None else self._row(oid, old))
            case Delete(oid, old):
                self.net.take(self._row(oid, old), place)
            case Truncate(oids) if self.columns.keys() & set(oids):
                self.net.truncate()
            case _:
                return
        self.net.records += 1

    def _row(self, oid: int, values: Tuple) -> list[Any]:
        return self.columns[oid].row(values)

    def _columns(self, relation: Relation) -> Columns:
        """The columns of a relation, validated again, since it may have been altered."""
        oids = [oid for _, oid in relation.columns]
        types: dict[int, str] = dict(self.session.execute(_TYPES, (oids,)).fetchall())
        found = [(name, types[oid]) for name, oid in relation.columns]
        _refuse_identity(self.table, relation.name, relation.identity)
        return place_columns(self.table, relation.name, found)


_TYPES = """SELECT t.oid, b.typname FROM pg_type t JOIN pg_type b
    ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END WHERE t.oid = ANY(%s)"""
_COLUMNS = """SELECT a.attname, a.atttypid, a.attgenerated <> '' FROM pg_attribute a
    WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"""
_IDENTITY = """SELECT c.relreplident, array_remove(array_agg(a.attname), NULL) FROM pg_class c
    LEFT JOIN pg_index i ON i.indrelid = c.oid AND CASE c.relreplident WHEN 'i' THEN i.indisreplident ELSE i.indisprimary END
    LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY(i.indkey)
    WHERE c.oid = %s::regclass GROUP BY c.relreplident"""


def place_columns(table: Table, name: str, given: Sequence[tuple[str, str]]) -> Columns:
    """Find a table's columns among PostgreSQL's; raise if one is missing or its type cannot hold the values."""
    there = {column.lower(): at for at, (column, _) in enumerate(given)}
    places = []
    for f in table.fields:
        at = there.get(f.name.lower())
        if at is None:
            listed = ", ".join(column for column, _ in given)
            raise RejectedEpoch(f"table {table.name}: {name} has no column {f.name}", hint=f"there are: {listed}")
        if not can_hold(f.type, given[at][1]):
            raise RejectedEpoch(
                f"table {table.name}: column {f.name} is {f.type}, but in {name} it is {given[at][1]}",
                hint=f"{str(f.type).upper()} is read from {wanted(f.type)}; STRING from anything",
            )
        places.append(at)
    return Columns(tuple(places), tuple(reader(f.type) for f in table.fields))


def _refuse_identity(table: Table, name: str, identity: str) -> None:
    """Refuse a table without a key if the replica identity is not full, since deletions would be unknown."""
    if not table.primary_key and not table.append_only and identity != "f":
        raise RejectedEpoch(
            f"table {table.name} has no primary key, and {name} does not log old rows",
            hint=f"declare PRIMARY KEY (…), APPEND ONLY, or ALTER TABLE {name} REPLICA IDENTITY FULL",
        )


def check(source: Postgres, table: Table) -> None:
    """Raise if a table cannot be read."""
    with connected(source.database) as session:
        (level,) = _only_row(session, "SHOW wal_level")
        if level != "logical":
            raise StoreError(f"PostgreSQL's wal_level is {level}", hint="set wal_level = logical, and restart it")
        given = session.execute(_COLUMNS, (source.name,)).fetchall()
        types = dict(session.execute(_TYPES, ([oid for _, oid, _ in given],)).fetchall())
        place_columns(table, source.name, [(n, types[oid]) for n, oid, is_generated in given if not is_generated])
        identity, key = _only_row(session, _IDENTITY, source.name)
        _refuse_identity(table, source.name, identity)
        if table.primary_key and identity != "f" and {k.lower() for k in key} != {k.lower() for k in table.primary_key}:
            raise SqlError(
                f"the primary key of table {table.name} is not that of {source.name}: {', '.join(key) or 'it has none'}",
                hint=f"declare the same, or ALTER TABLE {source.name} REPLICA IDENTITY FULL",
            )


def _snapshot(source: Postgres, table: Table, session: Session) -> Batch:
    """Create a slot and read all rows as of its start. An existing slot of that name is left from a killed process."""
    slot, began = source.slot_of(table), time.time()
    _make_publication(source, table, session)
    session.execute(
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s", (slot,)
    )
    with connected(source.database, replication="database") as replication:
        made = replication.pgconn.exec_(f"CREATE_REPLICATION_SLOT {slot} LOGICAL pgoutput EXPORT_SNAPSHOT".encode())
        if made.ntuples != 1:
            raise StoreError(f"PostgreSQL: {made.error_message.decode().strip()}")
        lsn, exported = ((made.get_value(0, at) or b"").decode() for at in (1, 2))
        come, wrong = _copy(source, table, session, exported)
    bad = [Place(source.name).bad(reason) for reason in wrong]
    gone = come.slice(0, 0).select(list(table.primary_key)) if table.primary_key else come.slice(0, 0)
    return Batch({"lsn": lsn}, come, gone, come.num_rows + len(bad), oldest=began, bad=bad)


def _make_publication(source: Postgres, table: Table, session: Session) -> None:
    """Create a publication of the table, unless one was named."""
    name = source.publication_of(table)
    found = session.execute("SELECT 1 FROM pg_publication WHERE pubname = %s", (name,)).fetchone()
    if found is None and source.publication:
        raise StoreError(f"PostgreSQL has no publication {name}", hint="CREATE PUBLICATION …, or name none")
    if found is None:
        (relation,) = _only_row(session, "SELECT %s::regclass::text", source.name)
        session.execute(f'CREATE PUBLICATION "{name}" FOR TABLE {relation} WITH (publish_via_partition_root = true)')


def _copy(source: Postgres, table: Table, session: Session, exported: str) -> tuple[pa.Table, list[str]]:
    """The readable rows of a snapshot, and the reasons for the others."""
    sql = needed("psycopg.sql", "postgres")
    names = sql.SQL(", ").join(map(sql.Identifier, _spelled(source, table, session)))
    (relation,) = _only_row(session, "SELECT %s::regclass::text", source.name)
    parts, wrong = [], []
    columns = Columns(tuple(range(len(table.fields))), tuple(reader(f.type) for f in table.fields))
    with session.transaction():
        session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        session.execute(f"SET TRANSACTION SNAPSHOT '{exported}'")
        query = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT").format(names, sql.SQL(relation))
        with session.cursor().copy(query) as copy:
            rows = (columns.row(row) for row in copy.rows())
            while chunk := list(islice(rows, CHUNK)):
                part, reasons = readable(table, chunk)
                parts.append(part)
                wrong += list(reasons.values())
    return pa.concat_tables(parts) if parts else readable(table, [])[0], wrong


def _spelled(source: Postgres, table: Table, session: Session) -> list[str]:
    """The columns in PostgreSQL's spelling."""
    there = {name.lower(): name for name, *_ in session.execute(_COLUMNS, (source.name,))}
    return [there[name.lower()] for name in table.names]


def release(source: Postgres, table: Table) -> None:
    """Drop the slot, for which PostgreSQL would keep its log, and the publication."""
    slot = source.slot_of(table)
    try:
        with connected(source.database) as session:
            session.execute(
                "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s", (slot,)
            )
            if not source.publication:
                session.execute(f'DROP PUBLICATION IF EXISTS "{source.publication_of(table)}"')
    except StoreError as error:
        log.warning("drop the replication slot %s yourself, else PostgreSQL keeps its log for it: %s", slot, error)
