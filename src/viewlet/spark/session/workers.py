"""The Python of Spark's workers: the caller's own on one machine; on a cluster the installed one, plus Viewlet."""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from weakref import WeakKeyDictionary, WeakSet
from zipfile import ZipFile

from pyspark import SparkContext

import viewlet

UNNAMED = "python3"
"""PySpark's default if no Python is configured: the first one on the path, whatever it has installed."""
_supplied: WeakSet[SparkContext] = WeakSet()
_naming = Lock()
_named: WeakKeyDictionary[SparkContext, tuple[int, str]] = WeakKeyDictionary()
"""For each context, how many blocks in all threads have set its workers' Python, and its value before the first."""


@contextmanager
def own_workers(context: SparkContext) -> Iterator[None]:
    """Make Viewlet importable for tasks in the block; the caller's context is restored afterwards."""
    if not str(context.master).startswith("local"):
        supply(context)
        yield
        return
    with _naming:
        count, before = _named.get(context, (0, context.pythonExec))
        _named[context] = count + 1, before
        if before == UNNAMED:
            context.pythonExec = sys.executable
    try:
        yield
    finally:
        with _naming:
            count, before = _named.pop(context)
            if count > 1:
                _named[context] = count - 1, before
            else:
                context.pythonExec = before


def supply(context: SparkContext) -> None:
    """Send the package to the workers of a cluster, once."""
    if context not in _supplied:
        context.addPyFile(str(_packed()))
        _supplied.add(context)


@cache
def _packed() -> Path:
    """The package as a ZIP file, named by its contents since workers may still have one from an earlier job."""
    source = Path(viewlet.__file__).parent
    files = sorted(source.rglob("*.py"))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
    packed = Path(_folder().name) / f"viewlet-{digest}.zip"
    with ZipFile(packed, "w") as out:
        for file in files:
            out.write(file, file.relative_to(source.parent))
    return packed


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """A folder that is removed with this process."""
    return tempfile.TemporaryDirectory(prefix="viewlet-package-")
