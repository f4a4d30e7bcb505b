"""An epoch in memory: what a term reads, without a store and without Spark."""

from __future__ import annotations

from collections.abc import Sequence

from viewlet.columns.rows import Rows
from viewlet.engine.terms.compile_term import EpochReader
from viewlet.program.terms import Regroup, SparkRowwise
from viewlet.store import Contents


class LocalEpoch(EpochReader):
    """An epoch whose contents a test gives; what it does not give must not be read."""

    initial = False

    def change(self, bag: str) -> Rows | None:
        raise AssertionError(f"the change of {bag} is not given")

    def old(self, bag: str) -> Contents:
        raise AssertionError(f"{bag} as it was is not given")

    def new(self, bag: str) -> Contents:
        raise AssertionError(f"{bag} as it is now is not given")

    def on_spark(self, term: SparkRowwise, rows: Rows) -> Rows:
        raise AssertionError("there is no Spark")

    def regroup_on_spark(self, term: Regroup, inputs: Sequence[Rows]) -> Rows:
        raise AssertionError("there is no Spark")
