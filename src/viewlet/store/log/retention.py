"""How long changes of tables and views are kept: for a number of epochs, a time, or a number of bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from viewlet.errors import StoreError

SETTINGS = "settings"


@dataclass(frozen=True, slots=True)
class Retention:
    """Changes are dropped, oldest first, when any limit is exceeded; None means no limit."""

    epochs: int | None = 1_000
    seconds: float | None = None
    bytes: int | None = None
    """Per table and view."""

    @staticmethod
    def of(epochs: int | None, age: timedelta | None, size: int | None) -> Retention:
        """Limits given by a user: at least one, all positive."""
        seconds = None if age is None else age.total_seconds()
        given = [limit for limit in (epochs, seconds, size) if limit is not None]
        if not given or min(given) <= 0:
            raise StoreError("how long are changes kept?", hint="epochs=…, age=timedelta(…) or bytes=…, above zero")
        return Retention(epochs, seconds, size)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def is_past(self, age: int, seconds: float, size: int) -> bool:
        """Whether a change of this age, in epochs and seconds, is too old, or `size` bytes are too many."""
        return (
            (self.epochs is not None and age >= self.epochs)
            or (self.seconds is not None and seconds > self.seconds)
            or (self.bytes is not None and size > self.bytes)
        )


def retention_of(catalog: Mapping[str, Any]) -> Retention:
    """The retention that a warehouse's catalog sets."""
    return Retention(**catalog.get(SETTINGS, {}).get("retention", {}))
