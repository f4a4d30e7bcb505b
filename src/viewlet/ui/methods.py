"""The method of `Database` that serves the page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from viewlet.database import Database
    from viewlet.ui.server import Page


class UiMethods:
    """Showing the warehouse."""

    def ui(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        write: bool = False,
        token: str | None = None,
        names: Iterable[str] = (),
    ) -> Page:
        """Serve the page from a thread, until the page is closed or the process ends; `page.url` is its address.

        `port`: 0 takes a free one. `write`: let visitors run statements, refresh and check. Beyond loopback a token is
        required, which is part of the address; `names`: further host names by which visitors may reach the page.
        """
        from viewlet.ui.server import serve

        return serve(cast("Database", self), host, port, write=write, token=token, names=names)
