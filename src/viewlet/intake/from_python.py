"""Converting Python values to a Spark type, without loss or not at all.

`converter(type)` gives the function that turns one value into what Arrow takes, or raises `Wrong`. A naive datetime in
a TIMESTAMP column is read as UTC; a zone in a TIMESTAMP_NTZ column is refused. A double in a FLOAT column is rounded,
as Spark does, since Python has no 32-bit float.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from viewlet.errors import kind_of, shortened
from viewlet.intake.named_rows import named_values
from viewlet.intake.refusal import Wrong
from viewlet.plan.types import INTEGRAL, MONTHS, Type

Convert = Callable[[Any], Any]

_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_DECIMAL_TEXT = re.compile(r"[+-]?\d+(\.\d+)?")
_DATE_TEXT = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME_TEXT = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?")
_CLOCK_TEXT = re.compile(r"\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?")
_MOST_DIGITS = 1000
"""A number with more digits, trailing zeros included, is not a Spark decimal."""
_ROUND = "round it to text; a pandas column: column.map('{{:.{scale}f}}'.format, na_action='ignore')"
"""The hint for a float in a decimal column."""
_LARGEST_FLOAT = 3.4028235677973366e38
"""From here on, rounding to 32 bits gives infinity."""


@lru_cache(maxsize=1024)
def converter(kind: Type) -> Convert:
    """The function that converts Python values to a type."""
    convert = _converter(kind)
    return lambda value: None if value is None else convert(_plain(value))


def _converter(kind: Type) -> Convert:
    match kind.name:
        case name if name in INTEGRAL:
            return lambda value: _integer(value, kind)
        case "float" | "double":
            return lambda value: _number(value, kind)
        case "decimal":
            return lambda value: _decimal(value, kind)
        case "array":
            return _array(kind)
        case "map":
            return _map(kind)
        case "struct":
            return _struct(kind)
        case "char" | "varchar":
            return _text(kind)
        case "time":
            return _time(kind)
        case name if name in _SIMPLE:
            return _SIMPLE[name]
        case name if name.startswith("interval"):
            return _months if name in MONTHS else _duration
    raise AssertionError(f"no values of type {kind}")


def _plain(value: Any) -> Any:
    """A NumPy scalar or pandas Timestamp as a plain Python value."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return _from_datetime64(value)
    if isinstance(value, np.generic):
        return value.item()
    if getattr(value, "nanosecond", 0):
        raise Wrong("has nanoseconds, which Spark's timestamps do not hold")
    return value.to_pydatetime() if hasattr(value, "to_pydatetime") else value


def _from_datetime64(value: Any) -> Any:
    micros = value.astype("M8[us]" if isinstance(value, np.datetime64) else "m8[us]")
    if micros != value:
        raise Wrong("has nanoseconds, which Spark's timestamps do not hold")
    if isinstance(value, np.datetime64) and isinstance(micros.item(), int):
        raise Wrong("is out of the range of dates and timestamps, the years 1 to 9999")
    return micros.item()


def _wrong_type(value: Any, kind: Type) -> Wrong:
    return Wrong(f"is {kind_of(value)}, not {kind}")


def _whole(value: Any, kind: Type) -> int:
    """A number as the integer that it equals."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise _wrong_type(value, kind)
    if not isinstance(value, int) and (not math.isfinite(value) or value != int(value)):
        raise Wrong(f"is not a whole number, as {kind} wants")
    return int(value)


def _integer(value: Any, kind: Type) -> int:
    number, edge = _whole(value, kind), 1 << (_BITS[kind.name] - 1)
    if not -edge <= number < edge:
        raise Wrong(f"is out of the range of {kind}")
    return number


def _number(value: Any, kind: Type) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong_type(value, kind)
    if isinstance(value, int) and (abs(value) >= 1 << 1023 or int(float(value)) != value):
        raise Wrong(f"is not exact as {kind}")
    if kind.name == "float":
        if math.isfinite(value) and abs(value) >= _LARGEST_FLOAT:
            raise Wrong("is out of the range of float")
        if isinstance(value, int) and int(np.float32(value)) != value:
            raise Wrong("is not exact as float")
    return math.nan if math.isnan(value) else float(value)


def _decimal(value: Any, kind: Type) -> Decimal:
    precision, scale = kind.args
    if isinstance(value, str):
        if not _DECIMAL_TEXT.fullmatch(value):
            raise Wrong(f"is no {kind}")
        value = Decimal(value)
    if isinstance(value, float) or not isinstance(value, int | Decimal) or isinstance(value, bool):
        if not isinstance(value, float) or not value.is_integer():
            hint = _ROUND.format(scale=scale) if isinstance(value, float) else None
            raise Wrong(f"is {kind_of(value)}, not {kind}: give a Decimal, an int or a text", hint)
        value = int(value)
    return _fitted(Decimal(value), precision, scale, kind)


def _fitted(value: Decimal, precision: int, scale: int, kind: Type) -> Decimal:
    sign, digits, exponent = value.as_tuple()
    if len(digits) > _MOST_DIGITS:
        raise Wrong(f"has too many digits for {kind}")
    if not isinstance(exponent, int):
        raise Wrong(f"is no {kind}")
    number = int("".join(map(str, digits)) or "0")
    while number and exponent < -scale and number % 10 == 0:
        number, exponent = number // 10, exponent + 1
    if number and exponent < -scale:
        raise Wrong(f"has more than {scale} digits after the point, the most of {kind}")
    if number and len(str(number)) + exponent > precision - scale:
        raise Wrong(f"has too many digits for {kind}")
    return Decimal((sign, tuple(map(int, str(number))), exponent if number else -scale))


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _wrong_type(value, Type("boolean"))
    return value


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong_type(value, Type("string"))
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise Wrong(f"is not valid UTF-8: a lone surrogate at position {error.start}") from None
    return value


def _text(kind: Type) -> Convert:
    """A string of limited length: spaces beyond it are cut and CHAR is padded, as in Spark."""
    (length,) = kind.args

    def convert(value: Any) -> str:
        text = _string(value)
        if text[length:].strip(" "):
            raise Wrong(f"exceeds the length of {kind}")
        return text[:length].ljust(length) if kind.name == "char" else text[:length]

    return convert


def _time(kind: Type) -> Convert:
    (precision,) = kind.args

    def convert(value: Any) -> dt.time:
        if isinstance(value, str):
            value = _parsed(value, _CLOCK_TEXT, dt.time.fromisoformat, "a time of day like 12:30:00.000001")
        if not isinstance(value, dt.time):
            raise _wrong_type(value, kind)
        if value.tzinfo is not None:
            raise Wrong(f"has a time zone, which {kind} does not hold")
        if value.microsecond % 10 ** (6 - precision):
            raise Wrong(f"has more than {precision} digits after the point, the most of {kind}")
        return value

    return convert


def _binary(value: Any) -> bytes:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise _wrong_type(value, Type("binary"))
    return bytes(value)


def _date(value: Any) -> dt.date:
    if isinstance(value, str):
        return _parsed(value, _DATE_TEXT, dt.date.fromisoformat, "a date like 2024-02-29")
    if isinstance(value, dt.datetime):
        if value.tzinfo is not None or value.time() != dt.time():
            raise Wrong("has a time of day, which a date does not hold")
        return value.date()
    if not isinstance(value, dt.date):
        raise _wrong_type(value, Type("date"))
    return value


def _parsed(text: str, form: re.Pattern[str], parse: Callable[[str], Any], wanted: str) -> Any:
    if not form.fullmatch(text):
        raise Wrong(f"is not {wanted}")
    try:
        return parse(text)
    except ValueError as error:
        raise Wrong(f"is not {wanted}: {error}") from None


def _datetime(value: Any, kind: str) -> dt.datetime:
    if isinstance(value, str):
        value = _parsed(value, _TIME_TEXT, dt.datetime.fromisoformat, "a time like 2024-02-29 12:30:00.000001")
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return dt.datetime(value.year, value.month, value.day)
    if not isinstance(value, dt.datetime):
        raise _wrong_type(value, Type(kind))
    return value


def _timestamp(value: Any) -> dt.datetime:
    moment = _datetime(value, "timestamp")
    if moment.tzinfo is None:
        return moment.replace(tzinfo=dt.UTC)
    try:
        return moment.astimezone(dt.UTC)
    except OverflowError:
        raise Wrong("is out of the range of timestamp, the years 1 to 9999 in UTC") from None


def _timestamp_ntz(value: Any) -> dt.datetime:
    moment = _datetime(value, "timestamp_ntz")
    if moment.tzinfo is not None:
        raise Wrong("has a time zone, which timestamp_ntz does not hold")
    return moment


def _duration(value: Any) -> dt.timedelta:
    if not isinstance(value, dt.timedelta):
        raise _wrong_type(value, Type("interval day to second"))
    return value


def _months(value: Any) -> int:
    return _integer(value, Type("int"))


def _void(value: Any) -> Any:
    raise Wrong("is a value, and the column holds only NULL")


def _variant(value: Any) -> dict[str, bytes]:
    """The two parts of a variant, given as a VariantVal, in Arrow's form, or as the value to store."""
    from pyspark.sql.types import VariantVal

    if isinstance(value, Mapping) and set(value) == set(_VARIANT) and isinstance(value["metadata"], bytes | bytearray):
        return {name: _binary(value[name]) for name in _VARIANT}
    made = value if isinstance(value, VariantVal) else VariantVal.parseJson(_json(value))
    return {name: bytes(getattr(made, name)) for name in _VARIANT}


_VARIANT = ("value", "metadata")


def _json(value: Any) -> str:
    """A value as JSON for a variant, in which numbers with an exponent are doubles and others are decimals."""
    match _plain(value):
        case None | bool() | str() as plain:
            return json.dumps(plain)
        case int() as number if abs(number) < 10**38:
            return str(number)
        case Decimal() as number if number.is_finite() and len(format(number, "f").strip("-").replace(".", "")) <= 38:
            return format(number, "f")
        case float() as number if math.isfinite(number):
            return repr(number) if "e" in repr(number) else f"{number!r}e0"
        case list() | tuple() as items:
            return f"[{', '.join(map(_json, items))}]"
        case dict() as fields if all(isinstance(name, str) for name in fields):
            return f"{{{', '.join(f'{json.dumps(name)}: {_json(part)}' for name, part in fields.items())}}}"
    raise Wrong(f"holds {kind_of(value)}, which is no value of JSON: give a VariantVal")


_SIMPLE: dict[str, Convert] = {
    "boolean": _boolean, "string": _string, "collated": _string, "binary": _binary, "date": _date, "timestamp": _timestamp,
    "timestamp_ntz": _timestamp_ntz, "void": _void, "variant": _variant,
}  # fmt: skip


def _array(kind: Type) -> Convert:
    element = converter(kind.args[0])

    def convert(value: Any) -> list[Any]:
        if not isinstance(value, list | tuple | np.ndarray):
            raise _wrong_type(value, kind)
        return [_inside(element, item, f"[{place}]") for place, item in enumerate(value)]

    return convert


def _inside(convert: Convert, value: Any, where: str) -> Any:
    """A converted part of a nested value; errors name its place."""
    try:
        return convert(value)
    except Wrong as wrong:
        raise Wrong(f"has at {where} {shortened(value)}, which {wrong}") from None


def _map(kind: Type) -> Convert:
    key, item = map(converter, kind.args)

    def convert(value: Any) -> list[tuple[Any, Any]]:
        pairs = list(value.items()) if isinstance(value, Mapping) else value
        if not isinstance(pairs, list) or not all(isinstance(p, tuple | list) and len(p) == 2 for p in pairs):
            raise _wrong_type(value, kind)
        made = [(_inside(key, k, "a key"), _inside(item, v, shortened(k))) for k, v in pairs]
        if any(k is None for k, _ in made):
            raise Wrong("has NULL as a key")
        if len({repr(k) for k, _ in made}) < len(made):
            raise Wrong("has a key twice")
        return made

    return convert


def _struct(kind: Type) -> Convert:
    names = [name for name, _ in kind.args]
    parts = [converter(part) for _, part in kind.args]

    def convert(value: Any) -> dict[str, Any]:
        values = _fields(value, names, kind)
        return {n: _inside(part, v, n) for n, part, v in zip(names, parts, values, strict=True)}

    return convert


def _fields(value: Any, names: Sequence[str], kind: Type) -> Sequence[Any]:
    """The values of a struct's fields, by name if they have names, else by position."""
    if (named := named_values(value)) is not None:
        given, values = named
        if sorted(map(str, given)) != sorted(names):
            raise Wrong(f"has the fields {', '.join(map(str, given))}, not {', '.join(names)}")
        return [values[given.index(name)] for name in names]
    if not isinstance(value, tuple | list):
        raise _wrong_type(value, kind)
    if len(value) != len(names):
        raise Wrong(f"has {len(value)} values for {len(names)} fields")
    return value
