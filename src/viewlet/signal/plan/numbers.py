"""Validates numbers in arguments: integers in a range, and coefficients as plain tuples."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from viewlet.errors import WrongArgument, shortened
from viewlet.signal.plan.durations import Clock, Duration, positive, show_ticks
from viewlet.signal.plan.nodes import Numbers


def whole(what: str, value: Any, least: int = 1) -> int:
    """An integer, at least `least`."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise WrongArgument(f"{what} is {shortened(value)}", hint=f"give a whole number, {least} or more")
    return int(value)


def samples(what: str, value: Duration, period: int, clock: Clock) -> int:
    """A length in samples, given as a number or as a duration that is a multiple of the period."""
    if not isinstance(value, str | timedelta):
        return whole(what, value)
    length = positive(what, value, clock)
    if length % period:
        raise WrongArgument(
            f"{what} is {shortened(value)}, and samples are {show_ticks(period, clock)} apart",
            hint="give a multiple of that, or a number of samples",
        )
    return length // period


def coefficients(what: str, values: ArrayLike) -> Numbers:
    """Finite numbers, real or complex."""
    found = np.asarray(values)
    if found.ndim != 1 or not found.size or found.dtype.kind not in "iufc" or not np.isfinite(found).all():
        raise WrongArgument(f"{what} is {shortened(values)}", hint="give a list of finite numbers")
    return tuple(complex(x) if found.dtype.kind == "c" else float(x) for x in found)
