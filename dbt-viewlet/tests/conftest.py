"""Each class of tests has a project of dbt's and a warehouse of its own; all share one Spark session."""

from __future__ import annotations

from typing import Any

import pytest

pytest_plugins = ["dbt.tests.fixtures.project"]


@pytest.fixture(scope="class")
def dbt_profile_target(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return {"type": "viewlet", "path": str(tmp_path_factory.mktemp("dbt") / "warehouse"), "threads": 1}
