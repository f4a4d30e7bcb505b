"""What a Python worker of Spark's need not do again for every task.

Before each task PySpark drops what Python knows of files that could be imported: Python then reads the directory of
PySpark's own archive once more for each of its packages. After each task it collects garbage, among all that was ever
imported. Together that takes longer than most of an epoch's tasks.
"""

from __future__ import annotations

import gc
import os
import sys
from zipimport import zipimporter

_IN_WORKER = "SPARK_REUSE_WORKER"
"""What Spark sets where its workers serve one task after the other."""
_modules = 0
"""How many modules were loaded when what is there was last set apart."""


def settle() -> None:
    """Spare the tasks that follow in this worker what changes nothing; called where a task begins."""
    global _modules
    if _IN_WORKER not in os.environ:
        return
    for importer in list(sys.path_importer_cache.values()):
        if isinstance(importer, zipimporter) and "invalidate_caches" not in vars(importer):
            read_only_if_changed(importer)
    if len(sys.modules) > _modules:
        _modules = len(sys.modules)
        gc.freeze()  # garbage was collected a moment ago: what is left are modules, which stay


def read_only_if_changed(importer: zipimporter) -> None:
    """Let an importer read the directory of its archive again only if the archive is another one."""
    read, seen = importer.invalidate_caches, _version(importer.archive)

    def invalidate() -> None:
        nonlocal seen
        if (now := _version(importer.archive)) != seen or now is None:
            seen = now
            read()

    importer.invalidate_caches = invalidate  # type: ignore[method-assign]


def _version(archive: str) -> tuple[int, int, int] | None:
    """What tells an archive from another one in its place; None if there is none."""
    try:
        found = os.stat(archive)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
