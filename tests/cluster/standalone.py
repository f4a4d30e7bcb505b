"""A standalone Spark cluster on loopback: a master and workers, each a process with an address and folders of its own.

Where `unshare` is permitted, a worker and its executors see a home, a scratch folder and a cache that nobody else sees,
on a disk of a few megabytes in memory, and nothing of the driver's; elsewhere these are plain folders (`is_isolated`).
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pyspark

SPARK_CLASS = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
DEPLOY = "org.apache.spark.deploy"
_EXECUTOR = "CoarseGrainedExecutorBackend"
DRIVER_HOST = "127.0.0.1"
DISK = 160 << 20
"""Bytes of a worker's own disk."""
FOLDERS = ("home", "scratch", "cache", "tmp", "work")
_ALONE = f"""set -e
mount -t tmpfs -o size={DISK} tmpfs "$OWN"
mount -t tmpfs -o size=1m tmpfs "$HIDDEN"
cd "$OWN" && mkdir {" ".join(FOLDERS)} && exec "$@"
"""
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": DRIVER_HOST,
    "spark.driver.bindAddress": DRIVER_HOST,
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.locality.wait": "0s",
    # What docs/scaling.md recommends where executors get lost, fill their disks, or are slow.
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "1s",
    "spark.excludeOnFailure.enabled": "true",
    "spark.excludeOnFailure.timeout": "20s",
}


@cache
def is_isolated() -> bool:
    """Whether workers can have folders that nobody else sees."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*_UNSHARE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True).returncode == 0


_UNSHARE = ["unshare", "--map-root-user", "--mount"]


def wait_until(holds: Callable[[], Any], what: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as s:
        s.bind((DRIVER_HOST, 0))
        return int(s.getsockname()[1])


def mortal(command: list[str]) -> list[str]:
    """A command that ends with the thread that starts it, however that ends."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", *command] if setpriv else command


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just ended
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
    return found


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    return ""


@dataclass
class Worker:
    """A worker, and the executors that it has started."""

    host: str
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def executors(self) -> list[int]:
        return [child for child in children(self.process.pid) if _EXECUTOR in _command(child)]

    @property
    def pythons(self) -> list[int]:
        """The Python processes of its executors' tasks: executors start one that forks them."""
        return [task for executor in self.executors for daemon in children(executor) for task in children(daemon)]

    def inside(self, folder: str) -> Path:
        """One of its own folders, as it sees it."""
        return Path(f"/proc/{self.process.pid}/root{self.folder}") / folder

    def kill(self) -> None:
        """Let the machine be gone: worker, executors and all that was on their disk."""
        for pid in (self.process.pid, *self.executors):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()


@dataclass
class Cluster:
    """A master and its workers. `shared` is the only folder of the driver's side that executors see."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    """What executors find in their environment, besides what they need."""
    size: int = 2

    def __post_init__(self) -> None:
        self.shared, self.hidden = self.folder / "shared", self.folder / "driver"
        for made in (self.shared, self.hidden):
            made.mkdir(parents=True)
        self.port, self.workers, self._starts = free_port(), list[Worker](), 0
        command = [SPARK_CLASS, f"{DEPLOY}.master.Master", "--host", DRIVER_HOST, "--port", str(self.port)]
        self._master = self._start([*command, "--webui-port", "0"], DRIVER_HOST, {})

    @property
    def address(self) -> str:
        return f"spark://{DRIVER_HOST}:{self.port}"

    def start_workers(self) -> None:
        """Start the workers that are missing, and wait for them."""
        wait_until(lambda: "I have been elected leader" in self._said("log0"), "the master does not come up")
        self.workers = [worker for worker in self.workers if worker.process.poll() is None]
        there = {worker.host for worker in self.workers}
        hosts = [f"127.0.0.{2 + i}" for i in range(self.size)]
        before, missing = self._registered(), [host for host in hosts if host not in there]
        self.workers += [self._start_worker(host) for host in missing]
        wait_until(lambda: self._registered() >= before + len(missing), "the workers do not come up")

    def _registered(self) -> int:
        return self._said("log0").count("Registering worker")

    def _said(self, log: str) -> str:
        return (self.folder / log).read_text(errors="replace")

    def _start_worker(self, host: str) -> Worker:
        own = self.folder / f"worker{self._starts}"
        own.mkdir()
        for name in () if is_isolated() else FOLDERS:
            (own / name).mkdir()
        places = {"HOME": "home", "SPARK_LOCAL_DIRS": "scratch", "VIEWLET_CACHE": "cache", "TMPDIR": "tmp"}
        environment = {name: str(own / folder) for name, folder in places.items()}
        alone = [*_UNSHARE, "sh", "-c", _ALONE, "sh"] if is_isolated() else []
        command = [SPARK_CLASS, f"{DEPLOY}.worker.Worker", "--host", host, "--webui-port", "0"]
        resources = ["-d", str(own / "work"), "-c", "1", "-m", "1g", self.address]
        more = {"OWN": str(own), "HIDDEN": str(self.hidden), "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={own / 'tmp'}"}
        process = self._start([*alone, *command, *resources], host, {**environment, **more, **self.environment})
        return Worker(host, own, process)

    def _start(self, command: list[str], host: str, more: Mapping[str, str]) -> subprocess.Popen[bytes]:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "AWS_", "VIEWLET_"))
        }
        options = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
        daemon = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": options, "SPARK_LOCAL_IP": host}
        environment = {**kept, "PYSPARK_PYTHON": sys.executable, **daemon, **more}
        log = (self.folder / f"log{self._starts}").open("wb")
        self._starts += 1
        with log:
            return subprocess.Popen(
                mortal(command), env=environment, stdout=log, stderr=log, start_new_session=True, cwd=self.folder
            )

    def stop(self) -> None:
        for worker in self.workers:
            worker.kill()
        self._master.kill()
        self._master.wait()


@contextmanager
def standalone_cluster(folder: Path, environment: Mapping[str, str] | None = None) -> Iterator[Cluster]:
    """A cluster of two workers of one core each."""
    cluster = Cluster(folder, environment or {})
    try:
        cluster.start_workers()
        yield cluster
    finally:
        cluster.stop()
