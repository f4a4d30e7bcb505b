"""Pipelines as deterministic text: a line for each operator, with its inputs below it."""

from __future__ import annotations

from typing import assert_never

from viewlet.formatting import plural
from viewlet.signal.plan.durations import Clock, show_ticks
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
    Wave,
    Where,
    Windows,
    children,
    sources,
)


def show(node: Node) -> str:
    """A pipeline as text, the last operator first."""
    clock = sources(node)[0].clock
    return "\n".join(f"{'  ' * depth}{text}" for depth, text, _ in lines(node, clock))


def lines(
    node: Node, clock: Clock, depth: int = 0, known: dict[Node, int] | None = None
) -> list[tuple[int, str, Node]]:
    """A line for each operator: its depth, its text and the node; shared operators are spelled out once."""
    known = {} if known is None else known
    if node in known and children(node):
        return [(depth, f"as line {known[node]}", node)]
    known[node] = len(known) + 1
    found = [(depth, show_node(node, clock), node)]
    for child in children(node):
        found += lines(child, clock, depth + 1, known)
    return found


def show_node(node: Node, clock: Clock) -> str:
    """The text of an operator without its inputs."""
    match node:
        case Source(table, by, time, _, values, until=until, width=width):
            held = "" if until is None else f" until {until}"
            arrays = "" if width is None else f" of {width}"
            return f"{table} [{', '.join(by)}] {time}{held} → {', '.join(values)}{arrays}"
        case Where(_, function):
            return f"where {function.name}"
        case Select(_, function, channels):
            return f"select {function.name} → {', '.join(channels)}"
        case Scale(_, factor, plus):
            return f"scale {factor:g}" + (f" plus {plus:g}" if plus else "")
        case Shift(_, by):
            return f"shift {show_ticks(by, clock)}"
        case Modulate(_, wave, operator):
            return f"{operator} {_wave(wave, clock)}"
        case Combine(_, _, operator):
            return operator
        case Sample(_, period, offset, policy):
            at = f" from {show_ticks(offset, clock)}" if offset else ""
            return f"sample every {show_ticks(period, clock)}{at}, {_policy(policy, clock)}"
        case Fir(_, taps, ahead, missing):
            return f"fir of {len(taps)} taps{f', {ahead} ahead' if ahead else ''}, missing {missing}"
        case Iir(_, sections, missing):
            return f"iir of {plural(len(sections), 'section')}, missing {missing}"
        case Feedback(_, function, forward, backward, through):
            zeros = f", up to {through} missing zero" if through else ""
            return f"filter {function.name} of {forward} inputs and {backward} outputs{zeros}"
        case Windows(_, size, hop, gaps, steps):
            taken = "".join(f" → {_step(step)}" for step in steps)
            return f"windows of {size} every {hop}, missing {gaps}{taken}"
        case Running(_, size, hop, operator, gaps=gaps):
            return f"windows of {size} every {hop}, missing {gaps}, running {operator.name}"
        case OverlapAdd(_, _, merge):
            return f"overlap-add by {merge if isinstance(merge, str) else merge.name}"
        case Peaks(_, radius, above):
            return f"peaks within {radius} samples" + (f" above {above:g}" if above > float("-inf") else "")
        case Crossings(_, level, direction):
            return f"crossings of {level:g}, {direction}"
        case _:
            assert_never(node)


def _wave(wave: Wave, clock: Clock) -> str:
    if wave.function is not None:
        return wave.function.name
    phase = f" + {wave.phase:g}" if wave.phase else ""
    return f"{wave.amplitude:g} cos(2π t / {show_ticks(int(wave.period), clock)}{phase})"


def _policy(policy: Policy, clock: Clock) -> str:
    name = policy.kind if policy.function is None else policy.function.name
    value = f" {policy.value:g}" if policy.kind == "constant" else ""
    gap = f" within {show_ticks(policy.max_gap, clock)}" if policy.max_gap else ""
    return name + value + gap


def _step(step: Step) -> str:
    match step:
        case Taper():
            return "taper"
        case Transform(name) | Spectrum(name):
            return name
        case Autocorrelate():
            return "autocorrelate"
        case Correlate():
            return "correlate"
        case Apply(function):
            return function.name
        case Reduce(statistic):
            return statistic
        case _:
            assert_never(step)
