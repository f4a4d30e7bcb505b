"""The journal of a maintained program: the effects of updates on its statements, to replay on a saved state.

Changes in factors are replayed as they were applied. Re-evaluated statements are not recorded: they follow from the
inputs, and are evaluated when the state is restored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from viewlet.matrix.algebra.ops import shapes_in
from viewlet.matrix.algebra.sizes import Shape, measured
from viewlet.matrix.blocks.buffer import LargeBuffer, buffer_of
from viewlet.matrix.blocks.large import Large
from viewlet.matrix.compile.compiled import Compiled
from viewlet.matrix.delta.changes import Factored
from viewlet.matrix.delta.factors import Array, Indices
from viewlet.matrix.delta.resize import Frame, Resize
from viewlet.matrix.refresh.buffers import Buffer


@dataclass(frozen=True, slots=True)
class Entry:
    """One update: the changes of sizes and of each statement; None if it was re-evaluated.

    For matrices in blocks: the new rows of inputs, and re-evaluated statements, which are already written.
    """

    resizes: Mapping[str, Resize]
    changes: Mapping[str, Factored | None]
    rows: Mapping[str, tuple[Indices, Array]] = field(default_factory=dict)
    written: Mapping[str, Large] = field(default_factory=dict)


def replay(
    compiled: Compiled, kept: Mapping[str, Array], sizes: dict[str, int], entries: Iterable[Entry]
) -> tuple[dict[str, Buffer | LargeBuffer], dict[str, int]]:
    """The statements and sizes after some updates, without statements that were re-evaluated."""
    shapes = shapes_in(compiled.program)
    buffers = {name: buffer_of(array) for name, array in kept.items()}
    for entry in entries:
        frame = Frame(sizes, entry.resizes)
        for name in list(buffers):
            buffer = buffers[name]
            if name in entry.written and isinstance(buffer, LargeBuffer):
                buffer.replace(entry.written[name])
            elif _is_stale(name, shapes[name], entry, frame):
                del buffers[name]
            else:
                _apply(buffer, name, entry, shapes[name], frame)
        sizes = frame.after
    return buffers, sizes


def _is_stale(name: str, shape: Shape, entry: Entry, frame: Frame) -> bool:
    return frame.is_reshaped(shape) or (name in entry.changes and entry.changes[name] is None)


def _apply(buffer: Buffer | LargeBuffer, name: str, entry: Entry, shape: Shape, frame: Frame) -> None:
    if frame.touches(shape):
        buffer.extend(measured(shape, frame.common))
    if (change := entry.changes.get(name)) is not None:
        buffer.add(change)
    if name in entry.rows and isinstance(buffer, LargeBuffer):
        buffer.put_rows(*entry.rows[name])
    for axis, dim in enumerate(shape):
        if (resize := frame.resize(dim)) is not None and len(resize.gone):
            buffer.contract(axis, resize)
