"""USING KEY beyond min and max: rounds that add up, and rows that a function of the user's merges."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.loops import references
from viewlet import loops
from viewlet.errors import UnsupportedQuery

pytestmark = pytest.mark.spark

NEEDED = """WITH RECURSIVE needed(assembly, part, quantity, ways) USING KEY (assembly, part) AS (
  SELECT assembly, part, quantity, 1L FROM parts UNION
  SELECT n.assembly, p.part, sum(n.quantity * p.quantity), sum(n.ways)
  FROM needed n JOIN parts p ON p.assembly = n.part GROUP BY n.assembly, p.part)
SELECT assembly, part, quantity FROM needed"""


@pytest.fixture
def db(tmp_path: Path, spark: Any) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as made:
        yield made


def test_sums_add_up_round_by_round(db: viewlet.Database) -> None:
    chance = random.Random(9)
    names = "abcdefg"
    parts = [(a, b, chance.randrange(1, 4)) for a in names for b in names if a < b and chance.random() < 0.6]
    db.create_table("parts", "assembly STRING, part STRING, quantity BIGINT", rows=parts)
    db.create_view("needed", NEEDED)
    assert "by assembly, part, rounds add up" in db.explain("needed")
    for _ in range(5):
        assert {(a, p): n for a, p, n in db.table("needed").rows()} == references.quantities(parts)
        gone = [parts.pop(chance.randrange(len(parts)))]
        parts.append((*sorted(chance.sample(names, 2)), chance.randrange(1, 4)))  # type: ignore[arg-type]
        with db.epoch() as e:
            e.delete("parts", gone)
            e.insert("parts", parts[-1:])
    assert db.check("needed").num_rows == 0
    first = db.table("needed").round(0).to_pylist()
    assert sum(row["quantity"] for row in first) == sum(n for _, _, n in parts)


def cheapest_two(old: tuple[Any, ...], new: tuple[Any, ...]) -> tuple[Any, ...]:
    """The two least costs of paths to a vertex."""
    best, second, *_ = [*sorted({*old[1:], *new[1:]} - {None}), None]
    return old[0], best, second


def two_costs(edges: list[tuple[int, int, int]]) -> set[tuple[int, int, int | None]]:
    """The same by listing all paths of a graph without cycles."""
    found: dict[int, set[int]] = {}

    def visit(v: int, cost: int) -> None:
        found.setdefault(v, set()).add(cost)
        for a, b, w in edges:
            if a == v:
                visit(b, cost + w)

    visit(0, 0)
    return {(v, *[*sorted(costs), None][:2]) for v, costs in found.items()}  # type: ignore[misc]


@pytest.mark.slow
def test_a_merge_of_ones_own(db: viewlet.Database, tmp_path: Path, spark: Any) -> None:
    chance = random.Random(10)
    edges = [(a, b, chance.randrange(1, 9)) for a in range(7) for b in range(a + 1, 7) if chance.random() < 0.7]
    db.create_table("edges", "src BIGINT, dst BIGINT, w BIGINT", rows=edges)
    first = "SELECT 0L AS v, 0L AS best, CAST(NULL AS BIGINT) AS second"
    step = "SELECT e.dst, d.best + e.w, d.second + e.w FROM d JOIN edges e ON e.src = d.v"
    state = loops.Recursive("d", first, step, key="v", merge=cheapest_two)
    db.create_view("d", loops.recursion(state))
    for turn in range(4):
        assert set(db.table("d").rows()) == two_costs(edges)
        if turn == 1:  # the function is stored with the view
            db.close()
            db = viewlet.connect(tmp_path / "w", spark=spark, engine="inproc")
        gone = edges.pop(chance.randrange(len(edges)))
        edges.append((0, 6, turn + 1))
        with db.epoch() as e:
            e.delete("edges", [gone])
            e.insert("edges", edges[-1:])
    assert db.check("d").num_rows == 0
    assert db.history("d")[-1]["views"]["d"]["technique"] == "from scratch, as its merge asks for"
    db.close()


def test_a_merge_keeps_the_key(db: viewlet.Database) -> None:
    db.create_table("edges", "src BIGINT, dst BIGINT, w BIGINT", rows=[(0, 1, 1), (1, 0, 1)])
    step = "SELECT e.dst, d.cost + e.w FROM d JOIN edges e ON e.src = d.v"
    state = loops.Recursive("d", "SELECT 0L AS v, 0L AS cost", step, key="v", merge=lambda old, new: (7, 7))
    with pytest.raises(UnsupportedQuery, match=r"the merge gives \(7, 7\) for the key \(0,\)"):
        db.create_view("d", loops.recursion(state))
    with pytest.raises(UnsupportedQuery, match="one state that has a key"):
        loops.recursion(loops.Recursive("d", "SELECT 0L AS v", step, merge=cheapest_two))


@pytest.mark.slow
def test_diffusion_is_approximate_and_says_so(db: viewlet.Database) -> None:
    """A change goes so many edges far, and no farther; what it left is handed on when its row changes again."""
    chain = [(v, v + 1) for v in range(12)]
    db.create_table("links", "src BIGINT, dst BIGINT", rows=chain)
    db.create_view("exact", loops.pagerank("links", tolerance=1e-9, hold=False))
    db.create_view("near", loops.pagerank("links", tolerance=1e-9, hold=False, diffusion=20))
    expected = references.pagerank([(a, b, 0) for a, b in chain])
    for view in ("exact", "near"):  # so many rounds are enough from scratch
        assert dict(db.table(view).rows()) == pytest.approx(expected, abs=1e-7)
    db.create_view("nearer", loops.pagerank("links", tolerance=1e-9, hold=False, diffusion=3), replace=False)
    before = dict(db.table("nearer").rows())
    db.insert("links", [(3, 0)])
    after = references.pagerank([*((a, b, 0) for a, b in chain), (3, 0, 0)])
    assert dict(db.table("exact").rows()) == pytest.approx(after, abs=1e-7)
    found = dict(db.table("nearer").rows())
    assert {v for v in found if found[v] != before[v]} <= {4, 5, 6, 7, 0, 1, 2, 3}  # three edges from what changed
    assert any(abs(found[v] - after[v]) > 1e-3 for v in (8, 9, 10))  # which the exact ranks reach
    assert db.history("nearer")[-1]["views"]["nearer"]["technique"] == "diffusion from the last result: approximate"
    assert db.check("nearer").num_rows > 0
    assert db.check("exact").num_rows == 0
