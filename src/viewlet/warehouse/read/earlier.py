"""A table or view as of an earlier epoch: its current contents minus the changes since.

In queries: `SELECT … FROM spend VERSION AS OF 41`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from viewlet.columns.rows import Rows
from viewlet.errors import StoreError
from viewlet.plan.words import Word, quoted, read_words
from viewlet.warehouse.read.relation import Relation
from viewlet.warehouse.refresh import visible

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class EarlierRelation(Relation):
    """A table or view as of an earlier epoch, readable as long as the changes since are kept."""

    def __init__(self, now: Relation, epoch: int) -> None:
        super().__init__(now._warehouse, now.definition)
        if epoch < self.oldest:
            raise StoreError(
                f"{self.name} is known as it was from epoch {self.oldest} on, not at {epoch}",
                hint="keep changes longer: db.set_retention; or restore a backup",
            )
        self._epoch = epoch
        self._since = self._warehouse.store.feed(self.name, epoch)

    @property
    def epoch(self) -> int:
        return self._epoch

    def __len__(self) -> int:
        return int(self._bag().weights.sum())

    def _bag(self) -> Rows:
        undone = [visible(self._found, rows).negated() for e, _, rows in self._since if e <= self._snapshot.epoch]
        return Rows.concat([super()._bag(), *undone]).consolidate()

    def _pieces(self, size: int) -> Iterator[Rows]:
        yield self._bag().rename(self._found.stored)

    def as_inserted(self) -> pa.Table:
        return self._epoch_changes(self.epoch, self._snapshot.timestamp, self._bag().rename(self._found.stored))

    def spark(self) -> DataFrame:
        """The rows as a DataFrame of the caller's Spark session."""
        from viewlet.spark.session.arrow_frames import from_arrow

        return from_arrow(self._warehouse.session, self.arrow(), self.fields)


def with_names_of_epochs(text: str) -> tuple[str, dict[str, tuple[str, int]]]:
    """Replace each `name VERSION AS OF n` of a query by a made-up name; return what these names stand for."""
    words, pieces, done, named = read_words(text), [], 0, dict[str, tuple[str, int]]()
    for at, word in enumerate(words):
        if word.start >= done and word.kind in ("name", "quoted") and (number := _version(words, at + 1)) is not None:
            name = word.text.strip("`")
            stands = f"{name} as of {number.text}"
            named[stands] = name, int(number.text)
            pieces += [text[done : word.start], quoted(stands)]
            done = number.end
    return "".join([*pieces, text[done:]]), named


def _version(words: list[Word], at: int) -> Word | None:
    """The number after `[FOR] VERSION AS OF`, if these words are next."""
    at += words[at].key == "FOR"
    number = words[at + 3] if [word.key for word in words[at : at + 3]] == ["VERSION", "AS", "OF"] else None
    return number if number is not None and number.text.isdecimal() else None
