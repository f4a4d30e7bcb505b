"""Keys of vertices and their numbers: each key has one, for good, whether keys are close together or far apart."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from viewlet.loops.graph import vertices
from viewlet.loops.graph.vertices import Vertices

FIRST = {
    "nearly all": [*range(5, 30), 33],
    "some": list(range(0, 300, 4)) * 5,
    "far apart": [3, 10**15, -7],
    "with NULL": [None, 4, 5],
    "none": [],
}


@pytest.mark.parametrize("few", [0, 10_000])
@pytest.mark.parametrize("first", FIRST)
def test_each_key_has_one_number(first: str, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vertices, "_FEW", few)
    chance, known = np.random.default_rng(3), Vertices(pa.int64())
    numbered: dict[int | None, int] = {}
    for keys in (FIRST[first], [31, 32, 8], chance.integers(0, 60, 50).tolist(), [None, 10**12], [-1, 7]):
        one, other = keys[: len(keys) // 2], keys[len(keys) // 2 :]
        found = known.number([pa.array(one, pa.int64()), pa.array(other, pa.int64())])
        for key, number in zip(keys, np.concatenate(found).tolist(), strict=True):
            assert numbered.setdefault(key, number) == number
        assert len(set(numbered.values())) == len(numbered)
        assert known.keys(np.array(list(numbered.values()), np.int64)).to_pylist() == list(numbered)
    assert len(known) <= 2 * len(numbered), "vertices without edges are no more than those that have some"
