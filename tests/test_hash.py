"""Hashes of rows: what is the same hashes alike, whichever way the hash is computed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from viewlet.columns import hash as hashing
from viewlet.columns.hash import hash_array, order_of

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
