"""Reads the schemas that users pass: DDL text, a Spark StructType, a pyarrow Schema, or Viewlet fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from viewlet import arguments
from viewlet.columns.arrow_types import spark_type
from viewlet.errors import SqlError
from viewlet.plan.types import Field, parse_type
from viewlet.warehouse.declare.expectations import read_constraints
from viewlet.warehouse.declare.schema import Schema, checked_schema


def read_schema(
    table: str,
    schema: Any,
    primary_key: tuple[str, ...] = (),
    defaults: Mapping[str, str] | None = None,
    constraints: Mapping[str, Any] | None = None,
) -> Schema:
    """The schema of a new table: its columns, primary key, defaults and constraints."""
    try:
        declared = _read(table, schema)
    except ValueError as error:
        raise SqlError(f"table {table}: {error}") from None
    texts = {**dict(declared.defaults), **arguments.mapping(f"the defaults of table {table}", defaults)}
    given = {
        **{c.name: (c.text, c.action) for c in declared.constraints},
        **arguments.mapping(f"the constraints of table {table}", constraints),
    }
    made = checked_schema(
        table,
        Schema(
            declared.fields,
            primary_key or declared.primary_key,
            tuple(texts.items()),
            read_constraints(table, given),
        ),
    )
    if declared.primary_key and made.primary_key != declared.primary_key:
        keys = f"{', '.join(declared.primary_key)} and {', '.join(made.primary_key)}"
        raise SqlError(f"table {table}: two primary keys, {keys}")
    return made


def declared_field(data: dict[str, Any]) -> Field:
    """A column of a StructType, given as JSON; raise if tables cannot hold its type."""
    from viewlet.spark.decode.data_types import decode_declared

    found = decode_declared(data)
    return Field(found.name, parse_type(str(found.type)), found.nullable)


def _read(table: str, schema: Any) -> Schema:
    if isinstance(schema, str):
        from viewlet.plan.words import quoted
        from viewlet.sql.parse import parse
        from viewlet.sql.statements import CreateTable

        made = parse(f"CREATE TABLE {quoted(table)} ({schema})")
        assert isinstance(made, CreateTable)
        return Schema(made.fields, made.primary_key, made.defaults, read_constraints(table, dict(made.constraints)))
    if isinstance(schema, pa.Schema):
        return Schema(tuple(Field(f.name, spark_type(f.type), f.nullable) for f in schema))
    if isinstance(schema, tuple | list) and all(isinstance(f, Field) for f in schema):
        return Schema(tuple(schema))
    if type(schema).__name__ == "StructType":
        return Schema(tuple(map(declared_field, schema.jsonValue()["fields"])))
    raise SqlError(
        f"table {table}: a schema is DDL text, a StructType or a pyarrow Schema, not {type(schema).__name__}"
    )
