"""ALTER TABLE and ALTER MATERIALIZED VIEW."""

from __future__ import annotations

from viewlet.sql.columns import Columns, read_column
from viewlet.sql.reader import Reader
from viewlet.sql.statements import AddColumns, DropColumns, Kind, Rename, RenameColumn

Alteration = AddColumns | DropColumns | RenameColumn | Rename


def read_alter(reader: Reader) -> Alteration:
    """`ALTER {TABLE | [MATERIALIZED] VIEW} name …`"""
    reader.expect("ALTER")
    if reader.accept("TABLE"):
        return _table(reader, reader.name("the table"))
    if reader.accept("MATERIALIZED", "VIEW") or reader.accept("VIEW"):
        name = reader.name("the view")
        if not reader.sees("RENAME"):
            reader.fail("RENAME TO", hint="its definition is changed by CREATE OR REPLACE MATERIALIZED VIEW")
        return _rename(reader, "view", name)
    reader.fail("TABLE or MATERIALIZED VIEW")


def _table(reader: Reader, name: str) -> Alteration:
    """`ADD COLUMN …`, `DROP COLUMN …`, `RENAME COLUMN a TO b`, `RENAME TO name`"""
    if reader.accept("ADD", "COLUMNS") or reader.accept("ADD", "COLUMN"):
        return _add(reader, name)
    if reader.accept("DROP", "COLUMNS") or reader.accept("DROP", "COLUMN"):
        return _drop(reader, name)
    if reader.sees("RENAME", "COLUMN"):
        reader.expect("RENAME", "COLUMN")
        column = reader.name("the column")
        return RenameColumn(name, column, _new_name(reader))
    if reader.sees("RENAME"):
        return _rename(reader, "table", name)
    reader.fail(
        "ADD COLUMN, DROP COLUMN, RENAME COLUMN or RENAME TO",
        hint="for other changes, create another table and INSERT INTO it",
    )


def _add(reader: Reader, table: str) -> AddColumns:
    """`column type, …`, in parentheses or not"""
    columns, closed = Columns(), reader.accept("(")
    columns.fields.append(read_column(reader, columns))
    while reader.accept(","):
        columns.fields.append(read_column(reader, columns))
    if closed:
        reader.expect(")")
    reader.end()
    if columns.key:
        reader.refuse("an existing table cannot get a primary key", hint="create another table with it")
    return AddColumns(table, tuple(columns.fields), tuple(columns.defaults))


def _drop(reader: Reader, table: str) -> DropColumns:
    """`[IF EXISTS] column, …`, in parentheses or not"""
    if_exists = reader.accept("IF")
    if if_exists:
        reader.expect("EXISTS")
    names = list(reader.names("a column")) if reader.sees("(") else [reader.name("a column")]
    while reader.accept(","):
        names.append(reader.name("a column"))
    reader.end()
    return DropColumns(table, tuple(names), if_exists)


def _rename(reader: Reader, kind: Kind, name: str) -> Rename:
    reader.expect("RENAME")
    return Rename(kind, name, _new_name(reader))


def _new_name(reader: Reader) -> str:
    reader.expect("TO")
    name = reader.name("the new name")
    reader.end()
    return name
