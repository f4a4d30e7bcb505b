"""Spark's data types, to and from Spark's JSON.

Two properties are in a field's metadata instead of its type: that a column of strings is declared CHAR or VARCHAR, by
which Spark's analyser pads the values compared with it; and the collations of a struct's fields.
"""

from __future__ import annotations

import re
from typing import Any

from viewlet.plan.types import STRING, Field, Type, computed, decimal, parse_type, rebuilt

_FROM_SPARK = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint", "null": "void"}
_TO_SPARK = {name: spark for spark, name in _FROM_SPARK.items() if name != "void"}
_DECLARED, _COLLATIONS = "__CHAR_VARCHAR_TYPE_STRING", "__COLLATIONS"


def decode_type(data: Any) -> Type:
    """The type that Spark's JSON describes, without nested nullability."""
    if isinstance(data, str):
        return _decode_name(data)
    match data["type"]:
        case "array":
            return Type("array", (decode_type(data["elementType"]),))
        case "map":
            return Type("map", (decode_type(data["keyType"]), decode_type(data["valueType"])))
        case "struct":
            return Type("struct", tuple((f["name"], _decode_part(f)) for f in data["fields"]))
        case "udt":
            return decode_type(data["sqlType"])
        case other:
            return Type(str(other))


def _decode_name(name: str) -> Type:
    if found := re.fullmatch(r"decimal\((\d+),(-?\d+)\)", name):
        return decimal(int(found[1]), int(found[2]))
    if found := re.fullmatch(r"(char|varchar|time)\((\d+)\)", name):
        return Type(found[1], (int(found[2]),))
    if found := re.fullmatch(r"string collate (\w+)", name):
        return Type("collated", (found[1],))
    if found := re.fullmatch(r"(geometry|geography)\(.*\)", name):
        return Type(found[1])
    return Type(_FROM_SPARK.get(name, name))


def _decode_part(data: dict[str, Any]) -> Type:
    """The type of a struct's field; its metadata name the collations of strings by their places in it."""
    kind = decode_type(data["type"])
    named = data.get("metadata", {}).get(_COLLATIONS, {})
    return _with_collations(kind, data["name"], {place: str(name).rpartition(".")[2] for place, name in named.items()})


def _with_collations(kind: Type, place: str, named: dict[str, str]) -> Type:
    if not named or kind.name == "struct":  # a struct's fields name their own
        return kind
    if kind == STRING:
        return Type("collated", (named[place],)) if place in named else kind
    places = iter(("key", "value") if kind.name == "map" else ("element",))
    return rebuilt(kind, lambda part: _with_collations(part, f"{place}.{next(places)}", named))


def decode_field(data: dict[str, Any]) -> Field:
    """A column as Spark computes with it, from the JSON of a struct's field or of an attribute."""
    kind = _decode_part(data) if "type" in data else decode_type(data["dataType"])
    return Field(data["name"], computed(kind), bool(data["nullable"]))


def decode_declared(data: dict[str, Any]) -> Field:
    """A column as declared: CHAR and VARCHAR with their lengths."""
    declared = data.get("metadata", {}).get(_DECLARED)
    kind = _decode_part(data) if declared is None else parse_type(declared)
    return Field(data["name"], kind, bool(data["nullable"]))


def encode_type(kind: Type) -> Any:
    """A type as Spark's JSON; everything inside it is nullable."""
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
        case name if kind.args:
            return str(kind)
        case name:
            return _TO_SPARK.get(name, name)


def encode_fields(fields: tuple[Field, ...]) -> dict[str, Any]:
    """Columns as the JSON of a struct."""
    return {"type": "struct", "fields": [_encode_field(f) for f in fields]}


def _encode_field(f: Field) -> dict[str, Any]:
    kind = computed(f.type)
    metadata = {} if kind == f.type else {_DECLARED: str(f.type)}
    return {"name": f.name, "type": encode_type(kind), "nullable": f.nullable, "metadata": metadata}
