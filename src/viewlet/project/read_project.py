"""Loads a project: imports its Python files and parses its SQL files, without evaluating queries."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from viewlet.errors import ProjectError
from viewlet.plan.words import quoted
from viewlet.project.auto_cdc import AutoCdc, Columns
from viewlet.project.definitions import Dataset, Definitions, Query
from viewlet.project.spec import Spec
from viewlet.project.statements import SqlFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from viewlet.spark.project_session import ProjectSession


def load(spec: Spec, definitions: Definitions, session: ProjectSession, spark: SparkSession) -> None:
    """Read the definitions from a project's files."""
    from viewlet.spark.project_registry import registering

    files = spec.files()
    if not files:
        raise ProjectError(f"project {spec.name} has no .py or .sql file", hint=f"libraries: {', '.join(spec.globs)}")
    code = hashlib.sha256()
    with inside(spec.root), registering(_Registration(definitions)):
        for path in files:
            if path.suffix == ".sql":
                SqlFile(path.relative_to(spec.root), definitions, {}).read()
            else:
                code.update(path.read_bytes())
                with session.theirs():
                    _import(path, spark)
    definitions.code = code.hexdigest()
    definitions.check()


@contextmanager
def inside(root: Path) -> Iterator[None]:
    """Make paths and imports of a project's code relative to its folder."""
    before = os.getcwd()
    os.chdir(root)
    sys.path.insert(0, str(root))
    try:
        yield
    finally:
        sys.path.remove(str(root))
        os.chdir(before)


def _import(path: Path, spark: SparkSession) -> None:
    """Run a Python file of definitions, with the global `spark`, as in Spark 4.2."""
    found = importlib.util.spec_from_file_location(path.stem, path)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    module.__dict__["spark"] = spark
    found.loader.exec_module(module)


class _Registration:
    """Turns the registrations of decorators into definitions."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions

    def output(self, kind: Any, name: str, where: str, schema: Any, format: str, options: Any) -> None:
        plain = self._definitions.plain(name, where)
        self._definitions.add(Dataset(plain, kind, where, schema, format, options))

    def auto_cdc(self, name: str, target: str, source: str, where: str, given: Any) -> None:
        plain = self._definitions.plain
        stream = ".".join(quoted(part) for part in source.split("."))
        given |= {key: Columns(*given[key]) for key in ("columns", "tracked") if key in given}
        flow = AutoCdc(plain(name, where), plain(target, where), f"STREAM {stream}", where=where, **given)
        self._definitions.add_auto_cdc(flow)

    def flow(self, name: str, target: str, function: Any, where: str, settings: Any) -> None:
        plain = self._definitions.plain
        self._definitions.add_query(Query(plain(name, where), plain(target, where), function, where, settings))
