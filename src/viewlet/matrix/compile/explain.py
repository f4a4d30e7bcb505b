"""`explain` of a program: how it is maintained, and the alternatives considered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from viewlet.matrix.algebra.show import show_op
from viewlet.matrix.algebra.sizes import measured
from viewlet.matrix.arrays.evaluate import is_view
from viewlet.matrix.compile.compiled import Alternative, Compiled


def explain(compiled: Compiled, sizes: Mapping[str, int], outcomes: Mapping[str, str]) -> str:
    """The statements with their sizes and the outcomes of their last refresh, then the estimate of each alternative."""
    chosen = compiled.chosen
    inputs = ", ".join(f"{i.name}: {_extent(measured(i.shape, sizes))}" for i in compiled.program.inputs)
    lines = [f"program({inputs}), {chosen.model} model, {chosen.strategy}"]
    lines += [f"  {text}" for text in _statements(compiled, sizes, outcomes)]
    lines += ["a refresh is estimated to take"]
    lines += [f"  {_alternative(a, chosen)}" for a in compiled.alternatives]
    return "\n".join(lines)


def _statements(compiled: Compiled, sizes: Mapping[str, int], outcomes: Mapping[str, str]) -> Iterator[str]:
    shapes = {s.name: s.shape for s in compiled.program.statements}
    for name, op in compiled.statements.items():
        how = "view" if is_view(op) else outcomes.get(name, "")
        yield f"{f'{name} := {show_op(op)}':<34}  {_extent(measured(shapes[name], sizes)):<16}{how}".rstrip()


def _extent(extent: tuple[int, int]) -> str:
    return f"{extent[0]:,} × {extent[1]:,}"


def _alternative(alternative: Alternative, chosen: Alternative) -> str:
    mark = "  ← chosen" if alternative == chosen else ""
    seconds, size = f"{alternative.seconds * 1e3:,.3f} ms", f"{alternative.bytes / 1e6:,.1f} MB"
    return f"{alternative.model:<12} {alternative.strategy:<12} {seconds:>14}  {size:>12} kept{mark}"
