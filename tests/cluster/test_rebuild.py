"""A view that tasks rebuild begins empty, whatever its maps held until then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import viewlet

pytestmark = pytest.mark.spark


def test_a_rebuilt_view_is_right_and_stays_so(tmp_path: Path, spark: Any) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark") as db:
        db.sql("CREATE TABLE t (id BIGINT, g BIGINT, PRIMARY KEY (id))")
        db.create_view("v", "SELECT g, count(*) AS n, sum(id) AS s FROM t GROUP BY g")
        db.insert("t", [(i, i % 3) for i in range(9)])
        db.delete("t", [(0,)])
        db.rebuild("v")
        assert sorted(db.table("v").rows()) == [(0, 2, 9), (1, 3, 12), (2, 3, 15)]
        db.insert("t", [(9, 1)])
        assert sorted(db.table("v").rows()) == [(0, 2, 9), (1, 4, 21), (2, 3, 15)]
        assert db.check("v").num_rows == 0
