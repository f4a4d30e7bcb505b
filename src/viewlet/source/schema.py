"""What users say a table looks like: a DDL text, a Spark StructType, a pyarrow Schema, or Viewlet fields."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from viewlet.columns.types import spark_type
from viewlet.errors import SqlError
from viewlet.plan.types import Field, parse_type


def fields_of(table: str, schema: Any, primary_key: tuple[str, ...]) -> tuple[Field, ...]:
    """The columns of a new table; those of its primary key are NOT NULL."""
    fields = _read(table, schema)
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
    return tuple(Field(f.name, f.type, f.nullable and f.name not in primary_key) for f in fields)


def _read(table: str, schema: Any) -> tuple[Field, ...]:
    if isinstance(schema, str):
        from viewlet.sql.parse import parse

        made = parse(f"CREATE TABLE {table} ({schema})")
        return tuple(made.fields)  # type: ignore[union-attr]
    if isinstance(schema, pa.Schema):
        return tuple(Field(f.name, spark_type(f.type), f.nullable) for f in schema)
    if isinstance(schema, tuple | list) and all(isinstance(f, Field) for f in schema):
        return tuple(schema)
    if type(schema).__name__ == "StructType":
        return tuple(Field(f.name, parse_type(f.dataType.simpleString()), f.nullable) for f in schema.fields)
    raise SqlError(
        f"table {table}: a schema is a DDL text, a StructType or a pyarrow Schema, not {type(schema).__name__}"
    )
