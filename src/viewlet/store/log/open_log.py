"""Choosing the log for a storage."""

from __future__ import annotations

from viewlet.store.limits import Limits
from viewlet.store.log.commit_log import CommitLog
from viewlet.store.log.folder.folder_log import FolderLog
from viewlet.store.log.objects.object_log import ObjectLog
from viewlet.store.storage.objects import Objects
from viewlet.store.storage.storage import Storage


def log_of(storage: Storage, limits: Limits) -> CommitLog:
    """The log of a warehouse: one object per record in an object store, segment files in a folder."""
    return ObjectLog(storage, limits.lease_seconds) if isinstance(storage, Objects) else FolderLog(storage.root)
