"""Comparing a view with its definition by tasks: only rows that may differ reach the driver.

Rows of both that agree in all columns except doubles meet in one task, which compares them as the driver compares small
views and drops those that do not differ. The driver judges the rest as for small views.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import combine, values_of
from viewlet.columns.differences import differences, has_double
from viewlet.columns.rows import Rows
from viewlet.engine.cluster.exchange import pack, unpack
from viewlet.engine.cluster.runner import partitions_for
from viewlet.engine.cluster.slices import BATCH, Cutting, Slice, ToSlices, slices_for, take_slices
from viewlet.plan.types import Field
from viewlet.spark.session.arrow_frames import arrow_schema, without_months

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def narrowed(query: DataFrame, view: DataFrame, size: int, fields: tuple[Field, ...]) -> tuple[Rows, Rows]:
    """The rows in which a query and a view of about `size` bytes may differ."""
    from viewlet.spark.session.handles import plan_of
    from viewlet.spark.session.jvm import Jvm

    spark = query.sparkSession
    for name, value in BATCH.items():
        spark.conf.set(name, value)
    both = _signed(query, fields, 1).unionAll(_signed(Jvm(spark).frame(plan_of(view)), fields, -1))
    parts = partitions_for(spark.sparkContext.defaultParallelism)
    cutting = Cutting(both, ReadSigned(fields), slices_for(2 * size, parts))
    found = take_slices([cutting], CompareRows(fields), parts)
    nothing = Rows.empty({f.name: f.type for f in arrow_schema(fields)})
    expected, there = zip(*found, strict=True) if found else ((), ())
    return Rows.concat([nothing, *map(unpack, expected)]), Rows.concat([nothing, *map(unpack, there)])


def _signed(frame: DataFrame, fields: tuple[Field, ...], weight: int) -> DataFrame:
    from pyspark.sql import functions as F

    named = without_months(frame.toDF(*(f"c{i}" for i in range(len(fields)))))
    return named.withColumn("weight", F.lit(weight).cast("bigint"))


def _exact(fields: tuple[Field, ...]) -> list[str]:
    """The columns that are compared exactly."""
    return [f.name for f in fields if not has_double(f)]


@dataclass(frozen=True)
class ReadSigned:
    """Reads rows of both, with positive weights for the query's, and hashes their exact columns for the exchange."""

    fields: tuple[Field, ...]

    def __call__(self, given: Iterator[pa.Table]) -> Iterator[ToSlices]:
        wanted = arrow_schema(self.fields)
        for table in given:
            weights = values_of(combine(table.column("weight")), "i8")
            rows = Rows.of(table.drop_columns(["weight"]).rename_columns(wanted.names).cast(wanted), weights)
            yield ToSlices(rows, rows.hashes(_exact(self.fields)))


@dataclass(frozen=True)
class CompareRows:
    """Yields from each slice the rows of both whose exact columns are those of some difference."""

    fields: tuple[Field, ...]

    def __call__(self, slices: Iterator[Slice]) -> Iterator[tuple[bytes, bytes]]:
        exact = _exact(self.fields)
        for rows in (rows for found in slices for rows in found.values()):
            expected, found = rows.filter(rows.weights > 0), rows.filter(rows.weights < 0).negated()
            rest = differences(expected, found, self.fields)
            if len(rest):
                wrong = rest.hashes(exact)
                yield tuple(pack(r.filter(np.isin(r.hashes(exact), wrong))) for r in (expected, found))  # type: ignore[misc]
