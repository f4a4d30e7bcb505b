"""Where results go: the seam that folders, tables of other systems and topics plug into.

The law: a sink itself says how far it has come, and is given what follows, epoch by epoch. Where an epoch's changes
and its number are one commit of the sink, each epoch is there exactly once, whatever is interrupted where.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar, Protocol

import pyarrow as pa

from viewlet.errors import StoreError
from viewlet.warehouse.read.relation import Relation


@dataclass(frozen=True, slots=True)
class Sender:
    """What a sink is given: a table or view of one warehouse."""

    relation: Relation
    warehouse: str
    """What tells the warehouse from others."""

    def refuse_other(self, place: object, warehouse: str, name: str) -> None:
        """A sink follows one table or view."""
        if (warehouse, name) != (self.warehouse, self.relation.name):
            whose = f"follows {name}" if warehouse == self.warehouse else f"follows {name} of another warehouse"
            raise StoreError(f"{place} {whose}", hint="send to another place, or empty this one")


class Opened(Protocol):
    """A sink that is open for what follows."""

    def last(self) -> int | None:
        """The last epoch that it has; None where it has none."""

    def write(self, epoch: int, changes: pa.Table) -> None:
        """Take in what an epoch changed, with the columns of `changes`; at first, all rows."""


class Sink(ABC):
    """A place that follows a table or view."""

    kind: ClassVar[str]

    @abstractmethod
    def opened(self, sender: Sender) -> AbstractContextManager[Opened]:
        """The place, ready for what follows; refused if it follows something else."""


def send(sender: Sender, sink: Sink) -> list[int]:
    """Bring a sink up to the sender's epoch; the epochs that were written."""
    relation, written = sender.relation, []
    with sink.opened(sender) as place:
        last = place.last()
        if last is None:
            due = [(relation.epoch, relation.as_inserted())]
        else:
            _refuse_forgotten(sender, sink, last)
            due = relation.changes_by_epoch(last)
        for epoch, changes in due:
            place.write(epoch, changes)
            written.append(epoch)
    return written


def _refuse_forgotten(sender: Sender, sink: Sink, last: int) -> None:
    relation = sender.relation
    if relation.oldest > last:
        raise StoreError(
            f"{sink} has {relation.name} up to epoch {last}, but its changes are kept only from epoch {relation.oldest} on",
            hint="empty it, to have all rows written again; or keep changes longer: db.set_retention",
        )
