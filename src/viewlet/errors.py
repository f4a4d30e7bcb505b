"""The errors that users see.

    ViewletError
    ├── SqlError                   the text is not a statement of Viewlet
    ├── UnknownName                no such table, view or column
    ├── NameTaken                  a table or view of that name exists
    ├── InUse                      views read it, so it can be neither dropped nor changed
    ├── UnsupportedQuery           a definition that cannot be kept fresh
    │   └── UnsupportedFunction    … because of a non-deterministic function
    ├── WrongArgument              an argument is of the wrong kind
    ├── RejectedEpoch              the changes are invalid; nothing was applied
    │   └── RejectedRow            … because of one row, which it names (in `intake/`)
    ├── UnsupportedValue           a value that Python's own types cannot hold
    ├── EvaluationError            a definition fails on the current data, as it would in Spark
    ├── EndlessLoop                a loop still changes rows after its maximum number of rounds
    ├── FlowError                  a flow or one of its functions is wrong
    │   └── FlowUnfinished         … or it exceeded its limit of rounds or time
    ├── ProjectError               a project cannot be run
    ├── StoreError                 the warehouse cannot be opened, read or written
    │   ├── CorruptFile            a file is torn or was altered
    │   ├── UntrustedCode          stored code is needed, but not trusted
    │   └── WarehouseBusy          another process is writing
    ├── MissingExtra               a package that only some parts need is not installed
    ├── SparkMissing               Spark is needed and cannot be started
    │   └── UnsupportedSpark       … or its version is not supported
    └── SparkFailed                a Spark job failed; nothing was applied

Each says what, where, and what to do instead (`hint`). Viewlet's own mistakes are assertions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ViewletError(Exception):
    """Base of all errors that users can cause and correct."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    @property
    def message(self) -> str:
        """What is wrong, and where."""
        return super().__str__()

    @property
    def kind(self) -> str:
        """The name of its public class, by which users catch it."""
        return next(c.__name__ for c in type(self).__mro__ if c.__module__ == __name__)

    def __str__(self) -> str:
        return self.message + (f" (hint: {self.hint})" if self.hint else "")


class SqlError(ViewletError):
    """The text is not a statement of Viewlet."""


class UnknownName(ViewletError):
    """No such table, view or column."""


class NameTaken(ViewletError):
    """A table or view of that name exists."""


class InUse(ViewletError):
    """Views read it, so it can be neither dropped nor changed."""


class UnsupportedQuery(ViewletError):
    """A definition that cannot be kept fresh."""


class UnsupportedFunction(UnsupportedQuery):
    """A non-deterministic function."""


class WrongArgument(ViewletError, TypeError):
    """An argument is of the wrong kind."""


class RejectedEpoch(ViewletError):
    """The changes are invalid; nothing of the epoch was applied."""


class UnsupportedValue(ViewletError):
    """A value that Python's types cannot hold."""


class EvaluationError(ViewletError):
    """A view's definition fails on the current data, as it would in Spark: overflow, division by zero, a bad cast."""

    def __init__(self, reason: str, *, hint: str | None = None) -> None:
        super().__init__(reason, hint=hint)
        self.view = ""
        self.expression = ""
        """The failing expression, as SQL."""
        self.values: dict[str, Any] = {}
        """The values of the columns in the expression."""
        self.table = ""
        self.group: dict[str, Any] = {}
        """The keys of the failing group, if an aggregate failed."""
        self.row: dict[str, Any] = {}
        """The row of the table that caused it."""
        self.site: Any = None
        """The evaluation that failed and its rows, from which `columns.evaluate.locate` finds expression and values."""

    @property
    def message(self) -> str:
        values = f" where {_listed(self.values)}" if self.values else ""
        expression = f", in {_cut(self.expression)}{values}" if self.expression else ""
        group = f", in the group {_listed(self.group)}" if self.group else ""
        row = f"; the cause is row ({_listed(self.row)}) of {self.table}" if self.table else ""
        return f"{f'view {self.view}: ' if self.view else ''}{super().message.rstrip('.')}{expression}{group}{row}"


class EndlessLoop(ViewletError):
    """A loop still changes rows after its maximum number of rounds; nothing of the epoch was applied."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.sizes: dict[int, int] = {}
        """How many rows changed in each of the last rounds."""
        self.rows: list[dict[str, Any]] = []
        """Some of the rows that keep changing."""


def shortened(value: Any) -> str:
    """The repr of a value, truncated if it is long."""
    try:
        return _cut(repr(value), 60)
    except ValueError:  # Python does not print numbers of thousands of digits
        return f"{kind_of(value)} of very many digits"


def kind_of(value: Any) -> str:
    """The type of a value with its article: a str, an int."""
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeio' else 'a'} {name}"


def _listed(values: Mapping[str, Any]) -> str:
    return _cut(", ".join(f"{name}={shortened(value)}" for name, value in values.items()))


def _cut(text: str, most: int = 300) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


class FlowError(ViewletError):
    """A flow or one of its functions is wrong; nothing of the run was committed."""


class FlowUnfinished(FlowError):
    """A flow exceeded its limit of rounds or time; its earlier runs stay committed."""


class ProjectError(ViewletError):
    """A Spark Declarative Pipelines project cannot be run."""


class StoreError(ViewletError):
    """The warehouse cannot be opened, read or written."""


class CorruptFile(StoreError):
    """A file of the warehouse is torn or was altered."""


class UntrustedCode(StoreError):
    """Code stored in the warehouse is needed, but the warehouse was opened without trusting it."""


class WarehouseBusy(StoreError):
    """Another process is writing to the warehouse."""


class MissingExtra(ViewletError):
    """A package that only some parts need is not installed."""


class SparkMissing(ViewletError):
    """Spark is needed and cannot be started."""


class SparkFailed(ViewletError):
    """A Spark job failed: executors are lost, a disk is full …; nothing of the epoch was applied."""


class UnsupportedSpark(SparkMissing):
    """A version of Spark that Viewlet does not support."""
