"""Epochs as jobs, on partitions without a JVM: maps get what they get in one place, in as many stages as are planned."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from tests.cluster.local_context import LocalContext
from tests.compile.partitions import OnePlace, as_bag
from tests.compile.random_changes import Tables
from tests.compile.test_distribute import OURS, TPCH, compiled, fixture_cases, tpch_facts, tpch_programs
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.rows import Rows
from viewlet.compile import Facts
from viewlet.compile.distribute import distribute, distribute_fill, place
from viewlet.engine.cluster import epoch_job
from viewlet.engine.cluster.driver_site import Anew
from viewlet.engine.cluster.epoch_job import EpochJob, prepare_epoch
from viewlet.engine.epoch import EpochDeltas, WrittenChange
from viewlet.engine.prepared import layout_of
from viewlet.program.program import Program
from viewlet.store import Layout, Limits, Store

PARTS = 4
PLACE = importlib.import_module("viewlet.compile.distribute.place")


class OnPartitions:
    """A store with the maps of some programs, and epochs as jobs over it."""

    def __init__(self, store: Store, programs: Sequence[Program], known: Facts) -> None:
        self.store, self.programs, self.known = store, programs, known
        self.maps = {s.map.name: s.map for s in place(programs, known).steps}
        self.context = LocalContext()

    def begin(self, whole: OnePlace) -> None:
        """Take over what maps hold after the first epoch."""
        with self.store.begin() as transaction:
            for name, kept in self.maps.items():
                if kept.stored:
                    rows = whole.site.after[name]
                    empty = Rows.empty({f.name: arrow_type(f.type) for f in kept.columns})
                    is_view = any(name == p.view for p in self.programs)
                    transaction.append(name, empty if rows is None else rows, layout_of(kept, is_view=is_view))
            transaction.commit()

    def run(self, changes: dict[str, Rows]) -> EpochDeltas:
        epoch = prepare_epoch(distribute(self.programs, self.known, changed=set(changes)))
        with self.store.begin() as transaction:
            deltas = EpochDeltas(transaction)
            deltas.changes.update(changes)
            EpochJob(cast(Any, self.context), self.store.address, PARTS, deltas, epoch).run()
            transaction.commit()
        assert deltas.jobs[0]["stages"] == epoch.staged.program.stages
        return deltas


@contextmanager
def both(programs: Sequence[Program], known: Facts, tables: Tables) -> Iterator[tuple[OnPartitions, OnePlace]]:
    """Two ways to keep the same maps, after a first epoch."""
    plain = OnePlace(place(programs, known).steps)
    plain.run(tables.change(24, 0), initial=True)
    with tempfile.TemporaryDirectory() as path, Store.open(Path(path) / "w") as store:
        parted = OnPartitions(store, programs, known)
        parted.begin(plain)
        yield parted, plain


def follow(programs: Sequence[Program], known: Facts, tables: Tables, epochs: int = 2, jobs: int = 1) -> int:
    """Compare all maps, and the counts of views, after each epoch; the rows that views then have."""
    with both(programs, known, tables) as (parted, plain):
        for _ in range(epochs):
            fixed = {*known.static, *(program.view for program in programs)}
            changes = {name: rows for name, rows in tables.change(6, 6).items() if name not in fixed}
            deltas = parted.run(changes)
            plain.run(changes)
            assert deltas.jobs[0]["jobs"] == jobs
            for name, kept in parted.maps.items():
                if kept.stored:
                    there, right = parted.store.snapshot().contents(name).consolidated(), plain.site.after[name]
                    assert as_bag(there, kept.sums) == as_bag(right, kept.sums), name
            for program in programs:
                found, right = deltas.changes.counts(program.view), plain.site.deltas.get(program.view)
                weights = np.zeros(0) if right is None else right.weights
                assert found["inserted"] - found["deleted"] == weights.sum()
                assert found["inserted"] + found["deleted"] == np.abs(weights).sum()
        return sum(len(as_bag(plain.site.after[p.view])) for p in programs)


@pytest.mark.parametrize("name", ["q03", "q15", "q17", "q18", "q21"])
def test_a_query_as_a_job(name: str) -> None:
    known = tpch_facts()
    programs = tpch_programs(known)
    some = [programs["q15_revenue"], programs[name]] if name == "q15" else [compiled(name, TPCH[name], known)]
    follow(some, known, Tables([d.plan for d in TPCH.values()], 7))


def test_all_queries_as_one_job() -> None:
    known = tpch_facts()
    programs = list(tpch_programs(known).values())
    assert follow(programs, known, Tables([d.plan for d in TPCH.values()], 7), epochs=1) > 100


def test_runs_that_are_not_small_are_files_that_tasks_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epoch_job, "INLINE", 0)
    known = tpch_facts()
    program = compiled("q03", TPCH["q03"], known)
    tables = Tables([TPCH["q03"].plan], 3)
    with both([program], known, tables) as (parted, _):
        deltas = parted.run(tables.change(20, 0))
        assert deltas.changes.written
        refs = [ref for written in deltas.changes.written.values() for ref in written.contents.refs()]
        assert refs
        assert all(ref.file.startswith("data/task-") for ref in refs)
        assert not parted.store.orphans()


def test_runs_that_a_worker_has_open_are_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epoch_job, "INLINE", 0)
    known = tpch_facts()
    program = compiled("q03", TPCH["q03"], known)
    tables = Tables([TPCH["q03"].plan], 3)
    with both([program], known, tables) as (parted, _):
        first, second, third = (parted.run(tables.change(20, 0)).jobs[0] for _ in range(3))
    assert first["runs_read"] > 0
    assert first["read_bytes"] > 0
    assert second["runs_at_hand"] > 0
    assert third["runs_read"] <= second["runs_read"] + 1, "what is read are the runs that the last epoch wrote"


def test_operators_as_jobs() -> None:
    shown = 0
    for program, decoded, known in fixture_cases(["keyed/regroup", "keyed/regroup_join", "monoid/fold", "ring/route"]):
        shown += follow([program], known, Tables([decoded.plan], 3, known.growing | known.static), epochs=1) > 0
    assert shown >= 15


def test_another_job_begins_where_the_driver_scatters(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first rows of an order are found at the driver, even where they are not kept there."""
    monkeypatch.setattr(PLACE, "SMALL", -1)
    known = tpch_facts()
    program = compiled("q03", TPCH["q03"], known)
    assert len(distribute([program], known).jobs) == 2
    follow([program], known, Tables([TPCH["q03"].plan], 3), jobs=2)


def stored_tables(store: Store, tables: dict[str, Rows], strangers: dict[str, Rows]) -> dict[str, WrittenChange]:
    """Tables in files, with rows that were put in and taken away again; all that they hold as changes."""
    with store.begin() as transaction:
        for name, rows in tables.items():
            layout = Layout(columns=rows.names, key=rows.names, form="table")
            transaction.append(name, rows, layout)
            transaction.append(name, strangers[name], layout)
        transaction.commit()
    with store.begin() as transaction:
        for name, rows in strangers.items():
            transaction.append(name, rows.negated(), Layout(columns=rows.names, key=rows.names, form="table"))
        transaction.commit()
    held = {name: store.snapshot().contents(name) for name in tables}
    assert any(ref.sign < 0 for contents in held.values() for ref in contents.refs())
    return {name: WrittenChange(contents, contents.rows, 0, is_net=False) for name, contents in held.items()}


@pytest.mark.parametrize("name", ["q03", "q13", "q18"])
def test_views_are_filled_and_made_anew_from_what_tables_hold(name: str) -> None:
    """What was taken away again counts nowhere; a view that is made anew passes on how it differs."""
    known, tables = tpch_facts(), Tables([TPCH[name].plan], 5)
    program = compiled(name, TPCH[name], known)
    epoch = prepare_epoch(distribute_fill(program, known))
    first, then, strangers = tables.change(30, 0), tables.change(30, 8), Tables([TPCH[name].plan], 9).change(12, 0)
    with tempfile.TemporaryDirectory() as path, Store.open(Path(path) / "w", limits=Limits(recent_rows=8)) as store:
        parted = OnPartitions(store, [program], known)
        parted.begin(OnePlace(place([program], known).steps))
        names = frozenset(name for name, kept in parted.maps.items() if kept.stored)
        for given, anew in ((first, Anew()), (then, Anew(names, frozenset({program.view})))):
            now = {t: Rows.concat([first[t], then[t]]).consolidate() if given is then else first[t] for t in first}
            whole = OnePlace(place([program], known).steps)
            whole.run(now, initial=True)
            for table in tables_of(store) & now.keys():
                with store.begin() as transaction:
                    transaction.drop(table)
                    transaction.commit()
            changes = stored_tables(store, now, strangers)
            with store.begin() as transaction:
                for emptied in anew.emptied - anew.superseded:
                    was = transaction.before(emptied)
                    transaction.drop(emptied)
                    transaction.create(emptied, was.layout, was.types)
                deltas = EpochDeltas(transaction)
                deltas.changes.written.update(changes)
                EpochJob(cast(Any, parted.context), store.address, PARTS, deltas, epoch, anew).run()
                transaction.commit()
            assert deltas.jobs[0]["stages"] == epoch.staged.program.stages + 1
            for kept_name, kept in parted.maps.items():
                if kept.stored:
                    there, right = store.snapshot().contents(kept_name).consolidated(), whole.site.after[kept_name]
                    assert as_bag(there, kept.sums) == as_bag(right, kept.sums), kept_name
        assert as_bag(whole.site.after[program.view])


def test_operators_are_filled_by_jobs() -> None:
    filled = 0
    for program, decoded, known in fixture_cases(["keyed/regroup", "keyed/regroup_join", "monoid/fold", "ring/route"]):
        tables, epoch = Tables([decoded.plan], 4), prepare_epoch(distribute_fill(program, known))
        changes, whole = tables.change(24, 0), OnePlace(place([program], known).steps)
        whole.run(changes, initial=True)
        with tempfile.TemporaryDirectory() as path, Store.open(Path(path) / "w") as store:
            parted = OnPartitions(store, [program], known)
            parted.begin(OnePlace(place([program], known).steps))
            with store.begin() as transaction:
                deltas = EpochDeltas(transaction)
                deltas.changes.update(changes)
                EpochJob(cast(Any, parted.context), store.address, PARTS, deltas, epoch, Anew()).run()
                transaction.commit()
            for name, kept in parted.maps.items():
                if kept.stored:
                    there = store.snapshot().contents(name).consolidated()
                    assert as_bag(there, kept.sums) == as_bag(whole.site.after[name], kept.sums), (program.view, name)
            filled += bool(as_bag(whole.site.after[program.view]))
    assert filled >= 15


def tables_of(store: Store) -> set[str]:
    snapshot = store.snapshot()
    return {bag for bag in snapshot.bags if snapshot.contents(bag).layout.form == "table"}


@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
def test_each_query_as_a_job(name: str) -> None:
    known = tpch_facts()
    programs = tpch_programs(known)
    some = [programs["q15_revenue"], programs[name]] if name == "q15" else [compiled(name, TPCH[name], known)]
    follow(some, known, Tables([d.plan for d in TPCH.values()], 11), epochs=3)
