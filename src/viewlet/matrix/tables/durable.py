"""The stored state of a matrix program: an earlier version of its statements, and the factors of the changes since.

Epochs write factors, not matrices. Re-evaluated statements are marked, and evaluated when the state is read. Once the
factors take as much space as the matrices, the matrices are rewritten. Inputs are not stored: their tables hold them,
and the axes have their places.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.rows import Rows
from viewlet.matrix.algebra.ops import shapes_in
from viewlet.matrix.algebra.sizes import measured
from viewlet.matrix.arrays.evaluate import is_view
from viewlet.matrix.blocks.evaluate import Blocks
from viewlet.matrix.blocks.large import Large
from viewlet.matrix.blocks.nodes import Node, Stored
from viewlet.matrix.codec import loads
from viewlet.matrix.delta.changes import Factored
from viewlet.matrix.delta.factors import Array, Factor, Indices
from viewlet.matrix.delta.resize import Resize
from viewlet.matrix.refresh.journal import Entry
from viewlet.matrix.refresh.maintained_program import MaintainedProgram
from viewlet.matrix.refresh.saved import Saved
from viewlet.matrix.tables.axes import Axis, AxisKind, Label
from viewlet.matrix.tables.shelf import BLOCKS, StoreShelf, block_rows
from viewlet.store import Contents, Layout

Contained = Callable[[str], Contents]
"""Returns the contents of a bag by name."""
Keep = Callable[[str, Rows, Layout], None]
"""Appends rows to a bag."""

MATRICES = BLOCKS
SINCE = Layout(columns=("number", "name", "entry"), key=("number", "name"))
LABELS = Layout(columns=("place", "label"), key=("place",))
BLOCK = 1 << 20
"""Entries of a block of rows."""
LEAST, MOST = 1 << 20, 1 << 30
"""Bytes of factors up to which matrices are never rewritten, and beyond which they always are."""
RUN = 1 << 27
"""Bytes that are written to one run."""
Block = tuple[str, int, bytes]
"""A block of rows: the name of the matrix, the number of the block, its entries."""


@dataclass(frozen=True)
class Bags:
    """The names of the bags of a program."""

    name: str
    axes: tuple[str, ...]
    """The axes whose labels change."""
    has_blocks: bool = False

    @property
    def matrices(self) -> str:
        return f"{self.name}.state_matrices"

    @property
    def since(self) -> str:
        return f"{self.name}.state_since"

    def labels(self, axis: str) -> str:
        return f"{self.name}.state_labels_{axis}"

    @property
    def all(self) -> tuple[str, ...]:
        blocks = (self.blocks,) if self.has_blocks else ()
        return (self.matrices, self.since, *blocks, *map(self.labels, self.axes))

    @property
    def blocks(self) -> str:
        return f"{self.name}.state_blocks"


def write_matrices(keep: Keep, bags: Bags, state: MaintainedProgram) -> None:
    """Write all statements, without factors."""
    gathered: list[Block] = []
    for block in _all_blocks(state):
        gathered.append(block)
        if sum(len(part) for _, _, part in gathered) > RUN:
            keep(bags.matrices, block_rows(gathered), MATRICES)
            gathered = []
    keep(bags.matrices, block_rows(gathered), MATRICES)
    keep(bags.since, no_entries(), SINCE)


def _all_blocks(state: MaintainedProgram) -> Iterator[Block]:
    """The description of the program, then each statement in blocks of rows."""
    yield "", 0, state.describe().encode()
    yield "", 1, json.dumps({name: _base(buffer.base) for name, buffer in state.large.items()}).encode()
    for name, array in state.statements().items():
        step = _rows_of_a_block(array.shape[1])
        for block, start in enumerate(range(0, len(array), step)):
            yield name, block, array[start : start + step].tobytes()


def write_entry(keep: Keep, bags: Bags, number: int, entry: Entry) -> None:
    """Write the journal entry of one epoch."""
    axes = {f"axis {axis}": _pack(np.array([r.old, r.added]), r.gone) for axis, r in entry.resizes.items()}
    changes = {name: b"" if change is None else _pack_factors(change) for name, change in entry.changes.items()}
    rows = {f"rows {name}": _pack(*found) for name, found in entry.rows.items()}
    bases = {f"base {name}": json.dumps(_base(large.node)).encode() for name, large in entry.written.items()}
    if parts := {**axes, **changes, **rows, **bases}:
        keep(bags.since, _entries(number, parts), SINCE)


def write_labels(
    keep: Keep, bags: Bags, axis: str, kind: AxisKind, moved: Sequence[tuple[int, Label | None, Label | None]]
) -> None:
    """Write the changes of labels."""
    gone = [(place, label) for place, label, _ in moved if label is not None]
    come = [(place, label) for place, _, label in moved if label is not None]
    places = pa.array([place for place, _ in (*gone, *come)], pa.int64())
    labels = pa.array([label for _, label in (*gone, *come)], arrow_type(kind.type))
    weights = np.repeat(np.array([-1, 1]), [len(gone), len(come)])
    keep(bags.labels(axis), Rows({"place": places, "label": labels}, weights), LABELS)


def is_full(contained: Contained, bags: Bags) -> bool:
    """Whether the matrices should be rewritten."""
    since, kept = contained(bags.since).bytes, contained(bags.matrices).bytes
    kept += contained(bags.blocks).bytes if bags.has_blocks else 0
    return since > min(max(kept, LEAST), MOST)


def read_axes(contained: Contained, bags: Bags) -> dict[str, Axis]:
    """The axes whose labels change, with labels in the order of places."""
    found = {}
    for axis in bags.axes:
        rows = contained(bags.labels(axis)).consolidated()
        places, labels = rows["place"].to_pylist(), rows["label"].to_pylist()
        found[axis] = Axis(label for _, label in sorted(zip(places, labels, strict=True), key=lambda pair: pair[0]))
    return found


def read_saved(contained: Contained, bags: Bags) -> Saved:
    """The description of the program."""
    return loads(_text(contained, bags), Saved)


def read_journal(contained: Contained, bags: Bags, blocks: Blocks | None) -> list[Entry]:
    """The journal entries since all statements were written, in order."""
    return list(_journal(contained(bags.since), blocks))


def read_large(contained: Contained, bags: Bags, blocks: Blocks) -> dict[str, Large]:
    """The matrices in blocks, as last written."""
    found = json.loads(b"".join(_read_blocks(contained(bags.matrices), "", range(1, 2))))
    return {name: _large(document, blocks) for name, document in found.items()}


def read_state(
    contained: Contained,
    bags: Bags,
    there: Mapping[str, Any],
    journal: Sequence[Entry],
    blocks: Blocks | None,
) -> MaintainedProgram:
    """The state; `there` has the current inputs and the matrices in blocks."""
    text = _text(contained, bags)
    saved = loads(text, Saved)
    sizes, dtype = dict(saved.sizes), next(iter(there.values())).dtype
    kept = [name for name, op in saved.compiled.statements.items() if not is_view(op) and name not in there]
    shapes = shapes_in(saved.program)
    arrays = {name: _matrix(contained(bags.matrices), name, measured(shapes[name], sizes), dtype) for name in kept}
    return MaintainedProgram.restore(text, {**arrays, **there}, journal, blocks)


def _text(contained: Contained, bags: Bags) -> str:
    return b"".join(_read_blocks(contained(bags.matrices), "", range(1))).decode()


def _matrix(contents: Contents, name: str, extent: tuple[int, int], dtype: Any) -> Array:
    rows, columns = extent
    found = np.empty(extent, dtype=dtype)
    step = _rows_of_a_block(columns)
    for block, part in enumerate(_read_blocks(contents, name, range(-(-rows // step)))):
        found[block * step : (block + 1) * step] = np.frombuffer(part, dtype=dtype).reshape(-1, columns)
    return found


def _rows_of_a_block(width: int) -> int:
    return max(1, BLOCK // max(1, width))


def _read_blocks(contents: Contents, name: str, numbers: range) -> Iterator[bytes]:
    """The blocks of a matrix, in order, looked up a few at a time."""
    for first in range(0, len(numbers), 16):
        wanted = numbers[first : first + 16]
        probes = Rows(
            {"matrix": pa.array([name] * len(wanted)), "block": pa.array(wanted, pa.int64())},
            np.ones(len(wanted), dtype=np.int64),
        )
        rows = contents.lookup(("matrix", "block"), probes.hashes())[1]
        found = dict(zip(rows["block"].to_pylist(), rows["entries"], strict=True))
        yield from (found[block].as_py() for block in wanted)


def no_entries() -> Rows:
    return _entries(0, {})


def _entries(number: int, parts: Mapping[str, bytes]) -> Rows:
    columns = {
        "number": pa.array([number] * len(parts), pa.int64()),
        "name": pa.array(list(parts), pa.string()),
        "entry": pa.array(list(parts.values()), pa.binary()),
    }
    return Rows(columns, np.ones(len(parts), dtype=np.int64))


def _base(node: Node) -> list[Any]:
    """The reference to a matrix in blocks: its name among the blocks, and its shape."""
    assert isinstance(node, Stored)
    return [node.name, node.shape, node.dtype.name, node.starts]


def _large(document: Sequence[Any], blocks: Blocks) -> Large:
    name, (rows, columns), dtype, starts = document
    assert isinstance(blocks.shelf, StoreShelf)
    return Large(Stored(blocks.shelf.reader, name, (rows, columns), np.dtype(dtype), tuple(starts)), blocks.run)


def _journal(contents: Contents, blocks: Blocks | None) -> Iterator[Entry]:
    rows = contents.consolidated()
    epochs: dict[int, dict[str, bytes]] = {}
    for number, name, entry in zip(*(rows[c].to_pylist() for c in SINCE.columns), strict=True):
        epochs.setdefault(number, {})[name] = entry
    for number in sorted(epochs):
        parts = epochs[number]
        resizes = {name: _resize(part) for name, part in _called("axis", parts)}
        changes = {n: _unpack_factors(part) if part else None for n, part in parts.items() if " " not in n}
        put = {name: _rows(part) for name, part in _called("rows", parts)}
        written = {n: _large(json.loads(part), blocks) for n, part in _called("base", parts) if blocks is not None}
        yield Entry(resizes, changes, put, written)


def _called(kind: str, parts: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """The parts of an entry of one kind, by the rest of their names."""
    for name, part in parts.items():
        if name.startswith(f"{kind} "):
            yield name.removeprefix(f"{kind} "), part


def _rows(part: bytes) -> tuple[Indices, Array]:
    at, values = _unpack(part)
    return at, values


def _resize(part: bytes) -> Resize:
    (old, added), gone = _unpack(part)
    return Resize(int(old), int(added), gone, fills=bool(len(gone)))


def _pack(*arrays: Array) -> bytes:
    stream = io.BytesIO()
    for array in arrays:
        np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)
    return stream.getvalue()


def _unpack(part: bytes) -> list[Array]:
    stream, found = io.BytesIO(part), []
    while stream.tell() < len(part):
        found.append(np.lib.format.read_array(stream, allow_pickle=False))
    return found


def _pack_factors(change: Factored) -> bytes:
    """Encode sizes, flags for sparse factors, the factors, and their rows."""
    sides = (change.left, change.right)
    named = [side.at for side in sides if side.at is not None]
    flags = [side.at is not None for side in sides]
    return _pack(np.array([[s.size for s in sides], flags]), *(s.values for s in sides), *named)


def _unpack_factors(part: bytes) -> Factored:
    (sizes, flags), left, right, *named = _unpack(part)
    rows = iter(named)
    sides = [
        Factor(int(size), values, next(rows) if flag else None)
        for size, flag, values in zip(sizes, flags, (left, right), strict=True)
    ]
    return Factored(sides[0], sides[1])
