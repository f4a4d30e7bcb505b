"""Access control of the page.

The law: on loopback the page belongs to its user; beyond it, every request needs the token, and queries need `write`,
too, since Spark SQL can call any Java method. Other sites must not act through a visitor's browser: the Host of every
request must be one of the page's names, which prevents DNS rebinding, and so must the Origin of requests that act.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from viewlet.errors import WrongArgument

_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a request is refused."""

    status: int
    reason: str


@dataclass(frozen=True, slots=True)
class Access:
    """The host names of the page, and the permissions of visitors."""

    host: str
    write: bool = False
    token: str | None = None
    names: frozenset[str] = frozenset()
    """Further host names, such as those that a proxy forwards."""

    @staticmethod
    def of(host: str, *, write: bool, token: str | None, names: frozenset[str] = frozenset()) -> Access:
        """The access rules for an address; beyond loopback with a token, generated if none is given."""
        if token is not None and len(token) < 16:
            raise WrongArgument("the token is too short to be safe", hint="give 16 characters or more, or none")
        if token is None and not is_loopback(host):
            token = secrets.token_urlsafe(24)
        return Access(host, write, token, names)

    @property
    def may_query(self) -> bool:
        return self.write or is_loopback(self.host)

    def refusal(self, method: str, headers: Mapping[str, str], cookie: str | None, asked: str | None) -> Refusal | None:
        """The reason to refuse a request, or None; `asked` is the token in its URL."""
        if not self._is_ours(headers.get("host", "")):
            return Refusal(421, "this page is not known under that name")
        origin = headers.get("origin")
        if origin is not None and not self._is_same_origin(origin, headers["host"]):
            return Refusal(403, "the request comes from another site")
        if method not in ("GET", "HEAD") and origin is None:
            return Refusal(403, "the request does not say which site it comes from")
        given = asked or cookie or headers.get("authorization", "").removeprefix("Bearer ")
        if self.token is not None and not hmac.compare_digest(given.encode(), self.token.encode()):
            return Refusal(401, "the token is missing or wrong: open the address that `viewlet ui` printed")
        return None

    def _is_ours(self, host: str) -> bool:
        name = urlsplit(f"//{host}").hostname or ""
        if is_loopback(self.host):
            return name in _LOCAL | self.names
        return name in self.names | {self.host} or (self.host in ("0.0.0.0", "::") and _is_address(name))

    def _is_same_origin(self, origin: str, host: str) -> bool:
        return urlsplit(origin).netloc == host


def is_loopback(host: str) -> bool:
    """Whether an address can only be reached from the same machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_address(name: str) -> bool:
    """Whether a host is a numeric address, which cannot be rebound."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
