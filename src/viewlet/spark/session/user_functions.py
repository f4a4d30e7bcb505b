"""User-defined aggregates with delta handlers, as functions of Spark."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

from pyspark.sql import SparkSession

from viewlet.aggregates import Aggregate, ColumnAggregate, Replay, refuse_wrong
from viewlet.plan.expr import Handlers
from viewlet.plan.types import ddl
from viewlet.spark.decode.tree import Tree, code_of


def register_aggregate(spark: SparkSession, name: str, aggregate: Aggregate | ColumnAggregate) -> Any:
    """Register an aggregate with Spark, as a function that replays a group; returns the function for DataFrames."""
    from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf

    refuse_wrong(name, aggregate)
    make: Any = arrow_udf  # its stubs leave aggregates out
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a callable object has no type hints
        function = make(Replay(name, aggregate), ddl(aggregate.type), ArrowUDFType.GROUPED_AGG)
    return spark.udf.register(name, function)


def handlers_of(function: Tree) -> Handlers | None:
    """The delta handlers of an aggregate function, if it was declared with them."""
    if function.kind != "PythonUDAF" or Replay.__module__.encode() not in (code := code_of(function)):
        return None
    found, _ = pickle.loads(code)
    if not isinstance(found, Replay):
        return None
    declared = found.aggregate
    return Handlers(declared.fields, declared.merge is not None, declared.inverse is not None, code)
