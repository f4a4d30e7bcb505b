"""Arrays that grow at the end in amortized constant time."""

from __future__ import annotations

from typing import Any

import numpy as np

Values = np.ndarray[Any, Any]


class Growing:
    """A growing array; `now` is its current contents, which may be written to."""

    __slots__ = ("_room", "now")

    def __init__(self, dtype: Any) -> None:
        self._room: Values = np.empty(0, dtype=dtype)
        self.now: Values = self._room

    def __len__(self) -> int:
        return len(self.now)

    def adopt(self, values: Values) -> None:
        """Append values that nobody else changes; an empty array takes them without copying."""
        if len(self.now) or values.dtype != self._room.dtype:
            self.append(values)
        else:
            self._room = self.now = values

    def append(self, values: Values) -> None:
        length = len(self.now)
        self._reserve(length + len(values))
        self._room[length : length + len(values)] = values
        self.now = self._room[: length + len(values)]

    def fill_up(self, length: int, value: Any) -> None:
        """Extend the array to a length, filling it with a value."""
        if length > len(self.now):
            self.append(np.full(length - len(self.now), value, dtype=self._room.dtype))

    def replace(self, values: Values) -> None:
        """Replace the contents."""
        self._room = self.now = values.astype(self._room.dtype, copy=False)

    def _reserve(self, length: int) -> None:
        if length > len(self._room):
            larger = np.empty(max(length, 3 * len(self._room) // 2), dtype=self._room.dtype)
            larger[: len(self.now)] = self.now
            self._room = larger
