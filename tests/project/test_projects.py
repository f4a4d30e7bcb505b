"""Projects written for Spark alone, unmodified: what they hold equals what plain Spark computes from the same files."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.marks import quickly
from tests.project.shops import EXPECTED, HERE, RUN_BY_SPARK, Shop, distinct
from tests.project.spark_runner import RESULTS, steps, texts
from tests.source.folders import SCHEMA, in_order
from viewlet.cli.main import main
from viewlet.errors import NameTaken, ProjectError
from viewlet.project.run import Outcome


def contents(db: viewlet.Database, names: Any) -> dict[str, list[tuple[Any, ...]]]:
    return {name: in_order(db.table(name).rows()) for name in names}


@pytest.mark.spark
@pytest.mark.parametrize("name", quickly(1, sorted(EXPECTED)))
def test_projects_run_as_they_are(name: str, tmp_path: Path, spark: Any) -> None:
    """Their datasets hold what plain queries give, and what Spark's own runner gave for the same files."""
    shop, by_spark = Shop(name, tmp_path), json.loads(RESULTS.read_text(encoding="utf-8"))
    assert sorted(by_spark) == sorted(RUN_BY_SPARK)
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        for step in steps(shop):
            before = db.status()["epoch"]
            outcomes = db.run_project(shop.root if before else shop.root / "spark-pipeline.yml")
            assert contents(db, EXPECTED[name]) == shop.expected(spark)
            held = {dataset: texts(db.table(dataset)) for dataset in EXPECTED[name]}
            assert held == by_spark.get(name, {step: held})[step]
            if before:
                kinds = {r["kind"] for r in db.history() if r["epoch"] > before}
                assert kinds <= {"epoch"}, "what changed came in epochs; nothing was made again"
                continue
            epoch = db.status()["epoch"]
            assert {o.what.split(";")[0] for o in db.run_project(shop.root)} == {"unchanged"}
            assert db.status()["epoch"] == epoch, "a run that finds nothing new changes nothing"
        assert db.check().num_rows == 0
    if name == "mixed_shop":
        assert any(o.name == "ranked" and "is recomputed" in o.what for o in outcomes)
    if name == "python_shop":
        plain = in_order(tuple(r) for r in spark.read.parquet(str(shop.root / "exported")).collect())
        assert plain == shop.expected(spark)["exported"]
        assert len(list((shop.root / "exported").glob("*.parquet"))) == 2


def _rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def _of(outcomes: list[Outcome], name: str) -> str:
    return "; ".join(o.what for o in outcomes if o.name == name)


@pytest.mark.slow
@pytest.mark.spark
def test_changed_definitions(tmp_path: Path, spark: Any) -> None:
    rng, shop = random.Random(4), Shop("python_shop", tmp_path)
    shop.deliver("a", distinct(rng, 0, 20))
    pipeline = shop.root / "transformations" / "pipeline.py"
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.run_project(shop.root)
        _rewrite(pipeline, 'sf.sum("total")', 'sf.max("total")')
        outcomes = db.run_project(shop.root)
        assert _of(outcomes, "spend").startswith("replaced")
        assert _of(outcomes, "audit") == "unchanged"
        expected = dict(EXPECTED["python_shop"], spend="SELECT cust, max(total), count(*) FROM seen GROUP BY cust")
        assert in_order(db.table("spend").rows()) == in_order(tuple(r) for r in _plain(shop, spark, expected["spend"]))
        _rewrite(pipeline, '"total > 90"', '"total > 110"')  # a streaming table keeps what it has
        before = len(db.table("audit"))
        shop.deliver("b", distinct(rng, 100, 5))
        db.run_project(shop.root)
        plain = "SELECT count(*) FROM files WHERE id >= 100 AND (total > 110) "
        nameless = "SELECT count(*) FROM files WHERE id >= 100 AND cust IS NULL"
        added = sum(_plain(shop, spark, text)[0][0] for text in (plain, nameless))
        assert len(db.table("audit")) == before + added
        db.run_project(shop.root, full_refresh=["audit"])
        (large,) = _plain(shop, spark, "SELECT count(*) FROM files WHERE total > 110")[0]
        assert [why for _, why in db.table("audit").rows()].count("large") == large


@pytest.mark.spark
def test_what_is_selected(tmp_path: Path, spark: Any) -> None:
    rng, shop, warehouse = random.Random(9), Shop("python_shop", tmp_path), tmp_path / "w"
    run = ["--warehouse", str(warehouse), "run", str(shop.root)]
    shop.deliver("a", distinct(rng, 0, 20))
    assert main(run) == 0
    shop.deliver("b", distinct(rng, 100, 20))
    assert main([*run, "--refresh", "audit, Spend"]) == 0
    with viewlet.connect(warehouse, spark=spark) as db:
        assert len(db.table("orders")) == 20, "only what is named is brought up to date"
    assert main([*run, "--refresh", "orders"]) == 0
    with viewlet.connect(warehouse, spark=spark) as db:
        there = contents(db, EXPECTED["python_shop"])
        expected = shop.expected(spark)
        assert {name: there[name] for name in ("orders", "spend")} == {
            name: expected[name] for name in ("orders", "spend")
        }
        assert len(there["exported"]) == 20
    shutil.rmtree(shop.root / "exported")  # what is made from scratch is written from scratch
    assert main([*run, "--full-refresh-all"]) == 0
    with viewlet.connect(warehouse, spark=spark) as db:
        assert contents(db, EXPECTED["python_shop"]) == shop.expected(spark)
        plain = spark.read.parquet(str(shop.root / "exported"))
        assert in_order(tuple(r) for r in plain.collect()) == shop.expected(spark)["exported"]


@pytest.mark.spark
def test_a_definition_that_is_taken_back_after_a_crash(tmp_path: Path, spark: Any, monkeypatch: Any) -> None:
    shop = Shop("python_shop", tmp_path)
    shop.deliver("a", distinct(random.Random(8), 0, 20))
    pipeline = shop.root / "transformations" / "pipeline.py"
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.run_project(shop.root)
        _rewrite(pipeline, 'sf.sum("total")', 'sf.max("total")')
        replaced = viewlet.Database.create_view

        def replace_and_end(*arguments: Any, **named: Any) -> None:
            replaced(*arguments, **named)
            raise InterruptedError

        with monkeypatch.context() as patched:
            patched.setattr(viewlet.Database, "create_view", replace_and_end)
            with pytest.raises(InterruptedError):
                db.run_project(shop.root)
        _rewrite(pipeline, 'sf.max("total")', 'sf.sum("total")')
        db.run_project(shop.root)
        assert contents(db, EXPECTED["python_shop"]) == shop.expected(spark)


def _plain(shop: Shop, spark: Any, text: str) -> list[Any]:
    shop.expected(spark)
    session = spark.newSession()
    for view, folder in (("files", shop.landing), ("seen", shop.archive)):
        session.read.schema(SCHEMA).csv(str(folder), header=True).createOrReplaceTempView(view)
    return list(session.sql(text).collect())


@pytest.mark.spark
def test_what_cannot_be_run_says_where_and_why(tmp_path: Path, spark: Any) -> None:
    shop = Shop("mixed_shop", tmp_path)
    shop.deliver("a", distinct(random.Random(5), 0, 3))
    sql = shop.root / "transformations" / "spent.sql"
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        sql.write_text("CREATE STREAMING TABLE n AS SELECT count(*) AS n FROM STREAM(events)", encoding="utf-8")
        (shop.root / "transformations" / "events.py").write_text(
            (HERE / "mixed_shop/transformations/events.py").read_text(encoding="utf-8").split("@dp.materialized")[0],
            encoding="utf-8",
        )
        with pytest.raises(ProjectError, match=r"spent\.sql:1: flow n: Aggregate over a stream would have to remember"):
            db.run_project(shop.root)
        sql.write_text("\nCREATE MATERIALIZED VIEW v AS SELECT * FROM nowhere", encoding="utf-8")
        with pytest.raises(ProjectError, match=r"spent\.sql:2: .*nowhere"):
            db.run_project(shop.root)
        events = shop.root / "transformations" / "events.py"
        kept = events.read_text(encoding="utf-8")
        events.write_text(kept + "\ndp.create_sink('s', 'kafka', {})\n", encoding="utf-8")
        with pytest.raises(ProjectError, match=r"events\.py:\d+: sink s has format kafka"):
            db.run_project(shop.root)
        strict = "@dp.materialized_view(table_properties={'refresh_policy': 'incremental_strict'})\n"
        ranked = "spark.sql('SELECT percent_rank() OVER (ORDER BY id) AS r FROM events')"
        events.write_text(f"{kept}\n{strict}def r():\n    return {ranked}\n", encoding="utf-8")
        sql.write_text("CREATE MATERIALIZED VIEW v AS SELECT 1 AS x", encoding="utf-8")
        with pytest.raises(ProjectError, match=r"events\.py:\d+: .*would be recomputed on every change"):
            db.run_project(shop.root)
        events.write_text(kept, encoding="utf-8")
        sql.write_text("CREATE TABLE t (id INT)", encoding="utf-8")
        with pytest.raises(ProjectError, match=r"spent\.sql:1: .*MATERIALIZED VIEW"):
            db.run_project(shop.root)
        sql.write_text("CREATE MATERIALIZED VIEW v AS SELECT 1 AS x", encoding="utf-8")
        with pytest.raises(ProjectError, match="mixed_shop has no w"):
            db.run_project(shop.root, refresh=["w"])
        with pytest.raises(ProjectError, match="no spark-pipeline"):
            db.run_project(tmp_path)
    with viewlet.connect(tmp_path / "other", spark=spark) as db:
        db.sql("CREATE TABLE v (x INT)")
        with pytest.raises(NameTaken, match="is not part of project mixed_shop"):
            db.run_project(shop.root)


@pytest.mark.spark
def test_a_new_project_runs(tmp_path: Path, spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "shop"
    assert main(["init", str(root)]) == 0
    assert main(["run", "--dry-run", str(root)]) == 0
    shown = capsys.readouterr().out
    assert "view spend → customer, orders, total" in shown
    assert "materialized view spend: would be created\n" in shown
    assert not (root / "warehouse").exists()
    assert main(["run", str(root)]) == 0
    assert "streaming table orders: flow orders appended 3 rows" in capsys.readouterr().out
    with viewlet.connect(root / "warehouse", spark=spark, read_only=True) as db:
        assert [(c, n, str(t)) for c, n, t in in_order(db.table("spend").rows())] == [
            ("ada", 2, "120.00"),
            ("bob", 1, "15.50"),
        ]
    assert main(["init", str(root)]) == 1
    _expect_of_the_next_run(root, capsys)


def _expect_of_the_next_run(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A dry run compares the project with its warehouse."""
    capsys.readouterr()
    assert main(["run", "--dry-run", str(root)]) == 0
    shown = capsys.readouterr().out
    assert "streaming table orders: would stay as it is\n" in shown
    assert "materialized view spend: would stay as it is\n" in shown
    assert main(["run", "--dry-run", "--full-refresh-all", str(root)]) == 0
    assert "materialized view spend: would be rebuilt from scratch\n" in capsys.readouterr().out
    for file in root.rglob("*.sql"):
        file.write_text(file.read_text(encoding="utf-8").replace("sum(", "max("), encoding="utf-8")
    assert main(["run", "--dry-run", str(root)]) == 0
    assert "materialized view spend: would be replaced\n" in capsys.readouterr().out


def _start(warehouse: Path, shop: Shop) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "viewlet", "--warehouse", str(warehouse), "run", str(shop.root)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _time_of_run(folder: Path) -> float:
    """How long a run takes that nothing ends, Spark's start included."""
    folder.mkdir()
    shop, began = Shop("python_shop", folder), time.monotonic()
    shop.deliver("first", distinct(random.Random(5), 0, 50))
    assert _start(folder / "w", shop).wait() == 0
    return time.monotonic() - began


def _kill_rounds(tmp_path: Path, spark: Any, rounds: int) -> None:
    """Kill runs that are going on; the next one goes on, and nothing is lost or twice."""
    rng, shop, lasts, killed = random.Random(6), Shop("python_shop", tmp_path), _time_of_run(tmp_path / "timed"), 0
    for number in range(rounds):
        shop.deliver(str(number), distinct(rng, 1000 * (number + 1), 50))
        runner = _start(tmp_path / "w", shop)
        time.sleep(rng.uniform(lasts / 3, lasts))  # it starts Spark first
        os.kill(runner.pid, signal.SIGKILL)
        killed += runner.wait() == -signal.SIGKILL
        with viewlet.connect(tmp_path / "w", spark=spark) as db:
            db.run_project(shop.root)
            assert contents(db, EXPECTED[shop.name]) == shop.expected(spark)
    assert killed > rounds // 2, "most runs had ended before they were killed"


@pytest.mark.spark
@pytest.mark.slow
def test_killed_while_it_runs(tmp_path: Path, spark: Any) -> None:
    _kill_rounds(tmp_path, spark, 20)


@pytest.mark.spark
@pytest.mark.parametrize("commits", [pytest.param(n, marks=pytest.mark.slow) for n in range(1, 12)] + [6])
def test_interrupted_after_any_commit(commits: int, tmp_path: Path, spark: Any, monkeypatch: Any) -> None:
    """What is committed when a run ends early is where the next one goes on."""
    from viewlet.store.transaction import Transaction

    shop, left = Shop("python_shop", tmp_path), [commits]
    shop.deliver("a", distinct(random.Random(7), 0, 20))
    commit = Transaction.commit

    def commit_some(self: Transaction, record: Any = None) -> int:
        left[0] -= 1
        if left[0] < 0:
            raise InterruptedError
        return commit(self, record)

    monkeypatch.setattr(Transaction, "commit", commit_some)
    with viewlet.connect(tmp_path / "w", spark=spark) as db, pytest.raises(InterruptedError):
        db.run_project(shop.root)
    monkeypatch.undo()
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.run_project(shop.root)
        assert contents(db, EXPECTED[shop.name]) == shop.expected(spark)
