"""Viewlet keeps the results of Spark queries fresh."""

from typing import Any

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
    MissingExtra,
    NameTaken,
    ProjectError,
    RejectedEpoch,
    SparkFailed,
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
from viewlet.progress import Progress
from viewlet.sink.delta_table import delta_table
from viewlet.sink.iceberg_table import iceberg_table
from viewlet.sink.kafka_topic import kafka_topic
from viewlet.sink.postgres_table import postgres_table
from viewlet.source.events.kafka import kafka
from viewlet.source.files.folder_source import folder
from viewlet.source.lake.delta_lake import delta
from viewlet.source.lake.iceberg import iceberg
from viewlet.source.lake.spark_batch import spark_batch
from viewlet.source.postgres.source import postgres
from viewlet.store import Backup, backups, restore
from viewlet.warehouse.epoch.user_epoch import Epoch
from viewlet.warehouse.read.relation import Relation
from viewlet.warehouse.read.subscriptions import Subscription

__version__ = "0.1.0"


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext viewlet`: the magics `%viewlet` and `%%viewlet`."""
    from viewlet.notebook.magic import load

    load(shell)


__all__ = [
    "Aggregate",
    "Backup",
    "ColumnAggregate",
    "CorruptFile",
    "Database",
    "EndlessLoop",
    "Epoch",
    "EvaluationError",
    "FlowError",
    "FlowUnfinished",
    "InUse",
    "MissingExtra",
    "Months",
    "NameTaken",
    "Progress",
    "ProjectError",
    "RejectedEpoch",
    "Relation",
    "SparkFailed",
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
    "backups",
    "connect",
    "delta",
    "delta_table",
    "folder",
    "iceberg",
    "iceberg_table",
    "kafka",
    "kafka_topic",
    "postgres",
    "postgres_table",
    "restore",
    "spark_batch",
]
