"""The Spark engine on a real standalone cluster: a master and two workers on loopback.

Executors share nothing with the driver but the warehouse: the package is sent to them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.standalone import Cluster, standalone_cluster

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with standalone_cluster(tmp_path_factory.mktemp("cluster") / "c") as running:
        yield running


def run(module: str, cluster: Cluster) -> str:
    """Run a module against the cluster; what it says."""
    command = [sys.executable, "-m", module, cluster.address, str(cluster.shared / module)]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    root = Path(__file__).parent.parent
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


def test_views_on_a_cluster(cluster: Cluster) -> None:
    assert run("tests.cluster_job", cluster) == "well, on 2 executors"


def test_a_lost_executor_loses_its_part_of_a_round(cluster: Cluster) -> None:
    assert run("tests.loops.lost_executor", cluster) == "well"
