"""Keys that many rows share: added up before they move, or dealt to all partitions; results are the same."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tests.cluster.test_epoch_job import follow
from tests.compile.random_changes import Tables
from tests.compile.test_distribute import TPCH, compiled, tpch_facts, tpch_programs
from viewlet.columns.rows import Rows
from viewlet.compile.distribute import distribute
from viewlet.engine.cluster import skew
from viewlet.engine.cluster.shares import sent
from viewlet.engine.cluster.stages import staged
from viewlet.program.distributed import Partitioned

PARTS = 4


def orders(count: int) -> Rows:
    """Rows of which nine in ten have one key."""
    keys = np.where(np.arange(count) % 10, 7, np.arange(count))
    return Rows({"k": pa.array(keys), "n": pa.array(np.ones(count, dtype=np.int64))}, np.ones(count, dtype=np.int64))


def sizes(rows: Rows, **how: object) -> list[int]:
    return sorted(len(share) for _, share in sent(rows, Partitioned(("k",)), PARTS, **how))  # type: ignore[arg-type]


def test_a_key_with_more_than_its_share_is_dealt_out() -> None:
    rows = orders(40_000)
    assert sizes(rows)[-1] > 36_000
    assert sizes(rows, can_split=True)[-1] < 11_000
    shares = [share for _, share in sent(rows, Partitioned(("k",)), PARTS, can_split=True)]
    assert Rows.concat(shares).consolidate().weights.sum() == 40_000
    others = [set(share["k"].to_pylist()) - {7} for share in shares]
    assert sum(map(len, others)) == len(set.union(*others)), "the rows of any other key stay together"


def test_rows_of_one_key_are_added_up_before_they_move() -> None:
    rows = orders(40_000)
    shares = [share for _, share in sent(rows, Partitioned(("k",)), PARTS, ("n",))]
    assert sum(map(len, shares)) == 4_001
    assert sum(share["n"].to_numpy().sum() for share in shares) == 40_000
    assert sum(share.weights.sum() for share in shares) == 40_000


def test_few_rows_and_keys_that_differ_are_sent_as_they_are() -> None:
    assert sizes(orders(900), can_split=True) == sizes(orders(900))
    keys = Rows({"k": pa.array(np.arange(40_000))}, np.ones(40_000, dtype=np.int64))
    assert sizes(keys, can_split=True) == sizes(keys)
    assert sizes(keys, sums=()) == sizes(keys)


@pytest.mark.parametrize("name", ["q03", "q05", "q12", "q17", "q18"])
def test_epochs_are_right_however_rows_are_dealt(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skew, "_MANY", 0)
    known = tpch_facts()
    follow([compiled(name, TPCH[name], known)], known, Tables([d.plan for d in TPCH.values()], 7))


def test_which_moves_are_added_up_or_split() -> None:
    known = tpch_facts()
    stages = staged(distribute(list(tpch_programs(known).values()), known)).stages
    moves = [move.name for stage in stages for move in stage.moves]
    summed = [name for stage in stages for name in stage.summed]
    assert 0 < len(summed) < len(moves)
    alone = staged(distribute(list(tpch_programs(known).values()), known, changed={"lineitem"})).stages
    assert any(stage.split for stage in alone), "maps that the epoch leaves alone are read from anywhere"
