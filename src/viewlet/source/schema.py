"""What users say a table looks like: a DDL text, a Spark StructType, a pyarrow Schema, or Viewlet fields."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from viewlet.columns.types import spark_type
from viewlet.errors import SqlError
from viewlet.plan.types import Field, parse_type


def read_schema(table: str, schema: Any, primary_key: tuple[str, ...]) -> tuple[tuple[Field, ...], tuple[str, ...]]:
    """The columns and the primary key of a new table; the key's columns are NOT NULL."""
    try:
        fields, key = _read(table, schema)
    except ValueError as error:
        raise SqlError(f"table {table}: {error}") from None
    if key and primary_key and key != primary_key:
        raise SqlError(f"table {table}: two primary keys, {', '.join(key)} and {', '.join(primary_key)}")
    primary_key = primary_key or key
    names = [f.name for f in fields]
    if not fields:
        raise SqlError(f"table {table} has no columns")
    if len({n.lower() for n in names}) < len(names):
        raise SqlError(f"table {table} names a column twice: {', '.join(names)}")
    if reserved := [n for n in names if n.startswith("_")]:
        raise SqlError(f"table {table}: the column name {reserved[0]} is reserved", hint="do not begin names with _")
    for name in primary_key:
        if name not in names:
            raise SqlError(f"table {table}: the primary key names {name}", hint=f"there are: {', '.join(names)}")
        if fields[names.index(name)].type.is_nested:
            raise SqlError(f"table {table}: {name} is {fields[names.index(name)].type} and cannot be a primary key")
    return tuple(Field(f.name, f.type, f.nullable and f.name not in primary_key) for f in fields), primary_key


def _read(table: str, schema: Any) -> tuple[tuple[Field, ...], tuple[str, ...]]:
    if isinstance(schema, str):
        from viewlet.sql.parse import parse
        from viewlet.sql.statements import CreateTable

        made = parse(f"CREATE TABLE {table} ({schema})")
        assert isinstance(made, CreateTable)
        return made.fields, made.primary_key
    if isinstance(schema, pa.Schema):
        return tuple(Field(f.name, spark_type(f.type), f.nullable) for f in schema), ()
    if isinstance(schema, tuple | list) and all(isinstance(f, Field) for f in schema):
        return tuple(schema), ()
    if type(schema).__name__ == "StructType":
        return tuple(Field(f.name, parse_type(f.dataType.simpleString()), f.nullable) for f in schema.fields), ()
    raise SqlError(
        f"table {table}: a schema is a DDL text, a StructType or a pyarrow Schema, not {type(schema).__name__}"
    )
