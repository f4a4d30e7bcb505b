"""Continuous signals: functions of time, sampled at the times of another signal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from viewlet.errors import WrongArgument, shortened
from viewlet.signal.operators.pointwise import OPERATORS, at_times
from viewlet.signal.plan.durations import Clock, Duration, positive
from viewlet.signal.plan.functions import Function, function
from viewlet.signal.plan.nodes import Wave
from viewlet.signal.samples.ragged import Ints, Values


@dataclass(frozen=True, slots=True)
class Continuous:
    """A signal with a value at any time: `wave(…)`, `continuous(…)`, and arithmetic on these."""

    wave: Callable[[Clock], Wave]
    """Returns the wave in the ticks of a clock."""

    def __add__(self, other: Continuous | float) -> Continuous:
        return self._combine(other, "+")

    def __sub__(self, other: Continuous | float) -> Continuous:
        return self._combine(other, "-")

    def __mul__(self, other: Continuous | float) -> Continuous:
        return self._combine(other, "*")

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: float) -> Continuous:
        return self * -1.0 + other

    def _combine(self, other: Continuous | float, operator: str) -> Continuous:
        if isinstance(other, int | float):
            constant = Wave(0.0, 0.0, 0.0, Function(f"{other:g}", _Constant(float(other))))
            return Continuous(lambda clock: _combined(self.wave(clock), constant, operator))
        if not isinstance(other, Continuous):
            return NotImplemented
        return Continuous(lambda clock: _combined(self.wave(clock), other.wave(clock), operator))


@dataclass(frozen=True, slots=True)
class _Constant:
    value: float

    def __call__(self, times: Ints) -> Values:
        return np.full(len(times), self.value)


@dataclass(frozen=True, slots=True)
class _Combined:
    left: Wave
    right: Wave
    operator: str

    def __call__(self, times: Ints) -> Values:
        return np.asarray(OPERATORS[self.operator](at_times(self.left, times), at_times(self.right, times)))


def _combined(left: Wave, right: Wave, operator: str) -> Wave:
    return Wave(0.0, 0.0, 0.0, Function(f"waves by {operator}", _Combined(left, right, operator)))


def wave(period: Duration, amplitude: float = 1.0, phase: float = 0.0) -> Continuous:
    """amplitude · cos(2π · time / period + phase), for example as a carrier for modulation."""
    return Continuous(lambda clock: Wave(float(positive("the period", period, clock)), float(amplitude), float(phase)))


def continuous(code: Callable[[Any], Any]) -> Continuous:
    """A function of times, passed as an array of ticks: microseconds since 1970 for timestamps."""
    if not callable(code):
        raise WrongArgument(f"{shortened(code)} is not a function", hint="give a function of an array of times")
    return Continuous(lambda _: Wave(0.0, 0.0, 0.0, function(code)))
