"""An S3 server on loopback, in a thread: one request at a time, counted, and failing when a test wants it to."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import boto3
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

Environ = dict[str, Any]
Fault = Callable[[Environ], "Answer | None"]


class Answer:
    """What a failing server says; it may have carried the request out nevertheless."""

    def __init__(self, status: str, code: str, *, after: bool = False) -> None:
        self.status, self.after = status, after
        self.body = f"<Error><Code>{code}</Code><Message>as the test wants it</Message></Error>".encode()


UNAVAILABLE = Answer("503 Slow Down", "SlowDown")
LOST = Answer("500 Internal Server Error", "InternalError", after=True)
"""The request was carried out, and the answer is an error all the same."""
DENIED = Answer("403 Forbidden", "InvalidAccessKeyId")


class S3Server:
    """Serves until `stop`."""

    def __init__(self) -> None:
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._app = DomainDispatcherApplication(create_backend_app)
        self._lock = threading.Lock()  # moto looks first and writes then: alone, it decides who creates an object
        self.fault: Fault = lambda environ: None
        self.requests: list[tuple[str, str]] = []
        self._server = make_server("127.0.0.1", 0, self, threaded=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        session = boto3.session.Session("somebody", "something", region_name="us-east-1")
        self.client = session.client("s3", endpoint_url=self.url)

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        self.requests.append((environ["REQUEST_METHOD"], environ["PATH_INFO"]))
        answer = self.fault(environ)
        if answer is not None and not answer.after:
            return _answer(answer, environ, start_response)
        with self._lock:
            if answer is None:
                return list(self._app(environ, start_response))
            list(self._app(environ, lambda *_: lambda _: None))
        return _answer(answer, environ, start_response)

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _answer(answer: Answer, environ: Environ, start_response: Callable[..., Any]) -> list[bytes]:
    if not answer.after:
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    start_response(answer.status, [("Content-Type", "application/xml"), ("Content-Length", str(len(answer.body)))])
    return [answer.body]


def failing(answer: Answer, times: int, method: str = "", path: str = "") -> Fault:
    """Fail so many requests, of a method, whose path holds a text."""
    left = [times]

    def fault(environ: Environ) -> Answer | None:
        meant = method in ("", environ["REQUEST_METHOD"]) and path in environ["PATH_INFO"]
        if not meant or not left[0]:
            return None
        left[0] -= 1
        return answer

    return fault


def slow(seconds: float) -> Fault:
    def fault(environ: Environ) -> None:
        time.sleep(seconds)

    return fault


def credentials(server: S3Server) -> dict[str, str]:
    """The environment that leads to a server."""
    return {
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": "something",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": server.url,
    }


class Bucket:
    """A bucket as the tests see it, beside what is tested."""

    def __init__(self, server: S3Server, name: str) -> None:
        self.server, self.name = server, name
        self._client = server.client
        self._client.create_bucket(Bucket=name)

    def names(self, prefix: str = "") -> list[str]:
        found = self._client.list_objects_v2(Bucket=self.name, Prefix=prefix).get("Contents", ())
        return [item["Key"] for item in found]

    def get(self, key: str) -> bytes:
        body: bytes = self._client.get_object(Bucket=self.name, Key=key)["Body"].read()
        return body

    def put(self, key: str, data: bytes) -> None:
        self._client.put_object(Bucket=self.name, Key=key, Body=data)

    def remove(self, key: str) -> None:
        self._client.delete_object(Bucket=self.name, Key=key)

    def flip(self, key: str, at: int) -> None:
        """Change one bit of an object."""
        data = bytearray(self.get(key))
        data[at] ^= 1 << (at % 8)
        self.put(key, bytes(data))
