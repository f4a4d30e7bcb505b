"""The Python of Spark's workers: on one machine the caller's own; on a cluster the installed one, to which Viewlet
is sent.
"""

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
"""What PySpark starts where nobody says which Python: the first one on the path, whatever it has installed."""
_supplied: WeakSet[SparkContext] = WeakSet()
_naming = Lock()
_named: WeakKeyDictionary[SparkContext, tuple[int, str]] = WeakKeyDictionary()
"""How many blocks have named the Python of a context's workers, in all threads, and what it was before the first."""


@contextmanager
def own_workers(context: SparkContext) -> Iterator[None]:
    """Let what is sent to Spark inside of the block find Viewlet where it runs; the caller's context stays as it is."""
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
    """The package in a ZIP file, named after its contents: workers may have another one from an earlier job."""
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
    """A folder that goes with this process."""
    return tempfile.TemporaryDirectory(prefix="viewlet-package-")
