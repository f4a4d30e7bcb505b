"""What users say a table looks like: a DDL text, a Spark StructType, a pyarrow Schema, or Viewlet fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from viewlet import arguments
from viewlet.columns.arrow_types import spark_type
from viewlet.columns.kernels.collate import folding
from viewlet.errors import SqlError
from viewlet.plan.types import MONTHS, Field, Type, parse_type
from viewlet.warehouse.expectations import Constraint, read_constraints


@dataclass(frozen=True, slots=True)
class Schema:
    """What a table is declared to look like."""

    fields: tuple[Field, ...]
    primary_key: tuple[str, ...] = ()
    defaults: tuple[tuple[str, str], ...] = ()
    constraints: tuple[Constraint, ...] = ()


def read_schema(
    table: str,
    schema: Any,
    primary_key: tuple[str, ...] = (),
    defaults: Mapping[str, str] | None = None,
    constraints: Mapping[str, Any] | None = None,
) -> Schema:
    """The columns of a new table, its primary key, whose columns are NOT NULL, its defaults and its constraints."""
    try:
        declared = _read(table, schema)
    except ValueError as error:
        raise SqlError(f"table {table}: {error}") from None
    fields, names = declared.fields, [f.name for f in declared.fields]
    if not fields:
        raise SqlError(f"table {table} has no columns")
    if len({n.lower() for n in names}) < len(names):
        raise SqlError(f"table {table} names a column twice: {', '.join(names)}")
    if not all(names):
        raise SqlError(f"table {table} has a column without a name")
    key = tuple(_spelled(table, fields, name, "primary key").name for name in primary_key or declared.primary_key)
    if declared.primary_key and key != declared.primary_key:
        raise SqlError(f"table {table}: two primary keys, {', '.join(declared.primary_key)} and {', '.join(key)}")
    for f in (f for f in fields if f.name in key and not _can_be_key(f.type)):
        hint = "a key is compared without Spark, by UTF8_BINARY or UTF8_LCASE" if f.type.name == "collated" else None
        raise SqlError(f"table {table}: {f.name} is {f.type} and cannot be a primary key", hint=hint)
    if inside := next((f for f in fields if f.type.name not in MONTHS and f.type.holds(*MONTHS)), None):
        hint = "give them columns of their own, or keep numbers of months"
        raise SqlError(
            f"table {table}: {inside.name} is {inside.type}, and intervals of months have no place inside", hint=hint
        )
    texts = {**dict(declared.defaults), **arguments.mapping(f"the defaults of table {table}", defaults)}
    given = tuple((_spelled(table, fields, name, "default").name, text) for name, text in texts.items())
    checks = read_constraints(
        table,
        {
            **{c.name: (c.text, c.action) for c in declared.constraints},
            **arguments.mapping(f"the constraints of table {table}", constraints),
        },
    )
    return Schema(tuple(replace(f, nullable=f.nullable and f.name not in key) for f in fields), key, given, checks)


def _can_be_key(kind: Type) -> bool:
    return folding(kind.args[0]) is not None if kind.name == "collated" else not kind.is_nested


def declared_field(data: dict[str, Any]) -> Field:
    """A column of a StructType, given as its JSON, if tables hold its type."""
    from viewlet.spark.decode.data_types import decode_declared

    found = decode_declared(data)
    return Field(found.name, parse_type(str(found.type)), found.nullable)


def _spelled(table: str, fields: tuple[Field, ...], name: str, what: str) -> Field:
    """The column of a name; upper and lower case do not count."""
    found = next((f for f in fields if f.name.lower() == name.lower()), None)
    if found is None:
        names = ", ".join(f.name for f in fields)
        raise SqlError(f"table {table}: the {what} names {name}, which is no column", hint=f"there are: {names}")
    return found


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
        f"table {table}: a schema is a DDL text, a StructType or a pyarrow Schema, not {type(schema).__name__}"
    )
