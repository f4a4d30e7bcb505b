"""Taking in data: every kind of input, every type, every refusal."""

from __future__ import annotations

import datetime as dt
import math
import struct
import time
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import VariantVal

from viewlet.columns.arrow_types import arrow_type
from viewlet.errors import RejectedEpoch
from viewlet.intake.to_columns import to_arrow
from viewlet.plan.types import BIGINT, DOUBLE, INT, STRING, Field, Type, decimal, parse_type

FIELDS = (Field("id", BIGINT, nullable=False), Field("name", STRING), Field("total", decimal(12, 2)))
ROWS = [(1, "ann", Decimal("1.50")), (2, None, Decimal("-3.00"))]
DICTS = [dict(zip(("id", "name", "total"), row, strict=True)) for row in ROWS]
TABLE = pa.table(
    {
        "id": pa.array([1, 2]),
        "name": pa.array(["ann", None]),
        "total": pa.array([r[2] for r in ROWS], pa.decimal128(12, 2)),
    }
)
EXPECTED = [{"id": r[0], "name": r[1], "total": r[2]} for r in ROWS]


NamedSale = namedtuple("NamedSale", "total id name")
Strangers = namedtuple("Strangers", "a b c")
Pair = namedtuple("Pair", "b a")


class SparkRow(tuple[Any, ...]):
    """What PySpark's Row looks like."""

    __fields__ = ("total", "id", "name")


@dataclass
class Sale:
    """A row whose fields stand in another order than the table's."""

    name: str | None
    total: Decimal | int
    id: int


class AttrsSale:
    """What a class made by attrs looks like."""

    __attrs_attrs__ = tuple(SimpleNamespace(name=name) for name in ("name", "id", "total"))

    def __init__(self, row: tuple[Any, ...]) -> None:
        self.id, self.name, self.total = row


KINDS: dict[str, Any] = {
    "tuples": ROWS,
    "lists": [list(row) for row in ROWS],
    "a tuple of tuples": tuple(ROWS),
    "dicts": DICTS,
    "dicts in other orders": [dict(reversed(row.items())) for row in DICTS],
    "dicts with other case": [{k.upper(): v for k, v in row.items()} for row in DICTS],
    "other mappings": [OrderedDict(row) for row in DICTS],
    "dicts and tuples": [DICTS[0], ROWS[1]],
    "named tuples": [NamedSale(row[2], row[0], row[1]) for row in ROWS],
    "dataclasses": [Sale(name=row[1], total=row[2], id=row[0]) for row in ROWS],
    "attrs classes": [AttrsSale(row) for row in ROWS],
    "rows of Spark": [SparkRow((row[2], row[0], row[1])) for row in ROWS],
    "arrays of NumPy": [np.array(row, dtype=object) for row in ROWS],
    "a generator": (row for row in ROWS),
    "an iterator of dicts": iter(DICTS),
    "an iterator of Arrow tables": iter([TABLE.slice(0, 1), TABLE.slice(1)]),
    "an Arrow table": TABLE,
    "an Arrow table in chunks": pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1)]),
    "a record batch": TABLE.to_batches()[0],
    "a record batch reader": TABLE.to_reader(),
    "columns in another order": TABLE.select(["total", "name", "id"]),
    "pandas": pd.DataFrame(DICTS),
    "pandas from Arrow": TABLE.to_pandas(types_mapper=pd.ArrowDtype),
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_kinds_of_input(kind: str) -> None:
    taken = to_arrow("sales", FIELDS, KINDS[kind])
    assert taken.to_pylist() == EXPECTED
    assert taken.schema.types == [arrow_type(f.type) for f in FIELDS]
    assert taken.schema.names == ["id", "name", "total"]


@pytest.mark.parametrize("nothing", [[], (), iter(()), TABLE.slice(0, 0), pd.DataFrame(DICTS)[:0]])
def test_no_rows(nothing: Any) -> None:
    taken = to_arrow("sales", FIELDS, nothing)
    assert taken.num_rows == 0
    assert taken.schema.types == [arrow_type(f.type) for f in FIELDS]


def test_anything_that_exports_arrow() -> None:
    class Stream:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return TABLE.__arrow_c_stream__(requested_schema)

    assert to_arrow("sales", FIELDS, Stream()).to_pylist() == EXPECTED


def test_some_columns_only() -> None:
    assert to_arrow("sales", FIELDS, [("ann", 1)], columns=("name", "id")).to_pylist() == [{"name": "ann", "id": 1}]
    with pytest.raises(RejectedEpoch, match="there is no column 'total'"):
        to_arrow("sales", FIELDS, DICTS, columns=("id", "name"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([{"id": 1, "name": "a"}], "table sales, row 1: column total is missing (hint: given: id, name)"),
        ([Strangers(*ROWS[0])], "table sales, row 1: column id is missing (hint: given: a, b, c)"),
        ([*DICTS, {**DICTS[0], "extra": 1}], "table sales, row 3: there is no column 'extra'"),
        ([ROWS[0], (1, "a")], "table sales, row 2: too few values: 2 for 3 columns"),
        ([(1, "a", Decimal(1), 7)], "table sales, row 1: too many values: 4 for 3 columns"),
        ([ROWS[0], 7], "table sales, row 2: 7, an int, is no row"),
        (7, "table sales: 7, an int, holds no rows"),
        ("abc", "table sales: 'abc', a str, holds no rows"),
        (DICTS[0], "a dict, holds no rows"),
        (TABLE.drop_columns(["id"]), "table sales: column id is missing (hint: given: name, total)"),
        (TABLE.append_column("more", TABLE["id"]), "table sales: there is no column 'more'"),
        (TABLE.append_column("id", TABLE["id"]), "table sales: column 'id' is given twice"),
        (pd.DataFrame({"id": [1]}), "table sales: column name is missing"),
        ([ROWS[0], (None, "a", None)], "table sales, row 2, column id: NULL in a NOT NULL column"),
        (TABLE.set_column(0, "id", pa.array([1, None])), "table sales, row 2, column id: NULL in a NOT NULL column"),
        (
            pd.DataFrame({"id": [1.0, np.nan], "name": "a", "total": [None, None]}),
            "row 2, column id: NULL in a NOT NULL column",
        ),
        ([(1, "x" * 99, 1), (2, 5, 1)], "table sales, row 2, column name: 5 is an int, not string"),
        ([(1, "a", Decimal("1.005"))], "column total: Decimal('1.005') has more than 2 digits after the point"),
        ([(1, "a", Decimal(10**10))], "column total: Decimal('10000000000') has too many digits for decimal(12,2)"),
        ([(2**63, "a", None)], "column id: 9223372036854775808 is out of the range of bigint"),
    ],
)
def test_refusals_of_rows(data: Any, message: str) -> None:
    with pytest.raises(RejectedEpoch) as refused:
        to_arrow("sales", FIELDS, data)
    assert message in str(refused.value)


def test_long_values_are_shortened() -> None:
    with pytest.raises(RejectedEpoch) as refused:
        to_arrow("sales", FIELDS, [(1, b"x" * 1000, None)])
    assert len(str(refused.value)) < 150


UTC = dt.UTC
EAST = dt.timezone(dt.timedelta(hours=2))
GOOD: list[tuple[str, Any, Any]] = [
    ("tinyint", 127, 127),
    ("tinyint", np.int64(-128), -128),
    ("smallint", 3.0, 3),
    ("int", Decimal(7), 7),
    ("bigint", -(2**63), -(2**63)),
    ("bigint", np.uint8(9), 9),
    ("float", 0.1, struct.unpack("f", struct.pack("f", 0.1))[0]),
    ("float", 2, 2.0),
    ("double", 5, 5.0),
    ("double", np.float32(0.5), 0.5),
    ("double", math.inf, math.inf),
    ("boolean", np.bool_(True), True),
    ("string", "\U0001f600 é", "\U0001f600 é"),
    ("string", np.str_("x"), "x"),
    ("string", "\x00", "\x00"),
    ("binary", bytearray(b"\xff"), b"\xff"),
    ("binary", memoryview(b"ab"), b"ab"),
    ("decimal(38,0)", 10**38 - 1, Decimal(10**38 - 1)),
    ("decimal(38,38)", Decimal("-0." + "9" * 38), Decimal("-0." + "9" * 38)),
    ("decimal(5,2)", "123.45", Decimal("123.45")),
    ("decimal(5,2)", Decimal("1.5000"), Decimal("1.50")),
    ("decimal(5,2)", Decimal("1E+2"), Decimal("100.00")),
    ("decimal(5,2)", 3.0, Decimal("3.00")),
    ("decimal(3,0)", Decimal("0E-30"), Decimal(0)),
    ("date", dt.date(1, 1, 1), dt.date(1, 1, 1)),
    ("date", "9999-12-31", dt.date(9999, 12, 31)),
    ("date", dt.datetime(2024, 2, 29), dt.date(2024, 2, 29)),
    ("date", np.datetime64("2024-02-29"), dt.date(2024, 2, 29)),
    ("date", pd.Timestamp("2024-02-29"), dt.date(2024, 2, 29)),
    ("timestamp", dt.datetime(2024, 1, 1, 5, tzinfo=EAST), dt.datetime(2024, 1, 1, 3, tzinfo=UTC)),
    ("timestamp", dt.datetime(1, 1, 1), dt.datetime(1, 1, 1, tzinfo=UTC)),
    ("timestamp", "2024-01-01T05:00:00.5+02:00", dt.datetime(2024, 1, 1, 3, 0, 0, 500000, tzinfo=UTC)),
    ("timestamp", "2024-01-01", dt.datetime(2024, 1, 1, tzinfo=UTC)),
    ("timestamp", pd.Timestamp("2024-01-01", tz="UTC"), dt.datetime(2024, 1, 1, tzinfo=UTC)),
    ("timestamp", dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, tzinfo=UTC)),
    ("timestamp_ntz", dt.datetime(9999, 12, 31, 23, 59, 59, 999999), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)),
    ("timestamp_ntz", np.datetime64("2024-01-01T00:00:00.000001"), dt.datetime(2024, 1, 1, 0, 0, 0, 1)),
    ("timestamp_ntz", "2024-01-01 12:30", dt.datetime(2024, 1, 1, 12, 30)),
    ("interval day to second", dt.timedelta(days=-1, microseconds=1), dt.timedelta(days=-1, microseconds=1)),
    ("interval day to second", np.timedelta64(3, "h"), dt.timedelta(hours=3)),
    ("interval year to month", 14, 14),
    ("char(3)", "a", "a  "),
    ("char(3)", "äbc  ", "äbc"),
    ("varchar(3)", "a ", "a "),
    ("varchar(3)", "ab   ", "ab "),
    ("string collate unicode_ci", "A", "A"),
    ("time", dt.time(12, 30, 0, 1), dt.time(12, 30, 0, 1)),
    ("time(3)", "12:30:00.120", dt.time(12, 30, 0, 120000)),
    ("map<int, array<char(2)>>", {1: ["a", None]}, [(1, ["a ", None])]),
    ("array<int>", [1, None], [1, None]),
    ("array<int>", (), []),
    ("array<smallint>", np.array([1, 2]), [1, 2]),
    ("array<decimal(3,1)>", ["1.5", 2], [Decimal("1.5"), Decimal("2.0")]),
    ("map<string, int>", {"a": 1, "b": None}, [("a", 1), ("b", None)]),
    ("map<int, string>", [(1, "x")], [(1, "x")]),
    ("struct<a: int, b: string>", {"b": "x", "a": 1}, {"a": 1, "b": "x"}),
    ("struct<a: int, b: string>", (1, None), {"a": 1, "b": None}),
    ("struct<a: int, b: string>", Pair("x", 1), {"a": 1, "b": "x"}),
    ("struct<name: string, id: bigint, total: int>", Sale("x", 3, 1), {"name": "x", "id": 1, "total": 3}),
    ("array<struct<a: date>>", [{"a": "2024-01-01"}], [{"a": dt.date(2024, 1, 1)}]),
    ("variant", {"value": b"\x0c\x01", "metadata": b"\x01\x00\x00"}, {"value": b"\x0c\x01", "metadata": b"\x01\x00\x00"}),
    ("variant", 1, {"value": b"\x0c\x01", "metadata": b"\x01\x00\x00"}),
    ("variant", VariantVal.parseJson("[1.5, true]"), vars(VariantVal.parseJson("[1.5, true]"))),
    ("variant", {"a": Decimal("1.5"), "b": [True, None, "ä"]}, vars(VariantVal.parseJson('{"a": 1.5, "b": [true, null, "ä"]}'))),
    ("variant", 2.0, vars(VariantVal.parseJson("2e0"))),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value", "expected"), GOOD)
def test_values_of_every_type(kind: str, value: Any, expected: Any) -> None:
    field = Field("x", parse_type(kind))
    taken = to_arrow("t", (field,), [(value,), (None,)])
    assert taken["x"].type == arrow_type(field.type)
    assert taken["x"].to_pylist() == [expected, None]


def test_a_column_of_nothing() -> None:
    field = Field("x", Type("void"))
    assert to_arrow("t", (field,), [(None,)])["x"].to_pylist() == [None]
    with pytest.raises(RejectedEpoch, match="1 is a value, and the column holds only NULL"):
        to_arrow("t", (field,), [(1,)])


BAD: list[tuple[str, Any, str]] = [
    ("tinyint", 128, "128 is out of the range of tinyint"),
    ("smallint", -32769, "out of the range of smallint"),
    ("int", 1.5, "1.5 is not a whole number"),
    ("int", math.nan, "nan is not a whole number"),
    ("int", True, "True is a bool, not int"),
    ("int", "1", "'1' is a str, not int"),
    ("bigint", Decimal("NaN"), "is not a whole number"),
    ("float", 1e39, "1e+39 is out of the range of float"),
    ("float", 2**25 + 1, "is not exact as float"),
    ("double", 2**53 + 1, "is not exact as double"),
    ("double", 10**400, "is not exact as double"),
    ("double", Decimal(1), "is a Decimal, not double"),
    ("double", False, "is a bool, not double"),
    ("boolean", 1, "1 is an int, not boolean"),
    ("string", b"a", "b'a' is a bytes, not string"),
    ("string", "a\ud800", "is not valid UTF-8: a lone surrogate at position 1"),
    ("binary", "a", "'a' is a str, not binary"),
    ("decimal(5,2)", 1.5, "give a Decimal, an int or a text"),
    ("decimal(5,2)", True, "is a bool, not decimal(5,2)"),
    ("decimal(5,2)", "1.234", "has more than 2 digits after the point"),
    ("decimal(5,2)", "1e2", "'1e2' is no decimal(5,2)"),
    ("decimal(5,2)", Decimal("Infinity"), "is no decimal(5,2)"),
    ("decimal(5,2)", 1000, "1000 has too many digits for decimal(5,2)"),
    ("decimal(38,0)", 10**38, "has too many digits for decimal(38,0)"),
    ("date", dt.datetime(2024, 1, 1, 12), "has a time of day"),
    ("date", 5, "5 is an int, not date"),
    ("date", "2024-2-9", "is not a date like 2024-02-29"),
    ("date", "2023-02-29", "is not a date like 2024-02-29: day"),
    ("timestamp", 5, "5 is an int, not timestamp"),
    ("timestamp", "noon", "is not a time like"),
    ("timestamp", dt.datetime(1, 1, 1, tzinfo=EAST), "is out of the range of timestamp"),
    ("timestamp", pd.Timestamp(1), "has nanoseconds"),
    ("timestamp_ntz", np.datetime64(1, "ns"), "has nanoseconds"),
    ("timestamp_ntz", dt.datetime(2024, 1, 1, tzinfo=UTC), "has a time zone"),
    ("interval day to second", 5, "is an int, not interval day to second"),
    ("char(3)", "abcd", "'abcd' exceeds the length of char(3)"),
    ("varchar(3)", "abc d", "'abc d' exceeds the length of varchar(3)"),
    ("array<varchar(1)>", ["a", "bc"], "has at [1] 'bc', which exceeds the length of varchar(1)"),
    ("time", dt.time(12, tzinfo=UTC), "has a time zone, which time(6) does not hold"),
    ("time(3)", dt.time(12, 0, 0, 1), "has more than 3 digits after the point"),
    ("time", "25:00", "is not a time of day like 12:30:00.000001: hour must be"),
    ("time", dt.datetime(2024, 1, 1), "is a datetime, not time(6)"),
    ("array<int>", [1, "x"], "has at [1] 'x', which is a str, not int"),
    ("array<int>", "abc", "is a str, not array<int>"),
    ("map<string, int>", {"a": "b"}, "has at 'a' 'b', which is a str, not int"),
    ("map<string, int>", [(None, 1)], "has NULL as a key"),
    ("map<string, int>", [("a", 1), ("a", 2)], "has a key twice"),
    ("map<string, int>", 5, "is an int, not map<string, int>"),
    ("struct<a: int>", {"a": 1, "b": 2}, "has the fields a, b, not a"),
    ("struct<a: int>", (1, 2), "has 2 values for 1 fields"),
    ("struct<a: array<int>>", {"a": [None, 2.5]}, "has at a [None, 2.5], which has at [1] 2.5, which is not a whole"),
    ("variant", [dt.date(2024, 1, 1)], "holds a date, which is no value of JSON: give a VariantVal"),
    ("variant", {"a": math.nan}, "holds a float, which is no value of JSON"),
    ("variant", 10**38, "holds an int, which is no value of JSON"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value", "message"), BAD)
def test_refusals_of_values(kind: str, value: Any, message: str) -> None:
    with pytest.raises(RejectedEpoch) as refused:
        to_arrow("t", (Field("x", parse_type(kind)),), [(None,), (value,)])
    assert "table t, row 2, column x: " in str(refused.value)
    assert message in str(refused.value)


ARROW_GOOD: list[tuple[str, pa.Array, list[Any]]] = [
    ("string", pa.array(["a", None], pa.large_string()), ["a", None]),
    *([("string", pa.array(["a", None], pa.string_view()), ["a", None])] if hasattr(pa, "string_view") else []),
    ("string", pa.array(["a", "a"]).dictionary_encode(), ["a", "a"]),
    ("binary", pa.array([b"ab"], pa.binary(2)), [b"ab"]),
    ("binary", pa.array([b"ab"], pa.large_binary()), [b"ab"]),
    ("int", pa.array([1, 2], pa.uint64()), [1, 2]),
    ("tinyint", pa.array([127], pa.int64()), [127]),
    ("bigint", pa.array([1.0, None]), [1, None]),
    ("double", pa.array([1, 2]), [1.0, 2.0]),
    ("double", pa.array([0.5], pa.float32()), [0.5]),
    ("double", pa.array(np.array([0.5], np.float16)), [0.5]),
    ("float", pa.array([1.5, None, math.inf]), [1.5, None, math.inf]),
    ("decimal(5,2)", pa.array([100, None]), [Decimal("100.00"), None]),
    ("decimal(38,20)", pa.array([10**17], pa.int64()), [Decimal(10**17)]),
    ("decimal(5,2)", pa.array([Decimal("1.5000")], pa.decimal128(38, 4)), [Decimal("1.50")]),
    ("decimal(5,2)", pa.array([Decimal("1.50")], pa.decimal256(60, 4)), [Decimal("1.50")]),
    ("decimal(5,2)", pa.array(["1.5"]), [Decimal("1.50")]),
    ("date", pa.array(["2024-02-29"]), [dt.date(2024, 2, 29)]),
    ("date", pa.array([dt.date(2024, 2, 29)], pa.date64()), [dt.date(2024, 2, 29)]),
    ("date", pa.array([dt.datetime(2024, 2, 29)]), [dt.date(2024, 2, 29)]),
    ("timestamp", pa.array([dt.datetime(2024, 1, 1)], pa.timestamp("ns")), [dt.datetime(2024, 1, 1, tzinfo=UTC)]),
    ("timestamp", pa.array([0], pa.timestamp("s", tz="Asia/Tokyo")), [dt.datetime(1970, 1, 1, tzinfo=UTC)]),
    ("timestamp_ntz", pa.array([0], pa.timestamp("ms")), [dt.datetime(1970, 1, 1)]),
    ("array<int>", pa.array([[1], None], pa.large_list(pa.int64())), [[1], None]),
    ("array<int>", pa.array([[1, 2]], pa.list_(pa.int32(), 2)), [[1, 2]]),
    ("struct<a: int, b: string>", pa.array([{"b": "x", "a": 1}], pa.struct({"b": pa.string(), "a": pa.int64()})), [{"a": 1, "b": "x"}]),
    ("map<string, int>", pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32())), [[("a", 1)]]),
    ("int", pa.nulls(2), [None, None]),
    ("char(3)", pa.array(["ä", "abc ", None, ""]), ["ä  ", "abc", None, "   "]),
    ("varchar(3)", pa.array(["ä ", "abc ", None], pa.large_string()), ["ä ", "abc", None]),
    ("array<char(2)>", pa.array([["a"], None]), [["a "], None]),
    ("time(3)", pa.array([dt.time(1, 2, 3, 4000)], pa.time64("ns")), [dt.time(1, 2, 3, 4000)]),
    ("time", pa.array([dt.time(1, 2, 3)], pa.time32("ms")), [dt.time(1, 2, 3)]),
    ("array<int>", pa.nulls(1), [None]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "array", "expected"), ARROW_GOOD)
def test_arrow_arrays_in_other_shapes(kind: str, array: pa.Array, expected: list[Any]) -> None:
    field = Field("x", parse_type(kind))
    for given_ in (array, pa.concat_arrays([array, array])[len(array) :]):
        taken = to_arrow("t", (field,), pa.table({"x": given_}))
        assert taken["x"].type == arrow_type(field.type)
        assert taken["x"].to_pylist() == expected


def bytes_as_text(raw: bytes) -> pa.Array:
    buffers = [None, pa.py_buffer(np.array([0, 0, len(raw)], dtype=np.int32)), pa.py_buffer(raw)]
    return pa.Array.from_buffers(pa.string(), 2, buffers)


ARROW_BAD: list[tuple[str, pa.Array, str]] = [
    ("string", bytes_as_text(b"\xff\xfe"), r"b'\xff\xfe' is not valid UTF-8"),
    ("string", pa.array(["a", b"b"], pa.binary()), "b'a' is a bytes, not string"),
    ("tinyint", pa.array([1, 300]), "300 is out of the range of tinyint"),
    ("bigint", pa.array([1, 2**64 - 1], pa.uint64()), "is out of the range of bigint"),
    ("int", pa.array([1.0, 1.5]), "1.5 is not a whole number"),
    ("int", pa.array([True, False]), "True is a bool, not int"),
    ("double", pa.array([1, 2**53 + 1]), "is not exact as double"),
    ("float", pa.array([1.0, 1e300]), "1e+300 is out of the range of float"),
    ("decimal(5,2)", pa.array([1, 1000]), "1000 has too many digits"),
    ("decimal(5,2)", pa.array([1.0, 1.5]), "is a float, not decimal(5,2)"),
    ("decimal(5,2)", pa.array([Decimal("1.00"), Decimal("1000.00")], pa.decimal128(9, 2)), "has too many digits"),
    ("decimal(5,2)", pa.array([Decimal("0.001")], pa.decimal128(9, 3)), "has more than 2 digits"),
    ("date", pa.array([0, 2932897], pa.date32()), "2932897 is out of the range of date, the years 1 to 9999"),
    ("timestamp", pa.array([0, 2**60], pa.timestamp("us", tz="UTC")), "is out of the range of timestamp"),
    ("timestamp", pa.array([1], pa.timestamp("ns")), "has nanoseconds"),
    ("timestamp_ntz", pa.array([0], pa.timestamp("us", tz="UTC")), "has a time zone"),
    ("char(3)", pa.array(["abc ", "abcd"]), "row 2, column x: 'abcd' exceeds the length of char(3)"),
    ("time", pa.array([1], pa.time64("ns")), "has nanoseconds"),
    ("time(0)", pa.array([1], pa.time64("us")), "has more than 0 digits"),
    ("map<string, int>", pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int32())), "has a key twice"),
    ("array<tinyint>", pa.array([[1], [300]]), "has at [0] 300, which is out of the range of tinyint"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "array", "message"), ARROW_BAD)
def test_refusals_of_arrow_arrays(kind: str, array: pa.Array, message: str) -> None:
    with pytest.raises(RejectedEpoch) as refused:
        to_arrow("t", (Field("x", parse_type(kind)),), pa.table({"x": array}))
    assert message in str(refused.value)
    assert "table t, row " in str(refused.value)


def test_pandas_missing_values_are_null() -> None:
    fields = (Field("i", INT), Field("d", DOUBLE), Field("s", STRING), Field("t", Type("timestamp_ntz")))
    frame = pd.DataFrame(
        {
            "i": [1.0, np.nan],
            "d": [0.5, np.nan],
            "s": pd.Series(["a", np.nan], dtype=object),
            "t": [pd.Timestamp("2024-01-01"), pd.NaT],
        }
    )
    taken = to_arrow("t", fields, frame).to_pylist()
    assert taken == [
        {"i": 1, "d": 0.5, "s": "a", "t": dt.datetime(2024, 1, 1)},
        {"i": None, "d": None, "s": None, "t": None},
    ]


def test_pandas_kinds_of_columns() -> None:
    fields = (Field("c", STRING), Field("i", INT), Field("z", Type("timestamp")), Field("o", parse_type("array<int>")))
    frame = pd.DataFrame(
        {
            "c": pd.Categorical(["x", "y"]),
            "i": pd.array([1, None], dtype="Int64"),
            "z": pd.to_datetime(["2024-01-01", "2024-01-02"]).tz_localize("Asia/Tokyo"),
            "o": [[1], None],
        }
    )
    taken = to_arrow("t", fields, frame)
    assert taken["c"].to_pylist() == ["x", "y"]
    assert taken["i"].to_pylist() == [1, None]
    assert taken["z"].to_pylist()[0] == dt.datetime(2023, 12, 31, 15, tzinfo=UTC)
    assert taken["o"].to_pylist() == [[1], None]


@pytest.mark.parametrize("kind", ["float", "double", "array<double>", "struct<a: float>", "map<int, array<double>>"])
def test_every_nan_is_the_same(kind: str) -> None:
    """Stored bytes do not tell one NaN from another."""
    field = Field("x", parse_type(kind))
    width = 4 if "float" in kind else 8
    odd = np.array([1, -1], dtype=f"i{width}")  # −1 is a NaN of another sign and payload
    floats = pa.array(odd.view(f"f{width}"))
    lists = pa.array([0, 1, 2], pa.int32())
    arrays = pa.ListArray.from_arrays(lists, floats)
    shapes = {
        "array<double>": arrays,
        "struct<a: float>": pa.StructArray.from_arrays([floats], ["a"]),
        "map<int, array<double>>": pa.MapArray.from_arrays(lists, pa.array([1, 2], pa.int32()), arrays),
    }
    taken = to_arrow("t", (field,), pa.table({"x": shapes.get(kind, floats)}))["x"].chunk(0)
    taken.validate(full=True)
    while pa.types.is_nested(taken.type):
        taken = taken.items if pa.types.is_map(taken.type) else taken.flatten()
        taken = taken[0] if isinstance(taken, list) else taken
    bits = np.frombuffer(taken.buffers()[1], dtype=f"u{width}", count=2)
    assert bits.tolist() == [1, 0x7FC00000 if width == 4 else 0x7FF8000000000000]


@given(
    st.lists(
        st.tuples(
            st.integers(-(2**63), 2**63 - 1), st.none() | st.text(), st.none() | st.decimals(-(10**9), 10**9, places=2)
        )
    )
)
def test_rows_dicts_arrow_and_pandas_agree(rows: list[tuple[Any, ...]]) -> None:
    taken = to_arrow("sales", FIELDS, rows)
    assert to_arrow("sales", FIELDS, [dict(zip(("id", "name", "total"), r, strict=True)) for r in rows]).equals(taken)
    assert to_arrow("sales", FIELDS, taken).equals(taken)
    assert to_arrow("sales", FIELDS, taken.to_pandas(types_mapper=pd.ArrowDtype)).equals(taken)


def test_few_rows_come_in_quickly() -> None:
    fields = (*FIELDS, Field("d", Type("date")), Field("f", DOUBLE), Field("b", Type("boolean")))
    rows = [(i, f"n{i}", Decimal("1.25"), dt.date(2024, 1, 1), 0.5, True) for i in range(10)]
    took = []
    for _ in range(50):
        start = time.perf_counter()
        to_arrow("sales", fields, rows)
        took.append(time.perf_counter() - start)
    assert min(took) < 150e-6
