"""Converting Arrow arrays to a column's own type, without loss or not at all.

What Arrow converts exactly is converted in bulk; everything else value by value, which also finds the value to name in
an error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewlet.columns.arrays import combine, from_numpy, offsets_of, valid_mask, values_of
from viewlet.columns.arrow_types import arrow_type, spark_type
from viewlet.columns.floats import with_one_nan
from viewlet.columns.python_values import FIRST_DAY, FIRST_MICRO, LAST_DAY, LAST_MICRO
from viewlet.columns.rows import group
from viewlet.intake.from_python import converter
from viewlet.intake.refusal import Wrong, refuse_null, refuse_value
from viewlet.plan.types import INTEGRAL, Field, Type

_arrow_type = lru_cache(maxsize=1024)(arrow_type)


def from_values(table: str, field: Field, values: list[Any]) -> pa.Array:
    """Python values as an array of a column's type, each checked; errors name the row."""
    convert, converted = converter(field.type), []
    for row, value in enumerate(values, 1):
        try:
            converted.append(convert(value))
        except Wrong as wrong:
            raise refuse_value(table, row, field.name, value, str(wrong), wrong.hint) from None
    return checked(table, field, pa.array(converted, type=_arrow_type(field.type)))


def from_arrow(table: str, field: Field, column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """An Arrow column converted to the table's column type."""
    array = combine(column)
    kind = _arrow_type(field.type)
    if array.type == kind and field.type.name in _FLAT and _is_valid(array):
        if field.type.name in _AS_IT_IS:
            return array if field.nullable else _without_nulls(table, field, array)
        if in_range(array):
            return checked(table, field, array)
    array = _decoded(array)
    try:
        array.validate(full=True)
        converted = _fitted(array if array.type == kind else _cast(array, kind), field.type)
    except pa.ArrowException:
        converted = None
    if converted is None or not in_range(converted) or _may_repeat_keys(converted):
        return from_values(table, field, _python_values(table, field, array))
    return checked(table, field, converted)


_AS_IT_IS = frozenset({*INTEGRAL, "boolean", "string", "binary", "decimal"})
"""Types for which every valid Arrow value is valid in Spark."""
_FLAT = _AS_IT_IS | {"double", "float", "date", "timestamp", "timestamp_ntz"}
"""These, and types for which a value is valid if it is in range."""


def _is_valid(array: pa.Array) -> bool:
    try:
        array.validate(full=len(array) < _FEW or not _is_ascii(array))
    except pa.ArrowException:
        return False
    return True


_FEW = 10_000  # for fewer strings a full validation is as fast


def _is_ascii(array: pa.Array) -> bool:
    """Whether an array holds strings that are all ASCII, and hence valid UTF-8."""
    if not pa.types.is_string(array.type):
        return False
    offsets = offsets_of(array)
    text = np.frombuffer(array.buffers()[2] or b"", dtype=np.uint8)
    inside = offsets[0] >= 0 and offsets[-1] <= len(text) and bool((offsets[1:] >= offsets[:-1]).all())
    return inside and int(text[offsets[0] : offsets[-1]].max(initial=0)) < 128


def checked(table: str, field: Field, array: pa.Array) -> pa.Array:
    """The array with canonical NaNs; refuses NULLs in a NOT NULL column."""
    return one_nan(_without_nulls(table, field, array))


def _without_nulls(table: str, field: Field, array: pa.Array) -> pa.Array:
    """The array; refuses NULLs in a NOT NULL column."""
    if array.null_count and not field.nullable:
        row = int(np.flatnonzero(~valid_mask(array))[0]) + 1
        raise refuse_null(table, row, field)
    return array


def _decoded(array: pa.Array) -> pa.Array:
    """An array without dictionary or run-end encoding and extension types."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if "fixed_size_binary" in str(array.type):
        array = array.take(pa.array(np.arange(len(array))))  # a copy: PyArrow before 17 crashes on casting a slice
    if pa.types.is_dictionary(array.type):
        return array.dictionary_decode()
    return pc.run_end_decode(array) if pa.types.is_run_end_encoded(array.type) else array


def _cast(array: pa.Array, wanted: pa.DataType) -> pa.Array | None:
    """The array cast to another type if Arrow's cast is exact or fails; None for other casts."""
    given = array.type
    if pa.types.is_null(given) or (_is_number(given) and pa.types.is_integer(wanted)):
        return array.cast(wanted)
    if pa.types.is_integer(given) and pa.types.is_decimal(wanted):
        return array.cast(pa.decimal128(38, 0)).cast(wanted)
    if pa.types.is_integer(given) and pa.types.is_floating(wanted):
        return array.cast(wanted)
    if pa.types.is_floating(given) and pa.types.is_floating(wanted):
        return _cast_floats(array, wanted)
    if pa.types.is_decimal(given) and pa.types.is_decimal(wanted):
        return array.cast(wanted)
    if pa.types.is_timestamp(given) and pa.types.is_timestamp(wanted):
        return None if given.tz is not None and wanted.tz is None else array.cast(wanted)
    same = not _is_unknown(given) and arrow_type(spark_type(given)) == wanted
    return array.cast(wanted) if same and not pa.types.is_date64(given) else None


def _fitted(array: pa.Array | None, kind: Type) -> pa.Array | None:
    """The array if its values fit the limits of its type; None if they must be checked one by one."""
    if array is None or not _is_limited(kind):
        return array
    return _fitted_texts(array, kind) if kind.name in ("char", "varchar") else None


def _is_limited(kind: Type) -> bool:
    """Whether a type, or one inside it, allows fewer values than its Arrow type."""
    is_rounded = kind.name == "time" and kind.args != (6,)
    return is_rounded or kind.name in ("char", "varchar") or any(map(_is_limited, kind.parts))


def _fitted_texts(texts: pa.Array, kind: Type) -> pa.Array | None:
    """Texts without spaces beyond their length; CHAR padded to it. None if other characters exceed it."""
    (length,) = kind.args
    beyond = pc.utf8_rtrim(pc.utf8_slice_codeunits(texts, start=length), characters=" ")
    if pc.any(pc.not_equal(beyond, "")).as_py():
        return None
    cut = pc.utf8_slice_codeunits(texts, start=0, stop=length)
    return pc.utf8_rpad(cut, width=length, padding=" ") if kind.name == "char" else cut


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind)


def _cast_floats(array: pa.Array, wanted: pa.DataType) -> pa.Array | None:
    cast = array.cast(wanted, safe=False)
    grown = pc.and_(pc.is_finite(array), pc.is_inf(cast))
    return None if pc.any(grown).as_py() else cast


def _is_unknown(kind: pa.DataType) -> bool:
    try:
        spark_type(kind)
    except ValueError:
        return True
    return False


def in_range(array: pa.Array) -> bool:
    """Whether all dates and timestamps are in the years 1 to 9999, the range of Spark's literals."""
    kind = array.type
    if not (pa.types.is_date32(kind) or pa.types.is_timestamp(kind)) or not len(array):
        return True
    values = values_of(array, f"i{kind.bit_width // 8}")
    if array.null_count:
        values = values[valid_mask(array)]
    low, high = (FIRST_DAY, LAST_DAY) if pa.types.is_date32(kind) else (FIRST_MICRO, LAST_MICRO)
    return not len(values) or (low <= int(values.min()) and int(values.max()) <= high)


def _may_repeat_keys(array: pa.Array) -> bool:
    """Whether a map may have duplicate keys; maps inside other values always may."""
    kind = array.type
    if not pa.types.is_map(kind):
        return pa.types.is_nested(kind) and _holds(kind, pa.types.is_map)
    if _holds(kind.key_type, pa.types.is_map) or _holds(kind.item_type, pa.types.is_map):
        return True
    offsets = offsets_of(array)
    owners = pa.array(np.repeat(np.arange(len(array)), np.diff(offsets)))
    keys = array.keys[int(offsets[0]) : int(offsets[-1])]
    return len(group([owners, keys], len(keys))[0]) < len(keys)


def _python_values(table: str, field: Field, array: pa.Array) -> list[Any]:
    """The values of an array as Python values; refuses those that Python cannot represent."""
    if _holds(array.type, pa.types.is_time64):
        _refuse_nanoseconds(table, field, array)
    try:
        return array.to_pylist()
    except (UnicodeDecodeError, OverflowError, ValueError):
        return [_python_value(table, field, array, row) for row in range(len(array))]


def _refuse_nanoseconds(table: str, field: Field, array: pa.Array) -> None:
    """Refuses nanoseconds in a time, which Python would drop silently."""
    for row in range(len(array)):
        try:
            array[row : row + 1].cast(_arrow_type(field.type))
        except pa.ArrowInvalid:
            raise refuse_value(
                table, row + 1, field.name, array[row], "has nanoseconds, which TIME does not hold"
            ) from None


def _python_value(table: str, field: Field, array: pa.Array, row: int) -> Any:
    try:
        return array[row].as_py()
    except UnicodeDecodeError as error:
        raise refuse_value(table, row + 1, field.name, error.object, "is not valid UTF-8") from None
    except (OverflowError, ValueError):
        raw = array[row : row + 1].view(pa.int64() if array.type.bit_width == 64 else pa.int32())[0].as_py()
        reason = f"is out of the range of {field.type}, the years 1 to 9999"
        raise refuse_value(table, row + 1, field.name, raw, reason) from None


def one_nan(array: pa.Array) -> pa.Array:
    """The same values with canonical NaNs, at any depth."""
    kind = array.type
    if pa.types.is_floating(kind):
        values = values_of(array, f"f{kind.bit_width // 8}")
        if not np.isnan(values).any():
            return array
        return from_numpy(with_one_nan(values), kind, valid_mask(array) if array.null_count else None)
    if not pa.types.is_nested(kind) or not _holds(kind, pa.types.is_floating):
        return array
    return _rebuilt(array)


def _holds(kind: pa.DataType, test: Callable[[pa.DataType], bool]) -> bool:
    """Whether a type, or one inside it, passes a test."""
    inner = [kind.field(i).type for i in range(kind.num_fields)] if pa.types.is_nested(kind) else []
    return bool(test(kind)) or any(_holds(part, test) for part in inner)


def _rebuilt(array: pa.Array) -> pa.Array:
    """A nested array whose parts have canonical NaNs."""
    kind = array.type
    array = pa.concat_arrays([array, array[:0]]) if array.offset else array
    validity = array.buffers()[0]
    if pa.types.is_struct(kind):
        parts = [one_nan(array.field(i)) for i in range(kind.num_fields)]
        return pa.Array.from_buffers(kind, len(array), [validity], array.null_count, 0, parts)
    buffers = [validity, array.buffers()[1]]
    if pa.types.is_map(kind):
        entries = pa.StructArray.from_arrays([one_nan(array.keys), one_nan(array.items)], fields=list(_entry(kind)))
        return pa.Array.from_buffers(kind, len(array), buffers, array.null_count, 0, [entries])
    return pa.Array.from_buffers(kind, len(array), buffers, array.null_count, 0, [one_nan(array.values)])


def _entry(kind: pa.MapType) -> pa.DataType:
    return kind.field(0).type
