"""Matrix programs as views of a warehouse: refused, rejected, repaired, stored, shown, altered and dropped."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import viewlet
from viewlet import matrix
from viewlet.cli.main import main
from viewlet.errors import InUse, RejectedEpoch, UnknownName, UnsupportedQuery, ViewletError, WrongArgument
from viewlet.matrix import Expected, Long, ShapeError, SingularMatrix, Wide, models
from viewlet.matrix.tables import durable

OLS = matrix.program(models.ols, X=("sale", "term"), y=("sale", 1))
PRODUCT = matrix.program(lambda A: {"product": A.T @ A}, A=("n", "m"))
POWER = matrix.program(models.power(4), A=("n", "n"))
INCREMENTAL = {"strategy": "incremental"}
RANDOM = np.random.default_rng(2)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("sales", "id BIGINT, one INT, price DOUBLE, units DOUBLE", primary_key="id")
        db.insert("sales", [(i, 1, float(i), 3.0 * i + (-1) ** i) for i in range(6)])
        db.create_table("loose", "id BIGINT, v DOUBLE, day DATE, t TIMESTAMP, x DOUBLE, ok BOOLEAN, d DECIMAL(6,2)")
        db.create_table("named", "k STRING, a DOUBLE, b DOUBLE", primary_key="k", rows=[("a", 0, 0.5), ("b", 1, 0)])
        db.create_table("vectors", "i INT, entries ARRAY<FLOAT>", primary_key="i")
        db.create_table("other", "id BIGINT, v DOUBLE", primary_key="id", rows=[(1, 2.0), (2, 3.0)])
        yield db


def create_fit(db: viewlet.Database, **settings: Any) -> None:
    x, y = Wide("sales", ["one", "price"], row="id"), Wide("sales", ["units"], row="id")
    db.create_matrix("fit", OLS, X=x, y=y, **settings)


def coefficients(db: viewlet.Database) -> dict[str, float]:
    return {row[0]: row[1] for row in db.table("fit").rows()}


def least_squares(rows: list[tuple[Any, ...]]) -> dict[str, float]:
    data = np.array([r[1:] for r in rows], dtype=float)
    return dict(zip(("one", "price"), np.linalg.lstsq(data[:, :2], data[:, 2], rcond=None)[0].tolist(), strict=True))


def assert_fits(db: viewlet.Database) -> None:
    assert coefficients(db) == pytest.approx(least_squares(db.table("sales").rows()), rel=1e-9)


@pytest.mark.parametrize(
    ("table", "rows", "said"),
    [
        ("sales", [(9, 1, float("nan"), 1.0)], r"sales.price is nan where id = 9"),
        ("sales", [(9, 1, float("inf"), 1.0)], r"sales.price is inf where id = 9"),
        ("sales", [(9, 1, 1.0, None)], r"sales.units is NULL where id = 9"),
        ("loose", [(1, 5.0)], r"loose has two rows for id = 1, but A takes one"),
        ("loose", [(7, 5.0), (7, 5.0)], r"loose has two rows for id = 7"),
        ("loose", [(None, 5.0)], r"loose.id is NULL in a row of a matrix"),
    ],
)
def test_rows_that_are_not_right_change_nothing(db: viewlet.Database, table: str, rows: Any, said: str) -> None:
    full = [row + (None,) * 5 if table == "loose" else row for row in rows]
    db.insert("loose", [(1, 2.0, *[None] * 5)])
    create_fit(db)
    db.create_matrix("product", PRODUCT, A=Wide("loose", ["v"], row="id"))
    before = {name: sorted(db.table(name).rows()) for name in (*db.tables, *db.views)}
    with pytest.raises(RejectedEpoch, match=said):
        db.insert(table, full)
    assert before == {name: sorted(db.table(name).rows()) for name in before}
    db.insert("sales", [(10, 1, 2.5, 4.0)])
    assert_fits(db)


def test_two_values_for_one_place_are_refused(db: viewlet.Database) -> None:
    db.create_table("cells", "i INT, j INT, v DOUBLE", rows=[(0, 0, 1.0), (0, 1, 2.0)])
    db.create_matrix("product", PRODUCT, A=Long("cells", "i", "j", "v"))
    with pytest.raises(RejectedEpoch, match=r"cells has two values for i = 0, j = 1, but A takes one"):
        db.insert("cells", [(0, 1, 5.0)])
    with db.epoch() as e:
        e.delete("cells", [(0, 1, 2.0)])
        e.insert("cells", [(0, 1, 5.0)])
    assert db.check("product").num_rows == 0


def test_a_table_that_is_trusted_wrongly_is_found(db: viewlet.Database) -> None:
    db.create_table("claims", "k INT, v DOUBLE", trusted=True, rows=[(1, 2.0)])
    db.create_matrix("product", PRODUCT, A=Wide("claims", ["v"], row="k"))
    with pytest.raises(RejectedEpoch, match="claims deletes what A does not have for k = 7"):
        db.delete("claims", [(7, 2.0)])
    db.delete("claims", [(1, 2.0)])
    assert db.table("product").rows() == [("v", "v", 0.0)]


def test_a_change_of_other_columns_is_none(db: viewlet.Database) -> None:
    db.create_matrix("product", PRODUCT, A=Wide("sales", ["price"], row="id"))
    epoch = db.upsert("sales", [(1, 1, 1.0, 77.0)])
    assert db.history("product")[-1]["views"]["product"]["technique"] == "nothing that it reads of its tables changed"
    assert db.table("product").changes(since=epoch - 1).num_rows == 0


def test_wide_matrices_share_their_rows(db: viewlet.Database) -> None:
    db.create_table("first", "k INT, a DOUBLE", primary_key="k", rows=[(1, 1.0), (2, 2.0)])
    db.create_table("second", "k BIGINT, b DOUBLE", primary_key="k", rows=[(2, 5.0), (1, 4.0)])
    program = matrix.program(lambda A, B: {"sum": A.T @ B}, A=("n", 1), B=("n", 1))
    db.create_matrix("dot", program, A=Wide("first", "a", row="k"), B=Wide("second", "b", row="k"))
    assert db.table("dot").rows() == [(14.0,)]
    with pytest.raises(RejectedEpoch, match="A gets the row k = 3 but B does not"):
        db.insert("first", [(3, 1.0)])
    with pytest.raises(RejectedEpoch, match="B loses the row k = 2 but A does not"):
        db.delete("second", [(2,)])
    with db.epoch() as e:
        e.insert("first", [(3, 1.0)])
        e.insert("second", [(3, 10.0)])
    assert db.table("dot").rows() == [(24.0,)]


def test_a_long_matrix_mentions_only_labels_that_a_wide_one_has(db: viewlet.Database) -> None:
    db.create_table("moves", "a BIGINT, b BIGINT, p DOUBLE", rows=[(1, 2, 0.5), (2, 2, 0.5)])
    program = matrix.program(lambda M, v: {"next": M @ v}, M=("id", "id"), v=("id", 1))
    db.create_matrix("walk", program, M=Long("moves", "a", "b", "p"), v=Wide("other", ["v"], row="id"))
    assert sorted(db.table("walk").rows()) == [(1, 1.5), (2, 1.5)]
    with pytest.raises(RejectedEpoch, match="an entry for id 7, which is not a label of id"):
        db.insert("moves", [(1, 7, 0.5)])
    with pytest.raises(RejectedEpoch, match="an entry for id 2, which is not a label of id"):
        db.delete("other", [(2,)])
    with db.epoch() as e:
        e.insert("moves", [(7, 1, 2.0)])
        e.insert("other", [(7, 1.0)])
    assert sorted(db.table("walk").rows()) == [(1, 1.5), (2, 1.5), (7, 4.0)]


def test_a_singular_epoch_names_the_row_and_changes_nothing(db: viewlet.Database) -> None:
    db.create_table("two", "id INT, a DOUBLE, b DOUBLE", primary_key="id", rows=[(1, 1.0, 0.0), (2, 0.0, 1.0)])
    program = matrix.program(lambda X: {"inverse": np.linalg.inv(X.T @ X)}, X=("n", "c"))
    db.create_matrix("inverse", program, X=Wide("two", ["a", "b"], row="id"), options=INCREMENTAL)
    with pytest.raises(SingularMatrix, match=r"view inverse: .* has no inverse.*row \(id=2"):
        db.delete("two", [(2,)])
    db.insert("two", [(3, 1.0, 1.0)])
    np.testing.assert_allclose({r[:2]: r[2] for r in db.table("inverse").rows()}["a", "b"], -1 / 3)


def test_a_result_that_drifts_is_found_and_the_record_says_so(db: viewlet.Database) -> None:
    create_fit(db, options=INCREMENTAL)
    db.insert("sales", [(10, 1, 2.5, 4.0)])
    live = db._warehouse.memory["fit"]
    live.matrices._buffers["t4"].array[...] *= 1 + 1e-5
    db.insert("sales", [(11, 1, 3.5, 4.0)])
    steps = db.history("fit")[-1]["views"]["fit"]["steps"]
    assert "evaluated (residual" in steps["t4"]
    assert "beyond 1e-08" in steps["t4"]
    assert_fits(db)


def test_check_finds_what_is_wrong(db: viewlet.Database) -> None:
    create_fit(db, options=INCREMENTAL, probes=0)
    db.insert("sales", [(10, 1, 2.5, 4.0)])
    assert db.check("fit").num_rows == 0
    db._warehouse.memory["fit"].matrices._buffers["coefficients"].array[1] += 1e-3
    db.insert("sales", [(11, 1, 2.5, 4.0)])
    wrong = db.check("fit").to_pylist()
    assert {(row["_which"], row["term"]) for row in wrong} >= {("expected", "price"), ("found", "price")}


def test_an_epoch_writes_factors_and_no_matrix(db: viewlet.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """And once these are as large as the matrices, the matrices, once."""
    monkeypatch.setattr(durable, "LEAST", 0)
    n = 60
    A = RANDOM.normal(size=(n, n)) / n
    db.create_table("a", f"i INT, {', '.join(f'c{j} DOUBLE' for j in range(n))}", primary_key="i")
    db.insert("a", [(i, *A[i].tolist()) for i in range(n)])
    program = matrix.program(lambda A: {"value": np.sum(np.linalg.matrix_power(A.T @ A, 4))}, A=("n", "m"))
    source = Wide("a", [f"c{j}" for j in range(n)], row="i")
    db.create_matrix("power", program, A=source, options={**INCREMENTAL, "model": "exponential"})
    contents = db._warehouse.store.snapshot().contents
    base, sizes = contents("power.state_matrices").refs(), []
    for number in range(40):
        A[number % n] = RANDOM.normal(size=n) / n
        db.upsert("a", [(number % n, *A[number % n].tolist())])
        contents = db._warehouse.store.snapshot().contents
        sizes.append(contents("power.state_since").bytes)
        if contents("power.state_matrices").refs() != base:
            break
        assert sizes[-1] - (sizes[-2] if number else 0) < n * n * 8
    else:
        pytest.fail("the matrices were never written anew")
    assert number > 3
    db.close()
    with viewlet.connect(db.path) as again:
        again.upsert("a", [(1, *A[2].tolist())])
        A[1] = A[2]
        wanted = np.linalg.matrix_power(A.T @ A, 4).sum()
        assert again.table("power").rows() == [(pytest.approx(wanted, rel=1e-9),)]
        assert again.matrix("power").check()["value"] < 1e-9


def test_what_is_evaluated_anew_is_marked_once(db: viewlet.Database) -> None:
    create_fit(db, options={"strategy": "reevaluate"})

    def written() -> int:
        return db._warehouse.store.snapshot().contents("fit.state_since").total()

    counts = []
    for number in range(3):
        db.upsert("sales", [(1, 1, 1.5 + number, 4.0)])
        counts.append(written())
    assert counts[0] == counts[1] == counts[2] > 5
    db.close()
    with viewlet.connect(db.path) as again:
        again.upsert("sales", [(2, 1, 1.5, 4.0)])
        assert again._warehouse.store.snapshot().contents("fit.state_since").total() == counts[0]
        assert_fits(again)


def test_labels_are_of_many_types(db: viewlet.Database) -> None:
    day = dt.date(2026, 1, 1)
    rows = [(i, float(i), day + dt.timedelta(i), dt.datetime(2026, 1, 1, i), 1.0, i > 0, Decimal(i)) for i in range(2)]
    db.insert("loose", rows)
    program = matrix.program(lambda A: {"twice": 2.0 * A}, A=("label", 1))
    for column in ("id", "day", "t", "ok", "d"):
        db.create_matrix(f"by_{column}", program, A=Wide("loose", ["v"], row=column))
    db.delete("loose", rows[:1])
    assert db.table("by_day").rows() == [(dt.date(2026, 1, 2), 2.0)]
    assert db.table("by_d").rows() == [(Decimal("1.00"), 2.0)]
    assert db.table("by_ok").rows() == [(True, 2.0)]
    assert db.check().num_rows == 0


def test_forms_of_results(db: viewlet.Database) -> None:
    a = Wide("sales", ["price", "units"], row="id")
    db.create_matrix("long", PRODUCT, A=a)
    db.create_matrix("wide", PRODUCT, A=a, wide=True)
    plain = matrix.program(lambda A: {"product": A.T @ A, "total": np.sum(A)}, A=("n", 2))
    db.create_matrix("plain", plain, A=a)
    db.create_matrix("total", plain, A=a, outputs="total", dtype="float32")
    db.create_matrix("short", PRODUCT, A=a, wide=True, dtype=np.float32)
    data = np.array([row[2:] for row in db.table("sales").rows()])
    gram = data.T @ data
    assert db.table("long").columns == ["m_row", "m_column", "product"]
    assert sorted(db.table("wide").rows()) == [("price", *gram[0]), ("units", *gram[1])]
    assert db.table("plain").columns == ["row", "column", "product", "total"]
    assert sorted(db.table("plain").rows())[1] == (0, 1, gram[0, 1], data.sum())
    assert db.table("total").rows() == [(pytest.approx(data.sum(), rel=1e-6),)]
    assert (db.matrix("total")["product"] == gram.astype(np.float32)).all()
    assert sorted(db.table("short").rows()) == [("price", *gram[0]), ("units", *gram[1])], "whole numbers, exactly"
    assert db.matrix("long").labels("m") == ["price", "units"]
    db.close()
    with viewlet.connect(db.path) as again:
        again.insert("sales", [(10, 1, 2.0, 4.0)])
        assert again.check().num_rows == 0


def test_a_square_matrix_in_wide_form_has_a_row_for_each_column(db: viewlet.Database) -> None:
    db.create_matrix("power", POWER, A=Wide("named", ["a", "b"], row="k"), wide=True, options=INCREMENTAL)
    db.upsert("named", [("a", 0.25, 0.5)])
    found = {row[0]: row[1:] for row in db.table("power").rows()}
    np.testing.assert_allclose([found["a"], found["b"]], np.linalg.matrix_power([[0.25, 0.5], [1.0, 0.0]], 4))
    with pytest.raises(RejectedEpoch, match="named has no row for k = 'b', and A needs it"):
        db.delete("named", [("b",)])
    with pytest.raises(RejectedEpoch, match="named has a row for k = 'c', which is not a row of A"):
        db.insert("named", [("c", 1.0, 2.0)])
    assert db.check("power").num_rows == 0


def test_a_row_may_be_an_array(db: viewlet.Database) -> None:
    n = 12
    A = RANDOM.normal(size=(n, n)).astype(np.float32) / 4
    db.insert("vectors", [(i, A[i].tolist()) for i in range(n)])
    program = matrix.program(models.power(4), A=(n, n))
    db.create_matrix("power", program, A=Wide("vectors", "entries", row="i"), options=INCREMENTAL)
    A[3] = A[5]
    db.upsert("vectors", [(3, A[3].tolist())])
    wanted = np.linalg.matrix_power(A.astype(np.float64), 4)
    found = {row[:2]: row[2] for row in db.table("power").rows()}
    np.testing.assert_allclose([[found[i, j] for j in range(n)] for i in range(n)], wanted, rtol=1e-9)
    for entries, said in (
        ([1.0] * 3, "vectors.entries is 3 values where i = 4, not 12 values"),
        (None, "vectors.entries is NULL where i = 4, not 12 values"),
        ([None] * n, r"vectors.entries is \[None, .* where i = 4"),
        ([float("nan")] * n, r"vectors.entries is \[nan, .* where i = 4"),
    ):
        with pytest.raises(RejectedEpoch, match=said):
            db.upsert("vectors", [(4, entries)])
    db.close()
    with viewlet.connect(db.path) as again:
        again.upsert("vectors", [(5, A[0].tolist())])
        assert again.check("power").num_rows == 0


def test_arrays_that_are_handed_in_stay(db: viewlet.Database) -> None:
    program = matrix.program(models.gradient_descent(50, 0.01), X=("n", "term"), Y=("n", 1), T0=("term", 1))
    start = np.array([[1.0], [2.0]])
    x, y = Wide("sales", ["one", "price"], row="id"), Wide("sales", ["units"], row="id")
    db.create_matrix("descent", program, X=x, Y=y, T0=start)
    db.close()
    with viewlet.connect(db.path) as again:
        again.insert("sales", [(10, 1, 0.5, 4.0)])
        rows = np.array([r[1:] for r in again.table("sales").rows()], dtype=float)
        wanted = start
        for _ in range(50):
            wanted = wanted - 0.01 * (rows[:, :2].T @ (rows[:, :2] @ wanted - rows[:, 2:]))
        found = dict(again.table("descent").rows())
        np.testing.assert_allclose([found["one"], found["price"]], wanted[:, 0], rtol=1e-9)


@pytest.mark.parametrize(
    ("program", "inputs", "settings", "error", "said"),
    [
        (OLS, {"X": Wide("sales", ["one"], row="id")}, {}, UnknownName, "input y is not given"),
        (PRODUCT, {"A": Wide("sale", ["one"], row="id")}, {}, UnknownName, "no table or view named sale"),
        (PRODUCT, {"A": Wide("sales", ["on"], row="id")}, {}, UnknownName, "sales has no column on"),
        (PRODUCT, {"A": Wide("loose", ["day"], row="id")}, {}, UnsupportedQuery, "a matrix takes numbers"),
        (PRODUCT, {"A": Wide("loose", ["v"], row="x")}, {}, UnsupportedQuery, "cannot identify the rows of a matrix"),
        (
            POWER,
            {"A": Wide("loose", ["v"], row="id")},
            {},
            ShapeError,
            "n has labels of type bigint in A, and 1 labels",
        ),
        (POWER, {"A": np.eye(2)}, {}, ShapeError, "A is a constant array, but the size n may change"),
        (
            POWER,
            {"A": Wide("named", ["a"], row="k")},
            {},
            RejectedEpoch,
            "named has a row for k = 'b', which is not a row",
        ),
        (PRODUCT, {"A": Wide("sales", ["one"], row="id"), "B": 1}, {}, UnknownName, "has no input B"),
        (PRODUCT, {"A": 7}, {}, WrongArgument, "A is 7, an int"),
        (models.ols, {}, {}, WrongArgument, "the program of m is"),
        (PRODUCT, {"A": Wide("sales", ["one"], row="id")}, {"outputs": ["b"]}, UnknownName, "no output b"),
        (PRODUCT, {"A": Wide("sales", ["one"], row="id")}, {"options": {"b": 1}}, WrongArgument, "no option b"),
        (PRODUCT, {"A": Wide("sales", ["one"], row="id")}, {"dtype": int}, WrongArgument, "int64 are not maintained"),
        (
            matrix.program(lambda A: A[1:], A=("n", 1)),
            {"A": Wide("sales", ["one"], row="id")},
            {},
            UnsupportedQuery,
            "rows or columns that can be added and deleted, which have no order",
        ),
        (
            matrix.program(lambda A: {"a": A, "b": A.T @ A}, A=("n", 2)),
            {"A": Wide("sales", ["one", "price"], row="id")},
            {},
            ShapeError,
            r"one shape, not a \(n × 2\), b \(2 × 2\)",
        ),
        (
            matrix.program(lambda A: A, A=("n", 2)),
            {"A": Wide("sales", ["one"], row="id")},
            {},
            ShapeError,
            "2 has 2 labels, .* in the program, and 1 labels",
        ),
        (
            matrix.program(lambda A: {"n": A}, A=("n", 2)),
            {"A": Wide("sales", ["one", "price"], row="id")},
            {},
            ShapeError,
            "two columns of the table would be called n",
        ),
        (
            matrix.program(lambda A: A, A=("n", "m")),
            {"A": Wide("vectors", "entries", row="i")},
            {},
            ShapeError,
            "A takes its rows from an array column, whose entries have no names for m",
        ),
        (
            matrix.program(lambda A: A, A=(6, 2)),
            {"A": Wide("named", ["a", "b"], row="k")},
            {},
            ShapeError,
            "6 has 6 labels, .* in the program, and labels of type string in A",
        ),
    ],
)
def test_definitions_that_do_not_fit(
    db: viewlet.Database, program: Any, inputs: Any, settings: Any, error: type[ViewletError], said: str
) -> None:
    epoch = db.status()["epoch"]
    with pytest.raises(error, match=said):
        db.create_matrix("m", program, **inputs, **settings)
    assert (db.views, db.status()["epoch"]) == ((), epoch)


def test_it_lives_like_any_view(db: viewlet.Database, capsys: pytest.CaptureFixture[str]) -> None:
    create_fit(db, options={"expected": Expected(ranks={"X": 2}), **INCREMENTAL})
    db.insert("sales", [(10, 1, 2.5, 4.0)])
    text = db.explain("fit")
    assert "X: sale × term, rows of sales by id: one, price" in text
    assert "program(X: 7 × 2, y: 7 × 1), linear model, incremental" in text
    assert text.count(" ms  ") == 1, "an alternative that is asked for is the only one"
    assert "factored, rank" in text
    assert db.status()["views"]["fit"]["kind"] == "matrix"
    db.add_columns("sales", "note STRING")
    db.drop_columns("sales", ["note"])
    with pytest.raises(InUse):
        db.drop_columns("sales", ["price"])
    db.rebuild("fit")
    db.rename("fit", "model")
    db.rename("model", "fit")
    db.close()
    assert main(["explain", "fit", "--warehouse", str(db.path)]) == 0
    assert main(["status", "--warehouse", str(db.path)]) == 0
    assert main(["check", "fit", "--warehouse", str(db.path)]) == 0
    assert "fit: equal" in capsys.readouterr().out
    with viewlet.connect(db.path, trust=False) as again:
        again.delete("sales", [(0,)])
        assert_fits(again)
        bags = [*again._warehouse.catalog.view("fit").bags]
        assert again.drop("fit")
        assert not [bag for bag in bags if again._warehouse.store.snapshot().has(bag)]


@pytest.mark.spark
def test_sql_views_before_and_after_it(db: viewlet.Database, spark: Any) -> None:
    db.sql("CREATE MATERIALIZED VIEW dear AS SELECT id, one, price, units FROM sales WHERE price > 1")
    x, y = Wide("dear", ["one", "price"], row="id"), Wide("dear", ["units"], row="id")
    db.create_matrix("fit", OLS, X=x, y=y)
    db.sql(
        "CREATE MATERIALIZED VIEW fitted AS SELECT id, units, sum(coefficients * CASE term WHEN 'one' THEN 1 ELSE price END)"
        " AS guess FROM sales CROSS JOIN fit GROUP BY id, units"
    )
    db.insert("sales", [(10, 1, 2.5, 4.0)])
    db.engine = "spark"  # the program itself stays in this process
    db.insert("sales", [(11, 1, 0.5, 4.0)])
    wanted = least_squares([row for row in db.table("sales").rows() if row[2] > 1])
    assert coefficients(db) == pytest.approx(wanted, rel=1e-9)
    guesses = {row[0]: row[2] for row in db.table("fitted").rows()}
    assert guesses[10] == pytest.approx(wanted["one"] + 2.5 * wanted["price"], rel=1e-9)
    assert db.check().num_rows == 0
