"""Spark SQL's data types, as values.

A type is a name and its arguments; two types are equal exactly when Spark considers them the same. Nullability belongs
to the field; inside a type everything may be NULL.

A string with a collation is not a `string` but `collated`: code that compares, groups or orders strings works on their
bytes, and must leave collated ones to Spark. CHAR and VARCHAR are types of columns only; expressions over them are
strings (`computed`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from viewlet.plan.collations import BINARY as BYTEWISE
from viewlet.plan.collations import collation
from viewlet.plan.words import identifier

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
    "timestamp_ltz": "timestamp", "character": "char",
}  # fmt: skip
MONTHS = ("interval year", "interval month", "interval year to month")
_DAYS = ("day", "hour", "minute", "second")
INTERVALS = (*MONTHS, *(f"interval {a}" for a in _DAYS), *(f"interval {a} to {b}" for a, b in combinations(_DAYS, 2)))
_NOT_KEPT = {
    "interval": "an interval of months, days and seconds together has no Arrow type: keep it as INTERVAL YEAR TO MONTH "
    "and INTERVAL DAY TO SECOND",
    "geometry": "tables and views do not hold GEOMETRY: keep its WKB as BINARY (st_asbinary)",
    "geography": "tables and views do not hold GEOGRAPHY: keep its WKB as BINARY (st_asbinary)",
}
"""Spark types that columns cannot have, and what to use instead."""


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
        """Whether rows can be kept sorted by such values: numbers, dates and times."""
        return self.is_numeric or self.name in ("date", "timestamp", "timestamp_ntz")

    @property
    def is_sortable(self) -> bool:
        """Whether rows can be kept sorted by such values, in an order that may tie different ones."""
        match self.name:
            case "struct":
                return bool(self.args) and self.args[0][1].is_sortable
            case name:
                return self.is_ordered or name in ("boolean", "string", "binary")

    @property
    def parts(self) -> tuple[Type, ...]:
        """The types nested directly in this one."""
        match self.name:
            case "array" | "map":
                return self.args
            case "struct":
                return tuple(part for _, part in self.args)
            case _:
                return ()

    def holds(self, *names: str) -> bool:
        """Whether the type, or one nested in it, has one of the names."""
        return self.name in names or any(part.holds(*names) for part in self.parts)

    @property
    def has_floats(self) -> bool:
        """Whether the type, or one nested in it, is a float or double."""
        return self.holds(*FRACTIONAL)

    @property
    def is_nested(self) -> bool:
        return self.name in ("array", "map", "struct", "variant")

    def __str__(self) -> str:
        match self.name:
            case "decimal":
                return f"decimal({self.args[0]},{self.args[1]})"
            case "char" | "varchar" | "time":
                return f"{self.name}({self.args[0]})"
            case "collated":
                return f"string collate {self.args[0]}"
            case "struct":
                return f"struct<{', '.join(f'{identifier(name)}: {kind}' for name, kind in self.args)}>"
            case "array" | "map":
                return f"{self.name}<{', '.join(map(str, self.args))}>"
            case name:
                return name


BOOLEAN, INT, BIGINT, DOUBLE = Type("boolean"), Type("int"), Type("bigint"), Type("double")
STRING, BINARY, DATE, TIMESTAMP = Type("string"), Type("binary"), Type("date"), Type("timestamp")


def decimal(precision: int, scale: int) -> Type:
    return Type("decimal", (precision, scale))


def collated(name: str) -> Type:
    """A string type with one of Spark's collations."""
    found = collation(name)
    if found is None:
        raise ValueError(f"Spark has no collation {name}")
    return STRING if found == BYTEWISE else Type("collated", (found,))


def computed(kind: Type) -> Type:
    """The type of expressions over a column: for CHAR and VARCHAR it is string."""
    if kind.name in ("char", "varchar"):
        return STRING
    return rebuilt(kind, computed) if kind.holds("char", "varchar") else kind


def ddl(kind: Type) -> str:
    """A type as DDL that means the same under any settings: TIMESTAMP depends on `spark.sql.timestampType`."""
    return str(_zoned(kind))


def _zoned(kind: Type) -> Type:
    return Type("timestamp_ltz") if kind.name == "timestamp" else rebuilt(kind, _zoned)


def rebuilt(kind: Type, change: Callable[[Type], Type]) -> Type:
    """A type with each of its parts changed."""
    if kind.name == "struct":
        return Type("struct", tuple((name, change(part)) for name, part in kind.args))
    return Type(kind.name, tuple(map(change, kind.parts))) if kind.parts else kind


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
    """A recursive-descent parser of type texts."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = re.findall(r"`(?:[^`]|``)*`|'(?:[^'\\]|\\.)*'|[\w.$-]+|[<>(),:]|\S", text)
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
                if key.holds("collated"):
                    raise ValueError(f"Spark has no maps with collated keys: `{self.text}`")
                self.take(",")
                value = self.type()
                self.take(">")
                return Type("map", (key, value))
            case "struct":
                return self._struct()
            case "char" | "varchar":
                return Type(name, (self._number(1),))
            case "string":
                return collated(self.take().strip("`")) if self._accept("collate") else STRING
            case "time":
                return self._time()
            case "interval" if self.peek().lower() in ("year", "month", *_DAYS):
                return self._interval()
            case _ if name in _NOT_KEPT:
                raise ValueError(_NOT_KEPT[name])
            case _ if name in ATOMIC:
                return Type(name)
        raise ValueError(f"`{self.text}` is not a data type that Spark knows: {name!r}")

    def _accept(self, *words: str) -> bool:
        """Consume the given words if they come next, in any case; returns whether they did."""
        found = tuple(token.lower() for token in self.tokens[self.at : self.at + len(words)]) == words
        self.at += len(words) if found else 0
        return found

    def _number(self, least: int, most: int | None = None) -> int:
        """A number in parentheses, such as a length."""
        self.take("(")
        number = self.take()
        self.take(")")
        if not number.isdigit() or int(number) < least or (most is not None and int(number) > most):
            limits = f"from {least} to {most}" if most is not None else f"of at least {least}"
            raise ValueError(f"`{self.text}` is not a data type: {number} is not a number {limits}")
        return int(number)

    def _time(self) -> Type:
        precision = self._number(0, 6) if self.peek() == "(" else 6
        self._accept("without", "time", "zone")
        return Type("time", (precision,))

    def _interval(self) -> Type:
        name = f"interval {self.take().lower()}"
        if self._accept("to"):
            name += f" to {self.take().lower()}"
        if name not in INTERVALS:
            raise ValueError(f"`{self.text}` is not a data type: Spark has no {name}")
        return Type(name)

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
            if self._accept("not", "null"):
                raise ValueError(f"NOT NULL inside a struct is not supported: field {name} of `{self.text}`")
            if self._accept("comment"):
                self.take()
            if self.peek() == ",":
                self.take(",")
        self.take(">")
        return Type("struct", tuple(fields))
