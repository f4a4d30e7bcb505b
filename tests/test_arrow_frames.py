"""Arrow tables to Spark and back: nothing changes on the way, whatever the columns are slices of."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from viewlet.columns.arrow_types import arrow_type
from viewlet.plan.types import Field, parse_type
from viewlet.spark.session.arrow_frames import from_arrow, to_arrow

pytestmark = pytest.mark.spark

NESTED = {
    "array<struct<x:int,y:string>>": [None, [{"x": 1, "y": "a"}], None, [{"x": None, "y": None}, None], []],
    "array<array<int>>": [None, [[1], None], None, [[2, 3], []], []],
    "map<string,array<int>>": [None, [("a", [1, None])], None, [("b", None)], []],
    "struct<a:array<struct<b:int>>>": [None, {"a": [{"b": 1}]}, None, {"a": None}, {"a": [None]}],
}


@pytest.mark.parametrize("kind", NESTED)
def test_slices_of_nested_columns(spark: Any, kind: str) -> None:
    field = Field("c", parse_type(kind))
    table = pa.table({"c": pa.array(NESTED[kind], arrow_type(field.type))}).slice(1, 3)
    assert to_arrow(from_arrow(spark, table, [field]), [field]).equals(table)
