"""A process that takes a stream of Spark's into a warehouse, batch by batch."""

from __future__ import annotations

import sys
from typing import Any

import viewlet


def run_stream(spark: Any, db: viewlet.Database, landing: str, checkpoint: str) -> None:
    """Read all files that are there, each as a batch of its own."""
    stream = spark.readStream.schema("id BIGINT, x STRING").option("maxFilesPerTrigger", 1).json(landing)
    writer = stream.writeStream.foreachBatch(db.batch_writer("t", "files"))
    writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()


def main(path: str, landing: str, checkpoint: str) -> None:
    from tests.conftest import small_session

    spark = small_session()
    with viewlet.connect(path, spark=spark) as db:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        run_stream(spark, db, landing, checkpoint)
        sys.stdin.read()  # until it is killed


if __name__ == "__main__":
    main(*sys.argv[1:])
