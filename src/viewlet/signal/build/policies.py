"""Interpolation policies, given by name or as a user-defined function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from viewlet.errors import WrongArgument, shortened
from viewlet.signal.plan.functions import function
from viewlet.signal.plan.nodes import Policy
from viewlet.signal.plan.numbers import whole


@dataclass(frozen=True, slots=True)
class Interpolation:
    """A user-defined interpolation: function(times, values) of a few readings around each time.

    Both are arrays with a row for each time to interpolate and a column for each reading: `before` ones at or before
    it, then `after` ones after it. Times are in ticks, relative to that time. It returns a number for each row.
    """

    function: Callable[[Any, Any], Any]
    before: int = 1
    after: int = 1


Interpolate = Literal["none", "constant", "last", "step", "linear", "quadratic", "cubic"] | Interpolation
POINTS = {
    "none": (1, 1),
    "constant": (1, 1),
    "last": (1, 1),
    "step": (1, 1),
    "linear": (1, 1),
    "quadratic": (2, 1),
    "cubic": (2, 2),
}
"""How many readings before and after a time each policy uses."""


HELD = Policy("held", 1, 0, None)
"""The policy of readings that hold until a given time."""


def policy_of(how: Interpolate, max_gap: int | None, value: float) -> Policy:
    """The policy for a user's argument."""
    if isinstance(how, Interpolation):
        own = function(how.function)
        return Policy("user", whole("before", how.before), whole("after", how.after), max_gap, function=own)
    if how not in POINTS:
        raise WrongArgument(f"interpolate is {shortened(how)}", hint=f"one of {', '.join(POINTS)}, or an Interpolation")
    before, after = POINTS[how]
    return Policy(how, before, after, 0 if how == "none" else max_gap, value if how == "constant" else 0.0)
