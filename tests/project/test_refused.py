"""What a project may not do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import viewlet
from viewlet.errors import ProjectError
from viewlet.project.reads import new_rows


def test_a_stream_over_rows_that_go(tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", "id BIGINT, v BIGINT", primary_key="id", rows=[(1, 1)])
        start = db.insert("t", [(2, 2)])
        db.insert("t", [(3, 3)])
        assert new_rows(db.table("t"), start).to_pylist() == [{"id": 3, "v": 3}]
        db.upsert("t", [(1, 7)])
        with pytest.raises(ProjectError, match="t is read as a stream, and 2 of its rows were deleted or replaced"):
            new_rows(db.table("t"), start)


def test_sql_inside_of_python() -> None:
    from viewlet.spark.project_registry import _Registry

    registration: Any = None
    with pytest.raises(ProjectError, match=r"tables\.py: SQL inside Python files is not read"):
        _Registry(registration).register_sql("CREATE MATERIALIZED VIEW v AS SELECT 1", Path("tables.py"))
