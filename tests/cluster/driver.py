"""A driver on a standalone cluster, in a process of its own: it does what the test sends it, until it is killed.

`Driver` is the test's end of it, `main` the process. What a request raises is raised by the test's call, too.
"""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pyarrow as pa

import viewlet
from tests.cluster.standalone import DRIVER_HOST, SETTINGS, Cluster, mortal
from viewlet import errors
from viewlet.store.limits import Limits

ROOT = Path(__file__).parents[2]
EAGER = {
    "first_level_rows": 64,
    "commit_merge_rows": 256,
    "recent_rows": 256,
    "inline_bytes": 2048,
    "inline_most": 4096,
}
"""Sizes at which a small warehouse does what a large one does: runs become files, and are merged by tasks."""


class Edit(NamedTuple):
    """One thing that an epoch does."""

    kind: str
    table: str
    rows: Any


class Driver:
    """A driver process, as the test sees it."""

    def __init__(self, cluster: Cluster, settings: Mapping[str, str] | None = None) -> None:
        self._ours, theirs = Pipe()
        tmp = Path(tempfile.mkdtemp(dir=cluster.hidden))
        places = {"TMPDIR": str(tmp), "SPARK_LOCAL_DIRS": str(tmp), "VIEWLET_CACHE": str(cluster.hidden / "cache")}
        environment = {**os.environ, **cluster.environment, **places, "SPARK_LOCAL_IP": DRIVER_HOST}
        environment |= {"PYSPARK_PYTHON": sys.executable}
        command = [sys.executable, "-m", "tests.cluster.driver", str(theirs.fileno()), cluster.address]
        command += [f"{name}={value}" for name, value in (settings or {}).items()]
        self._log = tmp / "log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                mortal(command), cwd=ROOT, env=environment, pass_fds=[theirs.fileno()], start_new_session=True,
                stdout=log, stderr=log,
            )  # fmt: skip
        theirs.close()

    def __call__(self, method: str, *arguments: Any, **named: Any) -> Any:
        """What a method of `Session` returns there."""
        self.begin(method, *arguments, **named)
        return self.result()

    def begin(self, method: str, *arguments: Any, **named: Any) -> None:
        self._ours.send((method, arguments, named))

    def has_answered(self) -> bool:
        return self._ours.poll()

    @property
    def was_killed(self) -> bool:
        return self._ours.closed

    def result(self, seconds: float = 240) -> Any:
        """What the method returns that was begun last. EOFError: the driver is no more."""
        if self.was_killed:
            raise EOFError("it was killed")
        try:
            if not self._ours.poll(seconds):
                raise TimeoutError(f"the driver does not answer: {self.said()}")
            kind, answer = self._ours.recv()
        except (EOFError, ConnectionError):
            raise EOFError(self.said()) from None
        if kind == "done":
            return answer
        raise getattr(errors, kind, AssertionError)(answer)

    def said(self) -> str:
        return self._log.read_text(errors="replace")[-3000:]

    def kill(self) -> None:
        """Let it be gone, its JVM too."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._ours.close()

    def stop(self) -> None:
        """Let it end by itself."""
        with suppress(OSError, EOFError, AssertionError, errors.ViewletError):
            self.begin("close")
            self.result(20)
        self.kill()


class Session:
    """What the driver process can be asked for."""

    def __init__(self, master: str, settings: Mapping[str, str]) -> None:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(master).appName("viewlet-cluster")
        for name, value in {**SETTINGS, **settings}.items():
            builder = builder.config(name, value)
        self.spark = builder.getOrCreate()
        self.db: Any = None

    def open(self, address: str, settings: Mapping[str, str] | None = None) -> int:
        """Open a warehouse, with settings of the session; its epoch."""
        self.close()
        session = self.spark.newSession()
        for name, value in (settings or {}).items():
            session.conf.set(name, value)
        self.db = viewlet.connect(address, spark=session, engine="spark")
        return self.epoch()

    def close(self) -> None:
        if self.db is not None:
            self.db.close()
            self.db = None

    def epoch(self) -> int:
        return int(self.db.status()["epoch"])

    def sql(self, text: str) -> None:
        self.db.sql(text)

    def create_view(self, name: str, text: str) -> None:
        self.db.create_view(name, text)

    def change(self, edits: Sequence[Edit], *, as_frames: bool = False) -> int:
        """One epoch, of rows or of DataFrames; its number."""
        with self.db.epoch() as epoch:
            for kind, table, rows in edits:
                getattr(epoch, kind)(table, self._frame(table, rows) if as_frames else rows)
        return int(epoch.number)

    def _frame(self, table: str, rows: Any) -> Any:
        if not isinstance(rows, pa.Table):
            types = self.db.table(table).arrow().schema
            rows = pa.Table.from_pylist(rows, schema=pa.schema([types.field(name) for name in rows[0]]))
        return self.spark.createDataFrame(rows)

    def check(self) -> list[dict[str, Any]]:
        """The rows in which Viewlet's own check finds the views wrong."""
        wrong: list[dict[str, Any]] = self.db.check().to_pylist()
        return wrong

    def read_by_tasks(self, name: str) -> pa.Table:
        return self.db.table(name).spark().toArrow()

    def jobs(self) -> list[dict[str, Any]]:
        """The jobs of the last epoch."""
        last: list[dict[str, Any]] = self.db.history()[-1]["jobs"]
        return last

    def where(self) -> list[str]:
        """Where executors find Viewlet."""
        return sorted(set(self.spark.sparkContext.parallelize(range(4), 4).map(lambda _: viewlet.__file__).collect()))

    def attempts(self) -> dict[str, int]:
        """How many tasks of all jobs so far came to their end, failed, or were killed, and how many stages ran again."""
        context: Any = self.spark.sparkContext
        java, empty = context._jvm.java.util, context._gateway.new_array(context._jvm.double, 0)
        stages = context._jsc.sc().statusStore().stageList(java.ArrayList(), False, False, empty, java.ArrayList())
        found = [stages.apply(i) for i in range(stages.size())]
        return {
            "done": sum(stage.numCompleteTasks() for stage in found),
            "failed": sum(stage.numFailedTasks() for stage in found),
            "killed": sum(stage.numKilledTasks() for stage in found),
            "stages again": sum(stage.attemptId() > 0 for stage in found),
        }


def serve(connection: Connection, session: Session) -> None:
    while True:
        try:
            method, arguments, named = connection.recv()
        except EOFError:
            return
        try:
            answer = "done", getattr(session, method)(*arguments, **named)
        except errors.ViewletError as error:
            answer = error.kind, str(error)
        connection.send(answer)


def main(fd: int, master: str, *settings: str) -> None:
    place: Any = importlib.import_module("viewlet.compile.distribute.place")
    with (
        patch.object(place, "SMALL", -1),  # else maps would be kept at the driver
        patch("viewlet.engine.cluster.epoch_job.INLINE", 2 * EAGER["inline_bytes"]),
        patch("viewlet.warehouse.warehouse._LARGE_MERGE", 0),
        patch("viewlet.store.store.Limits", partial(Limits, **EAGER)),
    ):
        serve(Connection(fd), Session(master, dict(setting.split("=", 1) for setting in settings)))


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
