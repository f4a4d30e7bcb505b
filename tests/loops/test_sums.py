"""Sums along edges: made of all that arrives, or by adding differences, which are made anew in the end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from viewlet.columns.rows import Rows
from viewlet.loops.gather.gathering import SUM, Gathering
from viewlet.loops.gather.sums import Sums
from viewlet.plan.expr import Call, Column
from viewlet.plan.types import BIGINT, DOUBLE, Field

COUNT = 40


def rows(**columns: Sequence[float]) -> Rows:
    return Rows.of(pa.table(columns))


def graph(first: list[float], *, weighted: bool = False) -> Sums:
    """Vertices that show what arrives along two edges each, after a round over all of them; weights are 1."""
    known, own = Field("x", DOUBLE), (Field("w", DOUBLE),) if weighted else ()
    offer = Call("multiply", (Column("x", DOUBLE), Column("w", DOUBLE)), DOUBLE) if weighted else Column("x", DOUBLE)
    sums = Sums(Gathering(Field("v", BIGINT), known, offer, Column(SUM, DOUBLE), own, None, None, keeps_all=False))
    ends = [(v, to) for v in range(COUNT) for to in ((v + 1) % COUNT, (3 * v + 2) % COUNT)]
    columns = {"src": [a for a, _ in ends], "dst": [b for _, b in ends]}
    sums.change(rows(**columns, w=[1.0] * len(ends)) if weighted else rows(**columns), None, None)
    sums.begin(rows(v=list(range(COUNT)), x=first))
    sums.add_up(np.arange(COUNT))
    return sums


@pytest.mark.parametrize("weighted", [False, True])
def test_differences_give_the_same_sums(weighted: bool) -> None:
    first = [float(v % 7) for v in range(COUNT)]  # whole numbers: no sum is rounded
    by_difference, anew = graph(first, weighted=weighted), graph(first)
    for vertex in (3, 17, 3, 30, 4):
        moving = np.array([vertex])
        found = by_difference.spread(moving, by_difference=True)
        assert found.tolist() == anew.spread(moving, by_difference=False).tolist()
        assert by_difference.shown.values.tolist() == anew.shown.values.tolist()
    assert len(by_difference.rounded)
    assert not len(anew.rounded)


def test_sums_that_differences_were_added_to_are_made_anew() -> None:
    first = [1e20 if v == 5 else 0.1 for v in range(COUNT)]
    by_difference, anew = graph(first), graph(first)
    for sums, way in ((by_difference, True), (anew, False)):
        sums.spread(np.array([5]), by_difference=way)
    assert by_difference.shown.values.tolist() != anew.shown.values.tolist()  # 0.1 beside 1e20 is lost
    by_difference.add_up(by_difference.rounded)
    assert by_difference.shown.values.tolist() == anew.shown.values.tolist()
    assert not len(by_difference.rounded)


def test_a_round_is_evaluated_in_full_where_many_edges_start_at_what_changed() -> None:
    """It gives the same sums, of all edges, and leaves none rounded."""
    sums, anew = graph([1.0] * COUNT), graph([1.0] * COUNT)
    for few in (1, COUNT // 10):
        sums.spread(np.arange(few), by_difference=True)
        assert not sums.is_in_full
    assert len(sums.rounded)
    for many in (COUNT // 5, COUNT):
        sums.spread(np.arange(many), by_difference=True)
        assert sums.is_in_full
        assert not len(sums.rounded)
    for vertices in (1, COUNT // 10, COUNT // 5, COUNT):
        anew.hand_on(np.arange(vertices))
        anew.add_up(np.arange(COUNT))
    assert sums.shown.values.tolist() == anew.shown.values.tolist()


def test_it_is_edges_that_count_not_vertices() -> None:
    """One vertex from which most edges lead is enough, and many without any are not."""
    known = Field("x", DOUBLE)
    sums = Sums(
        Gathering(Field("v", BIGINT), known, Column("x", DOUBLE), Column(SUM, DOUBLE), (), None, None, keeps_all=False)
    )
    sums.change(rows(src=[0] * (COUNT - 1) + [1], dst=[*range(1, COUNT), 2]), None, None)
    sums.begin(rows(v=list(range(COUNT)), x=[1.0] * COUNT))
    sums.add_up(np.arange(COUNT))
    sums.spread(np.arange(1, COUNT // 3), by_difference=True)
    assert not sums.is_in_full
    sums.spread(np.array([0]), by_difference=True)
    assert sums.is_in_full


def test_edges_that_are_gone_add_nothing() -> None:
    """Whether few vertices change, or so many that all edges are gone through."""
    first: list[float | None] = [float(v % 7) for v in range(COUNT)]
    sums, ends = graph([float(v % 7) for v in range(COUNT)]), [(v, (v + 1) % COUNT) for v in range(0, COUNT, 3)]
    gone = rows(src=[a for a, _ in ends], dst=[b for _, b in ends])
    sums.add_up(sums.change(gone.negated(), None, None))
    assert shown(sums) == expected(sums, first, set(ends))
    for moving in ([7], range(COUNT)):
        now = shown(sums)
        first = [now[v] if v in moving else x for v, x in enumerate(first)]
        sums.spread(np.array(moving), by_difference=True)
        sums.add_up(sums.rounded)
        assert shown(sums) == expected(sums, first, set(ends))


def shown(sums: Sums) -> list[float | None]:
    store = sums.shown
    values = np.where(store.present, store.values.view(np.float64), np.nan)
    return [None if np.isnan(x) else x for x in values.tolist()]


def expected(sums: Sums, read: list[float | None], gone: set[tuple[int, int]]) -> list[float | None]:
    """What arrives at each vertex along the edges that are left."""
    offers: dict[int, list[float]] = {}
    for v, x in enumerate(read):
        for to in ((v + 1) % COUNT, (3 * v + 2) % COUNT):
            if (v, to) not in gone and x is not None:
                offers.setdefault(to, []).append(x)
    return [sum(offers[v]) if v in offers else None for v in range(len(sums.vertices))]
