"""Durations in ticks: microseconds if the time is a timestamp, else units of the time column."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Literal

from viewlet.errors import WrongArgument, shortened

Clock = Literal["timestamp", "number"]
Duration = int | str | timedelta
UNITS = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
TEXT = re.compile(r"(-?\d+(?:\.\d+)?)\s*(us|ms|s|min|h|d)")


def ticks(what: str, value: Duration, clock: Clock) -> int:
    """A duration in ticks."""
    if clock == "number":
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise WrongArgument(
            f"{what} is {shortened(value)}", hint="the time is a number: give a whole number of its unit"
        )
    match value:
        case timedelta():
            return value // timedelta(microseconds=1)
        case str() if found := TEXT.fullmatch(value.strip()):
            return round(float(found[1]) * UNITS[found[2]])
        case _:
            units = ", ".join(UNITS)
            raise WrongArgument(
                f"{what} is {shortened(value)}", hint=f"give a timedelta, or a text such as '10 ms' ({units})"
            )


def positive(what: str, value: Duration, clock: Clock) -> int:
    """A duration of at least one tick."""
    found = ticks(what, value, clock)
    if found < 1:
        raise WrongArgument(f"{what} is {shortened(value)}", hint="give a positive duration")
    return found


def show_ticks(count: int, clock: Clock) -> str:
    """Ticks as text: `10 ms`, `1500 us`; a plain number if the time column is numeric."""
    if clock == "number":
        return str(count)
    unit = max((u for u, size in UNITS.items() if count % size == 0), key=lambda u: UNITS[u])
    return f"{count // UNITS[unit]} {unit}"
