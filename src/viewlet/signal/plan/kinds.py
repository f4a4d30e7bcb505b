"""The kind of signal that each operator returns (channels, grid), and the signals that it refuses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import assert_never

from viewlet.errors import UnsupportedQuery
from viewlet.signal.plan.nodes import (
    Apply,
    Autocorrelate,
    Combine,
    Correlate,
    Crossings,
    Feedback,
    Fir,
    Iir,
    Modulate,
    Node,
    OverlapAdd,
    Peaks,
    Policy,
    Reduce,
    Running,
    Sample,
    Scale,
    Select,
    Shift,
    Source,
    Spectrum,
    Step,
    Taper,
    Transform,
    Where,
    Windows,
    children,
)


@dataclass(frozen=True, slots=True)
class Grid:
    """The times offset + k·period."""

    period: int
    offset: int


@dataclass(frozen=True, slots=True)
class Kind:
    """The kind of a signal: its channels, the width of its samples if they are arrays, its grid if it is uniform."""

    channels: tuple[str, ...]
    width: int | None
    is_complex: bool
    grid: Grid | None
    policy: Policy | None = None
    """How it is interpolated onto another grid."""
    is_held: bool = False
    """Whether the last channel is the number of ticks for which each sample holds."""


@lru_cache(maxsize=4096)
def kind_of(node: Node) -> Kind:
    """The kind that an operator returns; raise if its inputs do not fit."""
    if not isinstance(node, Sample) and any(kind_of(child).is_held for child in children(node)):
        raise UnsupportedQuery("readings with `until` must be sampled first", hint="call .sample(period)")
    match node:
        case Source(values=values, until=str(until)):
            return Kind((*values, until), None, False, None, is_held=True)
        case Source(values=values, is_complex=is_complex, width=width):
            return Kind(values[:1] if is_complex else values, width, is_complex, None)
        case Where(of):
            return kind_of(of)
        case Select(of, _, channels, form):
            return replace(kind_of(of), channels=channels, width=form.width, is_complex=form.is_complex)
        case Scale(of, factor, plus):
            kind = kind_of(of)
            return replace(kind, is_complex=kind.is_complex or isinstance(factor, complex) or isinstance(plus, complex))
        case Modulate(of):
            return kind_of(of)
        case Shift(of, by):
            kind = kind_of(of)
            return replace(kind, grid=kind.grid and _grid(kind.grid.period, kind.grid.offset + by))
        case Combine(left, right, operator):
            return _combined(kind_of(left), kind_of(right), operator)
        case Sample(of, period, offset, policy):
            kind = kind_of(of)
            channels = kind.channels[:-1] if kind.is_held else kind.channels
            return replace(kind, channels=channels, grid=_grid(period, offset), policy=policy, is_held=False)
        case Fir(of, taps):
            kind = _regular(of, "a filter")
            return replace(kind, is_complex=kind.is_complex or any(isinstance(tap, complex) for tap in taps))
        case Iir(of) | Feedback(of):
            return _regular(of, "a filter")
        case Windows(of):
            return _for_each_number(kind_in_window(node), kind_of(of).width)
        case Running(of, result=form):
            each = replace(kind_in_window(node), width=form.width, is_complex=form.is_complex)
            return _for_each_number(each, kind_of(of).width)
        case OverlapAdd(of, period, _, width):
            return _laid_out(kind_of(of), period, width)
        case Peaks(of) | Crossings(of):
            return _real(_uniform(of, "detection"), "detection")
        case _:
            assert_never(node)


def grid_of(node: Node) -> Grid:
    """The grid of a signal known to be uniform."""
    grid = kind_of(node).grid
    assert grid is not None, f"{node} is not uniform"
    return grid


def _grid(period: int, offset: int) -> Grid:
    return Grid(period, offset % period)


def _regular(node: Node, what: str) -> Kind:
    kind = kind_of(node)
    if kind.grid is None:
        raise UnsupportedQuery(f"{what} needs a uniform signal", hint="call .sample(period, …) before it")
    return kind


def _uniform(node: Node, what: str) -> Kind:
    kind = _regular(node, what)
    if kind.width is not None:
        raise UnsupportedQuery(
            f"{what} needs samples that are numbers, not arrays",
            hint="select one of their numbers: select(lambda x: x[:, 0])",
        )
    return kind


def _real(kind: Kind, what: str) -> Kind:
    if kind.is_complex:
        raise UnsupportedQuery(f"{what} needs a real signal", hint="call .select(abs) before it")
    return kind


def _combined(left: Kind, right: Kind, operator: str) -> Kind:
    assert left.grid == right.grid, "the builder brings both to one grid"
    if left.width != right.width:
        raise UnsupportedQuery(f"signals of {_show(left)} and of {_show(right)} cannot be combined")
    channels = _side_by_side(left, right) if operator == "zip" else _together(left, right)
    return replace(left, channels=channels, is_complex=left.is_complex or right.is_complex)


def _side_by_side(left: Kind, right: Kind) -> tuple[str, ...]:
    taken = list(left.channels)
    for name in right.channels:
        while name in taken:
            name += "_2"
        taken.append(name)
    return tuple(taken)


def _together(left: Kind, right: Kind) -> tuple[str, ...]:
    if len(left.channels) != len(right.channels):
        raise UnsupportedQuery(
            f"a signal of {len(left.channels)} channels and one of {len(right.channels)} cannot be combined",
            hint="select the channels that belong together",
        )
    return left.channels


def _show(kind: Kind) -> str:
    return "numbers" if kind.width is None else f"arrays of {kind.width}"


def kind_in_window(node: Windows | Running) -> Kind:
    """The kind after the steps of a window; for arrays, that of the window of each number."""
    kind = _regular(node.of, "a window")
    assert kind.grid is not None
    period, offset = kind.grid.period, kind.grid.offset
    ends = _grid(node.hop * period, offset + (node.size - 1) * period)
    result = replace(kind, width=node.size, grid=ends, policy=None)
    for step in node.steps if isinstance(node, Windows) else ():
        result = after_step(result, step)
    return result


def _for_each_number(kind: Kind, width: int | None) -> Kind:
    """The kind repeated for each number of arrays of a width."""
    return kind if width is None else replace(kind, width=width * (kind.width or 1))


def after_step(kind: Kind, step: Step) -> Kind:
    """The kind of windows after a step."""
    if kind.width is None:
        raise UnsupportedQuery(
            "a window that was reduced to one number cannot be processed further", hint="reduce it last"
        )
    match step:
        case Taper(weights):
            return _same_width(kind, len(weights))
        case Transform("fft" | "ifft"):
            return replace(kind, is_complex=True)
        case Transform("rfft"):
            return replace(_real(kind, "rfft"), width=kind.width // 2 + 1, is_complex=True)
        case Transform():  # irfft
            return replace(kind, width=2 * (kind.width - 1), is_complex=False)
        case Spectrum():
            return replace(kind, is_complex=False)
        case Autocorrelate():
            return replace(kind, width=2 * kind.width - 1)
        case Correlate():
            return _correlated(kind)
        case Apply(_, channels, form):
            return replace(kind, channels=channels, width=form.width, is_complex=form.is_complex)
        case Reduce(statistic):
            is_complex = kind.is_complex and statistic in ("sum", "mean")
            return replace(kind if is_complex else _seen(kind, statistic), width=None, is_complex=is_complex)
        case _:
            assert_never(step)


def _same_width(kind: Kind, width: int) -> Kind:
    if kind.width != width:
        raise UnsupportedQuery(f"{width} weights for windows of {kind.width}")
    return kind


def _correlated(kind: Kind) -> Kind:
    if len(kind.channels) != 2:
        raise UnsupportedQuery(f"a correlation is of two channels, not {len(kind.channels)}", hint="zip two signals")
    assert kind.width is not None
    return replace(kind, channels=kind.channels[:1], width=2 * kind.width - 1)


def _seen(kind: Kind, statistic: str) -> Kind:
    return kind if statistic in ("rms", "energy", "power") else _real(kind, statistic)


def _laid_out(kind: Kind, period: int, width: int | None) -> Kind:
    if kind.width is None:
        raise UnsupportedQuery(
            "only arrays can be laid back on the time axis, not numbers", hint="do not reduce windows"
        )
    if width is not None and kind.width % width:
        raise UnsupportedQuery(f"arrays of {kind.width} numbers cannot be split into arrays of {width}")
    if kind.grid is None or kind.grid.period % period:
        raise UnsupportedQuery(
            f"arrays that are not a multiple of {period} ticks apart cannot be laid back on the time axis",
            hint="call .sample(period, …) before it",
        )
    return replace(kind, width=width, grid=_grid(period, kind.grid.offset))


def length_laid_out(node: OverlapAdd) -> int:
    """The number of times that each array covers."""
    width = kind_of(node.of).width
    assert width is not None
    return width // (node.width or 1)
