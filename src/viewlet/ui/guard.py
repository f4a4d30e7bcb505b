"""Checks every request by the rules of `Access`, and adds headers that restrict the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from viewlet.ui.permissions import Access

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Guard:
    """An ASGI middleware."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        answer = self._answer(Request(scope))
        await (self.app if answer is None else answer)(scope, receive, with_headers)

    def _answer(self, request: Request) -> Response | None:
        """The response in place of the application's, if any: a refusal, or a cookie for a visitor with the token."""
        cookie, asked = f"viewlet_{request.url.port}", request.query_params.get("token")
        refusal = self.access.refusal(request.method, request.headers, request.cookies.get(cookie), asked)
        if refusal is not None:
            return JSONResponse({"error": refusal.reason}, refusal.status)
        if asked is None or self.access.token is None:
            return None
        moved = RedirectResponse(request.url.path, 303)  # removes the token from the address bar and the history
        moved.set_cookie(cookie, asked, httponly=True, samesite="strict")
        return moved
