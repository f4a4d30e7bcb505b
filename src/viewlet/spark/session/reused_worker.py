"""Work that a Python worker of Spark need not repeat for every task.

Before each task PySpark invalidates Python's import caches, so Python rereads the directory of PySpark's own archive
for each of its packages. After each task it collects garbage among everything ever imported. Together that takes longer
than most tasks of an epoch.
"""

from __future__ import annotations

import gc
import os
import sys
from zipimport import zipimporter

_IN_WORKER = "SPARK_REUSE_WORKER"
"""Set by Spark in workers that serve several tasks."""
_modules = 0
"""The number of modules loaded when objects were last frozen."""


def settle() -> None:
    """Spare later tasks in this worker repeated work; called when a task begins."""
    global _modules
    if _IN_WORKER not in os.environ:
        return
    for importer in list(sys.path_importer_cache.values()):
        if isinstance(importer, zipimporter) and "invalidate_caches" not in vars(importer):
            read_only_if_changed(importer)
    if len(sys.modules) > _modules:
        _modules = len(sys.modules)
        gc.freeze()  # garbage was collected just before: what is left are modules, which stay


def read_only_if_changed(importer: zipimporter) -> None:
    """Let an importer reread the directory of its archive only if the archive has changed."""
    read, seen = importer.invalidate_caches, _version(importer.archive)

    def invalidate() -> None:
        nonlocal seen
        if (now := _version(importer.archive)) != seen or now is None:
            seen = now
            read()

    importer.invalidate_caches = invalidate  # type: ignore[method-assign]


def _version(archive: str) -> tuple[int, int, int] | None:
    """The identity and version of an archive; None if it does not exist."""
    try:
        found = os.stat(archive)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
