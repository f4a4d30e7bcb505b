"""Casts to and from strings, written and read as Spark does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewlet.columns.kernels import dates
from viewlet.columns.kernels.kernel import Argument, Failure, Kernel, Operation, Result, strict
from viewlet.columns.kernels.vectors import DTYPES, Evaluate, Values, Vector, spread, writer
from viewlet.columns.python_values import FIRST_DAY
from viewlet.columns.rows import Rows
from viewlet.plan.types import INTEGRAL, Type

_BLANK = "".join(map(chr, range(33))) + "\x7f"
"""What Spark strips around a text before parsing it: ASCII white space and control characters."""
_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DATE = re.compile(r"([+-]?)([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)


def kernel(source: Type, target: Type, in_mode: Callable[[Operation], Kernel]) -> Kernel | None:
    """The kernel of a cast to or from a string, if we have one."""
    match source.name, target.name:
        case "string", "binary":
            return strict(lambda texts: texts.cast(pa.binary()))
        case ("string", name) if name in INTEGRAL:
            return in_mode(_parsing(_integer_reader(DTYPES[name]), target))
        case "string", "boolean":
            return in_mode(_parsing(_read_boolean, target))
        case "string", "date":
            return in_mode(_parsing(_read_date, target))
        case (_, "string"):
            return _to_text(source)
    return None


def _to_text(source: Type) -> Kernel | None:
    write = writer(source)
    if source.name in INTEGRAL or source.name == "boolean":
        return Kernel(lambda parts: _by_arrow(parts[0], write))
    text = _text_of(source)
    return None if text is None else Kernel(lambda parts: _by_values(parts[0], text))


def _by_arrow(part: Argument, write: Callable[[Vector, int], pa.Array]) -> Evaluate:
    def evaluate(rows: Rows) -> Vector:
        vector = part.run(rows)
        valid = vector[1]
        return pc.cast(write(vector, len(rows)), pa.string()), None if valid is None else spread(valid, len(rows))

    return evaluate


def _by_values(part: Argument, text: Callable[[Values], Iterable[str]]) -> Evaluate:
    def evaluate(rows: Rows) -> Vector:
        length = len(rows)
        values, valid = part.run(rows)
        valid = None if valid is None else spread(valid, length)
        texts = list(text(spread(values, length)))
        return pa.array(texts, type=pa.string(), mask=None if valid is None else ~valid), valid

    return evaluate


def _text_of(kind: Type) -> Callable[[Values], Iterable[str]] | None:
    match kind.name:
        case "date":
            return _date_texts
        case "timestamp" | "timestamp_ntz":
            return _timestamp_texts
        case "decimal":
            return lambda values: (_plain(v, kind.args[1]) for v in values.tolist())
    return None


def _plain(value: int, scale: int) -> str:
    """A decimal with all digits of its scale."""
    digits = str(abs(value)).rjust(scale + 1, "0")
    point = len(digits) - scale
    return ("-" if value < 0 else "") + digits[:point] + ("." + digits[point:] if scale else "")


def _date_texts(days: Values) -> list[str]:
    parts = zip(dates.year(days).tolist(), dates.month(days).tolist(), dates.day(days).tolist(), strict=True)
    return [f"{_year_text(y)}-{m:02}-{d:02}" for y, m, d in parts]


def _year_text(year: int) -> str:
    if 0 <= year <= 9999:
        return f"{year:04}"
    return f"+{year}" if year > 0 else f"-{-year:04}"


def _timestamp_texts(micros: Values) -> list[str]:
    days = _date_texts((micros // dates.DAY).astype(np.int32))
    return [f"{day} {_clock_text(rest)}" for day, rest in zip(days, (micros % dates.DAY).tolist(), strict=True)]


def _clock_text(micros: int) -> str:
    seconds, fraction = divmod(micros, dates.SECOND)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{fraction:06}".rstrip("0") if fraction else text


def _parsing(read: Callable[[str], int | bool | None], target: Type) -> Operation:
    """Parse each text; a text that cannot be parsed fails."""
    error = f"[CAST_INVALID_INPUT] The value of the type string cannot be cast to {target} because it is malformed."
    dtype = np.dtype(DTYPES.get(target.name, "?"))

    def operation(texts: pa.Array) -> Result:
        found = [None if text is None else read(text.strip(_BLANK)) for text in texts.to_pylist()]
        failing = np.array([value is None for value in found], dtype=np.bool_)
        return np.array([value or 0 for value in found], dtype=dtype), (Failure(failing, error),)

    return operation


def _integer_reader(dtype: str) -> Callable[[str], int | None]:
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)

    def read(text: str) -> int | None:
        if not _INTEGER.fullmatch(text):
            return None
        value = int(text)
        return value if low <= value <= high else None

    return read


def _read_boolean(text: str) -> bool | None:
    text = text.lower()
    return True if text in _TRUE else (False if text in _FALSE else None)


def _read_date(text: str) -> int | None:
    """Days since 1970 of `year[-month[-day[ anything]]]`."""
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    sign, year, month, day = found.groups()
    return _days(-int(year) if sign == "-" else int(year), int(month or 1), int(day or 1))


def _days(year: int, month: int, day: int) -> int | None:
    """Days since 1970 in the proleptic Gregorian calendar; None if there is no such day."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    lengths = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if not 1 <= month <= 12 or not 1 <= day <= lengths[month - 1]:
        return None
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400 + sum(lengths[: month - 1]) + day - 1 + FIRST_DAY
    return days if -(1 << 31) <= days < 1 << 31 else None
