"""The journal of a maintained program: what updates did to its statements, so that a saved state can follow them.

A change in factors is repeated as it was applied. What an update evaluated anew is not written down: it follows from
the inputs, and is evaluated when the state is restored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from viewlet.matrix.buffers import Buffer
from viewlet.matrix.changes import Factored
from viewlet.matrix.compiled import Compiled
from viewlet.matrix.factors import Array
from viewlet.matrix.ops import shapes_in
from viewlet.matrix.resize import Frame, Resize
from viewlet.matrix.sizes import Shape, measured


@dataclass(frozen=True, slots=True)
class Entry:
    """One update: how sizes changed, and the change of each statement; None where it was evaluated anew."""

    resizes: Mapping[str, Resize]
    changes: Mapping[str, Factored | None]


def replay(
    compiled: Compiled, kept: Mapping[str, Array], sizes: dict[str, int], entries: Iterable[Entry]
) -> tuple[dict[str, Array], dict[str, int]]:
    """The statements and sizes after some updates, without those that were evaluated anew on the way."""
    shapes = shapes_in(compiled.program)
    buffers = {name: Buffer(array) for name, array in kept.items()}
    for entry in entries:
        frame = Frame(sizes, entry.resizes)
        for name in list(buffers):
            if _is_stale(name, shapes[name], entry, frame):
                del buffers[name]
            else:
                _apply(buffers[name], entry.changes.get(name), shapes[name], frame)
        sizes = frame.after
    return {name: buffer.array for name, buffer in buffers.items()}, sizes


def _is_stale(name: str, shape: Shape, entry: Entry, frame: Frame) -> bool:
    return frame.is_reshaped(shape) or (name in entry.changes and entry.changes[name] is None)


def _apply(buffer: Buffer, change: Factored | None, shape: Shape, frame: Frame) -> None:
    if frame.touches(shape):
        buffer.extend(measured(shape, frame.common))
    if change is not None:
        buffer.add(change)
    for axis, dim in enumerate(shape):
        if (resize := frame.resize(dim)) is not None and len(resize.gone):
            buffer.contract(axis, resize)
