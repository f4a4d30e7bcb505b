"""Hashes of rows: what is the same hashes alike, whichever way the hash is computed; and telling rows apart."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiled import either_way as either_way
from viewlet.columns import hash as hashing
from viewlet.columns import parallel
from viewlet.columns.hash import fingerprint_rows, hash_array, hash_rows, identify_rows, order_of
from viewlet.columns.rows import group

WORDS = st.lists(st.none() | st.text(st.sampled_from("ab\0é𝄞"), max_size=40), max_size=60)


@given(WORDS, st.integers(0, 3))
def test_few_strings_and_many_hash_alike(words: list[str | None], skipped: int) -> None:
    array = pa.array(words, type=pa.string()).slice(skipped)
    many = pa.array(words * 40 if len(words) * 40 >= hashing._FEW else words, type=pa.string())
    assert hash_array(array).tolist() == hash_array(pa.array(array.to_pylist(), type=pa.string())).tolist()
    assert hash_array(many)[: len(words)].tolist() == hash_array(pa.array(words, type=pa.string())).tolist()


@given(WORDS)
def test_strings_that_differ_hash_differently(words: list[str | None]) -> None:
    hashes = hash_array(pa.array(words, type=pa.string())).tolist()
    assert len(set(hashes)) == len(set(words))


@given(st.lists(st.sampled_from([0, 1, 2**16, 2**48, 2**63, 2**64 - 1]), max_size=40), st.booleans())
def test_order_of_hashes(hashes: list[int], many: bool) -> None:
    numbers = np.array(hashes * (hashing._FEW if many else 1), dtype=np.uint64)
    assert order_of(numbers).tolist() == np.argsort(numbers, kind="stable").tolist()


@pytest.mark.parametrize("cores", [1, 3])
def test_order_of_very_many_hashes(cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "CORES", cores)
    monkeypatch.setattr(hashing, "MANY", 2_500)
    rng = np.random.default_rng(cores)
    numbers = rng.integers(0, 2**64, 5_000, dtype=np.uint64)
    numbers[::3] = numbers[7]
    numbers[1::5] = numbers[1] ^ rng.integers(0, 4, 1_000, dtype=np.uint64)  # the last bits alone tell these apart
    for hashes in (numbers, numbers >> np.uint64(56), numbers << np.uint64(50)):
        assert order_of(hashes).tolist() == np.argsort(hashes, kind="stable").tolist()


def test_rows_hash_alike_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    words = pa.array([None if i % 11 == 0 else "x" * (i % 30) for i in range(1_000)]).slice(3)
    columns = [words, pa.array(range(997)), pa.array([i % 3 == 0 for i in range(997)])]
    whole = hash_rows(columns, 997)
    monkeypatch.setattr(hashing, "_BLOCK", 100)
    monkeypatch.setattr(hashing, "MANY", 300)
    assert hash_rows(columns, 997).tolist() == whole.tolist()
    in_blocks = fingerprint_rows(columns, 997).tolist()
    assert [found.tolist() for found in identify_rows(columns, 997)] == [whole.tolist(), in_blocks]
    monkeypatch.undo()
    assert fingerprint_rows(columns, 997).tolist() == in_blocks


@given(st.lists(st.integers(-3, 3), min_size=4, max_size=4), st.integers(0, 3), st.integers(1, 2**62))
def test_rows_that_differ_in_one_number_have_other_fingerprints(numbers: list[int], place: int, apart: int) -> None:
    others = [n + apart if at == place else n for at, n in enumerate(numbers)]
    one, other = (fingerprint_rows([pa.array([n], pa.int64()) for n in row], 1)[0] for row in (numbers, others))
    assert one != other


def test_few_rows_hash_as_many_do() -> None:
    columns = [
        pa.array([None, "", "a", "as long as several words", "é"]),
        pa.array([b"", b"a", None, b"\0", b"\0\0"]),
        pa.array([1, None, -1, 2**40, 0]),
        pa.array([Decimal(1), None, Decimal(10**30), Decimal(-1), Decimal(-(10**30))], pa.decimal128(38, 0)),
        pa.array([0.0, -0.0, float("nan"), None, 1.5]),
        pa.array([True, None, False, True, False]),
        pa.array([None] * 5),
        pa.array([[1], None, [], [1, 2], [None]]),
        pa.array(["the same words", "in another column", None, "", "a"]),
    ]
    for seed in (0, 1):
        for skipped in (0, 2):
            few = [column.slice(skipped) for column in columns]
            many = [pa.concat_arrays([column] * hashing._FEW) for column in few]
            length = len(few[0])
            assert hash_rows(few, length, seed).tolist() == hash_rows(many, len(many[0]), seed)[:length].tolist()
            assert fingerprint_rows(few, length).tolist() == fingerprint_rows(many, len(many[0]))[:length].tolist()


VALUES = {
    pa.string(): st.one_of(st.none(), st.sampled_from(["", "a", "ä", "b"])),
    pa.int64(): st.one_of(st.none(), st.integers(-2, 2)),
    pa.binary(): st.one_of(st.none(), st.sampled_from([b"", b"a"])),
    pa.date32(): st.one_of(st.none(), st.sampled_from([dt.date(1970, 1, 1), dt.date(2026, 1, 1)])),
    pa.float64(): st.one_of(st.none(), st.sampled_from([0.5, 1.0])),
}


@settings(max_examples=60, derandomize=True)
@given(st.data())
def test_rows_are_numbered_in_the_order_in_which_they_come(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(sorted(VALUES, key=str)), min_size=1, max_size=3))
    rows = data.draw(st.lists(st.tuples(*(VALUES[kind] for kind in kinds)), max_size=90))
    columns = [pa.array([row[at] for row in rows], kind) for at, kind in enumerate(kinds)]
    first, numbers = group(columns, len(rows))
    assert [rows[at] for at in first] == list(dict.fromkeys(rows))
    assert [rows[first[number]] for number in numbers] == rows
