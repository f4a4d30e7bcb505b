"""Runs: immutable pieces of a bag, in a file of their own or inside a record of the log.

A `RunRef` says where a run is; it goes into records and to tasks. A `Run` is a handle that opens it, once,
when it is first needed, after checking every byte. As long as somebody holds a handle, its file stays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True)
class RunRef:
    """Where a run is and how to know that it is whole; `data` holds the bytes of one that is nowhere yet."""

    kind: Kind
    file: str
    offset: int
    size: int
    crc: int
    rows: int
    sign: int = 1
    data: pa.Buffer | None = field(default=None, compare=False, repr=False)

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
    """A handle of a run; `body` opens it. A Parquet run opens as its checked bytes, an Arrow one as its rows."""

    __slots__ = ("__weakref__", "_body", "layout", "ref", "root")

    def __init__(self, root: Path, ref: RunRef, layout: Layout, body: Any = None) -> None:
        self.root, self.ref, self.layout, self._body = root, ref, layout, body

    def __repr__(self) -> str:
        return f"Run({self.ref.kind} of {self.ref.rows} rows in {self.ref.file or 'memory'})"

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
            return ref.data
        return read_checked(self.path, ref.offset, ref.size, ref.crc)

    def _open(self) -> Any:
        data = self.data()
        if self.ref.kind == "parquet":
            return data
        try:
            batch = pa.ipc.open_stream(data).read_next_batch()
        except pa.ArrowInvalid as reason:
            raise CorruptFile(f"{self.path} is not a run: {reason}") from reason
        return MapBody(batch, self.layout) if self.ref.kind == "map" else batch

    def moved(self, ref: RunRef) -> Run:
        """A handle of the same run at another place; what is open stays open."""
        return Run(self.root, ref, self.layout, self._body)


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


def encode(kind: Kind, batch: pa.RecordBatch) -> RunRef:
    """A run of Arrow rows as bytes that are nowhere yet."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as out:
        out.write_batch(batch)
    data = sink.getvalue()
    return RunRef(kind, "", 0, data.size, checksum(data), batch.num_rows, data=data)


def encode_parquet(table: pa.Table, sign: int) -> RunRef:
    """A run of a table's rows as the bytes of a Parquet file, nowhere yet."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", compression_level=1, row_group_size=1 << 18)
    data = sink.getvalue()
    return RunRef("parquet", "", 0, data.size, checksum(data), table.num_rows, sign, data)
