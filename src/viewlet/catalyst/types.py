"""Spark's data types, from and to the JSON that Spark writes them as."""

from __future__ import annotations

import re
from typing import Any

from viewlet.plan.types import STRING, Field, Type, decimal

_FROM_SPARK = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint", "null": "void"}
_TO_SPARK = {name: spark for spark, name in _FROM_SPARK.items() if name != "void"}


def decode_type(data: Any) -> Type:
    """The type that Spark's JSON describes; nested nullability is not part of it."""
    if isinstance(data, str):
        return _decode_name(data)
    match data["type"]:
        case "array":
            return Type("array", (decode_type(data["elementType"]),))
        case "map":
            return Type("map", (decode_type(data["keyType"]), decode_type(data["valueType"])))
        case "struct":
            return Type("struct", tuple((f["name"], decode_type(f["type"])) for f in data["fields"]))
        case "udt":
            return decode_type(data["sqlType"])
        case other:
            return Type(str(other))


def _decode_name(name: str) -> Type:
    if found := re.fullmatch(r"decimal\((\d+),(-?\d+)\)", name):
        return decimal(int(found[1]), int(found[2]))
    if re.match(r"(char|varchar)\(|string collate ", name):
        return STRING
    return Type(_FROM_SPARK.get(name, name))


def decode_field(data: dict[str, Any]) -> Field:
    """A column, from the JSON of a struct's field or of an attribute."""
    kind = data["type"] if "type" in data else data["dataType"]
    return Field(data["name"], decode_type(kind), bool(data["nullable"]))


def encode_type(kind: Type) -> Any:
    """A type as Spark's JSON; everything inside it may be NULL."""
    match kind.name:
        case "array":
            return {"type": "array", "elementType": encode_type(kind.args[0]), "containsNull": True}
        case "map":
            key, value = kind.args
            return {
                "type": "map",
                "keyType": encode_type(key),
                "valueType": encode_type(value),
                "valueContainsNull": True,
            }
        case "struct":
            return encode_fields(tuple(Field(name, part) for name, part in kind.args))
        case "decimal":
            return f"decimal({kind.args[0]},{kind.args[1]})"
        case name:
            return _TO_SPARK.get(name, name)


def encode_fields(fields: tuple[Field, ...]) -> dict[str, Any]:
    """Columns as the JSON of a struct."""
    return {
        "type": "struct",
        "fields": [
            {"name": f.name, "type": encode_type(f.type), "nullable": f.nullable, "metadata": {}} for f in fields
        ],
    }
