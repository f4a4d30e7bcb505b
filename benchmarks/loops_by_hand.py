"""Loops as one writes them with DataFrames: the whole step in every round, what stays the same cached, plans cut off."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def distances(spark: Any, table: pa.Table) -> int:
    """Shortest paths from vertex 0."""
    edges = spark.createDataFrame(table).cache()
    found = spark.sql("SELECT 0L AS v, 0L AS cost").localCheckpoint()
    while True:
        stepped = found.join(edges, found.v == edges.src).selectExpr("dst AS v", "cost + w AS cost")
        best = found.union(stepped).groupBy("v").agg({"cost": "min"}).toDF("v", "cost").localCheckpoint()
        if not best.exceptAll(found).limit(1).count():
            return int(best.count())
        found = best


def ranks(spark: Any, table: pa.Table, *, tolerance: float) -> int:
    """PageRank, until no rank changes by more than the tolerance."""
    edges = spark.createDataFrame(table)
    degrees = edges.groupBy("src").count()
    links = edges.join(degrees, "src").select("src", "dst", "count").cache()
    vertices = edges.selectExpr("src AS v").union(edges.selectExpr("dst AS v")).distinct().cache()
    ranks = vertices.selectExpr("v", "0.15D AS rank").localCheckpoint()
    rounds = 0
    while True:
        given = links.join(ranks, links.src == ranks.v).selectExpr("dst AS v", "rank / count AS share")
        sums = given.groupBy("v").agg({"share": "sum"}).toDF("v", "share")
        new = vertices.join(sums, "v", "left").selectExpr("v", "0.15D + 0.85D * coalesce(share, 0D) AS rank")
        new = new.localCheckpoint()
        rounds += 1
        both = new.join(ranks.withColumnRenamed("rank", "old"), "v")
        if both.selectExpr("max(abs(rank - old)) AS change").first().change < tolerance:
            return rounds
        ranks = new
