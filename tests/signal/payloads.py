"""Payloads other than one number: channels, arrays and complex numbers, whose parts a naive signal takes one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.signal.epochs import Readings, Result, naive_result
from tests.signal.recipes import ANY, ARRAYS, DETECT, SOURCE, Recipe
from viewlet.signal.plan.nodes import Source

PARTS: tuple[Callable[[float], float], ...] = (float, lambda x: float(np.cos(5 * x)), lambda x: x**3 - 0.5)
"""The numbers that a reading becomes."""
CHANNELS = Source("readings", ("sensor",), "at", "number", ("u", "v", "w"), False, "error")
WIDE = Source("readings", ("sensor",), "at", "number", ("v",), False, "error", width=len(PARTS))
COMPLEX = Source("readings", ("sensor",), "at", "number", ("i", "q"), True, "error")


@dataclass(frozen=True)
class Payload:
    """What readings carry: their values, the parts that these are of, and how results of the parts belong together."""

    source: Source
    values: Callable[[float], Any]
    parts: tuple[Callable[[float], float], ...]
    together: Callable[[list[Any]], Any]
    others: frozenset[str]
    """Steps that are not the same step for each part."""

    def wanted(self, recipe: Recipe, readings: Readings) -> Result:
        """What a recipe gives, computed part by part."""
        found = [naive_result(recipe, {at: part(x) for at, x in readings.items()}) for part in self.parts]
        return {at: self.together([one[at] for one in found]) for at in found[0]}


CHOOSING = frozenset({"where", "threshold", *DETECT})
"""Steps that keep some samples by what they are."""
OF_CHANNELS = frozenset({"select", "of the time", "denoise", "overlap mean", "sliding denoise"})
"""Steps with a function that gets all channels."""
NOT_LINEAR = frozenset(
    {
        *ANY.keys() - {"shift", "carrier", "minus itself shifted"},
        *ARRAYS.keys() - {"complex"},
        *("moving std", "moving median", "envelope", "tumbling rms", "spectrum max", "denoise", "sliding denoise"),
        *("overlap median", "running over lines"),
    }
)
"""Steps in which the real and the imaginary part meet, or that are for real numbers."""

PAYLOADS = {
    "number": Payload(SOURCE, lambda x: [x], (float,), lambda parts: parts[0], frozenset()),
    "channels": Payload(CHANNELS, lambda x: [part(x) for part in PARTS], PARTS, np.stack, CHOOSING | OF_CHANNELS),
    "arrays": Payload(
        WIDE,
        lambda x: [[part(x) for part in PARTS]],
        PARTS,
        lambda parts: np.stack(parts, axis=-1).ravel(),
        CHOOSING | {"of the time", "sliding denoise"},
    ),
    "complex": Payload(
        COMPLEX,
        lambda x: [complex(PARTS[0](x), PARTS[1](x))],
        PARTS[:2],
        lambda parts: parts[0] + 1j * parts[1],
        CHOOSING | NOT_LINEAR,
    ),
}
