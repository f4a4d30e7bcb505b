"""Rows near changes: the store's affected ranges against all rows, and windows that read no more than these."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import viewlet
from tests.marks import rounds, some
from tests.test_extremes import histories, made_of
from viewlet.columns.order import place_of
from viewlet.columns.rows import Rows
from viewlet.engine.terms import regroup_groups as regroup
from viewlet.engine.terms import window_delta as near
from viewlet.store.runs.layout import Layout

Row = tuple[int, Any]
LAYOUT = Layout(("k", "v"), ("k",))


def bag(which: Any, rows: Rows) -> list[tuple[Any, ...]]:
    """Places of rows with the affected range that each is in, each as often as it occurs."""
    net = Rows({"which": pa.array(which, pa.int64()), **rows.columns}, rows.weights).consolidate()
    columns = [net["which"].to_pylist(), net["k"].to_pylist(), place_of(net["v"]).tolist()]
    return sorted(
        row for row, w in zip(zip(*columns, strict=True), net.weights.tolist(), strict=True) for _ in range(w)
    )


def reached(values: list[Any], at: Any, count: int | None, before: bool) -> Any:
    """The value of the row that is so far from a place; None where there is no such row."""
    side = sorted((v for v in values if (v < at if before else v > at)), reverse=before)
    return at if count == 0 else None if count is None or len(side) < count else side[count - 1]


def nearest(values: list[Any], edge: Any, count: int, before: bool) -> list[Any]:
    """The nearest rows outside an edge, with those that tie with the last of them."""
    side = sorted((v for v in values if (v < edge if before else v > edge)), reverse=before)
    return sorted(v for v in side if count and (v >= side[:count][-1] if before else v <= side[:count][-1]))


REACH = st.none() | st.integers(0, 3)


@given(histories(), st.data(), REACH, REACH, st.integers(0, 3))
def test_affected_ranges_hold_what_changes_reach(
    history: Any, data: st.DataObject, before: int | None, after: int | None, count: int
) -> None:
    kind, batches = history
    batches = [[row for row in batch if row[1] is not None] for batch in batches]
    contents = made_of(kind, batches, LAYOUT)
    rows = bag(np.zeros(len(contents.scan())), contents.scan())
    groups = {k: [v for _, key, v in rows if key == k] for k in range(4)}
    known = sorted({(k, v) for batch in batches for k, v, _ in batch}, key=str)
    if not known:
        return
    given_ = data.draw(st.lists(st.sampled_from(known), min_size=1, max_size=6))
    changes = Rows(
        {"k": pa.array([k for k, _ in given_], pa.int64()), "v": pa.array([v for _, v in given_], kind)},
        np.ones(len(given_), dtype=np.int64),
    )
    affected = contents.affected_ranges(("k",), "v", changes, before, after)
    assert affected is not None
    at, found = contents.inside(("k",), "v", affected)
    inside = [(k, v) for _, k, v in bag(at, found)]
    places = zip((k for k, _ in given_), place_of(changes["v"]).tolist(), strict=True)
    spans = [(k, reached(groups[k], v, before, True), reached(groups[k], v, after, False)) for k, v in places]
    expected = sorted(
        (k, v)
        for k, values in groups.items()
        for v in values
        if any(k == g and (low is None or v >= low) and (high is None or v <= high) for g, low, high in spans)
    )
    assert sorted(inside) == expected
    _check_beside(contents, affected, groups, changes, count)


def _check_beside(contents: Any, affected: Any, groups: dict[int, list[Any]], changes: Rows, count: int) -> None:
    keys = changes["k"].take(pa.array(affected.example))
    for is_before in (True, False):
        found = bag(*contents.beside(("k",), "v", affected, count, before=is_before))
        counts = contents.count_outside(("k",), "v", affected, [keys], before=is_before)
        edges = affected.low if is_before else affected.high
        for i, (k, edge) in enumerate(zip(keys.to_pylist(), edges.tolist(), strict=True)):
            outside = [v for v in groups[k] if (v < edge if is_before else v > edge)]
            assert counts[i] == len(outside)
            assert [v for n, _, v in found if n == i] == nearest(groups[k], edge, count, is_before)


ONE = "PARTITION BY g ORDER BY o"
VIEWS = {
    "lag1": f"SELECT g, o, x, lag(x, 1) OVER ({ONE}, x) AS w FROM t",
    "lead2": f"SELECT g, o, x, lead(x, 2, -7) OVER ({ONE}, x) AS w, lag(s) OVER ({ONE}, x) AS l FROM t",
    "moving": f"SELECT g, x, sum(x) OVER ({ONE}, x ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS w FROM t",
    "falling": "SELECT o, x, avg(p) OVER (PARTITION BY g ORDER BY o DESC, x ROWS BETWEEN 1 PRECEDING AND 3 FOLLOWING) "
    "AS w FROM t",
    "apart": f"SELECT g, o, x, max(s) OVER ({ONE} ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) AS w FROM t",
    "peers": f"SELECT g, o, x, count(*) OVER ({ONE} RANGE BETWEEN CURRENT ROW AND CURRENT ROW) AS w FROM t",
    "everything": "SELECT g, o, lag(x, 2) OVER (ORDER BY o DESC, x) AS w FROM t",
    "kept": f"SELECT g, x FROM (SELECT g, o, x, lag(x, 1) OVER ({ONE}, x) AS w FROM t) WHERE w < x",
    "numbers": f"SELECT g, o, x, row_number() OVER ({ONE}, x, s) AS w FROM t",
    "ranks": f"SELECT g, o, x, rank() OVER ({ONE}) AS w, dense_rank() OVER ({ONE}) AS v FROM t",
    "running": f"SELECT g, o, x, sum(x) OVER ({ONE}) AS w, count(x) OVER ({ONE}) AS c, min(p) OVER ({ONE}) AS m FROM t",
    "by_rows": f"SELECT g, o, sum(p) OVER ({ONE}, x ROWS UNBOUNDED PRECEDING) AS w, "
    f"first_value(s) OVER ({ONE}, x ROWS UNBOUNDED PRECEDING) AS f FROM t",
    "doubles": "SELECT o, x, sum(d) OVER (ORDER BY o, x) AS w FROM t",
    "backwards": "SELECT g, o, max(x) OVER (PARTITION BY g ORDER BY o DESC) AS w, "
    "2 * rank() OVER (PARTITION BY g ORDER BY o DESC) AS r FROM t",
}
VIEWS |= {
    "leaders": f"SELECT * FROM (SELECT g, o, x, row_number() OVER ({ONE}, x) AS w FROM t) WHERE w <= 2",
    "medals": "SELECT g, x, w FROM (SELECT g, o, x, rank() OVER (PARTITION BY g ORDER BY o DESC) AS w FROM t) WHERE w < 3",
    "not_numbers": "SELECT * FROM (SELECT g, n, x, row_number() OVER (PARTITION BY g ORDER BY n DESC, x) AS w FROM t) "
    "WHERE w <= 2",
    "third": "SELECT o, x FROM (SELECT o, x, row_number() OVER (ORDER BY o DESC NULLS FIRST, x) AS w FROM t) WHERE w = 3",
}
VIEWS |= {
    "words": "SELECT g, w, x, lag(x, 1) OVER (PARTITION BY g ORDER BY w, x) AS l, s FROM t",
    "by_word": "SELECT g, w, x, rank() OVER (PARTITION BY g ORDER BY w, x) AS r, "
    "sum(x) OVER (PARTITION BY g ORDER BY w, x) AS q FROM t",
    "last_words": "SELECT * FROM (SELECT g, w, x, row_number() OVER (PARTITION BY g ORDER BY w DESC, x) AS n FROM t) "
    "WHERE n <= 2",
}
COLUMNS = "g INT, o INT, x BIGINT, d DOUBLE, p DECIMAL(10, 2), s STRING, w STRING, n DOUBLE"
WORDS = ["", "a", "a word that is long: 1", "a word that is long: 2", "a word that is long", "b", "ß", "zz"]


def made_up(rng: random.Random, orders: list[int | None]) -> tuple[Any, ...]:
    pick = rng.choice
    decimals = [None, *map(Decimal, ("1.25", "-2.50", "3.00"))]
    return (
        pick([1, 1, 2, None]),
        pick(orders),
        pick([None, *range(-5, 6)]),
        pick([None, 1.5, 2.25, -3.0]),
        pick(decimals),
        pick([None, *"abc"]),
        pick(WORDS),
        pick([float("nan")] * 5 + [1.5, -0.0, 0.0]),
    )


@pytest.mark.spark
@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 9))])
def test_windows_that_read_what_sees_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """There is no NULL to order by at first, then there is."""
    taken: list[bool] = []
    compile_window_delta = near.compile_window_delta

    def spying(*args: Any) -> Any:
        function = compile_window_delta(*args)

        def run(*given: Any) -> Any:
            taken.append((done := function(*given)) is not None)
            return done

        return run

    monkeypatch.setattr(regroup, "compile_window_delta", spying)
    monkeypatch.setattr(regroup, "_MANY", float("inf"))
    monkeypatch.setattr(regroup, "_FEW", 0)
    monkeypatch.setattr(regroup, "_SHORT", 0)
    rng = random.Random(seed)
    db = viewlet.connect(tmp_path / "warehouse", engine="inproc")
    db.sql(f"CREATE TABLE t ({COLUMNS})")
    views = some(2, VIEWS)
    for name in views:
        db.create_view(name, VIEWS[name])
    there: list[Any] = []
    count = rounds(8, 24)
    for number in range(count):
        orders = [*range(12), *([None] if number > 0.75 * count else [])]
        gone = [there.pop(rng.randrange(len(there))) for _ in range(min(len(there), rng.choice([0, 1, 2, 4])))]
        new = [made_up(rng, orders) for _ in range(rng.choice([0, 1, 2, 8]))]
        with db.epoch() as epoch:
            epoch.delete("t", gone)
            epoch.insert("t", new)
        there += new
    assert taken.count(True) > 0.298 * count * len(views)
    first = [name for name in ("leaders", "medals", "third", "last_words") if name in views]
    assert all("reads the first" in db.explain(name) for name in first)
    assert {name: len(db.check(name)) for name in views} == dict.fromkeys(views, 0)
    db.close()
