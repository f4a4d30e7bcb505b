"""Columns as Python values, as `rows()` and `pandas()` return them.

A MAP is a dict, with tuples for keys that are arrays or structs; a VARIANT is the value that it holds; an interval of
days is a timedelta, one of years and months is `Months`. Other values are those of Arrow's `to_pylist`. Python's dates
and times are limited to the years 1 to 9999, and Spark's are not: a value beyond is an error that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import valid_mask, values_of
from viewlet.errors import UnsupportedValue
from viewlet.plan.types import MONTHS, Field, Type

if TYPE_CHECKING:
    import pandas as pd

Convert = Callable[[Any], Any]

FIRST_DAY, LAST_DAY = -719162, 2932896
FIRST_MICRO, LAST_MICRO = FIRST_DAY * 86_400_000_000, (LAST_DAY + 1) * 86_400_000_000 - 1
"""The years 1 to 9999, in days and microseconds since 1970."""


class Months(int):
    """An interval of years and months: a number of months, which prints as Spark prints the interval."""

    def __repr__(self) -> str:
        return f"Months({int(self)})"

    def __str__(self) -> str:
        years, months = divmod(abs(self), 12)
        return f"{'-' if self < 0 else ''}{years}-{months}"


def python_values(where: str, field: Field, column: pa.ChunkedArray) -> list[Any]:
    """The values of a column of a table or view."""
    convert = _converter(field.type)
    try:
        values = column.to_pylist()
        return values if convert is None else [None if value is None else convert(value) for value in values]
    except (OverflowError, ValueError):
        raise _beyond_python(where, field, column) from None


def pandas_values(where: str, field: Field, column: pa.ChunkedArray) -> pd.Series[Any]:
    """A column for pandas: converted by Arrow, or as Python values where Arrow's conversion is lossy.

    Arrow converts nested values to NumPy arrays, in which NULL becomes NaN.
    """
    import pandas as pd

    if field.type.is_nested or field.type.name in MONTHS:
        return pd.Series(python_values(where, field, column), dtype=object)
    try:
        return column.to_pandas()
    except (OverflowError, ValueError):
        raise _beyond_python(where, field, column) from None


@lru_cache(maxsize=1024)
def _converter(kind: Type) -> Convert | None:
    """The function that converts Arrow's Python values; None if they stay as they are."""
    match kind.name:
        case "map":
            return _map(*kind.args)
        case "array":
            return _array(_converter(kind.args[0]))
        case "struct":
            return _struct({name: convert for name, part in kind.args if (convert := _converter(part))})
        case "variant":
            return _variant
        case name if name in MONTHS:
            return Months
        case _:
            return None


def _inside(convert: Convert | None) -> Convert:
    """A conversion that passes NULL through."""
    return lambda value: value if value is None or convert is None else convert(value)


def _map(key: Type, item: Type) -> Convert:
    convert, of_key = _inside(_converter(item)), _inside(_converter(key))
    return lambda pairs: {_hashable(of_key(k)): convert(v) for k, v in pairs}


def _hashable(key: Any) -> Any:
    """A hashable key: arrays and structs become tuples."""
    if isinstance(key, list):
        return tuple(map(_hashable, key))
    return tuple(map(_hashable, key.values())) if isinstance(key, dict) else key


def _array(element: Convert | None) -> Convert | None:
    convert = _inside(element)
    return None if element is None else lambda values: [convert(value) for value in values]


def _struct(parts: dict[str, Convert]) -> Convert | None:
    whole = {name: _inside(convert) for name, convert in parts.items()}
    return (lambda value: {n: whole[n](v) if n in whole else v for n, v in value.items()}) if parts else None


def _variant(parts: dict[str, bytes]) -> Any:
    from pyspark.sql.types import VariantVal

    return VariantVal(parts["value"], parts["metadata"]).toPython()


def _beyond_python(where: str, field: Field, column: pa.ChunkedArray) -> UnsupportedValue:
    value = next((found for chunk in column.chunks for found in _outliers(chunk)), "a value")
    return UnsupportedValue(
        f"{where}, column {field.name}: {value} is outside the years 1 to 9999, the range of Python's dates and times",
        hint="read it with .arrow() or .spark(), or CAST it AS STRING in the view",
    )


def _outliers(array: pa.Array) -> Iterator[str]:
    """The dates and times in an array, at any depth, that Python cannot represent."""
    kind = array.type
    if pa.types.is_map(kind):
        yield from _outliers(array.keys)
        yield from _outliers(array.items)
    elif pa.types.is_struct(kind):
        for part in array.flatten():
            yield from _outliers(part)
    elif pa.types.is_list(kind):
        yield from _outliers(array.flatten())
    elif pa.types.is_date32(kind) or pa.types.is_timestamp(kind):
        is_date = pa.types.is_date32(kind)
        values, valid = values_of(array, "i4" if is_date else "i8"), valid_mask(array)
        low, high = (FIRST_DAY, LAST_DAY) if is_date else (FIRST_MICRO, LAST_MICRO)
        for value in values[valid & ((values < low) | (values > high))]:
            yield str(np.datetime64(int(value), "D" if is_date else "us"))
