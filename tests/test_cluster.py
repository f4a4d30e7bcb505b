"""The Spark engine on a real standalone cluster: a master and two workers on loopback.

Executors share nothing with the driver but the warehouse: the package is sent to them.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Cluster:
    """A master and two workers of one core each."""

    address: str
    workers: list[int]

    def executors(self) -> list[int]:
        """The processes of executors: children of the workers'."""
        return [child for worker in self.workers for child in children_of(worker)]


def children_of(process: int) -> list[int]:
    tasks = Path(f"/proc/{process}/task")
    return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
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
        yield Cluster(f"spark://127.0.0.1:{port}", [process.pid for process in processes[1:]])
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(timeout=30)


ENVIRONMENT = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
ROOT = Path(__file__).parent.parent


def test_views_on_a_cluster(cluster: Cluster, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.cluster_job", cluster.address, str(tmp_path / "w")]
    done = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip() == "well, on 2 executors"


def test_executors_that_are_killed_lose_nothing(cluster: Cluster, tmp_path: Path) -> None:
    """Ten epochs, with an executor killed at a random moment of every other one."""
    chance, rounds = random.Random(20), 10
    command = [
        sys.executable,
        "-m",
        "tests.cluster.fault_rounds",
        cluster.address,
        str(tmp_path / "w"),
        str(rounds),
        "7",
    ]
    shown, killed = [], 0
    with subprocess.Popen(command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None
        for line in job.stdout:
            shown.append(line.strip())
            if line.startswith("round") and int(line.split()[1]) % 2:
                time.sleep(chance.random() * 3)
                if there := cluster.executors():
                    os.kill(chance.choice(there), signal.SIGKILL)
                    killed += 1
    assert job.returncode == 0, shown[-3:]
    assert killed >= rounds // 2 - 1
    done = json.loads(shown[-1])
    assert done["rounds"] == rounds
    assert done["failed"] < rounds // 2, "Spark runs again what an executor took with it"
