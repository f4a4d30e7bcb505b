"""Percentiles from a few rows that stand for their groups, against all rows."""

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
from tests.marks import some
from tests.test_extremes import histories, made_of
from viewlet.columns.hash import hash_rows
from viewlet.columns.order import ascending, sort
from viewlet.columns.rows import Rows
from viewlet.store.runs.layout import Layout

LAYOUT = Layout(("k", "v"), ("k",))
SHARES = (0.0, 0.1, 0.25, 0.5, 1 / 3, 0.9, 1.0)


def in_order(rows: Rows, at: np.ndarray[Any, Any]) -> list[str]:
    """The values of some rows that are not NULL, in order, each as often as it occurs."""
    net = rows.take(at).consolidate()
    values = net["v"].take(pa.array(sort(ascending(net["v"], zeros_differ=True), len(net))))
    weights = net.weights[sort(ascending(net["v"], zeros_differ=True), len(net))]
    return [repr(v) for v, w in zip(values.to_pylist(), weights, strict=True) if v is not None for _ in range(w)]


@given(history=histories(), shares=st.lists(st.sampled_from(SHARES), min_size=1, max_size=3, unique=True))
def test_some_rows_stand_for_a_group(history: Any, shares: list[float]) -> None:
    kind, batches = history
    contents = made_of(kind, batches, LAYOUT)
    hashes = hash_rows([pa.array(range(4), pa.int64())], 4)
    at, rows = contents.around_shares(("k",), hashes, "v", shares)
    which, everything = contents.lookup(("k",), hashes)
    for group in range(4):
        stand, there = (in_order(r, np.flatnonzero(w == group)) for r, w in ((rows, at), (everything, which)))
        assert len(stand) == len(there)
        for share in shares:
            middle = int((len(there) - 1) * share)
            window = slice(max(middle - 1, 0), middle + 3)
            assert stand[window] == there[window]


VIEWS = {
    "medians": "SELECT g, median(x) AS m FROM t GROUP BY g",
    "several": "SELECT g, percentile(d, array(0.1, 0.5, 0.99)) AS p, percentile_cont(0.3) WITHIN GROUP (ORDER BY d DESC) "
    "AS c FROM t GROUP BY g",
    "discrete": "SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY x) AS a, percentile_disc(0.25) WITHIN GROUP "
    "(ORDER BY x DESC) AS b FROM t GROUP BY g",
    "beside": "SELECT g, median(x) AS m, count(*) AS n, max(x) AS h, percentile(d, 0.75) AS p FROM t GROUP BY g",
    "everything": "SELECT median(d) AS m, sum(x) AS s FROM t",
    "filtered": "SELECT g, median(x) FILTER (WHERE d > 0) AS m FROM t GROUP BY g HAVING median(x) > 2",
    "decimals": "SELECT g, median(p) AS m, approx_percentile(p, 0.4) AS q FROM t GROUP BY g",
    "computed": "SELECT g % 2 AS h, median(x * 2 + 1) AS m FROM t GROUP BY g % 2",
}


def made_up(rng: random.Random) -> tuple[Any, ...]:
    pick = rng.choice
    doubles = [None, 0.0, -0.0, 1.5, -2.25, 1e300, float("nan"), float("inf")]
    return (
        pick([1, 2, 3, None]),
        pick([None, *range(12)]),
        pick(doubles),
        pick([None, Decimal("1.25"), Decimal("-7.5")]),
    )


@pytest.mark.spark
@pytest.mark.parametrize("engine", ["inproc", pytest.param("spark", marks=pytest.mark.slow)])
def test_views_of_percentiles(tmp_path: Path, engine: Any) -> None:
    rng = random.Random(11)
    db = viewlet.connect(tmp_path / "warehouse", engine=engine)
    db.sql("CREATE TABLE t (g INT, x INT, d DOUBLE, p DECIMAL(10, 2))")
    for name, query in VIEWS.items():
        db.create_view(name, query)
    assert all("only rows around it are read" in db.explain(name) for name in VIEWS)
    there: list[Any] = []
    for number, size in enumerate((3, 60, 1, 25, 200) if engine == "inproc" else (40, 10)):
        gone = [there.pop(rng.randrange(len(there))) for _ in range(len(there) // 2)]
        new = [made_up(rng) for _ in range(size)]
        with db.epoch() as e:
            e.delete("t", gone)
            e.insert("t", new)
        there += new
        if number in some(2, (4, 1)):
            assert db.check().to_pylist() == []
    db.delete("t", there)
    assert db.check().to_pylist() == []
    db.close()


def test_a_rank_is_found_in_many_runs() -> None:
    """Whatever way a large group lies in runs, with rows that others take away again."""
    rng = np.random.default_rng(4)
    batches = [[(1, int(v), 1) for v in rng.integers(0, 10**6, size)] for size in (5_000, 300, 40, 1)]
    batches.append([(k, v, -1) for k, v, _ in batches[0][:2_000]])
    contents = made_of(pa.int64(), batches, LAYOUT)
    hashes = hash_rows([pa.array([1], pa.int64())], 1)
    left = np.sort(np.array([v for batch in batches[:4] for _, v, _ in batch][2_000:]))
    for share in SHARES:
        _, rows = contents.around_shares(("k",), hashes, "v", [share])
        assert len(rows) <= 8
        assert rows.weights.sum() == len(left)
        expanded = np.sort(np.repeat(rows["v"].to_numpy(), rows.weights))
        assert expanded[int((len(left) - 1) * share)] == left[int((len(left) - 1) * share)]
