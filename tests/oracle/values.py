"""Values for tests: few of each type, so that keys meet, and every edge among them."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

UTC = dt.UTC

# Doubles are sums of few powers of two, so that any order of adding them gives the same: Spark's order is its own.
VALUES: dict[str, list[Any]] = {
    "int": [0, 1, 2, 3, -1, 7, 2147483],
    "bigint": [0, 1, 2, -5, 10**12, -(10**12)],
    "smallint": [0, 1, -1, 300],
    "decimal(10,2)": [Decimal(v) for v in ("0.00", "1.50", "-1.50", "99.99", "0.01", "-12345.67")],
    "decimal(38,4)": [Decimal(v) for v in ("0.0000", "1.0001", "-7.5000", "123456789012345678901234567890.1234")],
    "double": [0.0, -0.0, 1.5, -2.25, 1024.0, math.nan, math.inf, 0.5],
    "float": [0.0, -0.0, 1.5, -8.0, math.nan],
    "string": ["", "a", "b", "ab", "B", "ä", "日本", "😀", "a "],
    "boolean": [True, False],
    "date": [dt.date(2024, 2, 29), dt.date(1999, 12, 31), dt.date(2024, 3, 1), dt.date(1, 1, 1)],
    "timestamp": [dt.datetime(2024, 2, 29, 23, 59, 59, 999999, UTC), dt.datetime(1970, 1, 1, tzinfo=UTC), dt.datetime(2024, 3, 1, tzinfo=UTC)],
    "timestamp_ntz": [dt.datetime(2024, 2, 29, 12, 0), dt.datetime(1969, 12, 31, 23, 59, 59)],
    "binary": [b"", b"\x00", b"\xff\x01"],
    "array<int>": [[], [1], [1, None, 2], [2, 1]],
    "struct<x: int, y: string>": [{"x": 1, "y": "a"}, {"x": None, "y": "a"}, {"x": 1, "y": None}],
    "map<string, int>": [{}, {"a": 1}, {"a": 1, "b": None}],
}  # fmt: skip

SCALARS = ("int", "bigint", "smallint", "decimal(10,2)", "decimal(38,4)", "double", "float", "string", "boolean", "date", "timestamp", "timestamp_ntz", "binary")  # fmt: skip
KEYS = ("int", "string", "double", "decimal(10,2)", "date", "boolean", "timestamp", "bigint")
NUMBERS = ("int", "bigint", "smallint", "decimal(10,2)", "double", "float")
NESTED = ("array<int>", "struct<x: int, y: string>")


def value(kind: str, *, nullable: bool = True) -> st.SearchStrategy[Any]:
    """A value of a type; NULL now and then."""
    known = st.sampled_from(VALUES[kind])
    return st.one_of(known, known, known, st.none()) if nullable else known
