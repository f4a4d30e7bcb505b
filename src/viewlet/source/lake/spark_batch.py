"""Anything that Spark can read as a batch, as the source of a table: read as a whole, and compared with the table.

Reading costs as much as the source; the rest is proportional to the difference. If there is none, nothing is committed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from viewlet import arguments
from viewlet.columns.rows import Rows
from viewlet.errors import SqlError, StoreError
from viewlet.intake.to_columns import rows_of_spark
from viewlet.plan.words import options_text, quoted, quoted_text
from viewlet.source.bad_records import OnBad, Placed, read_on_bad
from viewlet.source.feed import Batch, Feed, Target, fields_of
from viewlet.source.lake.arrow_batches import readable_rows
from viewlet.source.net_changes import Place
from viewlet.warehouse.declare.tables import Table

_SECRET = ("password", "secret", "token", "credential")


@dataclass(frozen=True)
class SparkBatch(Feed):
    """The rows of `spark.read` with a format and options."""

    kind: ClassVar[str] = "spark"
    format: str
    options: tuple[tuple[str, str], ...] = ()
    on_bad: OnBad = "FAIL EPOCH"

    def batches(self, target: Target) -> Generator[Batch, None, None]:
        table, began = target.table, time.time()
        found, bad = readable_rows(table, self._rows(target), Place(self.format))
        old = target.warehouse.store.snapshot().contents(table.name).consolidated()
        net = Rows.concat([old.negated(), Rows.of(found).select(old.names)]).consolidate()
        if len(net) or (bad and target.position() is None):
            yield _batch(table, net, bad, began)

    def _rows(self, target: Target) -> pa.Table:
        reader = target.warehouse.session.read.format(self.format)
        for name, value in self.options:
            reader = reader.option(name, _expanded(value))
        return rows_of_spark(target.table.name, reader.load().selectExpr(*map(quoted, target.table.names)))

    @property
    def statement(self) -> str:
        return f"FROM SPARK {quoted_text(self.format)}{options_text(dict(self.options))} ON BAD RECORD {self.on_bad}"


def _batch(table: Table, net: Rows, bad: list[Placed], began: float) -> Batch:
    """The difference as a batch: inserted rows, and deleted rows or keys."""
    come, gone = net.filter(net.weights > 0).expanded(), net.filter(net.weights < 0).negated().expanded()
    keys = gone.select(table.primary_key) if table.primary_key else gone
    position = {"read": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(began))}
    return Batch(position, come.arrow(), keys.arrow(), len(come) + len(gone), oldest=began, bad=bad)


def _expanded(value: str) -> str:
    """A value, or the value of the environment variable that it names."""
    if not value.startswith("$"):
        return value
    if value[1:] not in os.environ:
        raise StoreError(f"the environment has no {value[1:]}, which a source needs")
    return os.environ[value[1:]]


def spark_batch(
    format: str, options: Mapping[str, Any] | None = None, *, on_bad_record: str = "FAIL EPOCH"
) -> SparkBatch:
    """The rows of `spark.read.format(…).options(…).load()`, for `db.create_table(…, source=…)`.

    Secrets are passed as names of environment variables: `{"password": "$SHOP_PASSWORD"}`.
    """
    given = {name: str(value) for name, value in arguments.mapping("the options", options).items()}
    for name, value in given.items():
        if any(word in name.lower() for word in _SECRET) and not value.startswith("$"):
            raise SqlError(f"{name} would be stored in the warehouse", hint=f"name a variable: {name} = '$NAME'")
    on_bad = read_on_bad(on_bad_record, "READ NULLS")
    return SparkBatch(arguments.text("the format", format), tuple(sorted(given.items())), on_bad)


def read(document: Mapping[str, Any]) -> SparkBatch:
    """Decode a Spark source."""
    fields = fields_of(document)
    return SparkBatch(**{**fields, "options": tuple((name, value) for name, value in fields["options"])})
