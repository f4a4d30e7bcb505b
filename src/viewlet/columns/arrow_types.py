"""The Arrow type of each Spark type, and back.

The mapping is that of Spark's own Arrow exchange, with every field nullable: nullability belongs to the schema, and
columns of one Spark type always have the same Arrow type. Two types do not convert back exactly: Arrow has no plain
interval of months, so that one is kept as `int32`, and a variant is a struct of its two binary parts. Types that differ
only in how they compare (CHAR, VARCHAR, collations) are plain strings in Arrow.
"""

from __future__ import annotations

import pyarrow as pa

from viewlet.plan.types import MONTHS, Type

_TAG = {b"variant": b"true"}
VARIANT = pa.struct([pa.field("value", pa.binary()), pa.field("metadata", pa.binary(), metadata=_TAG)])
"""As in Spark's exchange, a tag distinguishes a variant from a struct of the same shape."""

_ATOMIC = {
    "boolean": pa.bool_(), "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(),
    "float": pa.float32(), "double": pa.float64(), "string": pa.string(), "binary": pa.binary(),
    "date": pa.date32(), "timestamp": pa.timestamp("us", tz="UTC"), "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(), "variant": VARIANT,
}  # fmt: skip
_NAMES = {kind: name for name, kind in _ATOMIC.items() if name != "variant"}
_TEXTS = ("char", "varchar", "collated")


def arrow_type(kind: Type) -> pa.DataType:
    """The Arrow type that holds values of a Spark type."""
    match kind.name:
        case "decimal":
            return pa.decimal128(*kind.args)
        case "array":
            return pa.list_(pa.field("element", arrow_type(kind.args[0])))
        case "map":
            return pa.map_(arrow_type(kind.args[0]), arrow_type(kind.args[1]))
        case "struct":
            return pa.struct([pa.field(name, arrow_type(part)) for name, part in kind.args])
        case name if name in _TEXTS:
            return pa.string()
        case "time":
            return pa.time64("us")
        case name if name in MONTHS:
            return pa.int32()
        case name if name.startswith("interval"):
            return pa.duration("us")
        case name if name in _ATOMIC:
            return _ATOMIC[name]
    raise ValueError(f"`{kind}` has no Arrow type")


def spark_type(kind: pa.DataType) -> Type:
    """The Spark type that Spark would give to a column of an Arrow type."""
    if kind in _NAMES:
        return Type(_NAMES[kind])
    if pa.types.is_decimal(kind) and 0 <= kind.scale <= kind.precision <= 38:
        return Type("decimal", (kind.precision, kind.scale))
    if pa.types.is_map(kind):
        return Type("map", (spark_type(kind.key_type), spark_type(kind.item_type)))
    if pa.types.is_struct(kind):
        if kind.num_fields == 2 and (kind.field(1).metadata or {}).get(b"variant") == b"true":
            return Type("variant")
        return Type("struct", tuple((f.name, spark_type(f.type)) for f in kind))
    if pa.types.is_dictionary(kind):
        return spark_type(kind.value_type)
    if _is_list(kind):
        return Type("array", (spark_type(kind.value_type),))
    if pa.types.is_time(kind):
        return Type("time", (6,))
    for fits, name in _WIDER:
        if fits(kind):
            return Type(name)
    raise ValueError(f"Arrow's type `{kind}` has no equivalent in Spark")


def _is_list(kind: pa.DataType) -> bool:
    return any(fits(kind) for fits in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list))


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_large_string(kind) or str(kind) == "string_view"  # PyArrow has it since 16


def _is_bytes(kind: pa.DataType) -> bool:
    return pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind) or str(kind) == "binary_view"


_WIDER = (
    (_is_text, "string"),
    (_is_bytes, "binary"),
    (pa.types.is_date, "date"),
    (pa.types.is_duration, "interval day to second"),
    (lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None, "timestamp"),
    (pa.types.is_timestamp, "timestamp_ntz"),
)
"""Arrow's other types for the same values; casting to `arrow_type` makes them canonical."""
