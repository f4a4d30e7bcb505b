"""Runs the projects of this folder with Spark's own runner, and keeps what their datasets hold after each step.

    python -m tests.project.spark_runner        # writes spark_runner.json, which test_projects.py compares with

Spark's runner needs Spark Connect, which Viewlet does not: pip install 'pyspark[connect,pipelines]'.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.project.shops import DATASETS, HERE, RUN_BY_SPARK, Shop, distinct

RESULTS = HERE / "spark_runner.json"
WINDOW_STEPS = (
    ("nothing closes", 0, 30),
    ("windows close", 100, 20),
    ("late, and in time", 80, 15),
    ("others close", 125, 1),
    ("late", 10, 20),
    ("all close", 200, 10),
)
"""For each step the first minute of its rows, and how many there are; the watermark is 30 minutes behind."""


def steps(shop: Shop) -> Iterator[str]:
    """What happens to a project's files between its runs."""
    rng = random.Random(3)
    if shop.name == "window_shop":
        for file, (step, first, count) in enumerate(WINDOW_STEPS):
            shop.deliver(str(file), distinct(rng, first, count))
            yield step
        return
    shop.deliver("a", distinct(rng, 0, 30))
    yield "first files"
    shop.deliver("b", distinct(rng, 100, 20))
    yield "more files"
    (shop.landing / f"a.{shop.format}").unlink()
    yield "a file is gone"


def texts(rows: Any) -> list[list[str]]:
    """Rows as JSON can hold them, in an order of their own."""
    return sorted([_text(value) for value in row] for row in rows)


def _text(value: Any) -> str:
    """A value; a time in UTC, whatever zone it came in."""
    return str(value.astimezone(UTC) if isinstance(value, datetime) else value)


def run_by_spark(shop: Shop) -> dict[str, dict[str, list[list[str]]]]:
    """What each dataset holds after each step, by Spark's runner, in the project's folder."""
    os.chdir(shop.root)
    run, read = _runner(shop)
    found = {}
    for step in steps(shop):
        run()
        found[step] = {name: texts(read(name)) for name in DATASETS[shop.name]}
    return found


def _runner(shop: Shop) -> tuple[Callable[[], None], Callable[[str], list[Any]]]:
    """What `spark-pipelines run` does, with one session for all runs; and a way to read a dataset."""
    from pyspark.pipelines.cli import load_pipeline_spec, register_definitions
    from pyspark.pipelines.spark_connect_graph_element_registry import SparkConnectGraphElementRegistry
    from pyspark.pipelines.spark_connect_pipeline import create_dataflow_graph, handle_pipeline_events, start_run
    from pyspark.sql import SparkSession

    path = shop.root / "spark-pipeline.yml"
    spec = load_pipeline_spec(path)
    builder: Any = SparkSession.builder.remote("local[2]")
    for name, value in spec.configuration.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    if spec.database:
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {spec.database}")

    def run() -> None:
        graph = create_dataflow_graph(spark, spec.catalog, spec.database, spec.configuration)
        register_definitions(path, SparkConnectGraphElementRegistry(spark, graph), spec, spark, graph)
        started = start_run(spark, graph, [], False, [], dry=False, storage=f"file://{shop.root}/storage")
        handle_pipeline_events(started)

    def read(name: str) -> list[Any]:
        if name == "exported":  # a sink
            return list(spark.read.parquet(str(shop.root / name)).collect())
        return list(spark.table(f"{spec.database}.{name}" if spec.database else name).collect())

    return run, read


def main(names: list[str]) -> None:
    """All projects, each in a process of its own, since paths are relative to where Spark was started."""
    found = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name in names or RUN_BY_SPARK:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "tests.project.spark_runner", "--one", name, folder]
            found[name] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout.splitlines()[-1])
        RESULTS.write_text(json.dumps(found, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        result = run_by_spark(Shop(sys.argv[2], Path(sys.argv[3])))
        sys.stdout.write("\n" + json.dumps(result) + "\n")
    else:
        main(sys.argv[1:])
