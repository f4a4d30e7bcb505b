"""The interface of sinks: folders and tables of other systems that follow a table or view.

The law: a sink stores its own position, and receives what follows, epoch by epoch. If an epoch's changes and its number
are one commit of the sink, it has each epoch exactly once, whatever is interrupted.
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
    """The origin of changes: a table or view of one warehouse."""

    relation: Relation
    warehouse: str
    """The unique identifier of the warehouse."""

    def refuse_other(self, place: object, warehouse: str, name: str) -> None:
        """Raise if a sink follows another table or view."""
        if (warehouse, name) != (self.warehouse, self.relation.name):
            whose = f"follows {name}" if warehouse == self.warehouse else f"follows {name} of another warehouse"
            raise StoreError(f"{place} {whose}", hint="send to another place, or empty this one")


class Opened(Protocol):
    """An open sink."""

    def last(self) -> int | None:
        """The last epoch that it has, or None."""

    def write(self, epoch: int, changes: pa.Table) -> None:
        """Write an epoch's changes, in the form of `changes`; the first time, all rows as insertions."""


class Sink(ABC):
    """A destination that follows a table or view."""

    kind: ClassVar[str]

    @abstractmethod
    def opened(self, sender: Sender) -> AbstractContextManager[Opened]:
        """Open the destination; raise if it follows something else."""


def send(sender: Sender, sink: Sink) -> list[int]:
    """Bring a sink up to the sender's epoch; return the epochs written."""
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
