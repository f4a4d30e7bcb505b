"""The central property: after every epoch every view equals what Spark SQL returns for its definition.

Generated tables, views (nested to depth 4), rows and epochs, on both engines: 12 cases in process and 2 on
Spark, compared after their last epoch; hundreds with `make test-all`, compared after every one, and as many as one
likes with `make fuzz`. Seeds are fixed in `make test`, so that a red run is red for everybody.
"""

from __future__ import annotations

import importlib
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, Phase, given, reject, seed, settings

from tests.marks import THOROUGH, quickly
from tests.oracle.cases import Case, cases
from tests.oracle.play import Unplayable, play
from viewlet.engine.choose import EngineName

pytestmark = pytest.mark.spark

FACTOR = 4 if THOROUGH else 1
FIRST = random.randrange(10**9) if THOROUGH else 0
PLACE = importlib.import_module("viewlet.compile.distribute.place")


def keep_playing(play_one: Callable[[Case, Path], None], shard: int, examples: int, depth: int) -> None:
    """Play some cases of a seed's, each in a folder; a failure is shrunk where there is time for it."""
    phases = [Phase.generate, Phase.shrink] if THOROUGH else [Phase.generate]

    @seed(FIRST + shard)
    @settings(
        deadline=None, database=None, suppress_health_check=list(HealthCheck), phases=phases, max_examples=examples
    )
    @given(case=cases(depth=depth))
    def check(case: Case) -> None:
        with tempfile.TemporaryDirectory() as path:
            try:
                play_one(case, Path(path))
            except Unplayable:
                reject()

    check()


def on(spark: Any, engine: EngineName) -> Callable[[Case, Path], None]:
    """Play a case in this process."""
    return lambda case, path: play(case, path / "w", spark, engine, every_epoch=THOROUGH)


@pytest.mark.parametrize("shard", quickly(2, [1, 3, 0, 2, *range(4, 8)]))
def test_inproc_equals_spark_sql(shard: int, spark: Any) -> None:
    keep_playing(on(spark, "inproc"), shard, 25 * FACTOR if THOROUGH else 6, depth=4)


@pytest.mark.parametrize("shard", quickly(1, range(4)))
def test_spark_engine_equals_spark_sql(shard: int, spark: Any) -> None:
    with patch.object(PLACE, "SMALL", -1):  # else everything would be kept at the driver
        keep_playing(on(spark, "spark"), 100 + shard, 5 * FACTOR if THOROUGH else 2, depth=3 if THOROUGH else 2)
