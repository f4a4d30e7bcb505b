"""Values for tests: few of each type, so that keys meet, and every edge among them."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from pyspark.sql.types import VariantVal

UTC = dt.UTC
ARRAY, STRUCT, MAP = "array<int>", "struct<x: int, y: string>", "map<string, int>"
STRUCTS, JSON, VARIANT = "array<struct<x: int, y: string>>", "json", "variant"
CHAR, VARCHAR, COLLATED, TIME = "char(3)", "varchar(4)", "string collate UTF8_LCASE", "time(6)"
MONTHS, DURATION = "interval year to month", "interval day to second"

# Doubles are sums of few powers of two, so that any order of adding them gives the same: Spark's order is its own.
VALUES: dict[str, list[Any]] = {
    "int": [0, 1, 2, 3, -1, 7, 2147483],
    "bigint": [0, 1, 2, -5, 10**12, -(10**12)],
    "smallint": [0, 1, -1, 300],
    "tinyint": [0, 1, -1, 100],
    "decimal(10,2)": [Decimal(v) for v in ("0.00", "1.50", "-1.50", "99.99", "0.01", "-12345.67")],
    "decimal(38,4)": [Decimal(v) for v in ("0.0000", "1.0001", "-7.5000", "123456789012345678901234567890.1234")],
    "decimal(5,5)": [Decimal(v) for v in ("0.00000", "0.00001", "-0.99999")],
    "decimal(38,0)": [Decimal(v) for v in ("0", "1", "-1", "9" * 30)],
    "double": [0.0, -0.0, 1.5, -2.25, 1024.0, math.nan, math.inf, 0.5],
    "float": [0.0, -0.0, 1.5, -8.0, math.nan],
    "string": ["", "a", "b", "ab", "B", "ä", "日本", "😀", "a "],
    "boolean": [True, False],
    "date": [dt.date(2024, 2, 29), dt.date(1999, 12, 31), dt.date(2024, 3, 1), dt.date(1, 1, 1)],
    "timestamp": [
        dt.datetime(2024, 2, 29, 23, 59, 59, 999999, UTC), dt.datetime(1970, 1, 1, tzinfo=UTC), dt.datetime(2024, 3, 1, tzinfo=UTC),
        dt.datetime(2024, 3, 1, 0, 4, tzinfo=UTC), dt.datetime(2024, 3, 1, 0, 9, tzinfo=UTC), dt.datetime(2024, 3, 1, 1, 30, tzinfo=UTC),
        # Clocks go forward and back: in New York, in Berlin.
        dt.datetime(2024, 3, 10, 6, 59, tzinfo=UTC), dt.datetime(2024, 3, 10, 7, 1, tzinfo=UTC), dt.datetime(2024, 11, 3, 5, 30, tzinfo=UTC),
        dt.datetime(2024, 11, 3, 6, 30, tzinfo=UTC), dt.datetime(2024, 3, 31, 1, 0, tzinfo=UTC), dt.datetime(2024, 10, 27, 0, 59, tzinfo=UTC),
    ],
    "timestamp_ntz": [dt.datetime(2024, 2, 29, 12, 0), dt.datetime(1969, 12, 31, 23, 59, 59), dt.datetime(2024, 3, 10, 2, 30)],
    TIME: [dt.time(), dt.time(12, 30), dt.time(23, 59, 59, 999999)],
    CHAR: ["", "a", "ab", "abc", "B"],
    VARCHAR: ["", "a", "ab", "a  ", "日本"],
    COLLATED: ["", "a", "A", "b", "Ab", "Ä", "ä"],
    DURATION: [dt.timedelta(), dt.timedelta(days=1, microseconds=1), dt.timedelta(hours=-36), dt.timedelta(minutes=90)],
    MONTHS: [0, 1, 12, -13],
    "binary": [b"", b"\x00", b"\xff\x01"],
    ARRAY: [[], [1], [1, None, 2], [2, 1]],
    STRUCT: [{"x": 1, "y": "a"}, {"x": None, "y": "a"}, {"x": 1, "y": None}],
    MAP: [{}, {"a": 1}, {"a": 1, "b": None}, {"b": 2, "a": 1}],
    STRUCTS: [[], [{"x": 1, "y": "a"}], [{"x": 2, "y": None}, None, {"x": 1, "y": "a"}]],
    JSON: ['{"x": 1, "y": "a"}', '{"y": null, "x": "no number"}', "[1, 2, null]", "{broken", '"text"', "null"],
    VARIANT: [VariantVal.parseJson(text) for text in ('{"x": 1, "y": "a"}', "[1, null, 2.5]", '"text"', "null", "7")],
}  # fmt: skip

SCALARS = (
    "int", "bigint", "smallint", "tinyint", "decimal(10,2)", "decimal(38,4)", "decimal(5,5)", "decimal(38,0)", "double", "float", "string",
    "boolean", "date", "timestamp", "timestamp_ntz", "binary", DURATION, MONTHS, TIME,
    CHAR, VARCHAR,
)  # fmt: skip
KEYS = ("int", "string", "double", "decimal(10,2)", "date", "boolean", "timestamp", "bigint")
JOINABLE = (*KEYS, ARRAY, STRUCT)
KEYABLE = (*SCALARS, ARRAY, STRUCT, STRUCTS)
"""Types that group, and that DISTINCT and set operators compare."""
NUMBERS = ("int", "bigint", "smallint", "tinyint", "decimal(10,2)", "double", "float")
NESTED = (ARRAY, STRUCT, MAP, STRUCTS, JSON, VARIANT, COLLATED)
"""Types that are neither compared nor ordered: of two strings that a collation calls equal, groups may show either."""


def declared(kind: str) -> str:
    """The type that a column is declared with: a text of JSON is a string."""
    return "string" if kind == JSON else kind


def value(kind: str, *, nullable: bool = True) -> st.SearchStrategy[Any]:
    """A value of a type; NULL now and then."""
    known = st.sampled_from(VALUES[kind])
    return st.one_of(known, known, known, st.none()) if nullable else known


def skewed(kind: str) -> st.SearchStrategy[Any]:
    """Mostly the same value."""
    return st.one_of(
        st.just(VALUES[kind][1 % len(VALUES[kind])]), st.just(VALUES[kind][1 % len(VALUES[kind])]), value(kind)
    )
