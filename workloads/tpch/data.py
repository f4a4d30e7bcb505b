"""Generated TPC-H data, and a stream of orders that come and go.

`tpchgen-cli` writes one Parquet file for each table, once, into a folder that the caller names.
"""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from workloads.tpch import TABLES

Positions = np.ndarray[Any, np.dtype[np.int64]]
CHUNK = 2_000_000


def generate(scale: float, folder: Path) -> Path:
    """The folder with the Parquet files of a scale factor, made if it is not there."""
    made = folder / f"sf{scale:g}"
    if not made.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as started:
            _run_generator(scale, Path(started) / "data")
            (Path(started) / "data").rename(made)
    return made


def _run_generator(scale: float, folder: Path) -> None:
    program = shutil.which("tpchgen-cli", path=sysconfig.get_path("scripts")) or shutil.which("tpchgen-cli")
    if program is None:
        raise FileNotFoundError("tpchgen-cli is not installed; `make setup` installs it")
    subprocess.run([program, "parquet", "--quiet", "-s", f"{scale:g}", "-o", str(folder)], check=True)


def tables(scale: float, folder: Path) -> dict[str, pa.Table]:
    """All eight tables, in the types of `schema.sql`."""
    made = generate(scale, folder)
    return {name: pa.concat_tables(chunks(made, name)) for name in TABLES}


def chunks(made: Path, name: str, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """A table in pieces of some million rows, all or some of its columns, for what does not fit the memory at once."""
    with pq.ParquetFile(made / f"{name}.parquet") as file:
        for batch in file.iter_batches(batch_size=CHUNK, columns=columns):
            yield _as_declared(pa.Table.from_batches([batch]))


def _as_declared(rows: pa.Table) -> pa.Table:
    """The generator's types are those of the schema, but for string views."""
    types = [pa.string() if pa.types.is_string_view(f.type) else f.type for f in rows.schema]
    return rows.cast(pa.schema(list(zip(rows.column_names, types, strict=True))))


def sample_orders(made: Path, count: int, seed: int = 1) -> pa.Array:
    """The keys of some random orders."""
    keys = pq.read_table(made / "orders.parquet", columns=["o_orderkey"])["o_orderkey"].combine_chunks()
    return keys.take(np.sort(np.random.default_rng(seed).choice(len(keys), min(count, len(keys)), replace=False)))


def only(rows: Iterable[pa.Table], column: str, keys: pa.Array) -> pa.Table:
    """The rows whose key is among some."""
    return pa.concat_tables(r.filter(pc.is_in(r[column], keys)) for r in rows).combine_chunks()


def without(rows: pa.Table, column: str, keys: pa.Array) -> pa.Table:
    """The rows whose key is not among some."""
    return rows.filter(pc.invert(pc.is_in(rows[column], keys)))


class Change(NamedTuple):
    """What an epoch puts in and takes out: whole rows."""

    orders_in: pa.Table
    lines_in: pa.Table
    orders_out: pa.Table
    lines_out: pa.Table


class Stream:
    """Orders that wait come in, random live ones leave, each with its lines; who left waits again, at the end.

    `share` of the given orders wait at first; the others are the live ones, for the caller to load (`initial`).
    """

    def __init__(self, orders: pa.Table, lineitem: pa.Table, *, share: float = 0.1, seed: int = 1) -> None:
        self._rng = np.random.default_rng(seed)
        self.orders = orders.sort_by("o_orderkey").combine_chunks()
        self.lineitem = lineitem.sort_by([("l_orderkey", "ascending"), ("l_linenumber", "ascending")]).combine_chunks()
        keys = self.orders["o_orderkey"].to_numpy()
        of_lines = self.lineitem["l_orderkey"].to_numpy()
        self._first, self._last = (np.searchsorted(of_lines, keys, side) for side in ("left", "right"))
        shuffled = self._rng.permutation(len(keys))
        self._waiting, self._live = np.split(shuffled, [round(share * len(keys))])

    @property
    def initial(self) -> tuple[pa.Table, pa.Table]:
        """The orders that are live, and their lines."""
        return self._rows(np.sort(self._live))

    @property
    def waiting(self) -> pa.Array:
        """The keys of the orders that are not there yet."""
        return self.orders["o_orderkey"].combine_chunks().take(pa.array(self._waiting))

    def epoch(self, n: int) -> Change:
        """The next `n` orders come, `n` others go."""
        if n > min(len(self._waiting), len(self._live)):
            raise ValueError(f"{n} orders asked for, {len(self._waiting)} wait and {len(self._live)} are live")
        coming, leaving = self._waiting[:n], self._rng.choice(len(self._live), n, replace=False)
        going = self._live[leaving]
        self._live[leaving] = coming
        self._waiting = np.concatenate([self._waiting[n:], going])
        return Change(*self._rows(coming), *self._rows(going))

    def _rows(self, at: Positions) -> tuple[pa.Table, pa.Table]:
        first, counts = self._first[at], self._last[at] - self._first[at]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return self.orders.take(pa.array(at)), self.lineitem.take(pa.array(np.repeat(first, counts) + within))
