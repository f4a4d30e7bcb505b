"""The central property: after every epoch every view equals what Spark SQL returns for its definition.

Generated tables, views (nested to depth 4), rows and epochs, on both engines. Failures that were found and
mended are kept below as examples.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.oracle.cases import Case, cases
from tests.oracle.play import play

MANY = os.environ.get("VIEWLET_TEST_PROFILE") == "thorough"
ORACLE = settings(
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate] + ([Phase.shrink] if MANY else []),
    derandomize=not MANY,
)


@pytest.mark.spark
@settings(ORACLE, max_examples=4000 if MANY else 200)
@given(case=cases())
def test_inproc_equals_spark_sql(case: Case, spark: Any) -> None:
    with tempfile.TemporaryDirectory() as path:
        play(case, Path(path) / "w", spark, "inproc")


@pytest.mark.spark
@settings(ORACLE, max_examples=400 if MANY else 40)
@given(case=cases(depth=3))
def test_spark_engine_equals_spark_sql(case: Case, spark: Any) -> None:
    with tempfile.TemporaryDirectory() as path:
        play(case, Path(path) / "w", spark, "spark")
