"""Versions of Spark: those that Viewlet works with, how others are refused, and what is new in later ones."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.goldens import read_golden
from viewlet import Database
from viewlet.errors import StoreError, UnsupportedSpark, ViewletError
from viewlet.spark.session import versions
from viewlet.spark.session.versions import FIRST, LAST, changed_between, refuse_version, version_of
from viewlet.spark.sessions import Sessions

ROOT = Path(__file__).parent.parent


def test_the_declared_range_is_the_tested_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"pyspark>={FIRST[0]}.{FIRST[1]},<{LAST[0]}.{LAST[1] + 1}" in project["dependencies"]
    locks = [(ROOT / name).read_text(encoding="utf-8") for name in ("requirements.lock", "requirements-sparks.lock")]
    tested = [version_of(v) for lock in locks for v in re.findall(r"^pyspark==(\S+)", lock, re.MULTILINE)]
    assert tested == [(FIRST[0], minor) for minor in range(FIRST[1], LAST[1] + 1)]


@pytest.mark.parametrize("version", ["3.5.6", "4.0.2", "4.4.0.dev0", "5.0.0"])
def test_another_version_is_refused_in_one_line(version: str) -> None:
    with pytest.raises(UnsupportedSpark) as caught:
        refuse_version(version)
    assert str(caught.value) == (
        f'Spark {version} is not supported: Viewlet works with Spark 4.1 to 4.3 (hint: pip install "pyspark>=4.1,<4.4")'
    )


def test_an_installed_version_is_refused_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    from viewlet.spark.session import session

    monkeypatch.setattr(session, "pyspark", SimpleNamespace(__version__="3.5.6"))
    with pytest.raises(ViewletError, match=r"Spark 3\.5\.6 is not supported"):
        session._new_session("local[1]")


@pytest.mark.spark
def test_a_build_with_other_classes_is_refused_by_name(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from viewlet.spark.session.jvm import Jvm

    for name, count in (("expressions.Alias", 5), ("plans.logical.NoSuchOperator", 2)):
        versions._PROBED.discard(spark.sparkContext)
        monkeypatch.setattr(versions, "CONSTRUCTORS", {name: count})
        with pytest.raises(UnsupportedSpark, match=f"{name} takes other parameters"):
            Jvm(spark)
    monkeypatch.undo()
    assert Jvm(spark).version == version_of(spark.version)


def test_which_functions_changed_between_two_versions() -> None:
    assert changed_between(["Corr", "Mode", "Upper"], "4.1.4", "4.2.1") == ["Mode", "Upper"]
    assert changed_between(["Corr", "Mode", "Upper"], "4.3.0", "4.2.1") == ["Corr"]
    assert changed_between(["Corr", "Mode", "Upper"], "4.2.0", "4.2.1") == []


@pytest.mark.spark
def test_a_view_of_another_spark_is_kept_unless_a_function_in_it_changed(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = "4.3.0" if version_of(spark.version) < (4, 2) else "4.1.4"
    with Database(tmp_path / "w", spark=spark, engine="inproc") as db:
        db.create_table("t", "id INT, s STRING")
        db.sql("CREATE MATERIALIZED VIEW loud AS SELECT id, upper(s) AS u FROM t")
        db.sql("CREATE MATERIALIZED VIEW next AS SELECT id + 1 AS i FROM t")
        db.insert("t", [(1, "a")])
    monkeypatch.setattr(Sessions, "version", other)
    with Database(tmp_path / "w", spark=spark, engine="inproc") as db:
        with pytest.raises(
            StoreError, match=rf"loud was made with Spark {spark.version}, and this is Spark {other}, where Upper"
        ):
            db.insert("t", [(2, "b")])
        assert (db.table("loud").rows(), db.table("next").rows()) == ([(1, "A")], [(2,)])
        db.sql("DROP MATERIALIZED VIEW loud")
        db.insert("t", [(2, "b")])
        assert sorted(db.table("next").rows()) == [(2,), (3,)]


def test_a_golden_file_has_a_part_for_later_versions(tmp_path: Path) -> None:
    path = tmp_path / "q.sql"
    path.write_text("SELECT 1\n-- plan\nold\n-- plan from Spark 4.2: a reason\nnew\n")
    assert read_golden(path, "-- plan", "4.1.4").expected == "old\n"
    assert read_golden(path, "-- plan", "4.3.0").expected == "new\n"
    path.write_text("SELECT 1\n-- plan\nold\n-- plan from Spark 4.2\nnew\n")
    with pytest.raises(AssertionError, match="and why"):
        read_golden(path, "-- plan", "4.1.4")
