"""Values at the edges of every type, and a table of them.

Columns `a_T` and `b_T` hold, over 256 rows, every pair of edge values of any two types; `c_T` a third value.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrow_types import arrow_type
from viewlet.plan.expr import Column
from viewlet.plan.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal, parse_type

TINYINT, SMALLINT, FLOAT, BINARY = Type("tinyint"), Type("smallint"), Type("float"), Type("binary")
NTZ, VOID = Type("timestamp_ntz"), Type("void")
INTEGERS, FLOATS, DATES, INSTANTS = (TINYINT, SMALLINT, INT, BIGINT), (FLOAT, DOUBLE), (DATE,), (TIMESTAMP, NTZ)
DECIMALS = tuple(decimal(p, s) for p, s in ((4, 2), (9, 0), (15, 15), (18, 4), (19, 0), (38, 0), (38, 18), (38, 37)))
NUMBERS = (*INTEGERS, *FLOATS, *DECIMALS)
ORDERED = (BOOLEAN, *NUMBERS, STRING, BINARY, *DATES, *INSTANTS)
PAIR, LIST = parse_type("struct<x: int, y: string>"), parse_type("array<int>")
ALL = (*ORDERED, PAIR, LIST)


def _integers(bits: int) -> list[int | None]:
    top = 1 << (bits - 1)
    return [None, 0, 1, -1, 2, -3, 7, 10, top - 1, -top, top - 2, 1 - top, top // 2, -top // 2, 100, -100]


def _floats(code: str) -> list[float | None]:
    def unpack(bits: int) -> float:
        return struct.unpack(code, struct.pack({"f": "I", "d": "Q"}[code], bits))[0]

    one = {"f": 0x3F800000, "d": 0x3FF0000000000000}[code]
    nan, inf = float("nan"), float("inf")
    edge = [2.0**31, -(2.0**31) - 1, 2.0**63, -(2.0**63), 127.5]
    return [None, 0.0, -0.0, 1.0, unpack(one + 1), -2.5, nan, inf, -inf, unpack(1), *edge, 3e38]


def _decimals(precision: int, scale: int) -> list[Decimal | None]:
    top, half = 10**precision - 1, 5 * 10 ** max(scale - 1, 0)
    raw = [
        0,
        1,
        -1,
        2,
        3,
        7,
        half,
        -half,
        half - 1,
        10**scale % (top + 1),
        top,
        -top,
        top // 3,
        top // 2,
        10 ** (precision - 1),
    ]
    return [None, *(Decimal(f"{n}E-{scale}") for n in raw)]


def _days(*texts: str) -> list[int]:
    return [int(np.datetime64(t, "D").astype(np.int64)) for t in texts]


DAY_EDGES = [
    None,
    0,
    -1,
    *_days("0001-01-01", "9999-12-31", "2000-02-29", "1900-02-28", "2023-12-31", "2024-03-01"),
    1,
    *_days("1582-10-15", "0000-12-31"),
    18321,
    106751992,
    *_days("10000-01-01"),
    106751990,
]
SECOND, DAY = 10**6, 86400 * 10**6
TIME_EDGES = [
    None,
    0,
    -1,
    1,
    DAY - 1,
    -DAY,
    59 * SECOND + 999999,
    3600 * SECOND,
    *(DAY * d for d in _days("0001-01-01", "2000-02-29")),
    DAY * _days("10000-01-01")[0] - 1,
    1234567890123456,
    -62135596800000001,
    1700000000500000,
    1700000000000120,
    2**62,
]
TEXTS = [
    None,
    "",
    " ",
    "a",
    "A",
    "ab",
    "b",
    "é",
    "e\u0301",
    "😀",
    "z😀%_\\",
    "  pad \t",
    "a\nb",
    "\uffff",
    "ß\U0010ffff",
    "aba",
]
BYTES = [None, b"", b"\x00", b"\x7f", b"\x80", b"\xff", b"a", b"ab", b"\xff\x00", b"a\x00"]
READABLE = [
    None,
    "0",
    " 12 ",
    "-128",
    "+7",
    "128",
    "2147483648",
    "1.5",
    "",
    "\t9223372036854775807\n",
    "x",
    "1e3",
    "--1",
    "0x1",
    "٣",
    "- 1",
]
TRUTHS = [None, "t", "TRUE", " yes ", "N", "0", "1", "false", "F", "no", "on", "", "2", "y\u00a0", "tru", "Y"]
DATE_TEXTS = [
    None,
    "2024-02-29",
    "2023-02-29",
    "1999",
    "2000-1",
    " 2000-1-1 ",
    "2000-01-01T12:00",
    "2000-01-01 x",
    "+12345-01-01",
    "-0001-12-31",
    "99999999-01-01",
    "200-01-01",
    "2000-01-01x",
    "2000-13-01",
    "20000101",
    "5881580-07-12",
]

PRINTED = [
    None,
    2.675,
    1.005,
    0.125,
    -0.125,
    0.5,
    1e-7,
    5e-7,
    99.994999999999,
    99.995,
    123456789.0125,
    1e9,
    -1e15,
    1e300,
    0.1 + 0.2,
    4.35,
]
"""Doubles whose nearest decimals depend on how they are printed."""

EDGES: dict[str, tuple[Type, Sequence[Any]]] = {
    "boolean": (BOOLEAN, [None, True, False]),
    **{t.name: (t, _integers(8 << i)) for i, t in enumerate(INTEGERS)},
    "float": (FLOAT, _floats("f")),
    "double": (DOUBLE, _floats("d")),
    **{f"decimal_{t.args[0]}_{t.args[1]}": (t, _decimals(*t.args)) for t in DECIMALS},
    "string": (STRING, TEXTS),
    "binary": (BINARY, BYTES),
    "date": (DATE, DAY_EDGES),
    "timestamp": (TIMESTAMP, TIME_EDGES),
    "timestamp_ntz": (NTZ, TIME_EDGES),
    "struct": (PAIR, [None, {"x": 1, "y": "a"}, {"x": None, "y": None}]),
    "array": (LIST, [None, [], [1, None], [2], [3, None, -1, 3, None, 2]]),
    "map": (parse_type("map<string, int>"), [None, [], [("a", 1)], [("b", None), ("a", 2)]]),
    "array_string": (parse_type("array<string>"), [None, [], ["b", "", None, "é", "a", "ab"], ["z"]]),
    "array_struct": (
        parse_type("array<struct<x: int, y: string>>"),
        [None, [], [{"x": 1, "y": "b"}, None, {"x": 1, "y": None}, {"x": None, "y": "z"}, {"x": 1, "y": "a"}]],
    ),
    "array_array": (parse_type("array<array<int>>"), [None, [], [[2], [1, 3], None, [1], [], [None], [1, None]]]),
    "lcase": (parse_type("string collate utf8_lcase"), [*TEXTS, "ΑΣ", "ας", "ασ", "İ", "\u0130x", "ẞß", "  "]),
    "lcase_rtrim": (parse_type("string collate utf8_lcase_rtrim"), [*TEXTS, "a ", " A  ", "a\t", "  "]),
    "binary_rtrim": (parse_type("string collate utf8_binary_rtrim"), [*TEXTS, "a ", " A  ", "a\t", "  "]),
    "readable": (STRING, READABLE),
    "truth": (STRING, TRUTHS),
    "date_text": (STRING, DATE_TEXTS),
    "printed": (DOUBLE, PRINTED),
    "small": (INT, [None, 0, 1, 2, 3, 5, -1, -2, -3, -5, 100, -100, 2**31 - 1, -(2**31)]),
}
ROWS = 256


def _column(kind: Type, values: Sequence[Any]) -> pa.Array:
    arrow = arrow_type(kind)
    if kind.name in ("date", "timestamp", "timestamp_ntz"):
        return pa.array(values, type=pa.int32() if kind.name == "date" else pa.int64()).cast(arrow)
    return pa.array(values, type=arrow)


def edge_table() -> pa.Table:
    at = np.arange(ROWS)
    places = {"a": at // 16, "b": at % 16, "c": at * 7 // 3 + at // 5}
    columns = {"row": pa.array(at, type=pa.int32())}
    for name, (kind, values) in EDGES.items():
        whole = _column(kind, values)
        columns |= {f"{side}_{name}": whole.take(pa.array(place % len(values))) for side, place in places.items()}
    return pa.table(columns)


def key_of(kind: Type) -> str:
    return f"decimal_{kind.args[0]}_{kind.args[1]}" if kind.name == "decimal" else kind.name


def a(kind: Type | str) -> Column:
    return _edge_column("a", kind)


def b(kind: Type | str) -> Column:
    return _edge_column("b", kind)


def c(kind: Type | str) -> Column:
    return _edge_column("c", kind)


def _edge_column(side: str, kind: Type | str) -> Column:
    key = kind if isinstance(kind, str) else key_of(kind)
    return Column(f"{side}_{key}", EDGES[key][0])
