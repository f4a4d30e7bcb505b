"""S3 and compatible stores, through boto3: put-if-absent is a PUT with If-None-Match.

Credentials, region and endpoint come from where boto3 looks for them: the environment, its configuration files, the
machine's role. None of them is stored.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from functools import cache
from pathlib import Path
from typing import Any

from viewlet.errors import StoreError
from viewlet.extras import needed
from viewlet.store.storage.storage import Entry

_CONNECTIONS = 32
_REMOVED_AT_ONCE = 1_000
_PASSING = {408, 409, 429}
"""Statuses below 500 for which a retry may succeed; 409 results from concurrent requests."""


class S3Bucket:
    """The objects of an S3 bucket below a prefix."""

    def __init__(self, name: str, prefix: str, settings: Mapping[str, str]) -> None:
        self._client = _client(settings)
        self._name, self._prefix = name, f"{prefix}/" if prefix else ""
        self._ahead = 0.0  # seconds by which the server's clock is ahead of this machine's

    def get(self, key: str) -> bytes:
        with _errors():
            body: bytes = self._client.get_object(Bucket=self._name, Key=self._prefix + key)["Body"].read()
            return body

    def fetch(self, key: str, path: Path) -> None:
        with _errors(), open(path, "wb") as file:
            body = self._client.get_object(Bucket=self._name, Key=self._prefix + key)["Body"]
            for piece in body.iter_chunks(1 << 20):
                file.write(piece)

    def put(self, key: str, data: bytes | Path) -> None:
        with _errors():
            if isinstance(data, bytes):
                self._client.put_object(Bucket=self._name, Key=self._prefix + key, Body=data)
                return
            with open(data, "rb") as file:
                self._client.put_object(Bucket=self._name, Key=self._prefix + key, Body=file)

    def create(self, key: str, data: bytes) -> None:
        with _errors():
            self._client.put_object(Bucket=self._name, Key=self._prefix + key, Body=data, IfNoneMatch="*")

    def list(self, prefix: str, after: str = "") -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        start = {"StartAfter": self._prefix + after} if after else {}
        pages = self._client.get_paginator("list_objects_v2")
        with _errors():
            for page in pages.paginate(Bucket=self._name, Prefix=self._prefix + prefix, **start):
                self._set_clock(page)
                for item in page.get("Contents", ()):
                    written = item["LastModified"].timestamp() - self._ahead
                    found[item["Key"].removeprefix(self._prefix)] = Entry(item["Size"], written)
        return found

    def _set_clock(self, response: Mapping[str, Any]) -> None:
        said = response["ResponseMetadata"]["HTTPHeaders"].get("date")
        if said is not None:
            self._ahead = parsedate_to_datetime(said).timestamp() - time.time()

    def remove(self, keys: Sequence[str]) -> None:
        for start in range(0, len(keys), _REMOVED_AT_ONCE):
            some = [{"Key": self._prefix + key} for key in keys[start : start + _REMOVED_AT_ONCE]]
            with _errors():
                answer = self._client.delete_objects(Bucket=self._name, Delete={"Objects": some, "Quiet": True})
            for failure in answer.get("Errors", ()):
                raise OSError(f"{failure['Key']}: {failure.get('Message')} ({failure.get('Code')})")


def _client(settings: Mapping[str, str]) -> Any:
    boto3 = needed("boto3", "s3")
    import botocore.session
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    once = Config(
        retries={"total_max_attempts": 1},
        max_pool_connections=_CONNECTIONS,
        connect_timeout=10,
        request_checksum_calculation="when_required",  # files have our own checksums, and some servers know no others
        response_checksum_validation="when_required",
    )
    try:
        session = botocore.session.get_session()
        session.register_component("data_loader", _loader())
        return boto3.session.Session(botocore_session=session).client("s3", config=once, **settings)
    except (BotoCoreError, ValueError) as reason:
        raise StoreError(
            f"S3 cannot be used: {reason}", hint="see AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL"
        ) from reason


@cache
def _loader() -> Any:
    """The loader of S3's protocol description, shared by all clients: loading takes longer than all the rest."""
    from botocore.loaders import create_loader

    return create_loader()


@contextmanager
def _errors() -> Iterator[None]:
    """Raises boto3's errors as errors of files."""
    from botocore import exceptions as boto

    try:
        yield
    except boto.ClientError as error:
        raise _error_of(error.response) from error
    except (boto.NoCredentialsError, boto.PartialCredentialsError, boto.TokenRetrievalError) as error:
        raise PermissionError(str(error)) from error
    except (boto.HTTPClientError, boto.ConnectionError, boto.IncompleteReadError) as error:
        raise ConnectionError(str(error)) from error
    except boto.BotoCoreError as error:
        raise OSError(str(error)) from error


def _error_of(response: Mapping[str, Any]) -> OSError:
    status, said = response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]
    text = f"{said.get('Message') or 'no message'} ({said.get('Code')})"
    if said.get("Code") == "NoSuchBucket":
        return OSError(f"there is no such bucket {text}")
    if status in (401, 403):
        return PermissionError(text)
    if status in _PASSING or status >= 500:
        return ConnectionError(text)
    return {404: FileNotFoundError, 412: FileExistsError}.get(status, OSError)(text)
