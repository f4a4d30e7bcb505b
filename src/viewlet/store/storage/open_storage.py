"""The storage at an address: the same for the writer, for readers, and for tasks in other processes."""

from __future__ import annotations

import os
from collections.abc import Mapping

from viewlet.errors import StoreError
from viewlet.store.location import locate, split_url
from viewlet.store.storage.bucket import Bucket, PatientBucket
from viewlet.store.storage.folder import Folder
from viewlet.store.storage.fsspec_bucket import EXTRAS, FsspecBucket
from viewlet.store.storage.objects import Objects
from viewlet.store.storage.s3 import S3Bucket
from viewlet.store.storage.storage import Storage

Address = str | os.PathLike[str]
_S3 = {"s3", "s3a", "s3n"}
_opened: dict[str, Objects] = {}
"""Object stores opened by this process, by address: tasks reuse them, since each has its own connections."""


def storage_at(address: Address) -> Storage:
    """The storage at a path or URL, as last opened by this process."""
    url = split_url(address)
    if url is None:
        return Folder(locate(address))
    return _opened.get("://".join(url)) or open_storage(address)


def open_storage(address: Address, settings: Mapping[str, str] | None = None) -> Storage:
    """The storage at a path or URL, opened anew with the current environment and some settings."""
    url = split_url(address)
    if url is None:
        return Folder(locate(address))
    name = "://".join(url)
    _opened[name] = Objects(name, PatientBucket(_bucket(*url, settings or {})))
    return _opened[name]


def _bucket(scheme: str, path: str, settings: Mapping[str, str]) -> Bucket:
    if scheme in _S3:
        name, _, prefix = path.partition("/")
        return S3Bucket(name, prefix, settings)
    if scheme in EXTRAS:
        return FsspecBucket(scheme, path, settings)
    raise StoreError(
        f"a warehouse cannot be at {scheme}://{path}: there is no put-if-absent for {scheme}",
        hint="name a local folder, or an address that begins with s3://, gs:// or abfs://",
    )
