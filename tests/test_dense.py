"""Whole numbers told apart by their distances, and sorted by parts of their bits: the same as NumPy gives."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from viewlet.columns.dense import dense, distinct_numbers
from viewlet.columns.rows import group
from viewlet.loops.graph import vertices as vertices_module
from viewlet.loops.graph.adjacency import by_end
from viewlet.loops.graph.vertices import Vertices


@pytest.mark.parametrize(("count", "width"), [(1, 1), (10, 3), (100_000, 60_000)])
def test_numbers_are_told_apart(count: int, width: int) -> None:
    values = np.random.default_rng(count).integers(-width // 2, width - width // 2, count)
    found = distinct_numbers(pa.array(values))
    if found is None:
        assert int(values.max() - values.min()) >= count
        return
    first, codes = found
    assert first.tolist() == np.sort(np.unique(values, return_index=True)[1]).tolist()
    assert (values[first][codes] == values).all()
    grouped = group([pa.array(values)], count)
    assert all((a == b).all() for a, b in zip(grouped, found, strict=True))


@pytest.mark.parametrize(
    "array",
    [pa.array([1, None]), pa.array([0, 10**12]), pa.array(["a"]), pa.array([], pa.int64()), pa.array([1.0, 2.0])],
)
def test_others_are_left_to_hashing(array: pa.Array) -> None:
    assert dense([array]) is None


def test_small_types_do_not_overflow() -> None:
    array = pa.array([-128, 127, *range(-128, 128)], pa.int8())
    found = dense([array])
    assert found is not None
    assert (found.least, found.width) == (-128, 256)
    assert found.offsets[0].tolist() == [0, 255, *range(256)]


@pytest.mark.parametrize("most", [1, 70, 70_000])
def test_edges_are_in_the_order_of_their_ends(most: int) -> None:
    ends = np.random.default_rng(most).integers(0, most, 5_000)
    others = np.random.default_rng(most + 1).integers(0, 9, 5_000)
    found, order = by_end(ends, others, 7), np.argsort(ends, kind="stable")
    assert (found.order == order + 7).all()
    assert (found.others == others[order]).all()
    assert (np.diff(found.bounds) == np.bincount(ends)).all()


@pytest.mark.parametrize("keys", [range(-5_000, 15_000), [7 * 10**9 * v for v in range(20_000)]])
def test_vertices_keep_their_numbers(keys: range | list[int]) -> None:
    """Whether the first keys are close together or far apart, later ones are found, and new ones get the next numbers."""
    chance = np.random.default_rng(3)
    vertices, first = Vertices(pa.int64()), pa.array(chance.permutation(list(keys)))
    (numbers,) = vertices.number([first])
    assert sorted(numbers.tolist()) == list(range(len(keys)))
    assert vertices.keys(numbers).equals(first)
    again, new = vertices.number([first[:3], pa.array([-(10**15), None])])
    assert again.tolist() == numbers[:3].tolist()
    assert new.tolist() == [len(keys), len(keys) + 1]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", [pa.int64(), pa.int16()])
def test_vertices_are_numbered_once(seed: int, kind: pa.DataType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that come close to the first ones, far from them, or as NULL, many or few at once."""
    monkeypatch.setattr(vertices_module, "_FEW", 20)
    chance = np.random.default_rng(seed)
    vertices, known = Vertices(kind), dict[int | None, int]()
    for _ in range(12):
        spread = int(chance.choice([40, 40, 90, 30_000]))
        parts = [
            [None if chance.random() < 0.01 else int(v) for v in chance.integers(-spread, spread, size)]
            for size in chance.choice([0, 1, 5, 80], 3)
        ]
        numbers = vertices.number([pa.array(part, kind) for part in parts])
        for part, found in zip(parts, numbers, strict=True):
            assert vertices.keys(found).to_pylist() == part
            for key, number in zip(part, found.tolist(), strict=True):
                assert known.setdefault(key, number) == number
        assert sorted(known.values()) == list(range(len(vertices)))


def test_keys_at_both_ends_of_their_type_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vertices_module, "_FEW", 2)
    vertices, last = Vertices(pa.int64()), (1 << 63) - 1
    vertices.number([pa.array([last - 2, last - 1, last])])
    (found,) = vertices.number([pa.array([-(1 << 63), last, -(1 << 63) + 1, last - 2])])
    assert vertices.keys(found).to_pylist() == [-(1 << 63), last, -(1 << 63) + 1, last - 2]
