"""What all that an epoch brings up to date shares: the transaction, and the net change of each bag so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viewlet.columns.rows import Rows
from viewlet.store import Layout, RunRef, Transaction


class EpochDeltas:
    """The deltas of an open epoch; all of it is in the transaction, or nothing is."""

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction
        self.changes: dict[str, Rows] = {}
        self.done: set[str] = set()
        """The maps that are up to date: one that several views share is brought there once."""
        self.remembered: dict[str, Any] = {}
        """What refreshes hold in memory, by name, from the commit on."""

    def add(self, bag: str, delta: Rows, layout: Layout) -> None:
        """Record what changes in a bag, and append it there."""
        self.changes[bag] = delta
        self.transaction.append(bag, delta, layout)

    def add_unnetted(self, bag: str, rows: Rows, layout: Layout) -> None:
        """Append rows to a bag, and record what they come to; the store nets them as it sorts them."""
        delta = self.transaction.append(bag, rows, layout)
        if len(delta):
            self.changes[bag] = delta

    def adopt(self, bag: str, delta: Rows, refs: Sequence[RunRef], layout: Layout) -> None:
        """Record what changes in a bag whose runs tasks have written already."""
        self.changes[bag] = delta
        self.transaction.adopt(bag, refs, layout, {name: delta[name].type for name in layout.columns})
