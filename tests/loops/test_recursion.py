"""Recursive queries against a plain interpreter: from scratch, and after each of many epochs."""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loops.harness import SCHEMAS, LoopStore, Row, compiled, stored
from tests.loops.naive import Naive
from tests.loops.queries import QUERIES, random_query
from tests.marks import rounds, some
from viewlet.loops.language.read_loop import read_loop
from viewlet.loops.run.prepared_loop import PreparedLoop

pytestmark = pytest.mark.spark


def expected(text: str, tables: dict[str, list[Row]], loop: PreparedLoop) -> Any:
    read = read_loop(text)
    assert read is not None
    columns = {s.name: tuple(f.name for f in s.fields) for s in loop.compiled.states}
    return Naive(read, tables, columns).result()


class Loops(dict[str, PreparedLoop]):
    """Loops by name, which need not be printed."""

    def __repr__(self) -> str:
        return f"Loops({', '.join(self)})"


@pytest.fixture(scope="module")
def loops(spark: Any) -> Loops:
    """The queries of the list, compiled once."""
    return Loops({name: compiled(spark, name, text) for name, text in some(3, QUERIES.items())})


def check(store: LoopStore, texts: dict[str, str]) -> None:
    for loop in store.loops:
        assert store.rows(loop.view) == expected(texts[loop.view], store.tables, loop), loop.view


NODES = st.one_of(st.integers(0, 5), st.none())
ROWS = {
    "edges": st.tuples(NODES, NODES, st.sampled_from([0, 0, 1, 2, 5])),
    "r": st.tuples(NODES, NODES),
    "s": st.tuples(NODES, NODES),
}
EPOCH = st.fixed_dictionaries({name: st.lists(row, max_size=5) for name, row in ROWS.items()})


@settings(max_examples=rounds(5, 12), print_blob=False)
@given(data=st.data())
def test_every_epoch_gives_what_the_interpreter_gives(loops: Loops, data: st.DataObject) -> None:
    epochs = data.draw(st.lists(st.tuples(EPOCH, st.integers(0, 1 << 30)), min_size=1, max_size=5))
    with TemporaryDirectory() as folder, stored(Path(folder) / "s", list(loops.values())) as store:
        for inserted, seed in epochs:
            chance = random.Random(seed)
            share = chance.choice([0.0, 0.2, 0.6, 1.0])
            deleted = {name: [row for row in store.tables[name] if chance.random() < share] for name in SCHEMAS}
            store.change(deleted, inserted)
            check(store, QUERIES)


def random_epochs(store: LoopStore, texts: dict[str, str], seed: int, count: int) -> None:
    """Epochs of random insertions and deletions, each checked."""
    chance = random.Random(seed)
    node = [None, *range(6)]
    for _ in range(count):
        share = chance.choice([0.0, 0.1, 0.5])
        deleted = {name: [row for row in store.tables[name] if chance.random() < share] for name in SCHEMAS}
        inserted = {
            name: [(chance.choice(node), chance.choice(node)) for _ in range(chance.choice([0, 1, 4]))]
            for name in ("r", "s")
        }
        store.change(deleted, inserted)
        check(store, texts)


def check_random_queries(spark: Any, path: Path, seeds: range) -> None:
    texts = {f"v{seed}": random_query(seed) for seed in seeds}
    with stored(path / "s", [compiled(spark, view, text) for view, text in texts.items()]) as store:
        random_epochs(store, texts, seeds.start, 12)


@pytest.mark.slow
def test_random_monotone_queries(spark: Any, tmp_path: Path) -> None:
    check_random_queries(spark, tmp_path, range(rounds(2, 4)))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 400, 20))
def test_many_random_monotone_queries(spark: Any, tmp_path: Path, first: int) -> None:
    check_random_queries(spark, tmp_path, range(first, first + 20))
