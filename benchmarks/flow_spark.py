"""The crawl queue in PySpark, as one writes it by hand: counts, scores and fetched pages in DataFrames that are cached."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from workloads.flows.crawl import THRESHOLD

from benchmarks.measure import timed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Pages = list[tuple[str, str]]


class CrawlOnSpark:
    """Keeps the queue over increments."""

    def __init__(self) -> None:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        self.spark = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
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


def count_with_state(names: list[str], increments: int) -> float:
    """The milliseconds that Spark takes to count keys with `applyInPandasWithState`, a file for each micro-batch."""
    import tempfile

    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
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
