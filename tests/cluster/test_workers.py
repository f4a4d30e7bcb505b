"""The Python of Spark's workers: nobody has to say which, and Viewlet gets there by itself."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, cast

import pytest

import viewlet
from viewlet.errors import WrongArgument

ROOT = Path(__file__).parents[2]


@pytest.mark.spark
@pytest.mark.slow
def test_a_local_session_needs_no_pyspark_python(tmp_path: Path) -> None:
    """The first `python3` on the path is none that could run a task."""
    broken = tmp_path / "bin" / "python3"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYSPARK_")}
    environment["PATH"] = f"{broken.parent}:{environment['PATH']}"
    command = [sys.executable, "-m", "tests.cluster.unnamed_python", str(tmp_path / "w")]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip() == "well"


class Context:
    """What a SparkContext of a cluster does with files for its workers."""

    master = "spark://somewhere:7077"
    pythonExec = "python3"

    def __init__(self) -> None:
        self.files: list[str] = []

    def addPyFile(self, path: str) -> None:
        """Spark's name for it."""
        self.files.append(path)


def test_the_package_is_sent_to_a_cluster_once() -> None:
    from viewlet.spark.session.workers import own_workers

    context = Context()
    for _ in range(2):
        with own_workers(cast(Any, context)):
            assert context.pythonExec == "python3", "the cluster knows its own"
    (packed,) = context.files
    with zipfile.ZipFile(packed) as package:
        names = set(package.namelist())
    package_folder = Path(viewlet.__file__).parent
    assert names == {str(file.relative_to(package_folder.parent)) for file in package_folder.rglob("*.py")}
    code = (
        f"import sys; sys.path.insert(0, {packed!r}); import viewlet.engine.cluster.stage_task as t; print(t.__file__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout.startswith(packed)


def test_a_session_of_spark_connect_is_refused(tmp_path: Path) -> None:
    remote = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(WrongArgument, match="Spark Connect session"):
        viewlet.connect(tmp_path / "w", spark=remote)
    assert not (tmp_path / "w").exists()
