"""Aggregates of users: exact at every tier, against the same functions from scratch on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import viewlet
from tests.marks import THOROUGH, rounds, some
from viewlet.errors import EvaluationError, SqlError
from viewlet.views.view import sql_view

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


class Squares(viewlet.Aggregate):
    """The sum of squares: a ring."""

    state, returns, zero = "n BIGINT, total DECIMAL(38,0)", "DECIMAL(38,0)", (0, 0)

    def update(self, state: Any, weight: int, x: int) -> Any:
        return state[0] + weight, state[1] + weight * x * x

    def merge(self, a: Any, b: Any) -> Any:
        return a[0] + b[0], a[1] + b[1]

    def inverse(self, a: Any) -> Any:
        return -a[0], -a[1]

    def result(self, state: Any) -> Any:
        return state[1] if state[0] else None


class Longest(viewlet.Aggregate):
    """The longest text: a monoid."""

    state, returns, zero = "text STRING", "STRING", (None,)

    def update(self, state: Any, weight: int, s: str) -> Any:
        return self.merge(state, (s,))

    def merge(self, a: Any, b: Any) -> Any:
        there = [s for (s,) in (a, b) if s is not None]
        return (min(there, key=lambda s: (-len(s), s)) if there else None,)

    def result(self, state: Any) -> Any:
        return state[0]


class Chained(viewlet.Aggregate):
    """All values one after the other, which depends on their order: replayed; NULL counts."""

    state, returns, zero, nulls = "text STRING", "STRING", ("",), True

    def __init__(self, between: str) -> None:
        self.between = between

    def update(self, state: Any, weight: int, x: Any, mark: str) -> Any:
        return (state[0] + (self.between + f"{x}{mark}") * weight,)

    def result(self, state: Any) -> Any:
        return state[0]


class Weighted(viewlet.ColumnAggregate):
    """The mean of x weighed by w, over columns: a ring."""

    state, returns, zero = "moment BIGINT, mass BIGINT", "DOUBLE", (0, 0)

    def fold(self, groups: Any, count: int, weights: Any, *columns: pa.Array) -> Any:
        x, w = (c.to_numpy() for c in columns)
        sums = np.zeros((2, count), dtype=np.int64)
        np.add.at(sums[0], groups, weights * x * w)
        np.add.at(sums[1], groups, weights * w)
        return tuple(sums)

    def merge(self, a: Any, b: Any) -> Any:
        return tuple(x.to_numpy() + y.to_numpy() for x, y in zip(a, b, strict=True))

    def inverse(self, a: Any) -> Any:
        return tuple(-x.to_numpy() for x in a)

    def result(self, state: Any) -> Any:
        moment, mass = (x.to_numpy() for x in state)
        return pa.array(moment / np.where(mass == 0, 1, mass), mask=mass == 0)


class Highest(viewlet.ColumnAggregate):
    """The greatest value, over columns: a monoid."""

    state, returns, zero = "high BIGINT", "BIGINT", (-1000,)

    def fold(self, groups: Any, count: int, weights: Any, *columns: pa.Array) -> Any:
        high = np.full(count, -1000, dtype=np.int64)
        np.maximum.at(high, groups, columns[0].to_numpy())
        return (high,)

    def merge(self, a: Any, b: Any) -> Any:
        return (np.maximum(a[0].to_numpy(), b[0].to_numpy()),)

    def result(self, state: Any) -> Any:
        return state[0]


AGGREGATES: dict[str, viewlet.Aggregate | viewlet.ColumnAggregate] = {
    "squares": Squares(),
    "longest": Longest(),
    "chained": Chained("-"),
    "weighted": Weighted(),
    "highest": Highest(),
}
VIEWS = {
    "v_squares": ("SELECT k, squares(x) AS y FROM {} GROUP BY k", "ring", "ring"),
    "v_weighted": ("SELECT k, weighted(x + 1, w) AS y, squares(x) AS z FROM {} WHERE x < 90 GROUP BY k", "ring", "ring"),
    "v_all": ("SELECT squares(x) AS y, weighted(x, w) AS z FROM {}", "ring", "ring"),
    "v_longest": ("SELECT k, longest(s) AS y, squares(x) AS z FROM {} GROUP BY k HAVING squares(x) > 4", "keyed", "monoid"),
    "v_highest": ("SELECT k + 1 AS k1, highest(x) + 1 AS y FROM {} GROUP BY k + 1", "keyed", "monoid"),
    "v_all_highest": ("SELECT highest(x) AS y FROM {}", "recompute", "monoid"),
    "v_all_chained": ("SELECT chained(s, s) AS y FROM {}", "recompute", "recompute"),
    "v_chained": ("SELECT k, chained(x, '!') AS y FROM {} GROUP BY k", "keyed", "keyed"),
}  # fmt: skip
ON_SPARK = ("v_squares", "v_longest", "v_all_highest", "v_chained")


@pytest.fixture(params=["inproc", pytest.param("spark", marks=pytest.mark.slow)])
def db(request: Any, spark: SparkSession, tmp_path: Path) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "warehouse", spark=spark, engine=request.param) as db:
        for name, aggregate in AGGREGATES.items():
            db.register_aggregate(name, aggregate)
        db.sql("CREATE TABLE t (k BIGINT, x BIGINT, w INT, s STRING)")
        db.sql("CREATE TABLE grown (k BIGINT, x BIGINT, w INT, s STRING) APPEND ONLY")
        yield db


def rows_of(seed: int, count: int) -> list[tuple[Any, ...]]:
    """Rows with NULLs, and such that occur twice."""
    random = np.random.default_rng(seed)

    def some(values: list[Any]) -> Any:
        return values[int(random.integers(len(values)))]

    numbers = [None, *range(-5, 6), 95]
    rows = [
        (some([None, 1, 2, 3]), some(numbers), some([None, 1, 2]), some([None, "", "a", "bb", "cc"]))
        for _ in range(count)
    ]
    return rows + rows[:2]


def names_on(db: viewlet.Database) -> list[str]:
    return some(2, VIEWS) if db.engine == "inproc" else list(ON_SPARK)


def test_with_deletions(db: viewlet.Database) -> None:
    names = names_on(db)
    for name in names:
        db.create_view(name, VIEWS[name][0].format("t"))
    assert [db.history(n)[0]["views"][n]["technique"] for n in names] == [VIEWS[n][1] for n in names]
    first, second = rows_of(1, 12), rows_of(2, 5)
    db.insert("t", first)
    with db.epoch() as e:
        e.delete("t", first[:7])
        e.insert("t", second)
    assert db.check().to_pylist() == []
    db.delete("t", [*first[7:], *second])
    assert all(not db.table(n).rows() for n in names)
    db.insert("t", second)
    assert db.check().to_pylist() == []


def test_over_an_append_only_table(db: viewlet.Database) -> None:
    names = names_on(db)
    for name in names:
        db.create_view(name, VIEWS[name][0].format("grown"))
    assert [db.history(n)[0]["views"][n]["technique"] for n in names] == [VIEWS[n][2] for n in names]
    for seed in range(2):
        db.insert("grown", rows_of(seed, 9))
    assert db.check().to_pylist() == []


def test_a_data_frame_and_views_over_views(db: viewlet.Database) -> None:
    squares = db.register_aggregate("squares", Squares())
    db.create_view("by_key", db.spark.table("t").groupBy("k").agg(squares("x").alias("y")))
    db.create_view("over", "SELECT a.k, a.y, b.s FROM by_key a JOIN t b ON a.k = b.k WHERE a.y > 10")
    first = rows_of(4, 9)
    db.insert("t", first)
    db.delete("t", first[:3])
    assert db.check().to_pylist() == []


def test_states_survive(db: viewlet.Database, spark: SparkSession) -> None:
    for name in ON_SPARK:
        db.create_view(name, VIEWS[name][0].format("grown"))
    db.create_view("shrinks", VIEWS["v_weighted"][0].format("t"))
    first = rows_of(5, 9)
    db.insert("grown", first)
    db.insert("t", first)
    db.close()
    with viewlet.connect(db.path, spark=spark, engine=db.engine) as again:  # the functions are not registered here
        with again.epoch() as e:
            e.insert("grown", rows_of(6, 4))
            e.delete("t", first[:4])
        assert again.check().to_pylist() == []


@pytest.mark.slow
@pytest.mark.parametrize("db", ["inproc"], indirect=True)
def test_many_epochs(db: viewlet.Database) -> None:
    """Against plain Python after each epoch, and against Spark after the last."""
    names = {"squares": "x", "longest": "s", "chained": "x, '!'", "weighted": "x, w", "highest": "x"}
    for name, args in names.items():
        db.create_view(f"v_{name}", f"SELECT k, {name}({args}) AS y FROM t GROUP BY k")
    random, there = np.random.default_rng(11), list[Any]()
    for epoch in range(rounds(20, 60)):
        gone = [there.pop(int(random.integers(len(there)))) for _ in range(min(len(there), int(random.integers(6))))]
        come = rows_of(epoch, int(random.integers(5)))
        there += come
        with db.epoch() as e:
            e.delete("t", gone)
            e.insert("t", come)
        for name in names:
            assert dict(db.table(f"v_{name}").rows()) == in_python(name, there), f"{name} in epoch {epoch}"
    assert db.check().to_pylist() == []


def in_python(name: str, rows: list[Any]) -> dict[Any, Any]:
    """What an aggregate says of the rows of each key, told without it."""
    groups: dict[Any, list[Any]] = {row[0]: [r for r in rows if r[0] == row[0]] for row in rows}
    return {k: PLAIN[name](group) for k, group in groups.items()}


def _mean(rows: list[Any]) -> float | None:
    pairs = [(x, w) for _, x, w, _ in rows if x is not None and w is not None]
    return sum(x * w for x, w in pairs) / sum(w for _, w in pairs) if pairs else None


def _numbers(rows: list[Any]) -> list[int]:
    return [x for _, x, _, _ in rows if x is not None]


PLAIN: dict[str, Any] = {
    "squares": lambda rows: sum(x * x for x in _numbers(rows)) if _numbers(rows) else None,
    "longest": lambda rows: min((s for *_, s in rows if s is not None), key=lambda s: (-len(s), s), default=None),
    "chained": lambda rows: "".join(
        f"-{x}!" for x in sorted((x for _, x, _, _ in rows), key=lambda x: (x is not None, x or 0))
    ),
    "weighted": _mean,
    "highest": lambda rows: max(_numbers(rows), default=-1000),
}


@pytest.mark.parametrize("db", ["inproc"], indirect=True)
def test_what_is_kept_and_why(db: viewlet.Database) -> None:
    for table in ("t", "grown"):
        for name in ("v_squares", "v_highest", "v_chained"):
            db.create_view(f"{table}_{name}", VIEWS[name][0].format(table))
    assert "(states with an inverse: the delta alone changes them)" in db.explain("t_v_squares")
    assert "highest has no inverse, and rows may be deleted: the touched group is replayed" in db.explain("t_v_highest")
    assert "its input only grows: the state of highest is kept, no rows" in db.explain("grown_v_highest")
    assert "chained has no merge: the touched group is replayed from its rows" in db.explain("grown_v_chained")
    for at in range(4):
        db.insert("t", [(i % 5, at * i, 1, "s") for i in range(300)])
    states = [m for m in sql_view(db._warehouse.catalog, "t_v_squares").program.maps if m.stored]
    assert sum(len(db._warehouse.store.snapshot().contents(m.name).consolidated()) for m in states) == 10
    assert db.check().to_pylist() == []


BESIDE = {
    "counted": "SELECT k, count(*) AS n, squares(x) AS y, avg(w) AS m FROM {} GROUP BY k HAVING count(*) > 1",
    "highs": "SELECT k + 1 AS k1, max(x) - k AS high, longest(s) AS y FROM {} WHERE x > 0 GROUP BY k, k + 1",
    "listed": "SELECT k, s, chained(x, '') AS y, sum(x) AS total FROM {} GROUP BY k, s",
    "in_all": "SELECT count(*) AS n, max(x) AS high, highest(x) AS y FROM {}",
}


@pytest.mark.slow
def test_beside_built_in_functions(db: viewlet.Database) -> None:
    for name in list(BESIDE)[:: rounds(2, 1)] if db.engine == "inproc" else ("counted",):
        for table in ("t", "grown"):
            db.create_view(f"{name}_{table}", BESIDE[name].format(table))
    if "in_all_t" in db.views:
        assert db.table("in_all_t").rows() == [(0, None, None)]
    first = rows_of(7, 12)
    with db.epoch() as e:
        e.insert("t", first)
        e.insert("grown", first)
    if THOROUGH:
        assert db.check().to_pylist() == []
    db.delete("t", first[:8])
    db.insert("grown", rows_of(8, 5))
    assert db.check().to_pylist() == []


class Fails(Squares):
    """Raises for a certain value."""

    def update(self, state: Any, weight: int, x: int) -> Any:
        return super().update(state, weight, 1 // x)


class Forgets(Squares):
    """Gives a state of too few fields."""

    def merge(self, a: Any, b: Any) -> Any:
        return (a[0] + b[0],)


def test_their_mistakes_reject_the_epoch(db: viewlet.Database) -> None:
    db.register_aggregate("fails", Fails())
    db.register_aggregate("forgets", Forgets())
    db.create_view("v", "SELECT k, fails(x) AS y FROM t GROUP BY k")
    db.create_view("w", "SELECT k, forgets(x) AS y FROM grown GROUP BY k")
    db.insert("t", [(1, 1, 1, "a")])
    with pytest.raises(EvaluationError, match=r"view v: ZeroDivisionError: .*, in the aggregate fails"):
        db.insert("t", [(1, 2, 1, "a"), (2, 0, 1, "b")])
    with pytest.raises(EvaluationError, match=r"view w: ValueError: .* is not a tuple of n BIGINT, total .*forgets"):
        db.insert("grown", [(1, 2, 1, "a")])
    assert len(db.table("t").rows()) == 1
    assert db.check().to_pylist() == []


class NoInverse(viewlet.Aggregate):
    """Wrong in one way or another."""

    state, returns, zero = "n BIGINT", "BIGINT", (0,)

    def update(self, state: Any, weight: int, *values: Any) -> Any:
        return state

    def result(self, state: Any) -> Any:
        return state[0]


@pytest.mark.parametrize("db", ["inproc"], indirect=True)
@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"state": "n BIGNUM"}, "not a data type"),
        ({"zero": 0}, "zero is 0 .*a tuple of n BIGINT"),
        ({"inverse": abs}, "has an inverse but no merge"),
    ],
)
def test_wrong_declarations_are_refused(db: viewlet.Database, wrong: dict[str, Any], complaint: str) -> None:
    made = type("Wrong", (NoInverse,), wrong)()
    with pytest.raises(SqlError, match=f"aggregate mine.*{complaint}"):
        db.register_aggregate("mine", made)
    with pytest.raises(SqlError, match="aggregate mine: 'text' is not an aggregate"):
        db.register_aggregate("mine", "text")  # type: ignore[arg-type]
