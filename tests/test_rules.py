"""The viewlet transform's choices: each rule can be switched off, every component kept, and no result changes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.marks import THOROUGH, quickly, some
from viewlet.compile import FIRST_ORDER, Rules
from viewlet.compile.cost import Costs
from viewlet.views.view import sql_view

pytestmark = pytest.mark.spark

VARIANTS = {
    "undecomposed": Rules(decomposition=False),
    "unexpanded": Rules(expansion=False),
    "unpushed": Rules(input_variables=False),
    "regrouped": Rules(nested=False),
    "first_order": FIRST_ORDER,
    "bare": Rules(False, False, False, False, False),
}
TABLES = {
    "r": "a INT, b INT, x DECIMAL(8,2)",
    "s": "b INT, c INT, y DECIMAL(12,1), w DOUBLE",
    "t": "c INT, a INT, z BIGINT",
}
QUERIES = {
    "chain": "SELECT sum(r.x * t.z) AS v, count(*) AS n FROM r, s, t WHERE r.b = s.b AND s.c = t.c",
    "grouped": "SELECT r.a, sum(r.x * s.y - s.y) AS v, avg(r.x) AS m FROM r JOIN s ON r.b = s.b GROUP BY r.a",
    "triangle": "SELECT count(*) AS n FROM r, s, t WHERE r.b = s.b AND s.c = t.c AND t.a = r.a",
    "squares": "SELECT p.a, sum(p.x * q.x) AS v FROM r p JOIN r q ON p.a = q.a GROUP BY p.a",
    "unions": "SELECT u.b, sum(u.v) AS v FROM (SELECT b, x AS v FROM r UNION ALL SELECT b, y FROM s) u JOIN s ON s.b = u.b GROUP BY u.b",
    "outer": "SELECT r.a, count(s.y) AS n, sum(s.y) AS v FROM r LEFT JOIN s ON r.b = s.b AND r.x > 1 GROUP BY r.a",
    "full": "SELECT r.a, s.c, r.x, s.y FROM r FULL JOIN s ON r.b = s.b",
    "anti": "SELECT a, x FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.b = r.b) AND a IN (SELECT a FROM t)",
    "nested": "SELECT r.a, r.x FROM r WHERE r.x > (SELECT avg(q.x) FROM r q WHERE q.b = r.b)",
    "range": "SELECT p.b, sum(p.x - q.x) AS v FROM r p, r q WHERE p.b = q.b AND (p.x - q.x > 2 OR q.x - p.x > 3) GROUP BY p.b",
    "between": "SELECT sum(s.y) AS v FROM r, s WHERE r.x < s.y AND s.y <= r.x + 3",
    "cross": "SELECT r.a, sum(s.y - r.x) AS v FROM r, s, t WHERE s.c = t.c AND r.x > 2 GROUP BY r.a",
    "threshold": "SELECT sum(r.x) AS v FROM r WHERE r.x > 0.4 * (SELECT sum(q.x) FROM r q WHERE q.x > 0)",
    "doubles": "SELECT r.a, sum(s.w) AS v FROM r JOIN s ON r.b = s.b GROUP BY r.a",
}
QUERIES = dict(some(2, QUERIES.items()))


@pytest.fixture
def db(tmp_path: Path, spark: Any) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as db:
        for name, columns in TABLES.items():
            db.create_table(name, columns)
        yield db


def number(chance: random.Random, step: str, top: int) -> Decimal | None:
    return None if chance.random() < 0.1 else Decimal(step) * chance.randrange(-2, top)


def rows_of(chance: random.Random, table: str, count: int) -> list[tuple[Any, ...]]:
    def key() -> int | None:
        return None if chance.random() < 0.1 else chance.randrange(4)

    make: dict[str, Callable[[], tuple[Any, ...]]] = {
        "r": lambda: (key(), key(), number(chance, "0.25", 20)),
        "s": lambda: (key(), key(), number(chance, "0.5", 12), chance.choice([None, 0.1, 1e300, -0.0, 2.5])),
        "t": lambda: (key(), key(), chance.choice([None, -3, 0, 7, 1 << 40])),
    }
    return [make[table]() for _ in range(count)]


def change(db: viewlet.Database, chance: random.Random) -> None:
    """An epoch of insertions and deletions in some of the tables."""
    with db.epoch() as epoch:
        for table in chance.sample(sorted(TABLES), chance.randrange(1, 4)):
            there = db.table(table).rows()
            epoch.delete(table, chance.sample(there, min(len(there), chance.randrange(4))))
            epoch.insert(table, rows_of(chance, table, chance.randrange(1, 5)))


def bag(db: viewlet.Database, name: str) -> list[str]:
    return sorted(map(repr, db.table(name).rows()))


def follow(db: viewlet.Database, names: list[str], *, seed: int, epochs: int) -> None:
    """Change the tables; the views hold what Spark SQL gives, those under other rules hold the same."""
    chance = random.Random(seed)
    for _ in range(epochs):
        change(db, chance)
        for name in QUERIES:
            for variant in names:
                assert bag(db, f"{name}_{variant}") == bag(db, name), f"{name}, {variant}"
    for name in QUERIES:
        assert db.check(name).num_rows == 0, name


def create(db: viewlet.Database, suffix: str = "") -> None:
    for name, query in QUERIES.items():
        db.create_view(name + suffix, query)


@pytest.mark.parametrize(("names", "epochs"), quickly(1, [(["bare"], 1), (list(VARIANTS), 4)]))
def test_switching_a_rule_off_changes_no_result(db: viewlet.Database, names: list[str], epochs: int) -> None:
    chance = random.Random(1)
    for table in TABLES:
        db.insert(table, rows_of(chance, table, 12))
    create(db)
    for variant in names:
        db._warehouse.rules = VARIANTS[variant]
        create(db, f"_{variant}")
    follow(db, names, seed=2, epochs=epochs)


@pytest.mark.slow
def test_keeping_every_component_changes_no_result(db: viewlet.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    create(db)
    monkeypatch.setattr(Costs, "upkeep", lambda *_: -1.0)
    create(db, "_eager")
    db._warehouse.rules = Rules(decomposition=False)
    create(db, "_whole")
    kept = [m.meaning for name in QUERIES for m in sql_view(db._warehouse.catalog, f"{name}_eager").program.maps]
    assert any(" ⋈ " in meaning for meaning in kept)
    follow(db, ["eager", "whole"], seed=3, epochs=4)


def test_views_share_their_maps(db: viewlet.Database) -> None:
    db.create_view("one", "SELECT r.a, sum(s.y) AS v FROM r JOIN s ON r.b = s.b GROUP BY r.a")
    db.create_view("two", "SELECT q.a, sum(p.y) AS v FROM s p JOIN r q ON p.b = q.b GROUP BY q.a HAVING sum(p.y) > 1")
    one, two = (sql_view(db._warehouse.catalog, n).program.maps for n in ("one", "two"))
    assert {m.name for m in two} - {m.name for m in one} == {"two"}
    chance = random.Random(4)
    change(db, chance)
    db.drop("one")
    change(db, chance)
    db.create_view("one", "SELECT b, sum(x) AS v FROM r GROUP BY b")
    db.rebuild("two")
    change(db, chance)
    assert db.check().num_rows == 0
    db.drop("two")
    assert not [bag for bag in db._warehouse.store.state.bags if bag.startswith("two")]


def test_a_shared_map_gets_the_lookups_of_all(db: viewlet.Database) -> None:
    chance = random.Random(5)
    for table in TABLES:
        db.insert(table, rows_of(chance, table, 12))
    db.create_view("one", "SELECT r.a, r.b, s.c FROM r JOIN s ON r.b = s.b")
    db.create_view("two", "SELECT r.a, r.b, t.z FROM r JOIN t ON r.a = t.a")
    for _ in range(3):
        change(db, chance)
        assert db.check().num_rows == 0


def test_static_tables_get_no_statements(tmp_path: Path, spark: Any) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as db:
        db.sql("CREATE TABLE sale (id INT, shop INT, x INT)")
        db.sql("CREATE TABLE shop (shop INT, town INT) STATIC")
        db.sql("CREATE TABLE town (town INT, name STRING) STATIC")
        db.insert("shop", [(i, i % 3) for i in range(6)])
        db.insert("town", [(i, f"t{i}") for i in range(3)])
        db.insert("sale", [(i, i % 7, i) for i in range(20)])
        joined = "sale JOIN shop ON sale.shop = shop.shop JOIN town ON shop.town = town.town"
        db.create_view("sold", f"SELECT name, sum(x) AS x FROM {joined} GROUP BY name")
        db.create_view("towns", "SELECT shop, name FROM shop LEFT JOIN town ON shop.town = town.town")
        assert db.check().num_rows == 0
        db.insert("sale", [(30, 1, 5), (31, 2, None)])
        db.delete("sale", [(3, 3, 3)])
        assert db.check().num_rows == 0
        steps = sql_view(db._warehouse.catalog, "sold").program.steps
        assert len(next(s for s in steps if s.map.meaning.startswith("Sum[name]")).terms) == 1
        with pytest.raises(viewlet.RejectedEpoch, match="table shop is STATIC, and sold, towns read it"):
            db.insert("shop", [(9, 1)])


@pytest.fixture
def pairs(tmp_path: Path, spark: Any) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as db:
        for name in ("a", "b", "c", "d"):
            db.create_table(name, "id BIGINT NOT NULL, k BIGINT, y BIGINT, x DECIMAL(10,0), z DECIMAL(12,7), f DOUBLE")
        db.create_table("s", "id BIGINT NOT NULL", static=True)
        yield db


def test_a_global_aggregate_of_nothing_has_a_row(pairs: viewlet.Database) -> None:
    pairs.create_view("v", "SELECT a.id, (SELECT count(*) FROM b) AS n FROM a")
    pairs.create_view("w", "SELECT a.id, t.s FROM a CROSS JOIN (SELECT sum(y) AS s FROM b) t")
    for _ in range(2):
        pairs.insert("a", [(1, 1, 1, 1, 1, 1.0)])
        assert pairs.check().num_rows == 0
        pairs.insert("b", [(1, 1, 7, 1, 1, 1.0)])
        assert pairs.check().num_rows == 0


def test_carried_sums_do_not_overflow_where_scales_differ(pairs: viewlet.Database) -> None:
    pairs.create_view("v", "SELECT sum(a.x + b.z) AS s FROM a JOIN b ON a.id = b.id")
    for table in ("a", "b"):
        pairs.insert(table, [(i, 1, 1, 4294967295, Decimal("1.5"), 1.0) for i in range(1000)])
    assert pairs.table("v").rows() == [(Decimal("4294967296500.0000000"),)]


@pytest.mark.slow
def test_a_map_of_sums_is_shared_whatever_its_sums_are_called(pairs: viewlet.Database) -> None:
    joined = "FROM a JOIN b ON a.id = b.id GROUP BY a.k"
    pairs.create_view("one", f"SELECT a.k, count(*) AS n, sum(b.y) AS s {joined}")
    pairs.create_view("two", f"SELECT a.k, sum(b.y) AS s {joined}")
    pairs.create_view("three", f"SELECT a.k, sum(b.y) AS s, count(*) AS n {joined} HAVING count(*) > 1")
    pairs.create_view("four", "SELECT id, sum(y) AS s FROM b GROUP BY id")
    pairs.create_view(
        "five",
        "SELECT c.id, t.n, t.s FROM c JOIN (SELECT id, count(*) AS n, sum(y) AS s FROM b GROUP BY id) t ON c.id = t.id",
    )
    for i in range(3):
        for table in ("a", "b", "c"):
            pairs.insert(table, [(i, 1, i, 1, 1, 1.0), (i, 2, i, 1, 1, 1.0)])
        if THOROUGH or i == 2:
            assert pairs.check().num_rows == 0


def test_a_new_view_never_takes_the_map_of_another(pairs: viewlet.Database) -> None:
    def joined(table: str) -> str:
        return f"SELECT a.id, a.k FROM a JOIN {table} ON a.id = {table}.id"

    for table in ("a", "b", "c", "d"):
        pairs.insert(table, [(i, i + 1, 1, 1, 1, 1.0) for i in range(3)])
    pairs.insert("s", [(1,)])
    pairs.create_view("v1", joined("b"))
    pairs.create_view("v2", f"{joined('s')} UNION ALL {joined('c')}")
    pairs.create_view("v3", joined("d"))
    pairs.drop("v1")
    pairs.create_view("v1", "SELECT b.id, b.k FROM b JOIN d ON b.id = d.id")
    pairs.insert("b", [(2, 9, 1, 1, 1, 1.0)])
    pairs.insert("d", [(2, 9, 1, 1, 1, 1.0)])
    assert pairs.check().num_rows == 0


def test_expressions_do_not_grow_without_bound(pairs: viewlet.Database) -> None:
    query = "SELECT id, f FROM a"
    for _ in range(24):
        query = f"SELECT id, f + f AS f FROM ({query})"
    pairs.create_view("v", query)
    ranges = " AND ".join(f"(a.x - b.x > {i} OR b.x - a.x > {i})" for i in range(5))
    pairs.create_view("w", f"SELECT sum(a.x) AS x FROM a JOIN b ON a.id = b.id WHERE {ranges}")
    pairs.insert("a", [(1, 1, 1, 9, 1, 1.0)])
    pairs.insert("b", [(1, 1, 1, 1, 1, 1.0)])
    assert pairs.check().num_rows == 0


def test_minus_zero_is_another_constant_than_zero(pairs: viewlet.Database) -> None:
    query = "SELECT a.f * double('0.0') AS p, a.f * double('-0.0') AS m FROM a JOIN b ON a.id = b.id"
    pairs.create_view("v", query)
    for table in ("a", "b"):
        pairs.insert(table, [(1, 1, 1, 1, 1, 2.0)])
    assert repr(pairs.table("v").rows()) == "[(0.0, -0.0)]"
