"""The operators of signal pipelines: frozen nodes, each over its input signals.

Nodes have no behaviour: `kinds.py` validates them, `reach.py` says how far changes reach, `evaluate.py` computes them.
Times, periods and offsets are integer ticks: microseconds if the time is a timestamp, else its own unit. The uniform
signal of period p and offset o has samples at o + k·p; the integer k is a sample's index. Samples may be missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from viewlet.signal.plan.durations import Clock
from viewlet.signal.plan.functions import Function

Numbers = tuple[complex | float, ...]
Missing = Literal["zero", "restart"]
"""Missing samples count as zero, or a filter restarts after them."""
Gaps = Literal["invalid", "zero", "interpolate"]
"""A window with missing samples has no result, or they are zero or linearly interpolated."""
Merge = Literal["error", "mean", "sum", "min", "max"]
"""How several readings of a group at one time are merged."""


@dataclass(frozen=True, slots=True)
class Form:
    """The results of a user function: numbers or arrays of a width, real or complex."""

    width: int | None
    is_complex: bool


@dataclass(frozen=True, slots=True)
class Source:
    """The readings of a table or view, by group and time; with `until`, each holds until that time."""

    table: str
    by: tuple[str, ...]
    time: str
    clock: Clock
    values: tuple[str, ...]
    is_complex: bool
    """Whether the two values are the real and the imaginary part of one number."""
    merge: Merge
    until: str | None = None
    width: int | None = None
    """The length of each value, if values are arrays."""


@dataclass(frozen=True, slots=True)
class Where:
    """The samples for which a function of the channels is true."""

    of: Node
    function: Function


@dataclass(frozen=True, slots=True)
class Select:
    """A function of the channels, sample by sample; if timed, it receives the time first."""

    of: Node
    function: Function
    channels: tuple[str, ...]
    form: Form
    is_timed: bool = False


@dataclass(frozen=True, slots=True)
class Scale:
    """factor · x + plus"""

    of: Node
    factor: complex | float
    plus: complex | float


@dataclass(frozen=True, slots=True)
class Shift:
    """x, `by` ticks later."""

    of: Node
    by: int


@dataclass(frozen=True, slots=True)
class Wave:
    """amplitude · cos(2π · time / period + phase); without a period, a function of the time in ticks."""

    period: float
    amplitude: float
    phase: float
    function: Function | None = None


@dataclass(frozen=True, slots=True)
class Modulate:
    """x combined with a continuous signal, sampled at the times of x."""

    of: Node
    wave: Wave
    operator: str


@dataclass(frozen=True, slots=True)
class Combine:
    """Samples of two signals at equal times, combined by `+`, `-`, `*`, `/` or `hypot`; `zip` keeps all channels."""

    left: Node
    right: Node
    operator: str


@dataclass(frozen=True, slots=True)
class Policy:
    """How a signal is interpolated, from `before` readings before a time and `after` readings after it.

    Nothing is interpolated between readings more than `max_gap` ticks apart. `held` readings define their own duration.
    """

    kind: Literal["none", "constant", "last", "step", "linear", "quadratic", "cubic", "user", "held"]
    before: int
    after: int
    max_gap: int | None
    value: float = 0.0
    function: Function | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """A uniform signal: readings on the grid are kept, others interpolated."""

    of: Node
    period: int
    offset: int
    policy: Policy


@dataclass(frozen=True, slots=True)
class Fir:
    """y[n] = Σ taps[i] · x[n + ahead − i]"""

    of: Node
    taps: Numbers
    ahead: int
    missing: Missing


@dataclass(frozen=True, slots=True)
class Iir:
    """A cascade of second-order sections, at rest before the first sample."""

    of: Node
    sections: tuple[tuple[float, ...], ...]
    missing: Missing


@dataclass(frozen=True, slots=True)
class Feedback:
    """y[n] = f(the last x, the last y): a user-defined filter, at rest before the first sample and after a gap.

    Up to `through` consecutive missing samples are no gap: they count as zeros.
    """

    of: Node
    function: Function
    forward: int
    backward: int
    through: int = 0


@dataclass(frozen=True, slots=True)
class Taper:
    """Each sample of a window times a weight."""

    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Transform:
    """A discrete Fourier transform of each window: `fft`, `ifft`, `rfft` or `irfft`."""

    name: str


@dataclass(frozen=True, slots=True)
class Spectrum:
    """The `magnitude`, `power` or `phase` of complex numbers."""

    name: str


@dataclass(frozen=True, slots=True)
class Autocorrelate:
    """The correlation of a window with itself at every lag from 1 − size to size − 1."""


@dataclass(frozen=True, slots=True)
class Correlate:
    """The correlation of the window's first channel with its second, at every lag from 1 − size to size − 1."""


@dataclass(frozen=True, slots=True)
class Apply:
    """A user-defined function of windows."""

    function: Function
    channels: tuple[str, ...]
    form: Form


@dataclass(frozen=True, slots=True)
class Reduce:
    """One value for a window: its mean, sum, min, max, std, median, rms, energy or power."""

    statistic: str


Step: TypeAlias = Taper | Transform | Spectrum | Autocorrelate | Correlate | Apply | Reduce


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of `size` samples that start at multiples of `hop`, each processed by some steps.

    A result has the time of its window's last sample. A window of arrays is a window for each of their numbers; results
    are arrays again, with the numbers of the first place in the window before those of the second.
    """

    of: Node
    size: int
    hop: int
    gaps: Gaps
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Running:
    """Windows whose states a user-defined operator updates from those of the preceding windows.

    A window is computed from scratch if the preceding one is missing, or if `renewal` divides its number. So rounding
    errors stay bounded, and a change reaches only to the next such window.
    """

    of: Node
    size: int
    hop: int
    operator: Function
    renewal: int
    state: Form
    result: Form
    gaps: Gaps = "invalid"


@dataclass(frozen=True, slots=True)
class OverlapAdd:
    """Arrays placed on the time axis, each ending at its own time; overlaps are merged.

    With a `width`, that many of their numbers belong to each time, and resulting samples are arrays, too.
    """

    of: Node
    period: int
    merge: Literal["sum", "mean", "min", "max"] | Function
    width: int | None = None


@dataclass(frozen=True, slots=True)
class Peaks:
    """Samples that are above all within `radius` samples before and not below any within `radius` after."""

    of: Node
    radius: int
    above: float


@dataclass(frozen=True, slots=True)
class Crossings:
    """Samples at which the signal has just reached a level from below (`rising`), or left it (`falling`)."""

    of: Node
    level: float
    direction: Literal["rising", "falling"]


Node: TypeAlias = (
    Source
    | Where
    | Select
    | Scale
    | Shift
    | Modulate
    | Combine
    | Sample
    | Fir
    | Iir
    | Feedback
    | Windows
    | Running
    | OverlapAdd
    | Peaks
    | Crossings
)
Scan: TypeAlias = Iir | Feedback | Running
"""Operators with a state, which resume from checkpoints."""


def children(node: Node) -> tuple[Node, ...]:
    """The signals that an operator reads."""
    match node:
        case Source():
            return ()
        case Combine(left, right):
            return left, right
        case _:
            return (node.of,)


@lru_cache(maxsize=1024)
def in_order(node: Node) -> tuple[Node, ...]:
    """The distinct operators of a pipeline, inputs first."""
    found: dict[Node, None] = {}

    def visit(one: Node) -> None:
        if one not in found:
            for child in children(one):
                visit(child)
            found[one] = None

    visit(node)
    return tuple(found)


def sources(node: Node) -> tuple[Source, ...]:
    """The sources of a pipeline."""
    return tuple(one for one in in_order(node) if isinstance(one, Source))
