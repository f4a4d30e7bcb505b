"""Finding hashes among sorted ones: the same as by halving, however the hashes are spread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.compiled import either_way as either_way
from viewlet.store.access import search

MOST = 2**64 - 1
Rng = np.random.Generator


def even(rng: Rng, size: int) -> Any:
    return rng.integers(0, MOST, size, dtype=np.uint64, endpoint=True)


def repeated(rng: Rng, size: int) -> Any:
    return rng.choice(even(rng, size // 5 + 1), size)


def clustered(rng: Rng, size: int) -> Any:
    ends = [rng.integers(0, 100, size // 2), rng.integers(2**62, 2**62 + 50, size // 2), rng.integers(0, 2**63 - 1, 9)]
    return np.concatenate(ends).astype(np.uint64)


def narrow(rng: Rng, size: int) -> Any:
    return rng.integers(2**40, 2**41, size).astype(np.uint64)


def equal(rng: Rng, size: int) -> Any:
    return np.full(size, 7, dtype=np.uint64)


@pytest.mark.parametrize("spread", [even, repeated, clustered, narrow, equal])
@pytest.mark.parametrize("size", [1, 2, 17, 40, 1_000, 20_000])
@pytest.mark.parametrize("small", [0, 1 << 17])
def test_every_pair_is_found(spread: Any, size: int, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_SMALL", max(small, 2 * search._REACH + 1))
    monkeypatch.setattr(search, "_DENSE", 0)
    rng = np.random.default_rng(size)
    hashes = np.sort(spread(rng, size))
    probes = np.concatenate([rng.choice(hashes, 100), even(rng, 100), np.array([0, MOST], dtype=np.uint64)])
    assert search.places(hashes, probes).tolist() == hashes.searchsorted(probes).tolist()
    found = search.find(hashes, probes)
    assert found is not None
    pairs = sorted(zip(found[0].tolist(), found[1].tolist(), strict=True))
    assert pairs == [(i, int(j)) for i, probe in enumerate(probes) for j in np.flatnonzero(hashes == probe)]


def test_nothing_is_found_where_nothing_is() -> None:
    nothing = np.zeros(0, dtype=np.uint64)
    some = np.array([3, 5], dtype=np.uint64)
    assert search.find(nothing, some) is None
    assert search.find(some, nothing) is None
    assert search.find(some, np.array([4, 6], dtype=np.uint64)) is None
