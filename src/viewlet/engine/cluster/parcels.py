"""What goes from one stage to the next, and to the driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Parcel:
    """Rows of a result, or such that are net once all have met; a bag or a table to be read; a run that was made; traffic."""

    kind: Literal["rows", "net", "bag", "table", "run", "traffic"]
    name: str
    data: Any

    @property
    def bytes(self) -> int:
        """How much of it are rows."""
        match self.kind:
            case "rows" | "net":
                return len(self.data)
            case "run":
                return sum(map(len, self.data.ref.data or ()))
            case _:
                return 0


Parcels = tuple[int, list[Parcel]]
"""A partition, and what is for it."""
