"""What tasks send to the next stage and to the driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Parcel:
    """Rows of a result, final or to be netted where they meet; a bag or table to be read; a run; traffic."""

    kind: Literal["rows", "net", "bag", "table", "run", "traffic"]
    name: str
    data: Any

    @property
    def bytes(self) -> int:
        """The size of its rows."""
        match self.kind:
            case "rows" | "net":
                return len(self.data)
            case "run":
                return sum(map(len, self.data.ref.data or ()))
            case _:
                return 0


Parcels = tuple[int, list[Parcel]]
"""A partition, and the parcels for it."""
