"""The crawl queue and a counter in PySpark, as one writes them by hand.

The crawl queue keeps counts, scores and fetched pages in DataFrames that are cached, or the state of each site with
`applyInPandasWithState`, which has one key for each operator.
"""

from __future__ import annotations

import os
import sys
import tempfile
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from examples.flows.crawl import THRESHOLD

from benchmarks.measure import timed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Pages = list[tuple[str, str]]


class CrawlOnSpark:
    """Keeps the queue over increments."""

    def __init__(self) -> None:
        self.spark = _session(4)
        self.urls = self._empty("url STRING, n BIGINT")
        self.sites = self._empty("site STRING, n BIGINT")
        self.scores = self._empty("url STRING, score DOUBLE")
        self.fetched = self._empty("url STRING")

    def _empty(self, schema: str) -> DataFrame:
        return self.spark.createDataFrame([], schema)

    def keep(self, increments: list[Pages]) -> tuple[list[float], dict[str, float]]:
        """The milliseconds of each increment, and the queue at the end."""
        times = [timed(partial(self._take_in, pages)) for pages in increments]
        queue = self.scores.where(f"score >= {THRESHOLD}").join(self.fetched, "url", "left_anti")
        result = {row["url"]: row["score"] for row in queue.collect()}
        self.spark.stop()
        return times, result

    def _take_in(self, pages: Pages) -> None:
        given = self.spark.createDataFrame(pages, "url STRING, text STRING").cache()
        links = given.selectExpr('explode(regexp_extract_all(text, \'href="([^"]+)"\')) AS url')
        links = links.selectExpr("url", "split(url, '/')[2] AS site").cache()
        self.urls = _kept(_added(self.urls, links, "url"))
        self.sites = _kept(_added(self.sites, links, "site"))
        linked = links.distinct().join(self.urls, "url").join(self.sites.withColumnRenamed("n", "site_n"), "site")
        scored = linked.selectExpr("url", "n + site_n / 10 AS score").cache()
        self.scores = _kept(self.scores.join(scored, "url", "left_anti").union(scored))
        self.fetched = _kept(self.fetched.union(given.select("url")).distinct())
        self.scores.where(f"score >= {THRESHOLD}").join(self.fetched, "url", "left_anti").count()


def _added(counts: DataFrame, links: DataFrame, by: str) -> DataFrame:
    new = links.groupBy(by).count().withColumnRenamed("count", "n")
    return counts.union(new).groupBy(by).agg({"n": "sum"}).withColumnRenamed("sum(n)", "n")


def _kept(frame: Any) -> Any:
    """Computed now, without the plan that it came from."""
    return frame.localCheckpoint(eager=True)


_LINKS = """explode(concat(
    transform(regexp_extract_all(text, 'href="([^"]+)"'), u -> named_struct('url', u, 'is_fetched', false)),
    array(named_struct('url', url, 'is_fetched', true)))) AS link"""


def crawl_with_state(increments: list[Pages]) -> tuple[list[float], dict[str, float]]:
    """The milliseconds of each micro-batch, and the queue at the end."""
    spark = _session(2)
    queue: dict[str, float] = {}

    def take_in(batch: DataFrame, number: int) -> None:
        for url, score in batch.collect():
            if score is None:
                queue.pop(url, None)
            else:
                queue[url] = score

    with tempfile.TemporaryDirectory() as folder:
        for at, pages in enumerate(increments):
            columns = dict(zip(("url", "text"), zip(*pages, strict=True), strict=True))
            pq.write_table(pa.table(columns), f"{folder}/{at:03}.parquet")
        stream = spark.readStream.schema("url STRING, text STRING").option("maxFilesPerTrigger", 1).parquet(folder)
        links = stream.selectExpr(_LINKS).selectExpr("split(link.url, '/')[2] AS site", "link.url", "link.is_fetched")
        state = "urls ARRAY<STRING>, counts ARRAY<BIGINT>, fetched ARRAY<STRING>"
        kept = links.groupBy("site").applyInPandasWithState(
            _keep_site, "url STRING, score DOUBLE", state, "update", "NoTimeout"
        )
        query = kept.writeStream.foreachBatch(take_in).outputMode("update").trigger(availableNow=True).start()
        query.awaitTermination()
        times = [float(batch.durationMs["triggerExecution"]) for batch in query.recentProgress if batch.numInputRows]
    spark.stop()
    return times, queue


def _keep_site(key: Any, frames: Any, state: Any) -> Any:
    """The links to the pages of a site, which of them were fetched, and what this changes in the queue."""
    import pandas as pd

    urls, numbers, before = state.get if state.exists else ([], [], [])
    counts, links = dict(zip(urls, numbers, strict=True)), pd.concat(list(frames))
    linked, new = links.url[~links.is_fetched], set(links.url[links.is_fetched])
    for url, n in linked.value_counts().items():
        counts[url] = counts.get(url, 0) + int(n)
    fetched, total = {*before, *new}, sum(counts.values())
    state.update((list(counts), list(counts.values()), sorted(fetched)))
    scores = {url: counts[url] + total / 10 for url in linked.unique() if url not in fetched}
    rows = [*((url, None) for url in new), *((url, score) for url, score in scores.items() if score >= THRESHOLD)]
    yield pd.DataFrame(rows, columns=["url", "score"])


def _session(partitions: int) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # what the workers run
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    return builder.config("spark.sql.shuffle.partitions", str(partitions)).getOrCreate()


def count_with_state(names: list[str], increments: int) -> float:
    """The milliseconds that Spark takes to count keys with `applyInPandasWithState`, a file for each micro-batch."""
    spark = _session(2)
    size = len(names) // increments
    with tempfile.TemporaryDirectory() as folder:
        for at in range(increments):
            pq.write_table(pa.table({"key": names[at * size : (at + 1) * size]}), f"{folder}/{at}.parquet")
        events = spark.readStream.schema("key STRING").option("maxFilesPerTrigger", 1).parquet(folder)
        counts = events.groupBy("key").applyInPandasWithState(
            _add_to_state, "key STRING, n BIGINT", "n BIGINT", "update", "NoTimeout"
        )
        started = counts.writeStream.format("noop").outputMode("update").trigger(availableNow=True)
        took = timed(lambda: started.start().awaitTermination())
    spark.stop()
    return took


def _add_to_state(key: Any, frames: Any, state: Any) -> Any:
    import pandas as pd

    n = sum(len(frame) for frame in frames) + (state.get[0] if state.exists else 0)
    state.update((n,))
    yield pd.DataFrame({"key": [key[0]], "n": [n]})
