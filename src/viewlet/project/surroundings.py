"""The file `viewlet.sql`, for what Spark's project files cannot declare: tables fed by sources, and sinks.

The file is beside the project's specification; its statements are `CREATE TABLE … FROM …` and `CREATE SINK …`. Existing
tables and sinks stay; a declaration that differs from an existing one is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from viewlet.errors import ProjectError, SqlError
from viewlet.plan.words import split
from viewlet.sql.execute import create_table, source_of
from viewlet.sql.parse import parse
from viewlet.sql.statements import CreateSink, CreateTable
from viewlet.warehouse.declare.tables import Table

if TYPE_CHECKING:
    from viewlet.database import Database

FILE = "viewlet.sql"


@dataclass(frozen=True)
class Surroundings:
    """The tables and sinks of `viewlet.sql`, with the place of each declaration."""

    tables: tuple[tuple[str, CreateTable], ...] = ()
    sinks: tuple[tuple[str, CreateSink, str], ...] = ()
    """Sinks with their statements as text."""

    def make_tables(self, db: Database, *, read: bool) -> list[str]:
        """Create missing tables; return the names of all."""
        for where, declared in self.tables:
            known = db._warehouse.catalog.known(declared.name)
            if known is None:
                create_table(db, declared, {}, read=read)
            elif not _is_as_declared(db._warehouse.catalog.tables.get(known), declared):
                raise ProjectError(
                    f"{where}: table {known} exists with another declaration",
                    hint=f"DROP TABLE {known} CASCADE; the next run creates it",
                )
        return [declared.name for _, declared in self.tables]

    def send_sinks(self, db: Database) -> dict[str, int]:
        """Create missing sinks and send to all; return how many epochs were sent to each."""
        known = {name.lower() for name in db._warehouse.catalog.sinks}
        for _, declared, text in self.sinks:
            if declared.name.lower() not in known:
                db.sql(text)
        return db.send_sinks(*(declared.name for _, declared, _ in self.sinks)) if self.sinks else {}


def read_surroundings(root: Path) -> Surroundings:
    """Parse a project's `viewlet.sql`, if there is one."""
    path = root / FILE
    if not path.exists():
        return Surroundings()
    read = list(_statements(path))
    return Surroundings(
        tuple((where, s) for where, _, s in read if isinstance(s, CreateTable)),
        tuple((where, s, text) for where, text, s in read if isinstance(s, CreateSink)),
    )


def _statements(path: Path) -> Iterator[tuple[str, str, CreateTable | CreateSink]]:
    for line, text in split(path.read_text(encoding="utf-8")):
        where = f"{path.name}:{line}"
        try:
            statement = parse(text)
        except SqlError as error:
            raise ProjectError(f"{where}: {error.args[0]}", hint=error.hint) from error
        is_table = isinstance(statement, CreateTable) and statement.source is not None
        if not is_table and not isinstance(statement, CreateSink):
            raise ProjectError(f"{where}: neither a table with a source nor a sink", hint="CREATE TABLE … FROM …")
        assert isinstance(statement, CreateTable | CreateSink)
        yield where, text, statement


def _is_as_declared(table: Table | None, declared: CreateTable) -> bool:
    """Whether a table equals its declaration."""
    if table is None or table.source is None or declared.source is None:
        return False
    source = source_of(declared.source)
    shapes = [[replace(f, name=f.name.lower()) for f in fields] for fields in (table.fields, declared.fields)]
    return (
        shapes[0] == shapes[1]
        and (table.primary_key, table.append_only) == (declared.primary_key, declared.append_only)
        and (table.source.kind, table.source.document()) == (source.kind, source.document())
    )
