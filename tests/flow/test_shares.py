"""The groups of a run are cut into shares for tasks by their rows, so that a heavy group is left to itself."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from viewlet.flow.execute.cluster import cut


def test_a_heavy_group_has_a_share_of_its_own() -> None:
    assert cut(np.array([100, 1, 1, 1]), 2) == [(0, 1), (1, 4)]
    assert cut(np.array([1, 1, 1, 100, 1, 1, 1]), 4) == [(0, 3), (3, 4), (4, 7)]
    assert cut(np.array([3, 3, 3, 3]), 2) == [(0, 2), (2, 4)]
    assert cut(np.zeros(0, np.int64), 4) == []


@settings(max_examples=100, derandomize=True)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=30), st.integers(1, 8))
def test_shares_are_even_and_lose_no_group(rows: list[int], parts: int) -> None:
    shares = cut(np.array(rows), parts)
    assert [group for start, stop in shares for group in range(start, stop)] == list(range(len(rows)))
    assert 1 <= len(shares) <= parts
    costs = [sum(rows[start:stop]) + stop - start for start, stop in shares]
    mean = (sum(rows) + len(rows)) / parts
    assert max(costs) <= mean + max(rows) + 1, "off by half of a group at each end"
