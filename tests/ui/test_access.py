"""Who may ask the page for what: every refusal, by requests that a browser would not send, or be made to send."""

from __future__ import annotations

import http.client
import json
import logging
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import viewlet
from viewlet.errors import StoreError, WrongArgument
from viewlet.ui.server import Page

TOKEN = "a token that nobody guesses"
Answer = tuple[int, dict[str, str], Any]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("orders", "id BIGINT, total BIGINT", primary_key="id")
        db.insert("orders", [(1, 10), (2, 20)])
        yield db


def ask(
    page: Page, path: str, headers: Mapping[str, str] | None = None, *, method: str = "GET", body: Any = None
) -> Answer:
    """One request, with just these headers; `Host` is the page's unless it is among them."""
    address = urlsplit(page.url)
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=30)
    connection.request(method, path, json.dumps(body) if body is not None else None, dict(headers or {}))
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), json.loads(text) if text.startswith((b"{", b"[")) else text


def origin(page: Page) -> dict[str, str]:
    return {"Origin": f"http://127.0.0.1:{urlsplit(page.url).port}"}


@pytest.fixture
def page(db: viewlet.Database) -> Iterator[Page]:
    with db.ui() as page:
        yield page


@pytest.fixture
def owned(db: viewlet.Database) -> Iterator[Page]:
    with db.ui(write=True) as page:
        yield page


@pytest.fixture
def beyond(db: viewlet.Database) -> Iterator[Page]:
    with db.ui(host="0.0.0.0", token=TOKEN) as page:
        yield page


def test_the_page_is_on_loopback_unless_asked(page: Page) -> None:
    assert urlsplit(page.url).hostname == "127.0.0.1"
    assert ask(page, "/api/overview")[0] == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1", ""])
def test_a_foreign_host_is_refused(page: Page, host: str) -> None:
    for path in ("/", "/static/app.js", "/api/overview", "/api/events"):
        assert ask(page, path, {"Host": host})[0] == 421


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1234", "[::1]:80"])
def test_names_of_this_machine_are_not_foreign(page: Page, host: str) -> None:
    assert ask(page, "/api/overview", {"Host": host})[0] == 200


@pytest.mark.parametrize("foreign", ["https://evil.example", "null", "http://localhost:1", "http://127.0.0.1"])
def test_a_foreign_origin_is_refused(owned: Page, foreign: str) -> None:
    assert ask(owned, "/api/overview", {"Origin": foreign})[0] == 403
    assert ask(owned, "/api/refresh?name=orders", {"Origin": foreign}, method="POST")[0] == 403


def test_an_act_without_an_origin_is_refused(owned: Page) -> None:
    assert ask(owned, "/api/refresh?name=orders", method="POST")[0] == 403
    assert ask(owned, "/api/query", {}, method="POST", body={"sql": "SHOW TABLES"})[0] == 403


def test_beyond_loopback_a_token_is_needed(beyond: Page) -> None:
    for path in ("/", "/static/app.js", "/api/overview", "/api/rows?name=orders", "/api/events"):
        assert ask(beyond, path)[0] == 401
        assert ask(beyond, path, {"Authorization": f"Bearer {TOKEN}x"})[0] == 401
    assert ask(beyond, "/?token=wrong")[0] == 401
    assert ask(beyond, "/api/overview", {"Authorization": f"Bearer {TOKEN}"})[0] == 200


def test_a_token_becomes_a_cookie_and_leaves_the_address(beyond: Page) -> None:
    status, headers, _ = ask(beyond, f"/?{urlsplit(beyond.url).query}")
    assert (status, headers["location"]) == (303, "/")
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert ask(beyond, "/", {"Cookie": cookie.split(";")[0]})[0] == 200


def test_beyond_loopback_a_name_is_foreign_unless_given(db: viewlet.Database, beyond: Page) -> None:
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    assert ask(beyond, "/api/overview", {**bearer, "Host": "shop.example"})[0] == 421
    with db.ui(host="0.0.0.0", token=TOKEN, names=["shop.example"]) as page:
        assert ask(page, "/api/overview", {**bearer, "Host": "shop.example"})[0] == 200


def test_beyond_loopback_there_is_always_a_token(db: viewlet.Database) -> None:
    with db.ui(host="0.0.0.0") as page:
        assert len(urlsplit(page.url).query.removeprefix("token=")) >= 24
        assert ask(page, "/api/overview")[0] == 401
    with pytest.raises(WrongArgument, match="too short"):
        db.ui(host="0.0.0.0", token="x" * 15)
    db.ui(host="0.0.0.0", token="x" * 16).close()


def test_beyond_loopback_queries_are_refused_unless_asked(beyond: Page) -> None:
    headers = {**origin(beyond), "Authorization": f"Bearer {TOKEN}"}
    status, _, found = ask(beyond, "/api/query", headers, method="POST", body={"sql": "SELECT 1"})
    assert status == 403
    assert "--write" in found["error"]


@pytest.mark.parametrize("path", ["/api/refresh?name=orders", "/api/check?name=orders"])
def test_a_read_only_page_refuses_to_act(page: Page, path: str) -> None:
    status, _, found = ask(page, path, origin(page), method="POST")
    assert (status, "read-only" in found["error"]) == (403, True)


@pytest.mark.parametrize(
    "statement",
    ["DROP TABLE orders", "/* SELECT */ DROP TABLE orders", "CREATE TABLE t (a INT)", "ALTER TABLE orders RENAME TO o"],
)
def test_a_read_only_page_refuses_statements_that_write(db: viewlet.Database, page: Page, statement: str) -> None:
    status, _, found = ask(page, "/api/query", origin(page), method="POST", body={"sql": statement})
    assert (status, "reading only" in found["error"]) == (400, True)
    assert db.tables == ("orders",)


def test_who_may_write_runs_statements(db: viewlet.Database, owned: Page) -> None:
    sql = {"sql": "CREATE TABLE t (a INT)"}
    assert ask(owned, "/api/query", origin(owned), method="POST", body=sql)[0] == 200
    assert db.tables == ("orders", "t")


def test_a_page_that_writes_needs_a_warehouse_that_does(tmp_path: Path, db: viewlet.Database) -> None:
    with viewlet.connect(db.path, read_only=True) as reader, pytest.raises(StoreError, match="reading only"):
        reader.ui(write=True)


def test_nothing_from_elsewhere_runs_in_the_page(page: Page) -> None:
    for path in ("/", "/api/overview", "/static/nothing"):
        headers = {name.lower(): value for name, value in ask(page, path)[1].items()}
        assert "default-src 'none'; script-src 'self'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py"])
def test_only_the_page_s_own_files_are_served(page: Page, path: str) -> None:
    assert ask(page, path)[0] == 404


def test_the_page_fetches_nothing_from_elsewhere() -> None:
    static = Path(viewlet.__file__).parent / "ui" / "static"
    texts = {file.name: file.read_text(encoding="utf-8") for file in static.iterdir()}
    assert {"index.html", "app.js", "style.css"} <= texts.keys()
    own = ("http://www.w3.org/2000/svg",)
    outside = {
        name
        for name, text in texts.items()
        for own_name in own
        if "//" in text.replace(own_name, "") and _fetches(text.replace(own_name, ""))
    }
    assert not outside


def _fetches(text: str) -> bool:
    return any(scheme in text for scheme in ("http://", "https://", "@import", 'src="//', 'href="//'))


def test_a_closed_page_gives_its_port_back(db: viewlet.Database) -> None:
    page = db.ui()
    port = urlsplit(page.url).port
    page.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port or 0), timeout=5)
    with db.ui(port=port or 0) as again:
        assert urlsplit(again.url).port == port


def test_a_port_that_is_taken_is_one_clear_error(db: viewlet.Database, page: Page) -> None:
    with pytest.raises(StoreError, match="cannot be served at"):
        db.ui(port=urlsplit(page.url).port or 0)


def test_loggers_of_the_caller_stay_as_they_were(db: viewlet.Database) -> None:
    quiet = logging.getLogger("tests.ui.quiet")
    quiet.disabled = True
    root = list(logging.getLogger().handlers)
    with db.ui():
        assert quiet.disabled
        assert logging.getLogger().handlers == root
