"""What goes wrong on a cluster: each function lets it happen, and returns what ends it."""

from __future__ import annotations

import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from tests.cluster.standalone import Cluster, Worker, is_isolated
from tests.storage.server import LOST, UNAVAILABLE, Answer, Environ, S3Server

End = Callable[[], None]
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.5",
    "spark.speculation.minTaskRuntime": "2s",
}
"""Settings with which a task that stands still is soon run once more, elsewhere."""


@dataclass
class Trouble:
    """Faults at the expense of a worker that is left to chance."""

    cluster: Cluster
    server: S3Server
    rng: random.Random

    def begin(self, kind: str) -> End:
        happen: Callable[[], End] = getattr(self, kind.replace(" ", "_"))
        return happen()

    def kinds(self, place: str) -> list[str]:
        """What can go wrong here."""
        known = ["kill executor", "kill worker", "kill driver", "delete cache", "run twice"]
        return known + ["fill disk"] * is_isolated() + ["store errors"] * (place == "s3")

    def _worker(self) -> Worker:
        return self.rng.choice(self.cluster.workers)

    def kill_executor(self) -> End:
        _signal(self._worker().executors, signal.SIGKILL)
        return _nothing

    def kill_worker(self) -> End:
        """The machine is lost with its disk; another takes its place."""
        self._worker().kill()
        self.cluster.start_workers()
        return _nothing

    def kill_driver(self) -> End:
        raise AssertionError("whoever started the driver kills it")

    def delete_cache(self) -> End:
        """All copies of the warehouse's files, and what an executor keeps for later stages."""
        worker = self._worker()
        shutil.rmtree(worker.inside("cache"), ignore_errors=True)
        for file in worker.inside("scratch").rglob("shuffle_*"):
            file.unlink(missing_ok=True)
        return _nothing

    def fill_disk(self) -> End:
        """Scratch folder, cache and home are on one disk."""
        file = self._worker().inside("scratch") / "full"
        with suppress(OSError), file.open("wb", buffering=0) as out:
            while True:
                out.write(bytes(1 << 20))
        return lambda: file.unlink(missing_ok=True)

    def run_twice(self) -> End:
        """Tasks of a worker stand still for so long that others are started beside them; then both go on."""
        stopped = self._worker().pythons
        _signal(stopped, signal.SIGSTOP)
        resume = threading.Timer(self.rng.uniform(2.5, 6), _signal, (stopped, signal.SIGCONT))
        resume.start()
        return resume.join

    def store_errors(self) -> End:
        """The store is gone for two seconds, then slow, and fails now and then; some failures are carried out."""
        back = time.monotonic() + 2

        def fault(environ: Environ) -> Answer | None:
            if time.monotonic() < back:
                return UNAVAILABLE
            time.sleep(random.uniform(0, 0.1))
            return random.choices([None, UNAVAILABLE, LOST], [80, 10, 10])[0]

        self.server.fault = fault

        def end() -> None:
            self.server.fault = lambda environ: None

        return end


def _signal(processes: Iterable[int], number: int) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, number)


def _nothing() -> None:
    """What is broken stays so."""
