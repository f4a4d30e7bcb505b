"""Versions of Spark: those that Viewlet works with, how others are refused, and what is new in later ones."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.goldens import read_golden
from viewlet.errors import UnsupportedSpark, ViewletError
from viewlet.spark.session import versions
from viewlet.spark.session.versions import FIRST, LAST, refuse_version, version_of

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


def test_a_golden_file_has_a_part_for_later_versions(tmp_path: Path) -> None:
    path = tmp_path / "q.sql"
    path.write_text("SELECT 1\n-- plan\nold\n-- plan from Spark 4.2: a reason\nnew\n")
    assert read_golden(path, "-- plan", "4.1.4").expected == "old\n"
    assert read_golden(path, "-- plan", "4.3.0").expected == "new\n"
    path.write_text("SELECT 1\n-- plan\nold\n-- plan from Spark 4.2\nnew\n")
    with pytest.raises(AssertionError, match="and why"):
        read_golden(path, "-- plan", "4.1.4")
