"""Evaluates VALUES of plain literals in Python, so that a small INSERT needs no Spark.

The law: returned rows hold exactly the values that Spark would store. Anything that needs computation, rounding or
further rules of Spark is left to Spark (None).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from viewlet.errors import SqlError
from viewlet.plan.types import INTEGRAL, Field, Type
from viewlet.sql.parameters import Parameters, value_of
from viewlet.sql.reader import Reader, unquoted

Row = tuple[Any, ...]


class _NotPlain(Exception):
    """A value that only Spark can evaluate."""


def literal_rows(values_text: str, fields: tuple[Field, ...], parameters: Parameters | None = None) -> list[Row] | None:
    """The rows of `VALUES (…), …` for columns of these types; None if a value is not a plain literal."""
    reader, given = Reader(values_text), parameters or {}
    if not reader.accept("VALUES"):
        return None
    try:
        rows = [_row(reader, fields, 1, given)]
        while reader.accept(","):
            rows.append(_row(reader, fields, len(rows) + 1, given))
    except _NotPlain:
        return None
    reader.accept(";")
    return rows if reader.word.kind == "end" else None


def depends_on_settings(values_text: str, fields: tuple[Field, ...]) -> bool:
    """Whether such rows depend on the session's settings: times on its zone, and "a" may be a name."""
    return '"' in values_text or any(f.type.name == "timestamp" for f in fields)


def _row(reader: Reader, fields: tuple[Field, ...], number: int, given: Parameters) -> Row:
    """One row; the row of a single column may omit parentheses."""
    line, values = reader.word.line, list[Any]()
    if not reader.accept("("):
        refuse_count(1, fields, number, line)
        return (_value(reader, fields[0].type, given),)
    while True:
        if len(values) == len(fields):
            refuse_count(len(values) + 1, fields, number, line)
        values.append(_value(reader, fields[len(values)].type, given))
        if reader.accept(")"):
            refuse_count(len(values), fields, number, line)
            return tuple(values)
        if not reader.accept(","):
            raise _NotPlain


def refuse_count(found: int, fields: tuple[Field, ...], number: int, line: int) -> None:
    """Refuse a row that does not have a value for each column."""
    if found != len(fields):
        more = "or more " if found > len(fields) else ""
        names = ", ".join(f.name for f in fields)
        raise SqlError(f"line {line}: row {number} has {found} {more}values for {len(fields)} columns ({names})")


def _value(reader: Reader, kind: Type, given: Parameters) -> Any:
    """Read a literal or marker as a value of a type."""
    word = reader.word
    reader.at += 1
    match word.kind, word.key:
        case "name", "NULL":
            return None
        case "name", ("TRUE" | "FALSE") if kind.name == "boolean":
            return word.key == "TRUE"
        case "name", ("DATE" | "TIMESTAMP" | "TIMESTAMP_LTZ" | "TIMESTAMP_NTZ" | "X") if reader.word.kind == "string":
            return _typed(word.key, _string(reader), kind)
        case "string", _:
            reader.at -= 1
            return _text(_string(reader), kind)
        case "sign", ("-" | "+") if reader.word.kind == "number":
            reader.at += 1
            return _number(word.text + reader.words[reader.at - 1].text, kind)
        case "number", _:
            return _number(word.text, kind)
        case "sign", ":" if reader.word.kind in ("name", "quoted"):
            reader.at += 1
            return _bound(value_of(given, unquoted(reader.words[reader.at - 1])), kind)
    raise _NotPlain


def _bound(value: Any, kind: Type) -> Any:
    """The value of a marker if its type is the column's; Spark casts other types."""
    match kind.name, value:
        case _, None:
            return None
        case ("boolean", bool()) | ("string", str()) | ("double", float()) | ("binary", bytes()):
            return value
        case name, int() if not isinstance(value, bool) and name in INTEGRAL and _in_range(value, name):
            return int(value)
        case "decimal", int() | Decimal() if not isinstance(value, bool) and Decimal(value).is_finite():
            return _number(f"{Decimal(value):f}", kind)
        case "date", date() if not isinstance(value, datetime):
            return value
        case "timestamp", datetime() if value.tzinfo is not None:
            return value
    raise _NotPlain


def _string(reader: Reader) -> str:
    """A string without escapes; adjacent strings, which Spark concatenates, are left to Spark."""
    text = reader.word.text
    reader.at += 1
    if reader.word.kind == "string" or text[0] in "rR" or "\\" in text or "${" in text:
        raise _NotPlain
    return text[1:-1].replace(text[0] * 2, text[0])


def _text(text: str, kind: Type) -> Any:
    """A string as a value of a column, which may be a date or time."""
    match kind.name:
        case "string" | "collated" | "char" | "varchar":
            return text
        case "date":
            return _date(text)
        case "timestamp":
            return _time(text).replace(tzinfo=UTC)
        case "timestamp_ntz":
            return _time(text)
    raise _NotPlain


_TYPED: dict[tuple[str, str], Callable[[str], Any]] = {
    ("DATE", "date"): lambda text: _date(text),
    ("TIMESTAMP", "timestamp"): lambda text: _time(text).replace(tzinfo=UTC),
    ("TIMESTAMP_LTZ", "timestamp"): lambda text: _time(text).replace(tzinfo=UTC),
    ("TIMESTAMP_NTZ", "timestamp_ntz"): lambda text: _time(text),
    ("X", "binary"): lambda text: _bytes(text),
}


def _typed(prefix: str, text: str, kind: Type) -> Any:
    read = _TYPED.get((prefix, kind.name))
    if read is None:
        raise _NotPlain
    return read(text)


def _bytes(text: str) -> bytes:
    if not re.fullmatch(r"(?:[0-9A-Fa-f]{2})*", text):
        raise _NotPlain
    return bytes.fromhex(text)


def _date(text: str) -> date:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise _NotPlain
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise _NotPlain from None


def _time(text: str) -> datetime:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?", text):
        raise _NotPlain
    try:
        return datetime.fromisoformat(text[:19]).replace(microsecond=int(text[20:].ljust(6, "0") or 0))
    except ValueError:
        raise _NotPlain from None


def _number(text: str, kind: Type) -> Any:
    """A number as a value of a type that holds it exactly; doubles may round, as in Spark."""
    if not (found := re.fullmatch(r"([+-]?)(\d*)(?:(\.)(\d*))?", text)):
        return _exponent(text, kind)
    sign, whole, point, fraction = found[1], found[2].lstrip("0"), found[3], found[4] or ""
    value = Decimal(f"{sign}{whole or '0'}.{fraction or '0'}")
    match kind.name:
        case name if name in INTEGRAL and not point and _in_range(int(value), name):
            return int(value)
        case "decimal" if len(whole) <= kind.args[0] - kind.args[1] and len(fraction) <= kind.args[1]:
            return Decimal(f"{sign}{whole or '0'}.{fraction.ljust(kind.args[1], '0')}")
        case "double" if len(whole) <= 18 and len(fraction) <= 18:
            return float(value) + 0.0  # decimals have no negative zero
    raise _NotPlain


def _exponent(text: str, kind: Type) -> float:
    """`1.5E3` and `1.5D` are doubles; other suffixes are left to Spark."""
    plain = text[:-1] if text[-1] in "dD" else text
    if kind.name != "double" or not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", plain):
        raise _NotPlain
    value = float(plain)
    if value in (float("inf"), float("-inf")):
        raise _NotPlain
    return value


def _in_range(value: int, name: str) -> bool:
    bits = 8 << INTEGRAL.index(name)
    return -(1 << bits - 1) <= value < 1 << bits - 1
