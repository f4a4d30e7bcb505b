"""Loading many rows: in pieces, from every kind of input, all of them or none; the oracle is the list of the rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import viewlet
from viewlet.errors import RejectedEpoch, StoreError
from viewlet.intake import pieces
from viewlet.progress import Progress
from viewlet.store.storage.folder import Folder

COUNT, PIECE = 1_050, 100
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("total", pa.decimal128(12, 2))])
ROWS = [(i, None if i % 7 == 0 else f"name {i % 11}", Decimal(i % 13).scaleb(-1)) for i in range(COUNT)]
TABLE = pa.table([pa.array(column) for column in zip(*ROWS, strict=True)], schema=SCHEMA)
COLUMNS = "id BIGINT NOT NULL, name STRING, total DECIMAL(12,2)"
KEPT = {
    "keyed": f"CREATE TABLE t ({COLUMNS}, PRIMARY KEY (id))",
    "plain": f"CREATE TABLE t ({COLUMNS})",
    "trusted": f"CREATE TABLE t ({COLUMNS}) TRUSTED",
}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", PIECE)
    monkeypatch.setattr(pieces, "COLLECTED", 0)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w", engine="inproc") as db:
        yield db


def files(db: viewlet.Database) -> list[Path]:
    return sorted((db.path / "data").iterdir())


def rows_of(db: viewlet.Database) -> list[tuple[Any, ...]]:
    return sorted(db.table("t").rows(), key=lambda row: row[0])


def parquet_file(folder: Path) -> Path:
    pq.write_table(TABLE, folder / "one.parquet", row_group_size=300)
    return folder / "one.parquet"


def parquet_folder(folder: Path) -> Path:
    (folder / "many").mkdir()
    for start in range(0, COUNT, 400):
        pq.write_table(TABLE.slice(start, 400), folder / "many" / f"{start}.parquet")
    return folder / "many"


GIVEN: dict[str, Callable[[Path], Any]] = {
    "table": lambda _: TABLE,
    "chunked table": lambda _: pa.Table.from_batches(TABLE.to_batches(max_chunksize=37)),
    "reader": lambda _: pa.RecordBatchReader.from_batches(SCHEMA, TABLE.to_batches(max_chunksize=130)),
    "dataset": lambda folder: pa.dataset.dataset(parquet_file(folder)),
    "scanner": lambda folder: pa.dataset.dataset(parquet_file(folder)).scanner(batch_size=77),
    "pandas": lambda _: TABLE.to_pandas().astype({"name": object}),
    "tuples": lambda _: list(ROWS),
    "generated dicts": lambda _: iter(TABLE.to_pylist()),
    "generated tables": lambda _: (TABLE.slice(start, 330) for start in range(0, COUNT, 330)),
    "list of batches": lambda _: TABLE.to_batches(max_chunksize=260),
    "stream of another library": lambda _: Foreign(),
    "file": parquet_file,
    "folder": parquet_folder,
}


class Foreign:
    """A table as other libraries hand theirs over."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return TABLE.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("kind", GIVEN)
def test_every_kind_of_input_is_loaded_as_it_is(db: viewlet.Database, tmp_path: Path, kind: str) -> None:
    db.sql(KEPT["keyed"])
    assert db.load("t", GIVEN[kind](tmp_path)) == 2
    assert rows_of(db) == ROWS
    assert db.history()[-1]["tables"]["t"] == {"inserted": COUNT, "deleted": 0}
    assert {path.suffix for path in files(db)} == {".parquet", ".arrows"}, "the rows were not written as they came"


@pytest.mark.parametrize("kept", KEPT)
def test_loaded_rows_are_there_for_what_follows(db: viewlet.Database, tmp_path: Path, kept: str) -> None:
    db.sql(KEPT[kept])
    db.insert("t", TABLE.slice(0, 40))
    db.insert("t", TABLE.slice(40))
    db.delete("t", [ROWS[500], ROWS[3]])
    if kept != "trusted":
        with pytest.raises(RejectedEpoch, match="does not exist"):
            db.delete("t", [ROWS[500]])
    if kept == "keyed":
        with pytest.raises(RejectedEpoch, match="already exists"):
            db.insert("t", [ROWS[501]])
        db.upsert("t", [(501, "new", Decimal(1))])
        db.delete("t", [(501,)])
        db.insert("t", [ROWS[501]])
    left = [row for at, row in enumerate(ROWS) if at not in (3, 500)]
    assert rows_of(db) == left
    db.close()
    with viewlet.connect(tmp_path / "w") as again:
        assert rows_of(again) == left
        assert not again._warehouse.store.orphans()
        assert not again.verify()


def test_rows_that_occur_twice_are_counted(db: viewlet.Database) -> None:
    db.sql(KEPT["plain"])
    db.insert("t", pa.concat_tables([TABLE, TABLE]))
    db.delete("t", [ROWS[8]] * 2)
    with pytest.raises(RejectedEpoch, match="does not exist"):
        db.delete("t", [ROWS[9]] * 3)
    assert rows_of(db) == sorted((row for row in ROWS * 2 if row[0] != 8), key=lambda row: row[0])


def changed(at: int, row: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    return [*ROWS[:at], row, *ROWS[at + 1 :]]


REFUSED = {
    "a value that does not fit": (changed(700, (700, "x", Decimal("1.234"))), "row 701, column total"),
    "a NULL": (changed(699, (None, "x", Decimal(1))), "row 700, column id: NULL"),
    "a key that is there": (changed(650, (-1, "x", Decimal(1))), r"row 651 \(id=-1\): its key already exists"),
    "a key twice in a piece": (changed(655, (601, "x", Decimal(1))), "row 656 .* the same key as row 602"),
    "a key in two pieces": (changed(650, (2, "x", Decimal(1))), "several of the rows given have the key id=2"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_row_that_is_refused_refuses_all(db: viewlet.Database, case: str) -> None:
    rows, message = REFUSED[case]
    db.sql(KEPT["keyed"])
    db.insert("t", [(-1, "first", Decimal(0))])
    with pytest.raises(RejectedEpoch, match=message):
        db.insert("t", rows)
    assert not files(db)
    assert rows_of(db) == [(-1, "first", Decimal(0))]
    db.insert("t", TABLE)
    assert rows_of(db)[1:] == ROWS


def test_what_is_given_may_fail(db: viewlet.Database) -> None:
    def failing() -> Iterator[pa.Table]:
        yield TABLE.slice(0, 600)
        raise OSError("the connection was lost")

    db.sql(KEPT["keyed"])
    with pytest.raises(OSError, match="lost"):
        db.insert("t", failing())
    assert not files(db)
    assert not rows_of(db)
    with db.epoch() as e:
        with pytest.raises(OSError, match="lost"):
            e.insert("t", failing())
        e.insert("t", ROWS[:5])
    assert rows_of(db) == ROWS[:5]


@pytest.mark.parametrize("at", range(3))
def test_a_file_that_cannot_be_written_fails_the_load(
    db: viewlet.Database, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    written, real = [], Folder.write

    def write(folder: Folder, file: str, given: Iterable[Any]) -> None:
        written.append(file)
        if len(written) > at:
            next(iter(given))
            raise StoreError("the disk is full")
        real(folder, file, given)

    db.sql(KEPT["keyed"])
    monkeypatch.setattr(Folder, "write", write)
    with pytest.raises(StoreError, match="full"):
        db.insert("t", TABLE)
    monkeypatch.undo()
    assert not files(db)
    db.insert("t", TABLE)
    assert rows_of(db) == ROWS


def test_changes_of_one_epoch_are_netted_with_what_was_loaded(db: viewlet.Database) -> None:
    db.sql(KEPT["keyed"])
    with db.epoch() as e:
        e.insert("t", TABLE)
        e.delete("t", [(7,), (1_000,)])
        e.upsert("t", [(8, "eight", Decimal(8))])
    expected = [(8, "eight", Decimal("8.00")) if row[0] == 8 else row for row in ROWS if row[0] not in (7, 1_000)]
    assert rows_of(db) == expected
    assert db.table("t").changes(since=1).num_rows == len(expected)


@pytest.mark.spark
def test_constraints_hold_for_every_piece(tmp_path: Path, spark: Any) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as db:
        db.sql(
            f"CREATE TABLE t ({COLUMNS}, PRIMARY KEY (id), CONSTRAINT some CHECK (id % 10 <> 3) ON VIOLATION DROP ROW)"
        )
        db.insert("t", TABLE)
        assert rows_of(db) == [row for row in ROWS if row[0] % 10 != 3]
        assert db.history()[-1]["tables"]["t"]["dropped"] == {"some": COUNT // 10}


def test_no_more_than_some_pieces_are_in_memory(db: viewlet.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    size, count = 20_000, 40
    monkeypatch.setattr(pieces, "PIECE", size)
    before, most = pa.total_allocated_bytes(), 0

    def made() -> Iterator[pa.Table]:
        nonlocal most
        for at in range(count):
            most = max(most, pa.total_allocated_bytes() - before)
            ids = pa.array(range(at * size, (at + 1) * size), pa.int64())
            totals = ids.cast(pa.decimal128(21, 2)).cast(pa.decimal128(12, 2))
            yield pa.table([ids, ids.cast(pa.string()), totals], schema=SCHEMA)

    db.sql(KEPT["trusted"])
    db.insert("t", made())
    assert len(db.table("t")) == size * count
    assert most < 12 * size * 40, "most of 40 pieces were in memory"


def test_progress_is_reported(db: viewlet.Database) -> None:
    said: list[Progress] = []
    db.sql(KEPT["keyed"])
    db.load("t", TABLE, progress=said.append)
    assert str(said[0]) == "table t: 100 of 1,050 rows taken in"
    assert said[-1] == Progress("table t", "1,050 of 1,050 rows taken in", 1.0)


@pytest.mark.spark
def test_spark_reads_text_and_views_follow(tmp_path: Path, spark: Any) -> None:
    pyarrow.csv.write_csv(TABLE, tmp_path / "t.csv")
    lines = [json.dumps({"id": i + COUNT, "name": n, "total": str(t)}) for i, n, t in ROWS]
    (tmp_path / "t.json").write_text("\n".join(lines), encoding="utf-8")
    later = [(i + COUNT, n, t) for i, n, t in ROWS]
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as db:
        db.sql(KEPT["keyed"])
        db.create_view("v", "SELECT name, sum(total) AS total, count(*) AS n FROM t GROUP BY name")
        db.load("t", tmp_path / "t.csv", format="csv", options={"header": True})
        assert rows_of(db) == ROWS
        db.load("t", tmp_path / "t.json", format="json")
        assert rows_of(db) == [*ROWS, *later]
        frame = spark.range(COUNT).selectExpr("-1 - id AS id", "'s' AS name", "CAST(id AS DECIMAL(12,2)) AS total")
        db.insert("t", frame.repartition(5))
        names = {name for _, name, _ in ROWS}
        expected = {n: (2 * sum(t for _, m, t in ROWS if m == n), 2 * sum(m == n for _, m, _ in ROWS)) for n in names}
        expected["s"] = (Decimal(sum(range(COUNT))), COUNT)
        assert {name: (total, n) for name, total, n in db.table("v").rows()} == expected
        (tmp_path / "bad.csv").write_text("id,name,total\n1,a,x\n", encoding="utf-8")
        with pytest.raises(RejectedEpoch, match=r"bad\.csv"):
            db.load("t", tmp_path / "bad.csv", format="csv", options={"header": True})
