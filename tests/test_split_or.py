"""Semi and anti joins on alternatives, and on conditions of one side: no recomputation, and what loops over rows say."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import viewlet

Row = tuple[int | None, str | None]


def equal(x: Any, y: Any) -> bool:
    """Equality as a condition takes it: NULL equals nothing."""
    return x is not None and x == y


def either(left: Row, right: Row) -> bool:
    return equal(left[0], right[0]) or equal(left[1], right[1])


def between(left: Row, right: Row) -> bool:
    return equal(left[1], "x") or (right[0] is not None and right[0] > 1)


VIEWS: dict[str, tuple[str, Callable[[Row, list[Row]], bool]]] = {
    "either": (
        "EXISTS (SELECT 1 FROM r WHERE r.b = l.a OR r.t = l.s)",
        lambda row, others: any(either(row, other) for other in others),
    ),
    "neither": (
        "NOT EXISTS (SELECT 1 FROM r WHERE r.b = l.a OR r.t = l.s)",
        lambda row, others: not any(either(row, other) for other in others),
    ),
    "beside": (
        "EXISTS (SELECT 1 FROM r WHERE r.b > 1 AND (r.b = l.a OR r.t = l.s))",
        lambda row, others: any(o[0] is not None and o[0] > 1 and either(row, o) for o in others),
    ),
    "unkeyed": (
        "NOT EXISTS (SELECT 1 FROM r WHERE r.b > 1 OR l.s = 'x')",
        lambda row, others: not any(between(row, other) for other in others),
    ),
}


@pytest.mark.spark
def test_alternatives_follow_both_sides(tmp_path: Path, spark: Any) -> None:
    rng = random.Random(3)
    there: dict[str, list[Any]] = {"l": [], "r": []}
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as db:
        db.sql("CREATE TABLE l (a INT, s STRING)")
        db.sql("CREATE TABLE r (b INT, t STRING)")
        for name, (condition, _) in VIEWS.items():
            db.create_view(name, f"SELECT a, s FROM l WHERE {condition}")
            assert "recompute" not in db.explain(name), name
        for _ in range(25):
            with db.epoch() as epoch:
                for table, rows in there.items():
                    gone = [rows.pop(rng.randrange(len(rows))) for _ in range(min(len(rows), rng.choice([0, 1, 3])))]
                    new = [
                        (rng.choice([None, 1, 2, 3]), rng.choice([None, "x", "y", "z"]))
                        for _ in range(rng.choice([0, 1, 3]))
                    ]
                    epoch.delete(table, gone)
                    epoch.insert(table, new)
                    rows += new
            for name, (_, holds) in VIEWS.items():
                expected = Counter(row for row in there["l"] if holds(row, there["r"]))
                assert Counter(db.table(name).rows()) == expected, name
        assert not any(db.check(name).num_rows for name in VIEWS)
