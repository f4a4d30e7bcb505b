"""What a signal pipeline consists of: frozen operators, each over the signals below it.

Nodes have no behaviour. `kinds.py` says what fits, `reach.py` how far a sample is felt, `evaluate.py` what each means.
Times, periods and offsets are whole ticks: microseconds where the time is a timestamp, else its own unit. The uniform
signal of period p and offset o has samples at o + k·p for whole numbers k, which are their indexes; some may be missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from viewlet.signal.plan.durations import Clock
from viewlet.signal.plan.functions import Function

Numbers = tuple[complex | float, ...]
Missing = Literal["zero", "restart"]
"""Missing samples count as zero, or a filter starts anew after them."""
Gaps = Literal["invalid", "zero", "interpolate"]
"""A window with missing samples: it gives nothing, or they are zero, or on the line between their neighbours."""
Merge = Literal["error", "mean", "sum", "min", "max"]
"""What becomes of several readings of a group at one time."""


@dataclass(frozen=True, slots=True)
class Form:
    """What a user's function gives: numbers or arrays of a width, real or complex."""

    width: int | None
    is_complex: bool


@dataclass(frozen=True, slots=True)
class Source:
    """The readings of a table or view: by group, in the order of time; with `until`, each holds until then."""

    table: str
    by: tuple[str, ...]
    time: str
    clock: Clock
    values: tuple[str, ...]
    is_complex: bool
    """Whether the two values are the real and the imaginary part of one."""
    merge: Merge
    until: str | None = None
    width: int | None = None
    """How many numbers each value has, if they are arrays."""


@dataclass(frozen=True, slots=True)
class Where:
    """The samples that a function of the channels says to keep."""

    of: Node
    function: Function


@dataclass(frozen=True, slots=True)
class Select:
    """A function of the channels, sample by sample; if it is timed, of the time before them."""

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
    """x, so many ticks later."""

    of: Node
    by: int


@dataclass(frozen=True, slots=True)
class Wave:
    """amplitude · cos(2π · time / period + phase), of any time; or, without a period, a function of the time in ticks."""

    period: float
    amplitude: float
    phase: float
    function: Function | None = None


@dataclass(frozen=True, slots=True)
class Modulate:
    """x and a continuous signal, which is sampled at the times of x."""

    of: Node
    wave: Wave
    operator: str


@dataclass(frozen=True, slots=True)
class Combine:
    """Samples of both at the same time: `+`, `-`, `*`, `/` or `hypot`; `zip` puts their channels side by side."""

    left: Node
    right: Node
    operator: str


@dataclass(frozen=True, slots=True)
class Policy:
    """How a signal is interpolated between readings, of which `before` and `after` a time are taken into account.

    Readings that are more than `max_gap` ticks apart have nothing between them. Those that are `held` say so themselves.
    """

    kind: Literal["none", "constant", "last", "step", "linear", "quadratic", "cubic", "user", "held"]
    before: int
    after: int
    max_gap: int | None
    value: float = 0.0
    function: Function | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """A uniform signal: readings on the beat as they are, others interpolated."""

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
    """y[n] = f(the last x, the last y): a filter of the user's own, at rest before the first sample and after a gap.

    A gap of up to `through` missing samples is none: they count as zeros.
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
    """What is seen of complex numbers: their `magnitude`, `power` or `phase`."""

    name: str


@dataclass(frozen=True, slots=True)
class Autocorrelate:
    """The correlation of a window with itself at every lag from 1 − size to size − 1."""


@dataclass(frozen=True, slots=True)
class Correlate:
    """The correlation of the window's first channel with its second, at every lag from 1 − size to size − 1."""


@dataclass(frozen=True, slots=True)
class Apply:
    """A function of the user's own on windows."""

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
    """Windows of `size` samples that begin at every index that `hop` divides, each taken through some steps.

    What comes out has the time of its window's last sample. A window of arrays is one window for each of their numbers;
    what comes out are arrays again, the numbers of the first place in the window before those of the second.
    """

    of: Node
    size: int
    hop: int
    gaps: Gaps
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Running:
    """Windows; the user's operator brings the state of each up to date from that of the one before.

    The first window after one that is not there is computed from scratch, and so is each whose number `renewal` divides: roundings
    cannot add up without end, and a change is felt no further than the next such window.
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
    """Arrays laid back on the time axis, each to end at its own time; what overlaps is merged.

    With a `width`, so many of their numbers are laid at each time: the samples that come out are arrays, too.
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
"""Operators that go on from a state, which checkpoints keep."""


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
    """A pipeline's operators, each once and after those that it reads."""
    found: dict[Node, None] = {}

    def visit(one: Node) -> None:
        if one not in found:
            for child in children(one):
                visit(child)
            found[one] = None

    visit(node)
    return tuple(found)


def sources(node: Node) -> tuple[Source, ...]:
    """What a pipeline reads."""
    return tuple(one for one in in_order(node) if isinstance(one, Source))
