"""The compiled inner loops give what NumPy gives, number by number: hashes are stored, and others compute them, too."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewlet.columns import native
from viewlet.columns import rows as telling
from viewlet.columns.hash import fingerprint_rows, hash_array, hash_rows, mix, order_of
from viewlet.columns.rows import Rows, group
from viewlet.store.access.search import find

pytestmark = pytest.mark.skipif(native.kernels is None, reason="there was no C compiler when Viewlet was installed")

VALUES: list[tuple[pa.DataType, Any]] = [
    (pa.bool_(), st.booleans()),
    (pa.int8(), st.integers(-128, 127)),
    (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.date32(), st.dates()),
    (pa.timestamp("us"), st.datetimes()),
    (pa.float32(), st.floats(width=32)),
    (pa.float64(), st.floats()),
    (pa.decimal128(38, 4), st.integers(-(10**37), 10**37).map(lambda n: Decimal(n).scaleb(-4))),
    (pa.decimal128(12, 2), st.integers(-(10**9), 10**9).map(lambda n: Decimal(n).scaleb(-2))),
    (pa.string(), st.text(max_size=40)),
    (pa.large_string(), st.text(st.sampled_from("ab\0é"), max_size=40)),
    (pa.binary(), st.binary(max_size=40)),
    (pa.list_(pa.string()), st.lists(st.text(max_size=9), max_size=3)),
    (pa.struct([("a", pa.int32()), ("b", pa.string())]), st.fixed_dictionaries({"a": st.integers(0, 9)})),
]
COLUMNS = st.sampled_from(VALUES).flatmap(lambda kind: st.tuples(st.just(kind[0]), st.lists(st.none() | kind[1])))


def on_numpy(work: Callable[[], Any]) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "kernels", None)
        return work()


def check(work: Callable[[], Any]) -> None:
    """Some work gives the same array, or arrays, compiled and on NumPy."""
    compiled, plain = work(), on_numpy(work)
    assert (compiled is None) == (plain is None)
    if compiled is not None:
        pairs = zip(compiled, plain, strict=True) if isinstance(compiled, tuple) else [(compiled, plain)]
        for found, expected in pairs:
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


@given(COLUMNS, st.integers(0, 3), st.integers(0, 2))
def test_values_hash_alike(column: tuple[pa.DataType, list[Any]], skipped: int, seed: int) -> None:
    kind, values = column
    array = pa.array(values, type=kind).slice(skipped)
    check(lambda: hash_array(array, seed))
    columns = [array, array, pa.array(range(len(array)))]
    check(lambda: hash_rows(columns, len(array), seed))
    check(lambda: fingerprint_rows(columns, len(array)))


@pytest.mark.parametrize("length", [0, 1, 7, 100, 5_000, 70_000])
def test_many_values_hash_alike(length: int) -> None:
    rng = np.random.default_rng(length)
    words = pa.array([None if i % 13 == 0 else "wörd " * (i % 9) for i in range(length)], pa.string())
    numbers = pa.array(rng.integers(-(2**63), 2**63 - 1, length))
    check(lambda: hash_rows([words, numbers], length))
    check(lambda: fingerprint_rows([words, numbers], length))
    check(lambda: mix(hash_array(numbers)))


def spreads(rng: np.random.Generator, length: int) -> list[Any]:
    """Hashes as they are, such as repeat, such as crowd at some places, and such as ascend already."""
    even = rng.integers(0, 2**64 - 1, length, dtype=np.uint64, endpoint=True)
    repeated = rng.choice(even[: length // 5 + 1], length) if length else even
    crowded = np.where(even % np.uint64(3) == 0, even, even % np.uint64(50))
    return [even, repeated, crowded, np.sort(repeated), np.zeros(length, dtype=np.uint64)]


@pytest.mark.parametrize("length", [0, 1, 2, 63, 64, 2_000, 70_000])
def test_hashes_are_put_in_order_and_told_apart_alike(length: int) -> None:
    for hashes in spreads(np.random.default_rng(length), length):
        check(partial(order_of, hashes))
        check(partial(telling.distinct, hashes))
        assert order_of(hashes).tolist() == np.argsort(hashes, kind="stable").tolist()


@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("length", [1, 2, 40, 3_000, 200_000])
@pytest.mark.parametrize("probes", [0, 1, 31, 32, 33, 5_000])
def test_hashes_are_found_alike(length: int, probes: int, halves: bool) -> None:
    rng = np.random.default_rng(length + probes)
    for hashes in map(np.sort, spreads(rng, length)[:3]):
        picked = np.concatenate(
            [rng.choice(hashes, probes // 2), rng.integers(0, 2**64 - 1, probes - probes // 2, np.uint64)]
        )
        for wanted in (picked, np.sort(picked)):
            kept, sought = ((h >> np.uint64(32)).astype(np.uint32) if halves else h for h in (hashes, wanted))
            most = np.unique(kept, return_counts=True)[1].max()
            few = sought[:: 1 + len(sought) * most // 5_000_000]  # where each finds very many
            check(partial(find, kept, few))


@given(st.lists(st.tuples(st.none() | st.integers(0, 3), st.none() | st.text("ab", max_size=2)), max_size=80))
def test_rows_are_grouped_alike(values: list[tuple[int | None, str | None]]) -> None:
    numbers, words = pa.array([n for n, _ in values], pa.int64()), pa.array([w for _, w in values], pa.string())
    check(lambda: group([numbers, words], len(values)))
    check(lambda: group([words], len(values)))
    weights = np.array([(n or 0) - 1 for n, _ in values], dtype=np.int64)
    rows = Rows({"n": numbers, "w": words}, weights)
    compiled, plain = rows.consolidate(), on_numpy(Rows({"n": numbers, "w": words}, weights).consolidate)
    assert compiled.arrow().equals(plain.arrow())
    assert compiled.weights.tolist() == plain.weights.tolist()


def test_buffers_that_are_too_short_are_refused() -> None:
    out, short = np.zeros(4, dtype=np.uint64), np.zeros(2, dtype=np.uint64)
    with pytest.raises(ValueError, match="too short"):
        native.kernels.fold(out, short)
    with pytest.raises(ValueError, match="too short"):
        native.kernels.hash_numbers(out, bytes(31), 0, 8, False, 0)
    with pytest.raises(ValueError, match="outside"):
        native.kernels.hash_texts(out, np.array([0, 1, 2, 3, 9], dtype=np.int32), b"abcd", 0, 4, 0)
    with pytest.raises(TypeError, match="2 arguments, not 3"):
        native.kernels.fold(out, short, short)
