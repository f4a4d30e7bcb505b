"""What the test of a lost executor runs in a process of its own: a loop on a standalone cluster, one executor of which dies."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from typing import Any

import viewlet
from tests.cluster_job import session
from tests.loops import references
from viewlet import loops
from viewlet.progress import Progress

_CHAIN = 12


def executors(spark: Any) -> list[int]:
    """The processes of executors: a Python worker's parent is the one that forks workers, whose parent is the executor."""

    def above(_: int) -> int:
        with open(f"/proc/{os.getppid()}/stat", encoding="ascii") as file:
            return int(file.read().rsplit(")", 1)[1].split()[1])

    return sorted(set(spark.sparkContext.parallelize(range(8), 8).map(above).collect()))


def main(master: str, path: str) -> None:
    spark = session(master)
    place: Any = importlib.import_module("viewlet.compile.distribute.place")
    place.SMALL = -1  # else maps would be kept at the driver
    edges = [(i, i + 1) for i in range(_CHAIN)]
    rounds: list[str] = []

    def lose_one(progress: Progress) -> None:
        if progress.text not in rounds:
            rounds.append(progress.text)
            if "round 4," in progress.text:
                os.kill(executors(spark)[0], signal.SIGKILL)

    with viewlet.connect(path, spark=spark, engine="spark") as db:
        db.create_table("edges", "src BIGINT, dst BIGINT", rows=edges)
        db.create_view("v", loops.transitive_closure("edges"), progress=lose_one)
        assert sorted(db.table("v").rows()) == sorted(references.closure([(a, b, 0) for a, b in edges]))
        record = db.history("v")[-1]
        assert record["views"]["v"]["technique"] == "from scratch", "no round was done again by the driver"
        assert len(record["jobs"]) == len(record["views"]["v"]["rounds"]) + 1, "each round is one job"
    spark.stop()
    sys.stdout.write("well\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
