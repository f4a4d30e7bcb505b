"""How the oracle compares: what is the same to it, and what is not."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

from tests.oracle.bags import difference
from tests.oracle.queries import Query, either

NAN, INF = math.nan, math.inf
STRUCT = pa.struct([("x", pa.float64()), ("y", pa.string())])


def differ(found: list[Any], expected: list[Any], kind: pa.DataType, texts: str = "") -> bool:
    ours, theirs = (pa.table({"c": pa.array(values, kind)}) for values in (found, expected))
    return bool(difference(ours, theirs, texts))


@pytest.mark.parametrize(
    ("found", "expected", "kind", "same"),
    [
        ([1, 1, 2], [2, 1, 1], pa.int64(), True),
        ([1, 1, 2], [1, 2, 2], pa.int64(), False),
        ([None], [0], pa.int64(), False),
        ([NAN, 1.0], [1.0, NAN], pa.float64(), True),
        ([NAN], [None], pa.float64(), False),
        ([-0.0], [0.0], pa.float64(), False),
        ([INF], [1e308], pa.float64(), False),
        ([1e16], [1e16 + 2], pa.float64(), True),
        ([1.0], [1.0 + 1e-8], pa.float64(), False),
        ([1e-17], [0.0], pa.float64(), True),
        ([1.0, 1.0 + 1e-12], [1.0 + 1e-12, 1.0 + 1e-12], pa.float64(), True),
        (["a "], ["a"], pa.string(), False),
        ([[1, None]], [[None, 1]], pa.list_(pa.int32()), False),
        ([{"x": NAN, "y": "a"}], [{"x": NAN, "y": "a"}], STRUCT, True),
        ([{"x": 1.0, "y": "a"}], [{"x": 1.0 + 1e-12, "y": "a"}], STRUCT, True),
        ([{"x": 1.0, "y": "a"}], [{"x": 1.0, "y": None}], STRUCT, False),
        ([[("a", 1), ("b", None)]], [[("b", None), ("a", 1)]], pa.map_(pa.string(), pa.int32()), True),
    ],
)
def test_same_bags(found: list[Any], expected: list[Any], kind: pa.DataType, same: bool) -> None:
    assert differ(found, expected, kind) is not same


def test_an_order_leaves_the_sign_of_zero_open() -> None:
    assert differ([-0.0], [0.0], pa.float64(), "SELECT x FROM t")
    assert not differ([-0.0], [0.0], pa.float64(), "SELECT max(x) FROM t")


def test_a_query_in_two_versions() -> None:
    inner = either("first(x)", "min(x)")
    query = Query(f"SELECT {either(f'{inner} + 1', f'{inner} + 2')} FROM t")
    assert query.given == "SELECT first(x) + 1 FROM t"
    assert query.settled == "SELECT min(x) + 2 FROM t"
