"""Runs: immutable pieces of a bag, in a file of their own or inside a record of the log.

A `RunRef` says where a run is; it goes into records and to tasks. A `Run` is a handle that opens it, once,
when it is first needed, after checking every byte. As long as somebody holds a handle, its file stays.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from weakref import WeakValueDictionary

import pyarrow as pa
import pyarrow.parquet as pq

from viewlet.errors import CorruptFile
from viewlet.store.files import checksum, read_checked
from viewlet.store.layout import Layout
from viewlet.store.maprun import MapBody

Kind = Literal["map", "recent", "parquet"]
Place = tuple[str, int]
Pieces = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class RunRef:
    """Where a run is and how to know that it is whole; `data` holds the bytes of one that is nowhere yet, in pieces."""

    kind: Kind
    file: str
    offset: int
    size: int
    crc: int
    rows: int
    sign: int = 1
    data: Pieces | None = field(default=None, compare=False, repr=False)

    @property
    def place(self) -> Place:
        return self.file, self.offset

    def at(self, file: str, offset: int) -> RunRef:
        """The same run at another place."""
        return RunRef(self.kind, file, offset, self.size, self.crc, self.rows, self.sign)

    def to_json(self) -> list[Any]:
        return [self.kind, self.file, self.offset, self.size, self.crc, self.rows, self.sign]

    @staticmethod
    def from_json(document: list[Any]) -> RunRef:
        return RunRef(*document)


class Run:
    """A handle of a run; `body` opens it. A Parquet run opens as its checked bytes, an Arrow one as its rows.

    Where it is may be found out in the background, while its body is used already.
    """

    __slots__ = ("__weakref__", "_body", "_ref", "layout", "root")

    def __init__(self, root: Path, ref: RunRef | Future[RunRef], layout: Layout, body: Any = None) -> None:
        self.root, self._ref, self.layout, self._body = root, ref, layout, body

    @property
    def ref(self) -> RunRef:
        if isinstance(self._ref, Future):
            self._ref = self._ref.result()
        return self._ref

    def __repr__(self) -> str:
        return f"Run({self.ref.kind} of {self.ref.rows} rows in {self.ref.file or 'memory'})"

    @property
    def is_placed(self) -> bool:
        """Whether it is known where the run is."""
        return not isinstance(self._ref, Future)

    @property
    def path(self) -> Path:
        return self.root / self.ref.file

    @property
    def body(self) -> Any:
        """A MapBody (map), a RecordBatch of columns and weight (recent), or a Buffer (parquet)."""
        if self._body is None:
            self._body = self._open()
        return self._body

    @property
    def map(self) -> MapBody:
        body: MapBody = self.body
        return body

    def data(self) -> pa.Buffer:
        """The bytes of the run, checked."""
        ref = self.ref
        if ref.data is not None:
            return pa.py_buffer(b"".join(ref.data))
        return read_checked(self.path, ref.offset, ref.size, ref.crc)

    def _open(self) -> Any:
        data = self.data()
        if self.ref.kind == "parquet":
            return data
        try:
            batch = pa.ipc.open_stream(data).read_next_batch()
        except pa.ArrowInvalid as reason:
            raise CorruptFile(f"{self.path} is not a run: {reason}") from reason
        body = MapBody(batch, self.layout) if self.ref.kind == "map" else None
        return body or _without_hashes(batch, self.layout)

    def moved(self, ref: RunRef) -> Run:
        """A handle of the same run at another place; what is open stays open."""
        return Run(self.root, ref, self.layout, self._body)

    def as_recent(self, layout: Layout) -> Run:
        """A map's run as recent rows of a table with the same columns: the same bytes serve both."""
        assert self.layout.columns == layout.columns and not self.layout.indexes, f"{self} has other columns"
        return Run(self.root, replace(self.ref, kind="recent"), layout, self.map.rows)


def _without_hashes(batch: pa.RecordBatch, layout: Layout) -> pa.RecordBatch:
    """The columns and the weight; before them there are hashes where the bytes are those of a map's run, too."""
    last = batch.num_columns
    first = last - len(layout.columns) - 1
    return batch.select(list(range(first, last))) if first else batch


class Handles:
    """One handle for each run of a warehouse that somebody in this process holds."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._live: WeakValueDictionary[RunRef, Run] = WeakValueDictionary()

    @staticmethod
    def of(root: Path) -> Handles:
        """The handles of a warehouse, shared by all stores that this process opens on it."""
        return _handles.setdefault(root, Handles(root))

    def get(self, ref: RunRef, layout: Layout) -> Run:
        """The handle of a run, made if nobody has one."""
        run = self._live.get(ref)
        return run if run is not None and run.layout == layout else self.put(Run(self.root, ref, layout))

    def put(self, run: Run) -> Run:
        self._live[run.ref] = run
        return run

    def files(self) -> set[str]:
        """The files that somebody holds."""
        return {run.ref.file for run in list(self._live.values())}


_handles: dict[Path, Handles] = {}


_SMALL = 8_192  # values that are copied sooner than handed on in pieces


class _Pieces:
    """Takes what Arrow writes as it comes: the buffers of the columns themselves, not copies."""

    closed = False

    def __init__(self) -> None:
        self.made: list[Any] = []

    def write(self, data: Any) -> None:
        self.made.append(data)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


def encode(kind: Kind, batch: pa.RecordBatch) -> RunRef:
    """A run of Arrow rows as bytes that are nowhere yet."""
    pieces = _in_pieces(batch) if batch.num_rows * batch.num_columns > _SMALL else [_in_one(batch)]
    return _made(kind, pieces, batch.num_rows)


def _in_one(batch: pa.RecordBatch) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as out:
        out.write_batch(batch)
    return sink.getvalue()


def _in_pieces(batch: pa.RecordBatch) -> list[Any]:
    pieces = _Pieces()
    with pa.ipc.new_stream(pa.PythonFile(pieces, "w"), batch.schema) as out:
        out.write_batch(batch)
    return pieces.made


def encode_parquet(table: pa.Table, sign: int) -> RunRef:
    """A run of a table's rows as the bytes of a Parquet file, nowhere yet."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", compression_level=1, row_group_size=1 << 18)
    return _made("parquet", [sink.getvalue()], table.num_rows, sign)


def _made(kind: Kind, pieces: list[Any], rows: int, sign: int = 1) -> RunRef:
    return RunRef(kind, "", 0, sum(map(len, pieces)), checksum(*pieces), rows, sign, tuple(pieces))
