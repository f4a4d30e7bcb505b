"""Filling a view from what is there: piece by piece, with the columns that it reads, without what was deleted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import viewlet
from tests.marks import some
from viewlet.columns.rows import Rows, distinct
from viewlet.engine import partitions, program_run, stream
from viewlet.engine.prepared import PreparedStep
from viewlet.store import Layout, Store
from viewlet.store.limits import Limits
from viewlet.store.runs.add_rows import add_together
from viewlet.views.view import sql_view


@pytest.fixture
def db(tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[viewlet.Database]:
    monkeypatch.setattr(stream, "PIECE", 97)
    monkeypatch.setattr(partitions, "PIECE", 97)
    monkeypatch.setattr(stream, "_MANY", 50)
    monkeypatch.setattr(stream, "_HANDLED", 400)
    monkeypatch.setattr(program_run, "_MANY", 50)
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as db:
        writer = db._warehouse.store._writer
        assert writer is not None
        writer.limits = replace(writer.limits, recent_rows=300)
        yield db


def sales(count: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "shop": rng.integers(0, 9, count),
            "item": rng.integers(0, 40, count),
            "price": pa.array(rng.integers(-5, 50, count), mask=rng.random(count) < 0.1),
            "note": [f"note {i % 7}" for i in range(count)],
        }
    )


@pytest.mark.spark
def test_pieces_are_all_rows_without_those_deleted(db: viewlet.Database) -> None:
    db.sql("CREATE TABLE sales (shop BIGINT, item BIGINT, price BIGINT, note STRING)")
    for seed in (1, 2):
        db.insert("sales", sales(1_000, seed))
    db.delete("sales", sales(1_000, 2).slice(100, 650))
    db.delete("sales", sales(1_000, 1).slice(0, 20))
    contents = db._warehouse.store.snapshot().contents("sales")
    for columns in (("price", "shop"), ("note",), ()):
        pieces = list(contents.batches(columns, 97))
        assert len(pieces) > 10
        assert all(tuple(piece.columns) == columns and (piece.weights > 0).all() for piece in pieces)
        found = Rows.concat(pieces).consolidate()
        expected = contents.consolidated().select(columns).consolidate()
        assert _as_dict(found) == _as_dict(expected)


@pytest.mark.parametrize("least", [-1, 0, 1])
def test_pieces_of_a_map_of_several_runs_are_netted(tmp_path: Path, least: int) -> None:
    rng = np.random.default_rng(3)
    layout = Layout(columns=("k", "v", "s_0"), key=("k",), sums=("s_0",))
    store = Store.open(tmp_path / "s", limits=replace(Limits(), commit_merge_rows=0, fan=10))
    with store.begin() as transaction:
        for _ in range(5):
            values = {name: pa.array(rng.integers(0, most, 900)) for name, most in {"k": 60, "v": 9, "s_0": 3}.items()}
            transaction.fill("m", Rows(values, rng.integers(least, 2, 900)), layout)
        transaction.commit({})
    contents = store.snapshot().contents("m")
    pieces = list(contents.batches(("v", "k", "s_0"), 97))
    assert len(contents.runs) == 5
    assert len(pieces) > 5
    assert max(map(len, pieces)) <= 97
    expected = contents.consolidated()
    assert _as_dict(Rows.concat(pieces).consolidate(("s_0",))) == _as_dict(expected.select(("v", "k", "s_0")))
    if least < 1:
        assert sum(map(len, pieces)) == len(expected)
    for part in range(3):
        some = Rows.concat(list(contents.partition(part, 3).batches(("k", "v", "s_0"), 10)))
        assert _as_dict(some.consolidate(("s_0",))) == _as_dict(contents.partition(part, 3).consolidated())
    store.close()


def _as_dict(rows: Rows) -> dict[tuple[Any, ...], int]:
    values = zip(*(column.to_pylist() for column in rows.columns.values()), strict=True) if rows.columns else [()]
    return dict(zip(values, rows.weights.tolist(), strict=True))


@pytest.mark.spark
@pytest.mark.parametrize("large", [stream._LARGE, 20_000, 2_000])
def test_views_of_many_pieces_equal_spark_sql(
    db: viewlet.Database, monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    monkeypatch.setattr(stream, "_LARGE", large)
    filled = _count_fills(monkeypatch)
    db.sql("CREATE TABLE sales (shop BIGINT, item BIGINT, price BIGINT, note STRING)")
    db.sql("CREATE TABLE items (item BIGINT, kind STRING)")
    db.insert("sales", sales(1_500, 3))
    db.insert("items", [(i, "even" if i % 2 == 0 else "odd") for i in range(35)])
    db.delete("sales", sales(1_500, 3).slice(0, 400))
    case = "CASE WHEN kind = 'even' THEN price ELSE length(note) END"  # a sum that is not one of products
    texts = {
        "sums": "SELECT shop, sum(price) AS s, count(*) AS n FROM sales WHERE item > 3 GROUP BY shop",
        "joined": "SELECT kind, shop, sum(price) AS s FROM sales JOIN items USING (item) GROUP BY kind, shop",
        "rows": "SELECT s.shop, i.kind, s.price FROM sales s LEFT JOIN items i ON s.item = i.item WHERE s.price > 40",
        "least": "SELECT item, min(price) AS least, count(DISTINCT note) AS notes FROM sales GROUP BY item",
        "pairs": "SELECT a.shop, count(*) AS n FROM sales a JOIN sales b ON a.item = b.item AND a.price < b.price GROUP BY a.shop",
        "everything": "SELECT count(*) AS n FROM sales",
        "cases": f"SELECT shop, sum({case}) AS s FROM sales JOIN items USING (item) WHERE kind = 'odd' GROUP BY shop",
        "twice": f"SELECT sum({case}) FROM sales s JOIN items i ON s.item = i.item UNION ALL "
        f"SELECT sum({case}) FROM sales s JOIN items i ON s.item = i.item WHERE note <> 'note 1'",
        "either": f"SELECT shop, sum({case}) AS s FROM sales s JOIN items i ON s.item = i.item "
        "WHERE kind < note OR price < length(kind) GROUP BY shop",
        "itself": "SELECT a.shop, sum(CASE WHEN a.price < b.price THEN a.item ELSE b.price END) AS s "
        "FROM sales a JOIN sales b ON a.item = b.item AND a.shop = b.shop GROUP BY a.shop",
    }
    for name, text in some(2, texts.items()):
        db.create_view(name, text)
    assert (max(filled.values()) > 1) == (large < 1 << 20), "a map that is large is put in place in parts"
    assert db.check().num_rows == 0
    db.delete("sales", sales(1_500, 3).slice(400, 1_000))  # most of it: computed anew
    db.insert("sales", sales(200, 4))
    assert db.check().num_rows == 0


def _count_fills(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often rows are put into each map that is filled."""
    filled, fill = Counter[str](), program_run.ProgramRun.fill

    def counted(run: program_run.ProgramRun, step: PreparedStep, rows: Rows) -> None:
        filled[step.map.name] += 1
        fill(run, step, rows)

    monkeypatch.setattr(program_run.ProgramRun, "fill", counted)
    return filled


@pytest.mark.spark
@pytest.mark.parametrize("summed", ["price", "CASE WHEN kind = 'even' THEN price ELSE length(note) END"])
def test_products_are_filled_from_their_smallest_end(
    db: viewlet.Database, monkeypatch: pytest.MonkeyPatch, summed: str
) -> None:
    started, cheapest = list[str | None](), stream._cheapest

    def noted(*given: Any) -> Any:
        found = cheapest(*given)
        started.append(found[1].bag)
        return found

    monkeypatch.setattr(stream, "_cheapest", noted)
    db.sql("CREATE TABLE sales (shop BIGINT, item BIGINT, price BIGINT, note STRING)")
    db.sql("CREATE TABLE items (item BIGINT, kind STRING)")
    db.insert("sales", sales(1_500, 3))
    db.insert("items", [(i, "even" if i == 7 else "odd") for i in range(35)])
    db.create_view(
        "v", f"SELECT shop, sum({summed}) AS s FROM sales JOIN items USING (item) WHERE kind = 'even' GROUP BY shop"
    )
    program = sql_view(db._warehouse.catalog, "v").program
    (start,) = [m for m in program.maps if m.name in started]
    assert "items" in start.meaning
    assert db.check("v").num_rows == 0


@pytest.mark.spark
def test_rows_that_were_deleted_are_not_evaluated(db: viewlet.Database) -> None:
    db.sql("CREATE TABLE t (id BIGINT, d BIGINT)")
    db.insert("t", pa.table({"id": range(1_000), "d": [i % 10 for i in range(1_000)]}))
    db.delete("t", [(i, 0) for i in range(0, 1_000, 10)])
    db.create_view("v", "SELECT sum(100 div d) AS s FROM t")
    assert db.table("v").rows() == [(sum(100 // (i % 10) for i in range(1_000) if i % 10),)]


@pytest.mark.parametrize("different", [3, 60_000, 69_000, 70_000])
def test_hashes_are_told_apart_however_many_there_are(different: int) -> None:
    rng = np.random.default_rng(different)
    values = rng.integers(0, 1 << 62, different).astype(np.uint64)
    hashes = rng.permutation(np.concatenate([values, rng.choice(values, 70_000 - different)]))
    first, codes = distinct(hashes)
    assert (np.diff(first) > 0).all()
    assert (hashes[first][codes] == hashes).all()
    assert len(first) == len(set(hashes.tolist()))


@pytest.mark.parametrize("keys", [1, 50, 2_000])
def test_equal_rows_under_one_key_are_added_up(keys: int) -> None:
    rng = np.random.default_rng(5)
    columns = {"k": rng.integers(0, keys, 3_000), "v": rng.integers(0, 40, 3_000), "s_0": rng.integers(-2, 3, 3_000)}
    rows = Rows({name: pa.array(values) for name, values in columns.items()}, rng.integers(-1, 2, 3_000))
    layout = Layout(columns=("k", "v", "s_0"), key=("k",), sums=("s_0",))
    added, hashes = add_together(rows, rows.hashes(("k",)), layout)
    assert (hashes == added.hashes(("k",))).all()
    assert (hashes[1:] >= hashes[:-1]).all()
    expected: dict[tuple[int, int], list[int]] = {}
    for k, v, s, weight in zip(*columns.values(), rows.weights, strict=True):
        total = expected.setdefault((k, v), [0, 0])
        total[0], total[1] = total[0] + s, total[1] + weight
    found = zip(*(column.to_pylist() for column in added.columns.values()), added.weights.tolist(), strict=True)
    assert sorted(found) == sorted((k, v, s, weight) for (k, v), (s, weight) in expected.items() if s or weight)
