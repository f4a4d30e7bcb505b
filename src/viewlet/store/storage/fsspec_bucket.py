"""Object stores through fsspec: put-if-absent is a `pipe_file` in mode "create".

Only file systems whose server decides who creates an object are accepted: others check first and write then, and two
writers can pass each other.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from viewlet.errors import StoreError
from viewlet.extras import needed
from viewlet.store.storage.storage import Entry

EXTRAS = {"gs": "gs", "gcs": "gs", "abfs": "azure", "abfss": "azure", "az": "azure", "memory": ""}
"""The accepted schemes, and the extra to install for each; memory is for experiments in one process."""
_PACKAGES = {"gs": "gcsfs", "azure": "adlfs", "": "fsspec"}
_OWN_ERRORS = {
    "gs": (("gcsfs.retry", "HttpError"), ("aiohttp", "ClientError")),
    "azure": (("azure.core.exceptions", "AzureError"), ("aiohttp", "ClientError")),
    "": (),
}
"""Errors of the libraries that are not OSErrors."""
_TIMES = ("mtime", "LastModified", "last_modified", "updated", "created")


class FsspecBucket:
    """The objects below a path of an fsspec file system."""

    def __init__(self, scheme: str, path: str, settings: Mapping[str, Any]) -> None:
        self._files = _file_system(scheme, settings)
        self._root = self._files._strip_protocol(f"{scheme}://{path}").rstrip("/")
        self._own = tuple(getattr(import_module(module), name) for module, name in _OWN_ERRORS[EXTRAS[scheme]])

    def get(self, key: str) -> bytes:
        with self._errors():
            return bytes(self._files.cat_file(self._at(key)))

    def fetch(self, key: str, path: Path) -> None:
        with self._errors():
            self._files.get_file(self._at(key), str(path))

    def put(self, key: str, data: bytes | Path) -> None:
        with self._errors():
            if isinstance(data, bytes):
                self._files.pipe_file(self._at(key), data)
            else:
                self._files.put_file(str(data), self._at(key))

    def create(self, key: str, data: bytes) -> None:
        with self._errors():
            self._files.pipe_file(self._at(key), data, mode="create")

    def list(self, prefix: str, after: str = "") -> dict[str, Entry]:
        with self._errors():
            self._files.invalidate_cache()
            try:
                found = self._files.find(self._at(prefix.rpartition("/")[0]).rstrip("/"), detail=True)
            except FileNotFoundError:
                return {}
        entries = {path.removeprefix(f"{self._root}/"): _entry(info) for path, info in found.items()}
        return {key: entries[key] for key in sorted(entries) if key.startswith(prefix) and key > after}

    def remove(self, keys: Sequence[str]) -> None:
        for key in keys:
            with self._errors(), suppress(FileNotFoundError):
                self._files.rm_file(self._at(key))

    def _at(self, key: str) -> str:
        return f"{self._root}/{key}"

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, FileExistsError, PermissionError, ConnectionError, TimeoutError):
            raise
        except (OSError, *self._own) as error:
            raise ConnectionError(str(error)) from error


def _entry(info: Mapping[str, Any]) -> Entry:
    said = next((info[name] for name in _TIMES if info.get(name)), 0.0)
    if isinstance(said, str):
        said = datetime.fromisoformat(said)
    return Entry(info["size"], said.timestamp() if isinstance(said, datetime) else float(said))


def _file_system(scheme: str, settings: Mapping[str, Any]) -> Any:
    extra = EXTRAS[scheme]
    package = needed(_PACKAGES[extra], extra or "gs")
    files = needed("fsspec", extra or "gs").filesystem(scheme, **settings)
    create = getattr(files, "_pipe_file", files.pipe_file)
    if "mode" not in inspect.signature(create).parameters:
        raise StoreError(
            f"{package.__name__} {package.__version__} has no put-if-absent", hint=f"pip install -U {package.__name__}"
        )
    return files
