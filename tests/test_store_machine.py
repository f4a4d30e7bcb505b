"""The store against a dictionary: any order of epochs, merges, crashes and reads gives the same contents."""

from __future__ import annotations

import copy
import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from tests.marks import rounds
from viewlet.columns.rows import Rows
from viewlet.errors import CorruptFile
from viewlet.store import Layout, Limits, Snapshot, Store, open_contents
from viewlet.store.log.folder.mark import read_mark
from viewlet.store.log.frames import SEGMENT_HEAD, read_frame

LAYOUTS = {
    "map": Layout(("k", "v", "s"), ("k",), indexes=(("v",), ("k", "v")), feed=True),
    "sums": Layout(("k", "v", "s"), ("k", "v"), indexes=(("v",),), sums=("s",)),
    "bare": Layout(("k", "v", "s"), ()),
    "table": Layout(("k", "v", "s"), (), form="table", feed=True),
}
LIMITS = Limits(
    inline_bytes=9_000,
    segment_bytes=40_000,
    fan=2,
    first_level_rows=4,
    commit_merge_rows=40,
    recent_rows=40,
    gone_share=0.2,
)
TYPES = {"k": pa.int64(), "v": pa.string(), "s": pa.int64()}

Model = dict[str, Counter[Any]]
keys = st.one_of(st.none(), st.integers(0, 5))
words = st.sampled_from([None, "", "a", "ß", "long" * 30])
deltas = st.lists(st.tuples(keys, words, st.integers(-2, 2), st.integers(-2, 3)), max_size=12)
names = st.sampled_from(list(LAYOUTS))


def to_rows(delta: list[tuple[Any, ...]]) -> Rows:
    columns = {name: pa.array([row[i] for row in delta], kind) for i, (name, kind) in enumerate(TYPES.items())}
    return Rows(columns, np.array([row[3] for row in delta], dtype=np.int64))


def add(bag: Counter[Any], name: str, rows: Rows) -> None:
    """The model's addition; a bag with sums counts them under a key of their own."""
    listed = zip(*(rows[c].to_pylist() for c in TYPES), rows.weights.tolist(), strict=True)
    for k, v, s, weight in listed:
        if LAYOUTS[name].sums:
            bag[k, v, "weight"] += weight
            bag[k, v, "sum"] += s
        else:
            bag[k, v, s] += weight
    for row in [row for row, weight in bag.items() if not weight]:
        del bag[row]


def as_model(name: str, rows: Rows) -> Counter[Any]:
    bag: Counter[Any] = Counter()
    add(bag, name, rows)
    return bag


class StoreMachine(RuleBasedStateMachine):
    """Keeps a model for every epoch, to know what a crash must leave."""

    snapshots = Bundle("snapshots")

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="viewlet-store-"))
        self.copies = 0
        self.models: list[Model] = [{}]
        self.feeds: list[dict[str, list[tuple[int, Counter[Any]]]]] = [{}]
        self.ends: list[tuple[int, int]] = [(1, 0)]
        self.open(self.folder / "0")

    def open(self, path: Path) -> None:
        self.store = Store.open(path, limits=LIMITS)
        self.reader = Store.open(path, write=False, limits=LIMITS)
        self.floor = self.place()

    def place(self) -> tuple[int, int]:
        log = self.store._writing()._log
        return log.first, log.end

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder)

    @property
    def model(self) -> Model:
        return self.models[-1]

    @rule(
        changes=st.dictionaries(names, deltas, max_size=3),
        drop=st.none() | st.none() | st.none() | names,
        abort=st.booleans(),
    )
    def epoch(self, changes: dict[str, Any], drop: str | None, abort: bool) -> None:
        model = copy.deepcopy(self.model)
        feeds = copy.deepcopy(self.feeds[-1])
        number = len(self.models)
        transaction = self.store.begin()
        if drop is not None:
            model.pop(drop, None)
            feeds.pop(drop, None)
            transaction.drop(drop)
        for name, delta in changes.items():
            rows = to_rows(delta)
            transaction.append(name, rows, LAYOUTS[name])
            add(model.setdefault(name, Counter()), name, rows)
            feeds.setdefault(name, []).append((number, as_model(name, rows)))
            assert as_model(name, transaction.contents(name).scan()) == model[name]
            expected = self.model.get(name, Counter())
            assert as_model(name, transaction.before(name).scan()) == expected
        if abort and len(changes) == 1:
            transaction.abort()
            return
        assert transaction.commit({"number": number}) == number
        self.models.append(model)
        self.feeds.append(feeds)
        self.ends.append(self.place())

    @rule(name=names, delta=st.lists(deltas, min_size=1, max_size=3), times=st.integers(2, 12))
    def stream(self, name: str, delta: list[Any], times: int) -> None:
        """Many small epochs in a row, so that runs pile up and are merged."""
        for i in range(times):
            self.epoch({name: delta[i % len(delta)]}, None, False)

    @rule()
    def settle(self) -> None:
        self.store.settle()

    @rule()
    def clean(self) -> None:
        self.store.clean()
        self.floor = self.place()
        assert self.store.verify() == []
        assert self.store.orphans() == []

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.open(self.store.root)

    @rule(share=st.floats(0, 1))
    def crash(self, share: float) -> None:
        """Go on with a copy of the directory whose log was cut anywhere, deliberately: not without being asked to."""
        self.copies += 1
        path = self.folder / str(self.copies)
        self.store.settle()  # so that nothing is written while we copy
        shutil.copytree(self.store.root, path)
        number, end = self.place()
        log = path / "log" / f"{number}.log"
        data = memoryview(log.read_bytes())
        first = read_frame(data, SEGMENT_HEAD)
        assert first is not None
        lowest = max(first.end, self.floor[1] if self.floor[0] == number else 0)
        cut = lowest + int(share * (end - lowest))
        os.truncate(log, cut)
        self.store.close()
        survived = max(i for i, there in enumerate(self.ends) if there <= (number, cut))
        if cut < read_mark(path).end:  # beyond that there are merges, which are not synced
            with pytest.raises(CorruptFile, match=log.name):
                Store.open(path, limits=LIMITS)
            with Store.open(path, limits=LIMITS, recover=True) as store:
                assert store.recovery is not None
                assert store.recovery.epoch == survived
        self.open(path)
        assert self.store.epoch == survived
        del self.models[survived + 1 :], self.feeds[survived + 1 :], self.ends[survived + 1 :]

    @rule(target=snapshots)
    def take_snapshot(self) -> tuple[Snapshot, Model]:
        return self.store.snapshot(), copy.deepcopy(self.model)

    @rule(taken=snapshots)
    def look_back(self, taken: tuple[Snapshot, Model]) -> None:
        snapshot, model = taken
        if not (self.folder / "0").exists() or not all(
            run.storage.address == self.store.address for bag in snapshot.state.bags.values() for run in bag.runs
        ):
            return
        assert {name: as_model(name, snapshot.contents(name).scan()) for name in snapshot.bags} == model

    @rule()
    def read_beside(self) -> None:
        assert self.reader.refresh() == len(self.models) - 1
        snapshot = self.reader.snapshot()
        assert {name: as_model(name, snapshot.contents(name).scan()) for name in snapshot.bags} == self.model

    @rule(
        name=names,
        probes=st.lists(st.tuples(keys, words), max_size=100),
        parts=st.integers(1, 4),
        lookup=st.integers(0, 2),
    )
    def look_up(self, name: str, probes: list[tuple[Any, Any]], parts: int, lookup: int) -> None:
        layout = LAYOUTS[name]
        if name not in self.model or layout.form == "table":
            return
        columns = layout.lookups[lookup % len(layout.lookups)]
        at = [("k", "v").index(column) for column in columns]
        wanted = Rows(
            {c: pa.array([p["kv".index(c)] for p in probes], TYPES[c]) for c in "kv"}, np.ones(len(probes), "i8")
        )
        contents = self.store.snapshot().contents(name)
        found: Counter[Any] = Counter()
        for i in range(parts):
            which, rows = contents.partition(i, parts).lookup(columns, wanted.hashes(columns))
            for place, row in zip(which, range(len(rows)), strict=True):
                found.update({(int(place), item): w for item, w in as_model(name, rows.take(np.array([row]))).items()})
        expected = Counter(
            {
                (i, item): weight
                for i, probe in enumerate(probes)
                for item, weight in self.model[name].items()
                if all(item[a] == probe[a] for a in at)
            }
        )
        assert {k: w for k, w in found.items() if w} == expected

    @rule(name=st.sampled_from(["map", "table"]))
    def follow_feed(self, name: str) -> None:
        if name in self.model:
            floor = self.store.state.bags[name].feed.floor
            feed = [(epoch, as_model(name, rows)) for epoch, _, rows in self.store.feed(name, floor)]
            expected = [(e, change) for e, change in self.feeds[-1].get(name, []) if e > floor]
            assert [f for f in feed if f[1]] == [e for e in expected if e[1]]

    @rule(name=names, parts=st.integers(1, 3))
    def open_elsewhere(self, name: str, parts: int) -> None:
        if name in self.model:
            refs = self.store.snapshot().contents(name).refs()
            contents = open_contents(self.store.root, refs, LAYOUTS[name], TYPES)
            rows = Rows.concat([contents.partition(i, parts).consolidated() for i in range(parts)])
            assert as_model(name, rows) == self.model[name]

    @invariant()
    def contents_are_right(self) -> None:
        if not hasattr(self, "store"):
            return
        snapshot = self.store.snapshot()
        assert snapshot.epoch == len(self.models) - 1
        assert {name: as_model(name, snapshot.contents(name).consolidated()) for name in snapshot.bags} == self.model


StoreMachine.TestCase.settings = settings(
    max_examples=int(os.environ.get("VIEWLET_STORE_EXAMPLES", rounds(20, 60))),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestStoreMachine = StoreMachine.TestCase
