"""Viewlet keeps the results of Spark queries fresh."""

from viewlet.aggregates import Aggregate, ColumnAggregate
from viewlet.columns.python_values import Months
from viewlet.database import Database, connect
from viewlet.errors import (
    CorruptFile,
    EndlessLoop,
    EvaluationError,
    FlowError,
    FlowUnfinished,
    InUse,
    NameTaken,
    ProjectError,
    RejectedEpoch,
    SparkMissing,
    SqlError,
    StoreError,
    UnknownName,
    UnsupportedFunction,
    UnsupportedQuery,
    UnsupportedValue,
    UntrustedCode,
    ViewletError,
    WarehouseBusy,
    WrongArgument,
)
from viewlet.source.folder import folder
from viewlet.warehouse.apply import Epoch
from viewlet.warehouse.relation import Relation
from viewlet.warehouse.subscriptions import Subscription

__version__ = "0.1.0"

__all__ = [
    "Aggregate",
    "ColumnAggregate",
    "CorruptFile",
    "Database",
    "EndlessLoop",
    "Epoch",
    "EvaluationError",
    "FlowError",
    "FlowUnfinished",
    "InUse",
    "Months",
    "NameTaken",
    "ProjectError",
    "RejectedEpoch",
    "Relation",
    "SparkMissing",
    "SqlError",
    "StoreError",
    "Subscription",
    "UnknownName",
    "UnsupportedFunction",
    "UnsupportedQuery",
    "UnsupportedValue",
    "UntrustedCode",
    "ViewletError",
    "WarehouseBusy",
    "WrongArgument",
    "__version__",
    "connect",
    "folder",
]
