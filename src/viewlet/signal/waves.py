"""Continuous signals: functions of the time, which are sampled only where another signal meets them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from viewlet.errors import WrongArgument, shortened
from viewlet.signal.durations import Clock, Duration, positive
from viewlet.signal.functions import function
from viewlet.signal.nodes import Wave


@dataclass(frozen=True, slots=True)
class Continuous:
    """A signal that has a value at any time: `wave(…)` or `continuous(…)`."""

    period: Duration | None
    amplitude: float
    phase: float
    code: Callable[[Any], Any] | None

    def wave(self, clock: Clock) -> Wave:
        """The signal in ticks of a clock."""
        if self.code is not None:
            return Wave(0.0, 0.0, 0.0, function(self.code))
        assert self.period is not None
        return Wave(float(positive("the period", self.period, clock)), self.amplitude, self.phase)


def wave(period: Duration, amplitude: float = 1.0, phase: float = 0.0) -> Continuous:
    """amplitude · cos(2π · time / period + phase): a carrier, for amplitude modulation and the like."""
    return Continuous(period, float(amplitude), float(phase), None)


def continuous(code: Callable[[Any], Any]) -> Continuous:
    """A function of times, which it gets as an array of ticks: microseconds since 1970 for timestamps."""
    if not callable(code):
        raise WrongArgument(f"{shortened(code)} is no function", hint="give a function of an array of times")
    return Continuous(None, 1.0, 0.0, code)
