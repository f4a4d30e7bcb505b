"""Finds the row that makes a view fail, by applying parts of a failed epoch's changes.

The law: each part is applied like the epoch, to the state before it, and never committed. If a single row fails, it is
the cause; if only several rows together fail, as when a sum overflows, no row is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from viewlet.columns.arrays import Positions
from viewlet.columns.evaluate import culprits, locate
from viewlet.columns.rows import Rows
from viewlet.engine.epoch import EpochDeltas
from viewlet.errors import EvaluationError
from viewlet.store import Transaction
from viewlet.warehouse.epoch.apply import apply_epoch
from viewlet.warehouse.epoch.table_changes import TableChanges
from viewlet.warehouse.maintained import Maintained
from viewlet.warehouse.refresh import visible

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse

Changes = Mapping[str, Rows]
"""Rows of tables or views, by name."""

Attempt = Callable[[Transaction, Changes], None]
"""Applies some of the rows."""

_HINT = "correct the row, or let the definition expect its values: try_divide, try_cast, CASE"


@contextmanager
def blaming_changes(warehouse: Warehouse, changed: Sequence[tuple[TableChanges, Rows]]) -> Iterator[None]:
    """Make the error of an epoch that fails in the block name the row that caused it."""

    def attempt(transaction: Transaction, part: Changes) -> None:
        some = [(changes, part[changes.table.name]) for changes, _ in changed if changes.table.name in part]
        apply_epoch(warehouse, EpochDeltas(transaction), some, engine="inproc")

    try:
        yield
    except EvaluationError as error:
        raise blame(warehouse, error, {c.table.name: rows for c, rows in changed}, attempt) from None


@contextmanager
def blaming_contents(warehouse: Warehouse, view: Maintained, fill: Callable[..., Any]) -> Iterator[None]:
    """Make the error of a fill that fails in the block name the input row that caused it."""

    def attempt(transaction: Transaction, part: Changes) -> None:
        fill(transaction, inputs=part, engine="inproc")

    try:
        yield
    except EvaluationError as error:
        with warehouse.store.begin() as transaction:
            inputs = {bag: transaction.contents(bag).consolidated() for bag in view.reads}
        raise blame(warehouse, error, inputs, attempt) from None


def blame(warehouse: Warehouse, error: EvaluationError, changes: Changes, attempt: Attempt) -> EvaluationError:
    """The error with its expression, values and row."""
    failures = [error]

    def fails(at: Positions) -> bool:
        try:
            with warehouse.store.begin() as transaction:
                attempt(transaction, _some(changes, at))
        except EvaluationError as failure:
            failures.append(failure)
            return True
        return False

    at = culprits(sum(map(len, changes.values())), fails)
    if failures == [error]:
        fails(at)  # errors raised in process say more than those from Spark's tasks
    error = failures[-1]
    locate(error)
    if len(at) == 1:
        ((name, row),) = _some(changes, at).items()
        error.table = f"{'view' if name in warehouse.catalog.views else 'table'} {name}"
        error.row = {
            column: values[0].as_py() for column, values in visible(warehouse.catalog.find(name), row).columns.items()
        }
        error.hint = error.hint or _HINT
    return error


def _some(changes: Changes, at: Positions) -> dict[str, Rows]:
    """The rows at some positions, numbered across all tables."""
    found, first = {}, 0
    for name, rows in changes.items():
        own = at[(at >= first) & (at < first + len(rows))] - first
        if len(own):
            found[name] = rows.take(np.sort(own))
        first += len(rows)
    return found
