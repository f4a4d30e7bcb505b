"""What goes in and what comes out: maps, variants, intervals and dates as Python's values, by every way of reading."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import viewlet
from viewlet import Months, RejectedEpoch, UnsupportedValue

pytestmark = pytest.mark.spark


@pytest.fixture
def db(tmp_path: Path, spark: Any) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        yield db


ORDERS: list[dict[str, int | None]] = [{"b": 1, "a": 2}, {"a": 2, "b": 1}, {"c": None, "a": 0, "b": 1}]


def test_maps_keep_the_order_of_their_entries(db: viewlet.Database, spark: Any) -> None:
    """However they come in; two orders of the same entries are two rows, as Spark prints them."""
    db.sql("CREATE TABLE t (n INT, m MAP<STRING, INT>)")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT map_keys(m) AS k, to_json(m) AS j, m FROM t")
    db.insert("t", [(0, m) for m in ORDERS])
    maps = pa.array([list(m.items()) for m in ORDERS], pa.map_(pa.string(), pa.int32()))
    db.insert("t", pa.table({"n": [0, 0, 0], "m": maps}))
    db.insert("t", pd.DataFrame({"n": 0, "m": ORDERS}))
    texts = ["map('b', 1, 'a', 2)", "map('a', 2, 'b', 1)", "map('c', NULL, 'a', 0, 'b', 1)"]
    values = ", ".join(f"(0, {text})" for text in texts)
    db.insert("t", spark.sql(f"SELECT * FROM VALUES {values} AS t(n, m)"))
    db.sql(f"INSERT INTO t VALUES {values}")
    expected = spark.sql(f"SELECT to_json(m) AS j, map_keys(m) AS k FROM VALUES {values} AS t(n, m)").collect()
    assert sorted((row[1], row[0]) for row in db.table("v").rows()) == sorted((r.j, r.k) for r in expected * 5)
    assert all(list(row[2]) == row[0] for row in db.table("v").rows())
    with pytest.raises(RejectedEpoch, match="it does not exist"):
        db.delete("t", [(0, dict(reversed(ORDERS[2].items())))])
    db.delete("t", [(0, ORDERS[0])] * 5)
    assert sorted(row[1] for row in db.table("v").rows()) == sorted(r.j for r in expected[1:] * 5)


NESTED = "m MAP<STRUCT<a: INT, b: ARRAY<INT>>, ARRAY<MAP<INT, STRING>>>"


def test_rows_are_values_of_python(db: viewlet.Database) -> None:
    db.sql(f"CREATE TABLE t (id INT, v VARIANT, y INTERVAL YEAR TO MONTH, d INTERVAL DAY TO SECOND, {NESTED})")
    value = {"a": [1, None, "ä", True], "b": {"c": Decimal("1.50")}, "d": 0.5}
    keyed = {(1, (2, None)): [{1: "x"}, None], (2, None): None}
    row = (1, value, Months(-14), dt.timedelta(days=1, microseconds=5), keyed)
    db.insert("t", [row])
    db.sql("INSERT INTO t SELECT 2, parse_json('[1, 2.5]'), INTERVAL '1-2' YEAR TO MONTH, INTERVAL '1' DAY, NULL")
    db.sql("CREATE MATERIALIZED VIEW w AS SELECT * FROM t WHERE id < 3")
    other = (2, [1, Decimal("2.5")], Months(14), dt.timedelta(days=1), None)
    assert sorted(db.table("w").rows()) == [row, other]
    assert sorted(tuple(r) for r in db.table("w").pandas().itertuples(index=False)) == [row, other]
    assert [str(r[2]) for r in sorted(db.table("w").rows())] == ["-1-2", "1-2"]
    assert repr(Months(14)) == "Months(14)"
    with db.epoch() as e:  # what was read is what is there
        e.delete("t", db.table("t").rows())
        e.insert("t", db.table("t").pandas())
    assert sorted(db.table("w").rows()) == [row, other]


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("make_date(2024, 1, 1) + 10000000", "29403-01-27"),
        ("array(NULL, make_date(-5, 1, 1))", "-005-01-01"),
        ("make_timestamp_ntz(9999, 12, 31, 23, 59, 59) + INTERVAL '1' DAY", "10000-01-01T23:59:59.000000"),
        ("map('a', named_struct('t', timestamp'9999-12-31' + INTERVAL '1' DAY))", "10000-01-01T00:00:00.000000"),
    ],
)
def test_dates_that_python_cannot_hold(expression: str, shown: str, db: viewlet.Database) -> None:
    """One clear error; Arrow and Spark hold them."""
    db.sql("CREATE TABLE t (n INT)")
    db.insert("t", [(1,)])
    db.create_view("v", f"SELECT n, {expression} AS d FROM t")
    with pytest.raises(UnsupportedValue, match=rf"^v, column d: \+?{shown} is outside the years 1 to 9999.* \(hint: "):
        db.table("v").rows()
    if "timestamp" not in expression:  # pandas has those
        with pytest.raises(UnsupportedValue, match="v, column d: "):
            db.table("v").pandas()
    assert db.table("v").arrow().num_rows == db.table("v").spark().count() == 1
    assert db.check("v").num_rows == 0
