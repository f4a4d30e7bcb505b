"""A table of a PostgreSQL database that follows a table or view, exactly once.

An epoch's changes and its number are one transaction in PostgreSQL: the number is in the table `viewlet_sinks`, with
the name of the table or view. So both always agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from viewlet.columns.python_values import python_values
from viewlet.errors import StoreError, UnsupportedValue
from viewlet.extras import needed
from viewlet.plan.types import Field, Type
from viewlet.sink.keyed_changes import find_key, gone_and_come
from viewlet.sink.sink import Opened, Sender, Sink
from viewlet.warehouse.read.relation import Relation

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

POSITIONS = "viewlet_sinks"
_TYPES = {
    "boolean": "boolean", "tinyint": "smallint", "smallint": "smallint", "int": "integer", "bigint": "bigint",
    "float": "real", "double": "double precision", "string": "text", "collated": "text", "char": "text",
    "varchar": "text", "binary": "bytea", "date": "date", "timestamp": "timestamptz", "timestamp_ntz": "timestamp",
    "time": "time",
}  # fmt: skip


@dataclass(frozen=True)
class PostgresTable(Sink):
    """A table of a PostgreSQL database as a sink."""

    kind: ClassVar[str] = "postgres"
    database: str
    table: str
    key: tuple[str, ...] = ()
    """The columns that identify a row; by default the table's primary key."""

    def __str__(self) -> str:
        return f"PostgreSQL table {self.table}"

    @contextmanager
    def opened(self, sender: Sender) -> Iterator[Opened]:
        psycopg = needed("psycopg", "postgres")
        try:
            with psycopg.connect(self.database, application_name="viewlet") as session:
                yield _Open(self, sender, session, find_key(self.key, sender.relation))
        except psycopg.Error as error:
            raise StoreError(f"{self}: {str(error).strip()}") from error


@dataclass
class _Open:
    sink: PostgresTable
    sender: Sender
    session: Connection[tuple[Any, ...]]
    key: tuple[str, ...]

    def last(self) -> int | None:
        """The last epoch; without one, create the table, or raise if it exists and is not empty."""
        with self.session.transaction():
            self._run(f"""CREATE TABLE IF NOT EXISTS {POSITIONS}
                (target text PRIMARY KEY, warehouse text NOT NULL, name text NOT NULL, epoch bigint NOT NULL)""")
            found = self._position()
            if found is None:
                self._make()
            return found

    def write(self, epoch: int, changes: pa.Table) -> None:
        """Apply an epoch's changes and its number; do nothing if another process has done so."""
        with self.session.transaction():
            last = self._position()
            if last is not None and last >= epoch:
                return
            gone, come = gone_and_come(self.sender.relation, changes)
            self._load("come", come)
            self._load("gone", gone)
            for statement in _by_key(self) if self.key else _by_row(self):
                self._run(statement)
            self._move(epoch)

    def _run(self, statement: str, values: Sequence[Any] = ()) -> Cursor[tuple[Any, ...]]:
        return self.session.execute(statement, values or None)

    def _position(self) -> int | None:
        query = f"SELECT warehouse, name, epoch FROM {POSITIONS} WHERE target = %s FOR UPDATE"
        found = self._run(query, (self.sink.table,)).fetchone()
        if found is None:
            return None
        self.sender.refuse_other(self.sink, found[0], found[1])
        return int(found[2])

    def _move(self, epoch: int) -> None:
        values = (self.sink.table, self.sender.warehouse, self.sender.relation.name, epoch)
        self._run(
            f"INSERT INTO {POSITIONS} VALUES (%s, %s, %s, %s) ON CONFLICT (target) DO UPDATE SET epoch = excluded.epoch",
            values,
        )

    def _make(self) -> None:
        """Create the table, unless it exists; raise if it is not empty."""
        columns = [f"{_quoted(f.name)} {_type(self.sender.relation, f)}" for f in self.sender.relation.fields]
        columns += [f"PRIMARY KEY ({', '.join(map(_quoted, self.key))})"] if self.key else []
        self._run(f"CREATE TABLE IF NOT EXISTS {self.sink.table} ({', '.join(columns)})")
        if self._run(f"SELECT 1 FROM {self.sink.table} LIMIT 1").fetchone() is not None:
            raise StoreError(f"{self.sink} has rows that Viewlet did not write", hint="name another table, or empty it")

    def _load(self, name: str, rows: pa.Table) -> None:
        """Create a temporary table of inserted or deleted rows."""
        relation = self.sender.relation
        listed = ", ".join(_quoted(f.name) for f in relation.fields)
        self._run(f"CREATE TEMPORARY TABLE {name} ON COMMIT DROP AS SELECT {listed} FROM {self.sink.table} WHERE false")
        columns = [python_values(relation.name, f, rows.column(at)) for at, f in enumerate(relation.fields)]
        with self.session.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for row in zip(*columns, strict=True):
                copy.write_row(row)


def _by_key(place: _Open) -> list[str]:
    """The statements with a key: delete, update, insert."""
    table, names = place.sink.table, [_quoted(f.name) for f in place.sender.relation.fields]
    keys = list(map(_quoted, place.key))
    values = [name for name in names if name not in keys]

    def same(left: str, right: str) -> str:
        return " AND ".join(f"{left}.{key} = {right}.{key}" for key in keys)

    update = f"""UPDATE {table} AS t SET {", ".join(f"{name} = come.{name}" for name in values)} FROM come
        WHERE {same("t", "come")} AND EXISTS (SELECT FROM gone WHERE {same("gone", "come")})"""
    return [
        f"""DELETE FROM {table} AS t USING gone
            WHERE {same("t", "gone")} AND NOT EXISTS (SELECT FROM come WHERE {same("come", "gone")})""",
        *([update] if values else []),
        f"""INSERT INTO {table} ({", ".join(names)}) SELECT {", ".join(names)} FROM come
            WHERE NOT EXISTS (SELECT FROM gone WHERE {same("gone", "come")})""",
    ]


def _by_row(place: _Open) -> list[str]:
    """The statements without a key: delete and insert copies; rows are equal if their text in PostgreSQL is equal."""
    table, names = place.sink.table, ", ".join(_quoted(f.name) for f in place.sender.relation.fields)

    def numbered(name: str, more: str) -> str:
        listed = f"ROW({names})::text"
        return f"(SELECT {more} {listed} AS shown, row_number() OVER (PARTITION BY {listed}) AS copy FROM {name})"

    return [
        f"""DELETE FROM {table} WHERE EXISTS (SELECT FROM gone) AND ctid IN (
            SELECT t.place FROM {numbered(table, "ctid AS place,")} AS t
            JOIN {numbered("gone", "")} AS g ON t.shown = g.shown AND t.copy = g.copy)""",
        f"INSERT INTO {table} ({names}) SELECT {names} FROM come",
    ]


def _type(relation: Relation, f: Field) -> str:
    """The PostgreSQL type for a column."""
    found = _known(f.type)
    if found is None:
        raise UnsupportedValue(
            f"{relation.name}: {f.name} is {f.type}, for which PostgreSQL has no type",
            hint="send a view that converts it to text: to_json, CAST … AS STRING",
        )
    return found


def _known(kind: Type) -> str | None:
    if kind.name == "decimal":
        return f"numeric({kind.args[0]}, {kind.args[1]})"
    if kind.name == "array":
        inner = _known(kind.args[0])
        return inner and f"{inner}[]"
    return _TYPES.get(kind.name)


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def postgres_table(database: str, table: str, *, key: Sequence[str] | str = ()) -> PostgresTable:
    """A table of a PostgreSQL database, for `db.export(view, …)`; `key`: the columns that identify a row."""
    return PostgresTable(database, table, (key,) if isinstance(key, str) else tuple(key))
