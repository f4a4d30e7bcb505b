"""An epoch in memory: what a term reads, without a store and without Spark."""

from __future__ import annotations

from viewlet.columns.rows import Rows
from viewlet.engine.terms.compile_term import EpochReader, WithoutSpark
from viewlet.store import Contents


class LocalEpoch(WithoutSpark, EpochReader):
    """An epoch whose contents a test gives; what it does not give must not be read."""

    initial = False

    def change(self, bag: str) -> Rows | None:
        raise AssertionError(f"the change of {bag} is not given")

    def old(self, bag: str) -> Contents:
        raise AssertionError(f"{bag} as it was is not given")

    def new(self, bag: str) -> Contents:
        raise AssertionError(f"{bag} as it is now is not given")
