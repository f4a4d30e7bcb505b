"""Matrix programs in a warehouse: after every epoch, their tables are what NumPy gives for rows that the test keeps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import viewlet
from tests.matrix.warehouse_tables import Tables, table_of
from viewlet import matrix
from viewlet.matrix import Long, Wide

X = Wide("points", ["a", "b", "c"], row="id")
S = Long("links", "src", "dst", "w")
NARROW = matrix.program(lambda X: {"gram": X.T @ X}, X=("point", "column"))
SQUARE = matrix.program(lambda S: {"value": S @ S + S}, S=("name", "name"))
ROWS = matrix.program(lambda X: {"score": X @ (X.T @ np.ones((X.shape[0], 1), like=X))}, X=("point", "column"))


@pytest.fixture
def db(tmp_path: Path) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w") as db:
        yield db


def tables_in(db: viewlet.Database, seed: int) -> Tables:
    tables = Tables(seed)
    tables.create(db)
    return tables


def create_all(db: viewlet.Database, strategy: str) -> None:
    options = {"strategy": strategy}
    db.create_matrix("gram", NARROW, X=X, wide=True, options=options)
    db.create_matrix("squared", SQUARE, S=S, options=options)
    db.create_matrix("scores", ROWS, X=X, options=options)


def compare(db: viewlet.Database, tables: Tables, told: Any) -> None:
    """All results beside NumPy's."""
    x, s, names = tables.x, tables.s, tables.names
    gram = table_of(db, "gram")
    close([gram[c] for c in "abc"], x.T @ x, told)
    squared = table_of(db, "squared")
    assert set(squared) == {(a, b) for a in names for b in names}, told
    close([[squared[a, b][0] for b in names] for a in names], s @ s + s, told)
    scores = table_of(db, "scores")
    assert sorted(scores) == sorted(tables.points), told
    close([scores[i] for i in sorted(scores)], x @ (x.T @ np.ones((len(x), 1))), told)


def close(found: Any, wanted: Any, told: Any) -> None:
    assert np.linalg.norm(np.array(found) - wanted) <= 1e-9 * (1 + np.linalg.norm(wanted)), told


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))])
@pytest.mark.parametrize("strategy", ["incremental", "hybrid", "reevaluate"])
def test_tables_follow_rows_that_come_go_and_change(db: viewlet.Database, strategy: str, seed: int) -> None:
    """Also through a restart in the middle, and as change feeds say it."""
    tables = tables_in(db, seed)
    create_all(db, strategy)
    compare(db, tables, "create")
    path, fed = db.path, {name: table_of(db, name) for name in db.views}
    for number in range(30):
        if number % 9 == 8:
            db.close()
            db = viewlet.connect(path)
        before = db.status()["epoch"]
        tables.change(db)
        compare(db, tables, number)
        for name in db.views:
            follow_feed(db, name, before, fed[name])
    assert db.check().num_rows == 0
    assert max(db.matrix("squared").check().values()) < 1e-12
    db.close()


def follow_feed(db: viewlet.Database, name: str, since: int, held: dict[Any, Any]) -> None:
    """The changes of an epoch lead from one result to the next, to the last digit."""
    labels = 2 if name == "squared" else 1
    for row in sorted(db.table(name).changes(since=since).to_pylist(), key=lambda row: row["_change_type"]):
        values = [row[column] for column in db.table(name).columns]
        key, rest = tuple(values[:labels]) if labels > 1 else values[0], tuple(values[labels:])
        if row["_change_type"] == "delete":
            assert held.pop(key) == rest
        else:
            held[key] = rest
    assert held == table_of(db, name)
