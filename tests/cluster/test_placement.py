"""Where maps are, chosen by users: in force with the next epoch, whatever the epochs before had chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

import viewlet
from tests.cluster.test_epoch_job import both
from tests.compile.partitions import as_bag
from tests.compile.random_changes import Tables
from tests.compile.test_distribute import TPCH, compiled, tpch_facts
from viewlet.compile.distribute import distribute, place
from viewlet.engine.cluster.epoch_job import EpochJob, prepare_epoch
from viewlet.engine.epoch import EpochDeltas
from viewlet.errors import UnknownName, WrongArgument
from viewlet.program.distributed import Local, Replicated, Tag
from viewlet.views.view import sql_view


@pytest.mark.parametrize("name", ["q03", "q12", "q18"])
def test_partitions_and_places_change_from_epoch_to_epoch(name: str) -> None:
    """Nothing that is stored depends on them, so that re-partitioning is an epoch like any other."""
    known, tables = tpch_facts(), Tables([TPCH[name].plan], 7)
    program = compiled(name, TPCH[name], known)
    placed = place([program], known)
    elsewhere: list[tuple[int, Tag | None]] = [(2, None), (8, Replicated()), (4, Local()), (16, None)]
    with both([program], known, tables) as (parted, plain):
        for parts, tag in elsewhere:
            given = {} if tag is None else {n: tag for n in placed.maps if placed.why_not(n, tag) is None}
            assert tag is None or given
            epoch = prepare_epoch(distribute([program], known, placement=given))
            changes = tables.change(6, 6)
            with parted.store.begin() as transaction:
                deltas = EpochDeltas(transaction)
                deltas.changes.update(changes)
                EpochJob(cast(Any, parted.context), parted.store.address, parts, deltas, epoch).run()
                transaction.commit()
            plain.run(changes)
            for bag, kept in parted.maps.items():
                if kept.stored:
                    there, right = parted.store.snapshot().contents(bag).consolidated(), plain.site.after[bag]
                    assert as_bag(there, kept.sums) == as_bag(right, kept.sums), (parts, bag)


def is_placed(db: viewlet.Database, name: str, key: str) -> bool:
    """Whether a map is partitioned by a column."""
    shown = db.explain("v", distributed=True).partition("an epoch that changes")[0]
    return any(line.split()[0] == name and line.endswith(f"by {key}") for line in shown.splitlines())


@pytest.mark.spark
def test_a_placement_is_kept_with_the_warehouse(spark: Any, tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as db:
        db.sql("CREATE TABLE a (id BIGINT, x BIGINT, PRIMARY KEY (id))")
        db.sql("CREATE TABLE b (id BIGINT, y BIGINT, PRIMARY KEY (id))")
        db.create_view("v", "SELECT a.id, x + y AS z FROM a JOIN b ON a.id = b.id")
        kept = next(m for m in sql_view(db._warehouse.catalog, "v").program.maps if m.stored and m.name != "v")
        first, key = kept.name, kept.key[0]
        with pytest.raises(UnknownName, match="no map"):
            db.set_placement("v", {"nowhere": "driver"})
        with pytest.raises(WrongArgument, match="no maps to place"):
            db.set_placement("a", {first: "driver"})
        db.set_placement("v", {first: [key]})
        assert is_placed(db, first, key)
    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark") as db:
        assert is_placed(db, first, key)
        with db.epoch() as e:
            e.insert("a", [(1, 10), (2, 20)])
            e.insert("b", [(1, 1), (3, 3)])
        assert db.table("v").rows() == [(1, 11)]
        db.set_placement("v", {})
        assert not is_placed(db, first, key)
