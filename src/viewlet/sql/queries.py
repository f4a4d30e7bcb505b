"""Runs the queries in statements by Spark on the current rows; their failures are errors of the user."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from viewlet.errors import EvaluationError, SqlError
from viewlet.plan.types import Field
from viewlet.spark.unknown_tables import table_hint
from viewlet.sql.parameters import Parameters
from viewlet.sql.schema import declared_field

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from viewlet.database import Database


def run_query(db: Database, text: str, parameters: Parameters) -> DataFrame:
    """A query over the last committed epoch; Spark's analysis errors become `SqlError`."""
    from pyspark.errors import AnalysisException, ParseException

    try:
        return db._warehouse.reading.query(text, parameters)
    except (AnalysisException, ParseException) as error:
        message = " ".join(str(error).split("\n")[0].split())
        raise SqlError(message, hint=table_hint(message, db._warehouse.catalog.names())) from None


def fields_of(frame: DataFrame) -> tuple[Field, ...]:
    """The columns of a query, in Viewlet's types."""
    try:
        return tuple(replace(declared_field(f), nullable=True) for f in frame.schema.jsonValue()["fields"])
    except ValueError as error:
        raise SqlError(str(error)) from None


def collect(frame: DataFrame, fields: tuple[Field, ...] | None = None) -> pa.Table:
    """Collect a query's rows; failures on the data become errors of the user."""
    from pyspark.errors import PySparkException

    from viewlet.spark.session.arrow_frames import to_arrow

    try:
        return to_arrow(frame, fields_of(frame) if fields is None else fields)
    except PySparkException as error:
        raise EvaluationError(" ".join(str(error).split("\n")[0].split())) from None
