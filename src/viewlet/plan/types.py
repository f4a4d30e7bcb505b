"""Spark SQL's data types, as values.

A type is a name and its arguments, so that two types are equal exactly when Spark would call them the
same. Nullability is not part of a type: it belongs to the field.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

INTEGRAL = ("tinyint", "smallint", "int", "bigint")
FRACTIONAL = ("float", "double")
ATOMIC = (
    *INTEGRAL,
    *FRACTIONAL,
    "boolean",
    "string",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
    "void",
    "variant",
)
SYNONYMS = {
    "integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint", "real": "float",
    "bool": "boolean", "text": "string", "numeric": "decimal", "dec": "decimal", "null": "void",
    "timestamp_ltz": "timestamp",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Type:
    """A data type: `Type("decimal", (12, 2))`, `Type("array", (BIGINT,))`, `Type("struct", (("x", INT),))`."""

    name: str
    args: tuple[Any, ...] = ()

    @property
    def is_numeric(self) -> bool:
        return self.name in INTEGRAL or self.name in FRACTIONAL or self.name == "decimal"

    @property
    def is_ordered(self) -> bool:
        """Whether rows can be kept in the order of such values: numbers, dates and times."""
        return self.is_numeric or self.name in ("date", "timestamp", "timestamp_ntz")

    @property
    def is_sortable(self) -> bool:
        """Whether rows can be kept in an order that puts no greater value before a lesser one, if it ties some."""
        match self.name:
            case "struct":
                return bool(self.args) and self.args[0][1].is_sortable
            case name:
                return self.is_ordered or name in ("boolean", "string", "binary")

    @property
    def has_floats(self) -> bool:
        """Whether it has doubles or floats in it."""
        match self.name:
            case "array" | "map":
                return any(part.has_floats for part in self.args)
            case "struct":
                return any(part.has_floats for _, part in self.args)
            case name:
                return name in FRACTIONAL

    @property
    def is_nested(self) -> bool:
        return self.name in ("array", "map", "struct", "variant")

    def __str__(self) -> str:
        match self.name:
            case "decimal":
                return f"decimal({self.args[0]},{self.args[1]})"
            case "struct":
                return f"struct<{', '.join(f'{_quoted(name)}: {kind}' for name, kind in self.args)}>"
            case "array" | "map":
                return f"{self.name}<{', '.join(map(str, self.args))}>"
            case name:
                return name


BOOLEAN, INT, BIGINT, DOUBLE = Type("boolean"), Type("int"), Type("bigint"), Type("double")
STRING, BINARY, DATE, TIMESTAMP = Type("string"), Type("binary"), Type("date"), Type("timestamp")


def decimal(precision: int, scale: int) -> Type:
    return Type("decimal", (precision, scale))


@dataclass(frozen=True, slots=True)
class Field:
    """A named, typed column."""

    name: str
    type: Type
    nullable: bool = True

    def __str__(self) -> str:
        return f"{self.name} {self.type}" + ("" if self.nullable else " NOT NULL")


def parse_type(text: str) -> Type:
    """The type that a DDL text such as `array<struct<a: int, b: decimal(5,2)>>` names."""
    tokens = _TypeTokens(text)
    parsed = tokens.type()
    tokens.end()
    return parsed


class _TypeTokens:
    """A recursive-descent reader of type texts."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = re.findall(r"`(?:[^`]|``)*`|[\w.$-]+|[<>(),:]|\S", text)
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, *expected: str) -> str:
        token = self.peek()
        if not token or (expected and token not in expected):
            raise ValueError(f"`{self.text}` is not a data type" + (f": expected {expected[0]!r}" if expected else ""))
        self.at += 1
        return token

    def end(self) -> None:
        if self.peek():
            raise ValueError(f"`{self.text}` is not a data type: {self.peek()!r} is one word too many")

    def type(self) -> Type:
        name = self.take().lower()
        name = SYNONYMS.get(name, name)
        match name:
            case "decimal":
                return self._decimal()
            case "array":
                self.take("<")
                element = self.type()
                self.take(">")
                return Type("array", (element,))
            case "map":
                self.take("<")
                key = self.type()
                self.take(",")
                value = self.type()
                self.take(">")
                return Type("map", (key, value))
            case "struct":
                return self._struct()
            case "char" | "varchar":
                self.take("(")
                self.take()
                self.take(")")
                return STRING
            case "interval":
                unit = [name, self.take().lower()]
                while self.peek().lower() in ("to", "month", "second", "minute", "hour"):
                    unit.append(self.take().lower())
                return Type(" ".join(unit))
            case _ if name in ATOMIC:
                return Type(name)
        raise ValueError(f"`{self.text}` is not a data type that Spark knows: {name!r}")

    def _decimal(self) -> Type:
        if self.peek() != "(":
            return decimal(10, 0)
        self.take("(")
        precision, scale = int(self.take()), 0
        if self.peek() == ",":
            self.take(",")
            scale = int(self.take())
        self.take(")")
        if not 0 <= scale <= precision <= 38:
            raise ValueError(
                f"`{self.text}` is not a data type: decimals have up to 38 digits, and no more after the point than in all"
            )
        return decimal(precision, scale)

    def _struct(self) -> Type:
        self.take("<")
        fields: list[tuple[str, Type]] = []
        while self.peek() != ">":
            name = self.take()
            if name.startswith("`"):
                name = name[1:-1].replace("``", "`")
            if self.peek() == ":":
                self.take(":")
            fields.append((name, self.type()))
            if self.peek() == ",":
                self.take(",")
        self.take(">")
        return Type("struct", tuple(fields))


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"\w+", name) else "`" + name.replace("`", "``") + "`"
