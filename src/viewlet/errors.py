"""What can go wrong, as the user sees it.

    ViewletError
    ├── SqlError                   the text is not a statement that Viewlet knows
    ├── UnknownName                no such table, view or column
    ├── NameTaken                  there is a table or view of that name already
    ├── InUse                      views read it, so that it can neither go nor change
    ├── UnsupportedQuery           a definition that cannot be kept fresh
    │   └── UnsupportedFunction    … because of a function that gives another answer every time
    ├── RejectedEpoch              the changes are not right; nothing was applied
    ├── UnsupportedValue           a value that Python's own types cannot hold
    ├── EvaluationError            a definition fails on the current data, as it would in Spark
    ├── StoreError                 the warehouse cannot be opened, read or written
    │   ├── CorruptFile            a file is torn or was altered
    │   └── WarehouseBusy          another process is writing
    └── SparkMissing               Spark is needed and cannot be started
        └── UnsupportedSpark       … or is of a version that Viewlet does not work with

Each says what, where, and what to do instead (`hint`). A mistake of Viewlet's own is an assertion.
"""

from __future__ import annotations


class ViewletError(Exception):
    """Base of everything that a user can cause and mend."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        return super().__str__() + (f" (hint: {self.hint})" if self.hint else "")


class SqlError(ViewletError):
    """The text is not a statement that Viewlet knows."""


class UnknownName(ViewletError):
    """No such table, view or column."""


class NameTaken(ViewletError):
    """There is a table or view of that name already."""


class InUse(ViewletError):
    """Views read it, so that it can neither go nor change."""


class UnsupportedQuery(ViewletError):
    """A definition that cannot be kept fresh."""


class UnsupportedFunction(UnsupportedQuery):
    """A function that gives another answer every time."""


class RejectedEpoch(ViewletError):
    """The changes are not right; nothing of the epoch was applied."""


class UnsupportedValue(ViewletError):
    """A value that is read as Python's, whose types cannot hold it."""


class EvaluationError(ViewletError):
    """A view's definition fails on the current data, as it would in Spark: overflow, division by zero, a bad cast."""


class StoreError(ViewletError):
    """The warehouse cannot be opened, read or written."""


class CorruptFile(StoreError):
    """A file of the warehouse is torn or was altered."""


class WarehouseBusy(StoreError):
    """Another process is writing to the warehouse."""


class SparkMissing(ViewletError):
    """Spark is needed and cannot be started."""


class UnsupportedSpark(SparkMissing):
    """A version of Spark that Viewlet does not work with."""
