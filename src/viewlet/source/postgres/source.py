"""A PostgreSQL table as the source of a table: all rows first, then its changes.

Changes arrive by logical replication. The slot is advanced only after the changes are committed here, together with
their position.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

from viewlet import arguments
from viewlet.errors import SqlError
from viewlet.extras import needed
from viewlet.plan.words import options_text, quoted_text
from viewlet.source.bad_records import OnBad, read_on_bad
from viewlet.source.feed import Batch, Feed, Target, fields_of, take_portions
from viewlet.warehouse.declare.tables import Table

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse


@dataclass(frozen=True)
class Postgres(Feed):
    """A table of a PostgreSQL database as a source."""

    kind: ClassVar[str] = "postgres"
    database: str
    """A connection string of libpq: `host=… dbname=…`, or `postgresql://…`."""
    name: str
    slot: str
    """The prefix of the names of its slots and publications."""
    publication: str = ""
    """An existing publication; if empty, one is created for the table."""
    on_bad: OnBad = "FAIL EPOCH"

    @property
    def together(self) -> str:
        return self.database

    def batches(self, target: Target) -> Generator[Batch, None, None]:
        from viewlet.source.postgres.replication import read_snapshot

        return read_snapshot(self, target)

    def read(self, warehouse: Warehouse, table: Table) -> Iterator[int]:
        return self.read_together(warehouse, [table])

    def read_together(self, warehouse: Warehouse, tables: Sequence[Table]) -> Iterator[int]:
        """Read all rows of new tables, then the transactions' changes of all tables."""
        from viewlet.source.postgres.replication import Reading, read_changes

        for table in tables:
            yield from super().read(warehouse, table)
        members = [Reading(cast(Postgres, table.source), Target(warehouse, table)) for table in tables]
        yield from take_portions(warehouse, read_changes(self.database, members))

    def check(self, table: Table) -> None:
        from viewlet.source.postgres.replication import check

        check(self, table)

    def release(self, table: Table) -> None:
        from viewlet.source.postgres.replication import release

        release(self, table)

    def slot_of(self, table: Table) -> str:
        """The name of a table's replication slot."""
        return re.sub(r"[^a-z0-9_]", "_", f"{self.slot}_{table.name.lower()}")[:63]

    def publication_of(self, table: Table) -> str:
        return self.publication or self.slot_of(table)

    @property
    def statement(self) -> str:
        options = options_text({"slot": self.slot, "publication": self.publication})
        place = f"FROM POSTGRES {quoted_text(self.database)} TABLE {quoted_text(self.name)}"
        return f"{place}{options} ON BAD RECORD {self.on_bad}"


def postgres(
    database: str,
    table: str,
    *,
    slot: str | None = None,
    publication: str | None = None,
    on_bad_record: str = "FAIL EPOCH",
) -> Postgres:
    """A table of a PostgreSQL database, for `db.create_table(…, source=…)`.

    `database`: a libpq connection string without a password, which stays in PGPASSWORD, ~/.pgpass or a service file.
    `slot`: the prefix of the replication slot's name. `publication`: an existing one that publishes the table.
    """
    psycopg = needed("psycopg", "postgres")
    arguments.text("the database", database)
    try:
        given = psycopg.conninfo.conninfo_to_dict(database)
    except psycopg.Error as error:
        raise SqlError(
            f"{database!r} is not the address of a database: {str(error).strip()}", hint="host=… dbname=…"
        ) from None
    if given.get("password"):
        raise SqlError(
            "a password would be stored in the warehouse",
            hint="leave it out; libpq finds it in PGPASSWORD, ~/.pgpass or a service file",
        )
    prefix = slot or f"viewlet_{uuid.uuid4().hex[:12]}"
    if not re.fullmatch(r"[a-z0-9_]{1,40}", prefix):
        raise SqlError(f"{prefix!r} cannot begin a slot's name", hint="use up to 40 of a–z, 0–9 and _")
    return Postgres(
        database,
        arguments.text("the table", table),
        prefix,
        publication or "",
        read_on_bad(on_bad_record, "READ NULLS"),
    )


def read(document: Mapping[str, Any]) -> Postgres:
    """Decode a PostgreSQL source."""
    return Postgres(**fields_of(document))
