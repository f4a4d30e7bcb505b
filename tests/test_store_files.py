"""Torn, altered and missing files: reported by name, never read as data."""

from __future__ import annotations

import os
import shutil
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewlet.columns.rows import Rows
from viewlet.errors import CorruptFile, StoreError
from viewlet.store import Layout, Limits, Store, TableContents, open_contents, write_runs
from viewlet.store.files import checksum, read_checked
from viewlet.store.log import frames
from viewlet.store.log.folder.mark import Mark, make_mark, read_mark

MAP = Layout(("k", "v"), ("k",), indexes=(("v",),))
TABLE = Layout(("k", "v"), (), form="table")
TYPES = {"k": pa.int64(), "v": pa.string()}
TINY = Limits(inline_bytes=3_000, segment_bytes=8_000, first_level_rows=4, commit_merge_rows=40, recent_rows=30)


def make(**columns: list[Any]) -> Rows:
    return Rows.of(pa.table(columns))


def bag(rows: Rows) -> Counter[Any]:
    return Counter(rows.expanded().select(("k", "v")).arrow().to_pandas().itertuples(index=False, name=None))


def commit(store: Store, name: str, rows: Rows, layout: Layout) -> int:
    with store.begin() as transaction:
        transaction.append(name, rows, layout)
        return transaction.commit({})


def flip(path: Path, at: int) -> None:
    """Change one bit of a file."""
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << (at % 8)
    path.write_bytes(data)


def fill(root: Path, *, close: bool = True) -> Store:
    """A warehouse with three epochs, one of them large."""
    store = Store.open(root, limits=TINY)
    commit(store, "m", make(k=[1], v=["a"]), MAP)
    commit(store, "m", make(k=list(range(2000)), v=["x"] * 2000), MAP)
    commit(store, "t", make(k=list(range(2000)), v=["x"] * 2000), TABLE)
    store.settle()
    if close:
        store.close()
    return store


def read_all(root: Path) -> list[Any]:
    with Store.open(root, write=False) as store:
        return [bag(store.snapshot().contents(name).scan()) for name in ("m", "t")]


def verify(root: Path) -> list[str]:
    with Store.open(root) as store:
        return store.verify()


@pytest.mark.parametrize("suffix", [".arrows", ".parquet"])
@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_damaged_run_file_is_named(tmp_path: Path, suffix: str, damage: str) -> None:
    fill(tmp_path)
    (path,) = (tmp_path / "data").glob(f"*{suffix}")
    match damage:
        case "flip":
            flip(path, path.stat().st_size // 2)
        case "cut":
            os.truncate(path, path.stat().st_size - 1)
        case _:
            path.unlink()
    with pytest.raises(CorruptFile, match=path.name):
        read_all(tmp_path)
    with Store.open(tmp_path) as store:
        assert store.verify() == [str(path)]
        name, layout = ("m", MAP) if suffix == ".arrows" else ("t", TABLE)
        with pytest.raises(CorruptFile, match=path.name):
            open_contents(tmp_path, store.snapshot().contents(name).refs(), layout, TYPES).scan()


def test_a_file_is_verified_once_until_somebody_touches_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked = note_checks(monkeypatch)
    fill(tmp_path)
    expected = read_all(tmp_path)
    assert checked == [], "this process has written them"
    (tmp_path / "verified").unlink()
    assert read_all(tmp_path) == expected
    assert set(checked) == set((tmp_path / "data").iterdir())
    assert verify(tmp_path) == []
    assert (tmp_path / "verified").read_text() == "{}"  # what has just been changed may change within the same tick
    monkeypatch.setattr("viewlet.store.storage.verified._REST", 0)
    assert verify(tmp_path) == []
    checked.clear()
    assert (read_all(tmp_path), checked) == (expected, [])
    (table,) = (tmp_path / "data").glob("*.parquet")
    os.utime(table)
    assert (read_all(tmp_path), checked) == (expected, [table])
    assert verify(tmp_path) == []
    assert set(checked) == set((tmp_path / "data").iterdir())  # every byte is read where that is what was asked for
    for damage in (b"", b"[1]", b'{"data/x": 1'):
        checked.clear()
        (tmp_path / "verified").write_bytes(damage)
        assert read_all(tmp_path) == expected
        assert set(checked) == set((tmp_path / "data").iterdir())


def note_checks(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files of data whose bytes are verified from now on."""
    checked: list[Path] = []
    real = read_checked

    def noting(path: Path, *args: Any) -> pa.Buffer:
        if path.parent.name == "data":
            checked.append(path)
        return real(path, *args)

    monkeypatch.setattr("viewlet.store.storage.folder.read_checked", noting)
    return checked


@pytest.mark.parametrize("ticks", [1_000_000, 4_000_000, 1_000_000_000])
def test_a_file_that_was_just_written_and_is_changed_within_the_same_tick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ticks: int
) -> None:
    fill(tmp_path)
    (path,) = (tmp_path / "data").glob("*.parquet")
    written = path.stat().st_mtime_ns
    flip(path, path.stat().st_size // 2)
    os.utime(path, ns=(written, written // ticks * ticks))  # as if the file system had counted both as one moment
    with pytest.raises(CorruptFile, match=path.name):
        read_all(tmp_path)


@pytest.mark.parametrize("coarse", [True, False])
def test_a_file_whose_time_of_change_cannot_be_set_is_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, coarse: bool
) -> None:
    real = os.utime

    def utime(path: Path, ns: tuple[int, int]) -> None:
        if not coarse:
            raise PermissionError(path)
        real(path, ns=(ns[0] // 1_000_000_000 * 1_000_000_000,) * 2)

    monkeypatch.setattr("viewlet.store.storage.verified.os.utime", utime)
    checked = note_checks(monkeypatch)
    fill(tmp_path)
    read_all(tmp_path)
    assert set(checked) == set((tmp_path / "data").iterdir())


def test_spark_is_never_given_a_damaged_file(tmp_path: Path) -> None:
    fill(tmp_path)
    (path,) = (tmp_path / "data").glob("*.parquet")
    flip(path, 100)
    with Store.open(tmp_path) as store:
        table = store.snapshot().contents("t")
        assert isinstance(table, TableContents)
        with pytest.raises(CorruptFile, match=path.name):
            table.positive_files()


def test_every_flipped_bit_of_a_log_is_found_or_harmless(tmp_path: Path) -> None:
    """Records are checked when the warehouse is opened, runs inside of them when they are read."""
    with Store.open(tmp_path) as store:
        for i in range(5):
            commit(store, "m", make(k=[i], v=["a"]), Layout(("k", "v"), ("k",)))
    del store  # what is open in this process was checked, and stays good
    (path,) = (tmp_path / "log").glob("*.log")
    whole = path.read_bytes()
    found = 0
    for at in range(0, len(whole), 23):
        flip(path, at)
        read = contents_or_error(tmp_path)
        found += isinstance(read, StoreError)
        assert "1.log" in str(read) if isinstance(read, StoreError) else read == {(i, "a"): 1 for i in range(5)}
        path.write_bytes(whole)
    assert found > len(whole) // 23 * 0.9


def contents_or_error(root: Path) -> Counter[Any] | StoreError:
    try:
        return contents_of(root)
    except StoreError as error:
        return error


def contents_of(root: Path) -> Counter[Any]:
    with Store.open(root, write=False) as store:
        return bag(store.snapshot().contents("m").scan())


def set_mark_back(root: Path, end: int) -> None:
    """What a power cut may do: the log got further than the mark."""
    mark = read_mark(root)
    make_mark(root, Mark(mark.segment, end, 0))


def test_flipped_bit_in_the_last_record_of_a_killed_writer_is_found(tmp_path: Path) -> None:
    store = fill(tmp_path, close=False)
    commit(store, "m", make(k=[7], v=["text without zeros"]), MAP)
    path = tmp_path / store._writing()._log.name
    whole = path.read_bytes()
    set_mark_back(tmp_path, 0)
    flip(path, len(whole) - 40)
    with pytest.raises(CorruptFile, match="last record"):
        Store.open(tmp_path, write=False)
    path.write_bytes(whole)
    store.close()


def test_a_log_cut_anywhere_is_refused_and_can_be_gone_on_from(tmp_path: Path) -> None:
    """Between two records it looks whole; the mark says that it is not."""
    store = Store.open(tmp_path / "w")
    ends = [store._writing()._log.end]
    for i in range(4):
        commit(store, "m", make(k=[i], v=["a"]), Layout(("k", "v"), ("k",)))
        ends.append(store._writing()._log.end)
    store.close()
    for i, cut in enumerate(sorted({*ends[:-1], *range(ends[0], ends[-1], 50)})):
        root = tmp_path / str(i)
        shutil.copytree(tmp_path / "w", root)
        os.truncate(root / "log" / "1.log", cut)
        last = max(i for i, end in enumerate(ends) if end <= cut)
        lost = "epoch 4 is lost" if last == 3 else f"epochs {last + 1} to 4 are lost"
        for write in (True, False):
            with pytest.raises(CorruptFile, match=rf"1\.log is cut short.*{lost}.*from epoch {last} "):
                Store.open(root, write=write)
        with Store.open(root, recover=True) as store:
            assert store.recovery is not None
            assert lost in str(store.recovery)
            assert commit(store, "m", make(k=[9], v=["b"]), Layout(("k", "v"), ("k",))) == last + 1
        assert contents_of(root) == {**{(i, "a"): 1 for i in range(last)}, (9, "b"): 1}


def test_a_torn_last_record_is_a_crash(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        commit(store, "m", make(k=[1], v=["a"]), MAP)
        end = store._writing()._log.end
        commit(store, "m", make(k=[2], v=["a"]), MAP)
    path = tmp_path / "log" / "1.log"
    whole = path.read_bytes()
    set_mark_back(tmp_path, end)
    for cut in range(end, len(whole), 50):
        path.write_bytes(whole[:cut])
        assert Store.open(tmp_path, write=False).epoch == 1
    with Store.open(tmp_path) as store:
        assert commit(store, "m", make(k=[3], v=["b"]), MAP) == 2
    assert contents_of(tmp_path) == {(1, "a"): 1, (3, "b"): 1}


def test_data_tell_of_a_log_that_lost_them(tmp_path: Path) -> None:
    """A log, with its mark, from an older backup: the files are named after epochs that were durable by then."""
    with Store.open(tmp_path / "w") as store:
        commit(store, "m", make(k=[1], v=["a"]), MAP)
    shutil.copytree(tmp_path / "w", tmp_path / "old")
    with Store.open(tmp_path / "w", limits=Limits(inline_bytes=0, inline_most=0)) as store:
        for i in range(3):
            commit(store, "m", make(k=[i], v=["b"]), MAP)
    (tmp_path / "w" / "mark").write_bytes((tmp_path / "old" / "mark").read_bytes())
    (tmp_path / "w" / "log" / "1.log").write_bytes((tmp_path / "old" / "log" / "1.log").read_bytes())
    with pytest.raises(CorruptFile, match=r"ends at epoch 1, and .*data/3-\w+\.arrows was written after epoch 3"):
        Store.open(tmp_path / "w")
    with Store.open(tmp_path / "w", recover=True) as store:
        assert store.recovery is not None
        assert len(os.listdir(store.recovery.aside)) == 3
    assert contents_of(tmp_path / "w") == {(1, "a"): 1}


def test_a_lost_segment_is_named(tmp_path: Path) -> None:
    """The one before it, if it is still there, is not taken for the end of the log."""
    with Store.open(tmp_path, limits=Limits(segment_records=3, live_share=0.0, closing_share=1.0)) as store:
        for i in range(7):
            commit(store, "m", make(k=[i], v=["a"]), Layout(("k", "v"), ("k",), feed=True))
    numbers = sorted(int(path.stem) for path in (tmp_path / "log").glob("*.log"))
    assert len(numbers) > 1
    (tmp_path / "log" / f"{numbers[-1]}.log").rename(tmp_path / "gone")
    with pytest.raises(CorruptFile, match=rf"{numbers[-1]}\.log is missing; epochs? \d.* lost"):
        Store.open(tmp_path)
    with Store.open(tmp_path, recover=True) as store:
        last = store.epoch
        assert 0 < last < 7
    assert contents_of(tmp_path) == {(i, "a"): 1 for i in range(last)}


@pytest.mark.parametrize("damage", ["remove", "empty"])
def test_a_lost_mark_is_named_and_can_be_made_again(tmp_path: Path, damage: str) -> None:
    with Store.open(tmp_path) as store:
        commit(store, "m", make(k=[1], v=["a"]), MAP)
    (tmp_path / "mark").unlink()
    if damage == "empty":
        (tmp_path / "mark").touch()
    with pytest.raises(CorruptFile, match="mark"):
        Store.open(tmp_path)
    Store.open(tmp_path, recover=True).close()
    assert contents_of(tmp_path) == {(1, "a"): 1}
    with Store.open(tmp_path, recover=True) as store:
        assert store.recovery is None


def test_cut_first_record_is_named(tmp_path: Path) -> None:
    fill(tmp_path)
    path = max((tmp_path / "log").glob("*.log"), key=lambda p: int(p.stem))
    os.truncate(path, 40)
    with pytest.raises(CorruptFile, match=path.name):
        Store.open(tmp_path)


def test_unwritten_sectors_at_the_end_are_a_torn_record(tmp_path: Path) -> None:
    """A power cut can leave a file longer than what was written of it."""
    store = fill(tmp_path, close=False)
    path = tmp_path / store._writing()._log.name
    end = path.stat().st_size
    commit(store, "m", make(k=[7], v=[os.urandom(1000).hex()]), Layout(("k", "v"), ("k",), indexes=(("v",),)))
    data = path.read_bytes()
    set_mark_back(tmp_path, end)
    hole = (end // 512 + 2) * 512
    path.write_bytes(data[:hole] + bytes(512) + data[hole + 512 :])
    assert Store.open(tmp_path, write=False).epoch == 3
    path.write_bytes(data[:end] + bytes(5000))
    assert Store.open(tmp_path, write=False).epoch == 3
    path.write_bytes(data)
    store.close()


def test_hole_in_a_tail_that_was_never_synced_ends_the_log(tmp_path: Path) -> None:
    """Grouped durability: a later record may reach the disk before an earlier one; then neither counts."""
    store = Store.open(tmp_path, durability=60_000)
    ends = []
    for i in range(3):
        commit(store, "m", make(k=[i], v=["a"]), Layout(("k", "v"), ("k",)))
        ends.append(store._writing()._log.end)
    path = tmp_path / "log" / "1.log"
    whole = path.read_bytes()
    path.write_bytes(whole[: ends[0]] + bytes(ends[1] - ends[0]) + whole[ends[1] :])
    assert Store.open(tmp_path, write=False).epoch == 1
    path.write_bytes(whole)
    store.close()
    assert Store.open(tmp_path, write=False).epoch == 3


def test_unknown_format_is_refused(tmp_path: Path) -> None:
    fill(tmp_path)
    path = max((tmp_path / "log").glob("*.log"), key=lambda p: int(p.stem))
    data = path.read_bytes()
    mark = data[:8] + struct.pack("<I", 99)
    path.write_bytes(mark + struct.pack("<I", checksum(mark)) + data[16:])
    there = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file() and file.name != "lock"}
    for write in (True, False):
        with pytest.raises(StoreError, match="format 99") as caught:
            Store.open(tmp_path, write=write)
        assert not isinstance(caught.value, CorruptFile)
    assert all(file.read_bytes() == bytes for file, bytes in there.items()), "it is left as it is"


def test_lost_log_is_not_taken_for_a_new_warehouse(tmp_path: Path) -> None:
    fill(tmp_path)
    for path in (tmp_path / "log").iterdir():
        path.unlink()
    with pytest.raises(CorruptFile, match="log"):
        Store.open(tmp_path)
    assert list((tmp_path / "data").iterdir())


def test_files_that_no_record_names_go(tmp_path: Path) -> None:
    fill(tmp_path)
    for name in ("data/left-over.arrows", "log/7.new"):
        (tmp_path / name).write_bytes(b"half")
    assert len(Store.open(tmp_path, write=False).orphans()) == 2
    with Store.open(tmp_path) as store:
        assert store.orphans() == []
        assert not (tmp_path / "data" / "left-over.arrows").exists()
        assert store.verify() == []


def test_a_full_disk_rejects_the_epoch_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(tmp_path) as store:
        commit(store, "m", make(k=[1], v=["a"]), MAP)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", _no_space)
            with pytest.raises(StoreError, match="No space"):
                commit(store, "m", make(k=[2], v=["b"]), MAP)
        assert store.epoch == 1
        assert commit(store, "m", make(k=[3], v=["c"]), MAP) == 2
    with Store.open(tmp_path) as store:
        assert bag(store.snapshot().contents("m").scan()) == {(1, "a"): 1, (3, "c"): 1}


def test_an_interrupted_commit_is_there_or_not_but_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C after the record was written: nothing may be removed or written before the log is read again."""
    store = fill(tmp_path, close=False)
    with monkeypatch.context() as patch:
        patch.setattr("viewlet.store.log.writer.apply", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            commit(store, "m", make(k=list(range(3000)), v=["z"] * 3000), MAP)
    with pytest.raises(StoreError, match="interrupted"):
        store.begin()
    assert store.clean() == []
    store.close()
    with Store.open(tmp_path) as store:
        assert store.epoch == 4
        assert bag(store.snapshot().contents("m").scan())[5, "z"] == 1
        assert store.verify() == []


def test_sweeping_spares_what_an_open_epoch_may_have_written(tmp_path: Path) -> None:
    with Store.open(tmp_path, limits=Limits(grace_seconds=0.0)) as store:
        store.settle()  # opening it sweeps once, which without a grace may hit what comes right after
        with store.begin() as transaction:
            refs = write_runs(store.address, make(k=[1], v=["a"]), MAP, name="task")
            store._writing()._sweep(0.0)
            transaction.adopt("m", refs, MAP, TYPES)
            transaction.commit()
        assert bag(store.snapshot().contents("m").scan()) == {(1, "a"): 1}


def test_a_segment_that_cannot_be_begun_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(tmp_path, limits=TINY) as store:
        with monkeypatch.context() as patch:
            patch.setattr("viewlet.store.log.folder.log_writer.sync", _no_space_once())
            for i in range(30):
                commit(store, "m", make(k=[i], v=["a" * 500]), MAP)
        before = bag(store.snapshot().contents("m").scan())
    with Store.open(tmp_path) as store:
        assert store.epoch == 30
        assert bag(store.snapshot().contents("m").scan()) == before


def _no_space(*_: Any) -> None:
    raise OSError(28, "No space left on device")


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _no_space_once() -> Any:
    """A directory sync that fails the first time."""
    calls: list[Any] = []

    def sync(path: Path) -> None:
        calls.append(path)
        if len(calls) == 1:
            _no_space()

    return sync


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.binary(max_size=700)), max_size=6), st.integers(0, 10**6))
def test_frames_round_trip_and_tear(records: list[tuple[int, bytes]], at: int) -> None:
    data, ends = b"", [0]
    for number, blob in records:
        data += frames.encode_frame({"n": number, "synced": len(data)}, [blob])[0]
        ends.append(len(data))
    read, end, wrong = frames.read_frames(memoryview(data), 0, len(data))
    assert not wrong
    assert ([frame.header["n"] for frame in read], end) == ([n for n, _ in records], len(data))
    assert [data[f.blob : f.end - 4] for f in read] == [blob for _, blob in records]
    cut = at % (len(data) + 1)
    read, end, wrong = frames.read_frames(memoryview(data[:cut]), 0, 0)
    assert (end, wrong) == (max(e for e in ends if e <= cut), "")
    assert bool(frames.read_frames(memoryview(data[:cut]), 0, len(data))[2]) == (cut < len(data))
