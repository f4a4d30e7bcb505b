"""Runs: immutable pieces of a bag, in a file of their own or inside a log record.

A `RunRef` says where a run is; it goes into records and to tasks. A `Run` is a handle that opens the run when it is
first needed, once, and verifies its checksum. A file is kept as long as a handle of its run exists.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from inspect import signature
from pathlib import Path
from typing import Any, Literal
from weakref import WeakValueDictionary

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from viewlet.errors import CorruptFile
from viewlet.store.files import DATA, GoneFile, Look, checksum
from viewlet.store.log.packing import pack, unpack
from viewlet.store.runs.layout import Layout
from viewlet.store.runs.map_run import MapBody, batch_schema
from viewlet.store.runs.narrow import narrowed_batch
from viewlet.store.storage.storage import Storage

Kind = Literal["map", "recent", "shared", "parquet"]
"""A map's run; recent rows of a table; a map's run that doubles as recent rows; a Parquet file of a table."""
Place = tuple[str, int]
Pieces = tuple[Any, ...]
Types = Mapping[str, pa.DataType]
ROW_GROUP = 1 << 18
"""Rows per row group of a table's Parquet files."""
_MOMENT = 1.0  # seconds for which an open file is not rechecked


@dataclass(frozen=True, slots=True)
class RunRef:
    """The place, size and checksum of a run; `data` holds the bytes of one that is not stored yet, in pieces."""

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
        return RunRef(self.kind, file, offset, self.size, self.crc, self.rows, self.sign)

    @property
    def is_recent(self) -> bool:
        """Whether it holds rows of a table that are not in Parquet yet."""
        return self.kind in ("recent", "shared")

    def to_json(self) -> list[Any]:
        return [self.kind, self.file, self.offset, self.size, self.crc, self.rows, *([] if self.sign > 0 else [-1])]

    @staticmethod
    def from_json(document: list[Any]) -> RunRef:
        return RunRef(*document)


class Run:
    """A handle of a run; `body` opens it: a Parquet run as its verified bytes, an Arrow run as its rows.

    Its place may still be determined in the background while its body is already used.
    """

    __slots__ = ("__weakref__", "_body", "_looked", "_ref", "_seen", "_storage", "layout", "types")

    def __init__(
        self,
        ref: RunRef | Future[RunRef],
        layout: Layout,
        types: Types | None = None,
        body: Any = None,
        storage: Storage | None = None,
    ) -> None:
        """`types` are needed to open a small run, which does not store them; a run in memory has no storage."""
        self._ref, self.layout, self.types, self._body, self._storage = ref, layout, types, body, storage
        self._seen: Look | None = None
        self._looked = 0.0

    @property
    def ref(self) -> RunRef:
        if isinstance(self._ref, Future):
            self._ref = self._ref.result()
        return self._ref

    def __repr__(self) -> str:
        return f"Run({self.ref.kind} of {self.ref.rows} rows in {self.ref.file or 'memory'})"

    @property
    def is_placed(self) -> bool:
        """Whether the place of the run is known."""
        return not isinstance(self._ref, Future)

    @property
    def is_open(self) -> bool:
        """Whether its bytes have been read."""
        return self._body is not None

    @property
    def storage(self) -> Storage:
        assert self._storage is not None, f"{self} is in no file"
        return self._storage

    @property
    def path(self) -> Path:
        """A local file with the run."""
        return self.storage.path(self.ref.file)

    @property
    def body(self) -> Any:
        """A MapBody (map), a RecordBatch of columns and weight (recent), or a Buffer (parquet)."""
        if self._body is None:
            if self.ref.file.startswith(f"{DATA}/"):
                self._open_file()
            else:
                self._body = self._open()
        return self._body

    @property
    def map(self) -> MapBody:
        body: MapBody = self.body
        return body

    def check(self) -> None:
        """Verify the file again if it changed since it was verified; raises if it is missing or damaged."""
        if self._seen is None:
            self._open_file()
            return
        self.storage.path(self.ref.file)
        self._look_again()

    def check_now_and_then(self) -> None:
        """`check` for an open run, at most once a second; a removed file is fine, since it is still mapped."""
        if self._seen is not None and time.monotonic() - self._looked > _MOMENT:
            with suppress(GoneFile):
                self._look_again()

    def _look_again(self) -> None:
        self._looked = time.monotonic()
        if self.storage.look(self.ref.file) != self._seen:
            self._open_file()

    def _open_file(self) -> None:
        """Verify the file and map it; its stat data before that are remembered."""
        self.storage.path(self.ref.file)
        self._seen, self._looked = self.storage.look(self.ref.file), time.monotonic()
        try:
            self._body = self._open()
        except CorruptFile:
            self._seen = self._body = None
            raise

    def data(self) -> pa.Buffer:
        """The bytes of the run, verified."""
        ref = self.ref
        if ref.data is not None:
            return pa.py_buffer(b"".join(ref.data))
        return self.storage.read(ref.file, ref.offset, ref.size, ref.crc)

    def _open(self) -> Any:
        data = self.data()
        if self.ref.kind == "parquet":
            return data
        try:
            batch = decode(data, self._schema)
        except pa.ArrowInvalid as reason:
            raise CorruptFile(f"{self.storage.full_name(self.ref.file)} is not a run: {reason}") from reason
        if self.ref.kind == "recent":
            return batch
        body = MapBody(batch, self.layout, self._kinds())
        return body if self.ref.kind == "map" else body.rows.slice(0, len(body))

    def _schema(self) -> pa.Schema:
        return batch_schema(self._kinds(), self.layout, hashed=self.ref.kind != "recent")

    def _kinds(self) -> list[pa.DataType]:
        assert self.types is not None, f"{self} does not say the types of its columns"
        return [self.types[name] for name in self.layout.columns]

    def moved(self, ref: RunRef, storage: Storage) -> Run:
        """A handle of the same run at another place, open if this one is."""
        return Run(ref, self.layout, self.types, self._body, storage)

    def as_recent(self, layout: Layout) -> Run:
        """A map's run as recent rows of a table with the same columns, sharing its bytes."""
        assert self.layout.columns == layout.columns and not self.layout.indexes, f"{self} has other columns"
        rows = self.map.rows.slice(0, len(self.map))
        return Run(replace(self.ref, kind="shared"), layout, self.types, rows, self._storage)


class Handles:
    """The handles of a warehouse's runs that this process holds, one per run."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._live: WeakValueDictionary[RunRef, Run] = WeakValueDictionary()

    @staticmethod
    def of(storage: Storage) -> Handles:
        """The handles of a warehouse, shared by all stores that this process opens on it."""
        handles = _handles.setdefault(storage.address, Handles(storage))
        handles.storage = storage  # the one opened last, with its credentials
        return handles

    def get(self, ref: RunRef, layout: Layout, types: Types) -> Run:
        """The handle of a run, created if there is none."""
        run = self._live.get(ref)
        if run is not None and run.layout == layout:
            return run
        return self.put(Run(ref, layout, types, storage=self.storage))

    def put(self, run: Run) -> Run:
        self._live[run.ref] = run
        return run

    def files(self) -> set[str]:
        """The files of all live handles."""
        return {run.ref.file for run in list(self._live.values())}


_handles: dict[str, Handles] = {}


_SMALL = 8_192  # up to this many values are copied and compressed; more are passed on in pieces
_BRIEF = 2_048  # runs up to this many rows are not narrowed: they will soon be merged, and until then are read often
_STREAM = b"\xff\xff\xff\xff"  # the first bytes of an Arrow stream; packed data never start like this


class _Pieces:
    """Collects what Arrow writes without copying: the buffers of the columns themselves."""

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
    """The bytes of a run of Arrow rows: a stream or, for few rows, only the packed batch."""
    if batch.num_rows * batch.num_columns <= _SMALL:
        pieces = [pack(batch.serialize())]
    else:
        pieces = _in_pieces(narrowed_batch(batch) if kind == "map" and batch.num_rows > _BRIEF else batch)
    return _made(kind, pieces, batch.num_rows)


def decode(data: pa.Buffer, schema: Callable[[], pa.Schema]) -> pa.RecordBatch:
    """The rows of a run; a packed batch needs its schema."""
    if data[:4].to_pybytes() == _STREAM:
        return pa.ipc.open_stream(data).read_next_batch()
    return pa.ipc.read_record_batch(unpack(data), schema())


def _in_pieces(batch: pa.RecordBatch) -> list[Any]:
    pieces = _Pieces()
    with pa.ipc.new_stream(pa.PythonFile(pieces, "w"), batch.schema) as out:
        out.write_batch(batch)
    return pieces.made


_PARQUET: dict[str, Any] = {
    "compression": "zstd",
    "compression_level": 1,
    "write_page_checksum": True,
    "store_decimal_as_integer": True,  # as Spark does; these are read several times as fast
}
if "store_decimal_as_integer" not in signature(pq.write_table).parameters:  # PyArrow before 18
    del _PARQUET["store_decimal_as_integer"]


def ordered_columns(schema: pa.Schema) -> list[str]:
    """The columns for which minimum and maximum may be written.

    Floats are left out: Parquet ignores NaN in both, and Spark, for which NaN is the greatest value, would skip
    matching rows.
    """
    return [f.name for f in schema if not (pa.types.is_floating(f.type) or pa.types.is_nested(f.type))]


def encode_parquet(table: pa.Table, sign: int) -> RunRef:
    """A table's rows as a run, in the bytes of a Parquet file."""
    (ref,) = encode_files([table], sign)
    return ref


def encode_files(tables: Iterable[pa.Table], sign: int, most: float = math.inf) -> Iterator[RunRef]:
    """The same for rows in pieces; a file that has reached `most` bytes ends and the next one begins."""
    pieces, held = ParquetPieces(), list[Any]()
    for table in tables:
        held += pieces.add(table)
        if pieces.size >= most:
            yield pieces.ref(held, sign)
            pieces, held = ParquetPieces(), []
    if held:
        yield pieces.ref(held, sign)


class ParquetPieces:
    """The bytes of a Parquet file as rows are added, with the number of rows and bytes so far and their checksum."""

    def __init__(self) -> None:
        self._sink = _Pieces()
        self._writer: pq.ParquetWriter | None = None
        self.rows = self.size = self.crc = 0

    def add(self, table: pa.Table) -> list[Any]:
        """Add rows with their hashes as the last column; returns the bytes of the file that this produced."""
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                pa.PythonFile(self._sink, "w"),
                table.schema,
                use_dictionary=_repeating(table),
                write_statistics=ordered_columns(table.schema),
                **_PARQUET,
            )
        self._writer.write_table(table, row_group_size=ROW_GROUP)
        self.rows += table.num_rows
        return self._taken()

    def ref(self, held: list[Any], sign: int) -> RunRef:
        """End the file; its run, given the bytes produced so far."""
        made = (*held, *self.end())
        return RunRef("parquet", "", 0, self.size, self.crc, self.rows, sign, made)

    def end(self) -> list[Any]:
        """End the file and return its last bytes."""
        if self._writer is not None:
            self._writer.close()
        return self._taken()

    def _taken(self) -> list[Any]:
        pieces, self._sink.made = self._sink.made, []
        self.size += sum(map(len, pieces))
        self.crc = checksum(*pieces, start=self.crc)
        return pieces


def _repeating(table: pa.Table) -> list[str] | bool:
    """The columns whose values repeat, judged by a sample, never the hashes; True, for all, if any is nested."""
    if any(pa.types.is_nested(field.type) for field in table.schema):
        return True
    at = np.linspace(0, table.num_rows - 1, min(table.num_rows, _SAMPLE)).astype(np.int64)
    return [name for name in table.column_names[:-1] if len(table[name].take(at).unique()) <= _REPEATED * len(at)]


_SAMPLE, _REPEATED = 4_096, 0.9  # sampled rows, and the share of distinct values up to which a dictionary pays


def _made(kind: Kind, pieces: list[Any], rows: int) -> RunRef:
    return RunRef(kind, "", 0, sum(map(len, pieces)), checksum(*pieces), rows, data=tuple(pieces))
