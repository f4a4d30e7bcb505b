"""The page's application: answers a browser's requests through the public surface of a `Database`."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from viewlet.errors import UnknownName, ViewletError
from viewlet.ui.cells import table_document
from viewlet.ui.graph_layout import HEIGHT, WIDTH, Drawing, layout
from viewlet.ui.guard import Guard
from viewlet.ui.permissions import Access
from viewlet.ui.watcher import Follower

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from viewlet.database import Database

STATIC = Path(__file__).parent / "static"
PAUSE, HEARTBEAT = 0.25, 15.0
"""Seconds between polls of the warehouse, and between heartbeats to a browser."""
MOST_ROWS = 500


def make_app(db: Database, access: Access) -> ASGIApp:
    """Make the application for a warehouse and its access rules."""
    shown = Shown(db, access)
    routes = [
        Route("/", lambda _: FileResponse(STATIC / "index.html")),
        Mount("/static", StaticFiles(directory=STATIC)),
        Route("/api/overview", shown.overview),
        Route("/api/epochs", shown.epochs),
        Route("/api/failures", shown.failures),
        Route("/api/node", shown.node),
        Route("/api/rows", shown.rows),
        Route("/api/changes", shown.changes),
        Route("/api/events", shown.events),
        Route("/api/query", shown.query, methods=["POST"]),
        Route("/api/refresh", shown.refresh, methods=["POST"]),
        Route("/api/check", shown.check, methods=["POST"]),
    ]
    handlers = {ViewletError: _error, HTTPException: _refusal}
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=shown.following)  # type: ignore[arg-type]
    return Guard(app, access)


def _error(_: Request, error: ViewletError) -> Response:
    """The response for an error of the user, with the hint as a separate field."""
    status = 404 if isinstance(error, UnknownName) else 400
    return JSONResponse({"error": error.message, "hint": error.hint, "kind": error.kind}, status)


def _refusal(_: Request, error: HTTPException) -> Response:
    return JSONResponse({"error": error.detail}, error.status_code)


class Shown:
    """The request handlers for a warehouse. Handlers that are not coroutines run in threads."""

    def __init__(self, db: Database, access: Access) -> None:
        self.db, self.access = db, access
        self.follower = Follower(db)
        self._acting = threading.Lock()
        self._drawn: tuple[Any, Drawing] = (None, Drawing({}, {}))

    @asynccontextmanager
    async def following(self, _: Starlette) -> AsyncIterator[None]:
        """Follow epochs also while no browser is connected, since the warehouse keeps fewer of them than the page."""
        watching = asyncio.create_task(self._watch())
        yield
        watching.cancel()

    async def _watch(self) -> None:
        while True:
            await run_in_threadpool(self.follower.catch_up)
            await asyncio.sleep(PAUSE)

    @property
    def now(self) -> Database:
        """The warehouse at its last committed epoch."""
        self.follower.catch_up()
        return self.db

    def overview(self, _: Request) -> Response:
        """The graph with its layout, and the visitor's permissions."""
        graph, failures = self.now.graph(), self.db.failures()
        drawing = self._drawing(graph)
        for node in graph["nodes"]:
            node["at"] = drawing.places[node["id"]]
        return JSONResponse(
            {
                **graph,
                "bends": [drawing.bends.get(edge, ()) for edge in graph["edges"]],
                "path": self.db.address,
                "engine": self.db.engine,
                "size": [WIDTH, HEIGHT],
                "may": {"write": self.access.write, "query": self.access.may_query},
                "failures": len(failures),
                "failed": [name for f in failures if f["epoch"] > graph["epoch"] for name in _blamed(f)],
            }
        )

    def _drawing(self, graph: dict[str, Any]) -> Drawing:
        """The layout of the graph, cached until its nodes or edges change."""
        names, edges = tuple(node["id"] for node in graph["nodes"]), graph["edges"]
        if self._drawn[0] != (names, edges):
            self._drawn = (names, edges), layout(names, edges)
        return self._drawn[1]

    def epochs(self, request: Request) -> Response:
        """Records of epochs, newest first."""
        self.follower.catch_up()
        asked = request.query_params
        before = _number(asked.get("before"))
        return JSONResponse(self.follower.page(before, _number(asked.get("most")) or 200, asked.get("name")))

    def failures(self, _: Request) -> Response:
        return JSONResponse(self.db.failures()[::-1])

    def node(self, request: Request) -> Response:
        return JSONResponse(self.now.describe(_name(request)))

    def rows(self, request: Request) -> Response:
        found = self.now.table(_name(request))
        return JSONResponse({**table_document(found.head(MOST_ROWS), MOST_ROWS), "total": len(found)})

    def changes(self, request: Request) -> Response:
        """The latest changes of a table or view, oldest first."""
        since = self.follower.catch_up() - (_number(request.query_params.get("epochs")) or 50)
        return JSONResponse(self.follower.changes(_name(request), since))

    async def events(self, request: Request) -> Response:
        """New epochs, and their changes of a table or view, as server-sent events."""
        name = request.query_params.get("name")
        since = _number(request.headers.get("last-event-id") or request.query_params.get("since"))
        return StreamingResponse(self._event_stream(request, name, since), media_type="text/event-stream")

    async def _event_stream(self, request: Request, name: str | None, since: int | None) -> AsyncIterator[str]:
        seen = await run_in_threadpool(self.follower.catch_up) if since is None else since
        silent = 0.0
        yield ": here\n\n"
        while not await request.is_disconnected():
            now = self.follower.epoch
            if now > seen:
                yield _event("epochs", self.follower.since(seen), now)
                if name is not None:
                    yield _event("changes", await run_in_threadpool(self.follower.changes, name, seen), now)
                seen, silent = now, 0.0
            elif silent >= HEARTBEAT:
                yield ": still here\n\n"
                silent = 0.0
            await asyncio.sleep(PAUSE)
            silent += PAUSE

    async def query(self, request: Request) -> Response:
        """Run a statement. A page without write permission has a read-only warehouse, which refuses changes."""
        if not self.access.may_query:
            raise HTTPException(403, "this page answers no queries: start it with --write")
        text = str((await request.json()).get("sql", ""))
        return await self._act(lambda: self._asked(text))

    def _asked(self, text: str) -> Any:
        result = self.now.sql(text)
        return table_document(result, MOST_ROWS) if isinstance(result, pa.Table) else {"text": _shown(result)}

    async def refresh(self, request: Request) -> Response:
        """Read the source of a table, or rebuild a view."""
        self._need_write()
        name = _name(request)
        return await self._act(lambda: {"epochs": self._refreshed(name)})

    def _refreshed(self, name: str) -> list[int]:
        return [self.db.rebuild(name)] if name in self.db.views else self.db.read_sources(name)

    async def check(self, request: Request) -> Response:
        """Compare a view with its recomputation by Spark SQL."""
        self._need_write()
        name = _name(request)
        return await self._act(lambda: table_document(self.db.check(name), MOST_ROWS))

    def _need_write(self) -> None:
        if not self.access.write:
            raise HTTPException(403, "this page is read-only: start it with --write")

    async def _act(self, action: Callable[[], Any]) -> Response:
        """Run a long action, one at a time."""

        def alone() -> Any:
            with self._acting:
                return action()

        return JSONResponse(await run_in_threadpool(alone))


def _blamed(failure: dict[str, Any]) -> list[str]:
    """The view that failed, and the table or view with the row at fault."""
    return [name for name in (failure["view"], failure["table"].partition(" ")[2]) if name]


def _event(kind: str, document: Any, epoch: int) -> str:
    """A server-sent event; a browser that reconnects resumes after the epoch of the last one."""
    return f"id: {epoch}\nevent: {kind}\ndata: {json.dumps(document)}\n\n"


def _shown(result: Any) -> str:
    if isinstance(result, int) and not isinstance(result, bool):
        return f"epoch {result}"
    return "done" if result is None else str(result)


def _name(request: Request) -> str:
    name = request.query_params.get("name")
    if not name:
        raise HTTPException(400, "the request names no table or view")
    return name


def _number(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal():
        raise HTTPException(400, f"{text[:20]!r} is no number")
    return int(text)
