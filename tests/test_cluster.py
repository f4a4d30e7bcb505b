"""The Spark engine on a real standalone cluster: a master and two workers on loopback.

Executors share nothing with the driver but the warehouse: the package is sent to them.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.slow]

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
DEPLOY = "org.apache.spark.deploy"


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def wait_for(port: int, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError(f"nobody listens on port {port}")


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """The address of a cluster of a master and two workers of one core each."""
    port = free_port()
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    web = ["--webui-port", "0"]
    commands = [[f"{DEPLOY}.master.Master", "--host", "127.0.0.1", "--port", str(port), *web]]
    for i in range(2):
        work = ["-d", str(tmp_path / f"worker{i}"), "-c", "1", "-m", "1g"]
        commands.append([f"{DEPLOY}.worker.Worker", "--host", "127.0.0.1", *web, *work, f"spark://127.0.0.1:{port}"])
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            log = (tmp_path / f"log{len(processes)}").open("w")
            processes.append(subprocess.Popen([str(SPARK_CLASS), *command], env=environment, stdout=log, stderr=log))
            log.close()
            wait_for(port)
        yield f"spark://127.0.0.1:{port}"
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(timeout=30)


def run(module: str, master: str, path: Path) -> str:
    """Run a module against the cluster; what it says."""
    command = [sys.executable, "-m", module, master, str(path)]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    root = Path(__file__).parent.parent
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


def test_views_on_a_cluster(master: str, tmp_path: Path) -> None:
    assert run("tests.cluster_job", master, tmp_path / "w") == "well, on 2 executors"


def test_a_lost_executor_loses_its_part_of_a_round(master: str, tmp_path: Path) -> None:
    assert run("tests.loops.lost_executor", master, tmp_path / "w") == "well"
