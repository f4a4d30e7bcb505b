"""Windows and their operators: transforms, spectra, functions, and conversion back to a signal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from viewlet.errors import UnsupportedQuery, WrongArgument, shortened
from viewlet.signal.build.trial import probe_operator, probe_windows
from viewlet.signal.operators.transforms import STATISTICS
from viewlet.signal.plan.durations import Duration
from viewlet.signal.plan.functions import function
from viewlet.signal.plan.kinds import Kind, grid_of, kind_in_window, kind_of
from viewlet.signal.plan.nodes import (
    Apply,
    Autocorrelate,
    Correlate,
    Gaps,
    Node,
    OverlapAdd,
    Reduce,
    Running,
    Spectrum,
    Step,
    Taper,
    Transform,
    Windows,
    sources,
)
from viewlet.signal.plan.numbers import coefficients, samples, whole

if TYPE_CHECKING:
    from viewlet.signal.build.pipeline import Signal


class WindowOperator(Protocol):
    """A user-defined operator on windows, for all groups at once: arrays have a row for each group.

    It keeps a state for each group: a number, or an array of fixed length, real or complex. The result of a window is
    its state, or `result(state)`, if the operator has such a method.
    """

    def recompute(self, window: Any) -> Any:
        """Return the state of windows, from all their samples."""
        ...

    def update(self, state: Any, window: Any, old: Any, new: Any) -> Any:
        """Return the state from the previous window's, the samples that left (`old`) and those that entered (`new`)."""
        ...


Merging = Literal["sum", "mean", "min", "max"] | Callable[[Any], Any]
"""How overlapping samples are merged."""
LEAST, SAMPLES = 16, 4096
"""The least numbers of windows and of samples after which a window is computed from scratch."""


@dataclass(frozen=True, slots=True)
class Windowed:
    """Windows of a uniform signal; `arrays`, `overlap_add` and `reduce` convert them back to a signal."""

    node: Windows

    @staticmethod
    def of(node: Node, size: Duration, hop: Duration | None, gaps: Gaps) -> Windowed:
        _refuse_gaps(node, gaps)
        windows = Windows(node, *lengths(node, size, hop), gaps, ())
        kind_of(windows)  # raises if they do not fit
        return Windowed(windows)

    def _then(self, step: Step) -> Windowed:
        longer = replace(self.node, steps=(*self.node.steps, step))
        kind_of(longer)  # raises if it does not fit
        return Windowed(longer)

    @property
    def kind(self) -> Kind:
        """The result of the steps so far for each window; for arrays, for the window of each of their numbers."""
        return kind_in_window(self.node)

    def taper(self, window: str | tuple[Any, ...] | ArrayLike = "hann") -> Windowed:
        """Multiply each window by a window function: a name known to `scipy.signal.get_window`, or weights."""
        from scipy.signal import get_window

        width = self.kind.width or 0
        is_name = isinstance(window, str) or (isinstance(window, tuple) and isinstance(window[0], str))
        weights = get_window(window, width) if is_name else np.asarray(window)
        return self._then(Taper(tuple(x.real for x in coefficients("the window", weights))))

    def fft(self) -> Windowed:
        """The discrete Fourier transform of each window."""
        return self._then(Transform("fft"))

    def ifft(self) -> Windowed:
        """The inverse of `fft`."""
        return self._then(Transform("ifft"))

    def rfft(self) -> Windowed:
        """The transform of real windows: the half that is not redundant."""
        return self._then(Transform("rfft"))

    def irfft(self) -> Windowed:
        """The inverse of `rfft`, for windows of even size."""
        return self._then(Transform("irfft"))

    def spectrum(self, what: Literal["magnitude", "power", "phase"] = "magnitude") -> Windowed:
        """The magnitude, power or phase of each number of a transform."""
        if what not in ("magnitude", "power", "phase"):
            raise WrongArgument(f"a spectrum of {shortened(what)}", hint="magnitude, power or phase")
        return self._then(Spectrum(what))

    def autocorrelate(self) -> Windowed:
        """The correlation of each window with itself, at lags from 1 − size to size − 1."""
        return self._then(Autocorrelate())

    def correlate(self) -> Windowed:
        """The correlation of the two channels of each window, at lags from 1 − size to size − 1."""
        return self._then(Correlate())

    def apply(self, change: Callable[..., Any]) -> Windowed:
        """Apply a user function to arrays, one for each channel with a row for each window; it returns such arrays."""
        own = function(change)
        return self._then(Apply(own, *probe_windows(own, self.kind)))

    def arrays(self) -> Signal:
        """A signal whose samples are the windows, each at the time of its last sample."""
        from viewlet.signal.build.pipeline import Signal

        return Signal(self.node)

    def reduce(self, statistic: str) -> Signal:
        """A signal of one number for each window: mean, sum, min, max, std, median, rms, energy or power."""
        if statistic not in STATISTICS:
            raise WrongArgument(f"there is no statistic {shortened(statistic)}", hint=f"one of {', '.join(STATISTICS)}")
        return self._then(Reduce(statistic)).arrays()

    def overlap_add(self, merge: Merging = "sum") -> Signal:
        """Place the windows back on the time axis, merging overlapping samples.

        A user-defined merge receives an array with a row for each sample, of the numbers that overlap there, padded
        with NaN. It returns a number for each row.
        """
        from viewlet.signal.build.pipeline import Signal

        return Signal(laid_out(self.node, grid_of(self.node.of).period, merge, kind_of(self.node.of).width))


def lengths(node: Node, size: Duration, hop: Duration | None) -> tuple[int, int]:
    """The size and hop of windows in samples; by default they are adjacent."""
    grid, clock = kind_of(node).grid, sources(node)[0].clock
    period = 1 if grid is None else grid.period
    length = samples("the size of a window", size, period, clock)
    return length, length if hop is None else samples("the hop", hop, period, clock)


def laid_out(node: Node, period: int, merge: Merging, width: int | None) -> OverlapAdd:
    """Arrays placed on the time axis, with `width` of their numbers at each time."""
    if callable(merge):
        return OverlapAdd(node, period, function(merge), width)
    if merge not in ("sum", "mean", "min", "max"):
        raise WrongArgument(f"merge is {shortened(merge)}", hint="sum, mean, min, max or a function")
    return OverlapAdd(node, period, merge, width)


def running(
    node: Node, operator: WindowOperator, size: Duration, hop: Duration | None, renew: int | None, gaps: Gaps
) -> Running:
    """Windows maintained by a user-defined operator, whose results a trial call infers."""
    _refuse_gaps(node, gaps)
    own, (length, step) = function(operator), lengths(node, size, hop)  # type: ignore[arg-type]
    usual = max(LEAST, SAMPLES // step) if renew is None else whole("renew", renew)
    renewal = usual if step < length else 1  # disjoint windows are always computed from scratch
    kind = replace(kind_of(node), width=length, channels=kind_of(node).channels[:1])
    return Running(node, length, step, own, renewal, *probe_operator(own, kind, step), gaps)


def _refuse_gaps(node: Node, gaps: Gaps) -> None:
    if gaps not in ("invalid", "zero", "interpolate"):
        raise WrongArgument(f"missing is {shortened(gaps)}", hint="invalid, zero or interpolate")
    if gaps == "interpolate" and kind_of(node).is_complex:
        raise UnsupportedQuery("missing samples of a complex signal cannot be interpolated", hint="zero or invalid")
