"""Serves the page, in a thread or until the process is interrupted.

The law: a page without write permission has a read-only warehouse of its own, so no request can change anything.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote

from viewlet.errors import StoreError
from viewlet.extras import needed
from viewlet.ui.permissions import Access

if TYPE_CHECKING:
    import uvicorn

    from viewlet.database import Database


class Page:
    """A served page. Use it as a context manager, or `close` it."""

    def __init__(self, server: uvicorn.Server, bound: socket.socket, access: Access, own: Database | None) -> None:
        self._server, self._bound, self._access, self._own = server, bound, access, own
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The URL for a browser, with the token if there is one."""
        host, port = self._bound.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{port}/" + (f"?token={quote(self._access.token)}" if self._access.token else "")

    def run(self) -> None:
        """Serve until the process is interrupted."""
        with contextlib.closing(self._bound), self._own or contextlib.nullcontext():
            self._server.run(sockets=[self._bound])

    def start(self) -> Page:
        """Serve from a thread."""
        self._thread = threading.Thread(target=self.run, name="viewlet-ui", daemon=True)
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.005)
        return self

    def close(self) -> None:
        """Stop serving; open requests get a second to finish."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<page {self.url}>"


def page(
    db: Database, host: str, port: int, *, write: bool, token: str | None = None, names: Iterable[str] = ()
) -> Page:
    """Make a page, bound to its address but not served yet."""
    needed("starlette", "ui")
    uvicorn = needed("uvicorn", "ui")
    from viewlet.database import connect
    from viewlet.ui.app import make_app

    if write and db.read_only:
        raise StoreError(f"{db.address} is open for reading only", hint="open it for writing, or leave out `write`")
    access = Access.of(host, write=write, token=token, names=frozenset(names))
    bound = _bind(host, port)
    shown = db if write or db.read_only else connect(db.address, read_only=True)
    app = make_app(shown, access)
    # No log configuration: uvicorn's default would enable loggers that the caller has disabled.
    config = uvicorn.Config(app, log_config=None, log_level="warning", timeout_graceful_shutdown=1, server_header=False)
    return Page(uvicorn.Server(config), bound, access, None if shown is db else shown)


def serve(
    db: Database, host: str, port: int, *, write: bool, token: str | None = None, names: Iterable[str] = ()
) -> Page:
    """Make a page and serve it from a thread."""
    return page(db, host, port, write=write, token=token, names=names).start()


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise StoreError(
            f"the page cannot be served at {host}:{port}: {error.strerror}", hint="choose another --port"
        ) from error
    return bound
