"""Request checks and security headers."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from html import escape
from typing import Any
from urllib.parse import urlsplit

from rankloom.web.access import PUBLIC, Access
from rankloom.web.limits import INTERNAL_ERROR, Limits, RefusedError, error_body

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

ERROR_SECONDS = 5  # time that a client may take to read an error
MAX_DIGITS = 20  # of the length of a body; int() refuses thousands
HOST = re.compile(r"(?:([a-z0-9._-]+)|\[([0-9a-f:.]+)\])(?::[0-9]{1,5})?", re.IGNORECASE)

log = logging.getLogger("rankloom.web")

POLICY = (
    "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # "no-referrer" would hide the origin of our own forms, too
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
]


class SecurityMiddleware:
    """ASGI middleware that checks host, origin, size and time of each request, and adds security headers.

    Against DNS rebinding, only IP addresses, ``localhost`` and the allowed hosts are answered for. Pages of other
    sites cannot post. Starlette's own middleware does not fit: `TrustedHostMiddleware` cannot allow every IP address
    and accepts a second Host header, and both it and `RequestBodyLimitMiddleware` answer in plain text, not in JSON.
    """

    def __init__(
        self, app: App, limits: Limits, access: Access, login: Callable[[RefusedError, str], str] | None = None
    ) -> None:
        self._app, self.limits, self._access, self._login = app, limits, access, login
        self._hosts = {"localhost", *(name.lower().rstrip(".") for name in access.hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, self.limits.body_bytes, self._login)
        if scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}  # the same response, without its body
        try:
            async with asyncio.timeout(self.limits.seconds):
                self._check(scope)
                await self._app(scope, exchange.receive, exchange.send)
        except RefusedError as refusal:
            await exchange.refuse(refusal)
        except TimeoutError:
            await exchange.refuse(exchange.timed_out(self.limits.seconds))
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            await exchange.refuse(RefusedError(500, INTERNAL_ERROR))

    def _check(self, scope: Scope) -> None:
        self._check_header_size(scope)
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if not self._is_allowed(host) or sum(name == b"host" for name, _ in scope["headers"]) > 1:
            raise RefusedError(400, f"This server does not answer for the host {host[:100]!r}; use its IP address.")
        origin = headers.get(b"origin", b"").decode("latin-1")
        is_own = not origin or _netloc(origin) == host.lower() or origin in self._access.origins
        if scope["method"] not in ("GET", "HEAD") and not is_own:
            raise RefusedError(403, f"Pages from {origin[:100]} may not post to this server.")
        if not PUBLIC.fullmatch(scope["path"]) and not self._access.admits(scope["headers"]):
            raise RefusedError(401, "Send the API key, as Authorization: Bearer KEY or X-API-Key: KEY.")
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and (len(length) > MAX_DIGITS or int(length) > self.limits.body_bytes):
            raise _too_large(self.limits.body_bytes)

    def _check_header_size(self, scope: Scope) -> None:
        """Raise if the headers are too large; the server counts only those that arrive in pieces."""
        request_line = len(scope["path"]) + len(scope["query_string"])
        if request_line + sum(len(n) + len(value) + 4 for n, value in scope["headers"]) > self.limits.header_bytes:
            raise RefusedError(431, f"The headers of a request may have at most {self.limits.header_bytes} bytes.")

    def _is_allowed(self, host: str) -> bool:
        found = HOST.fullmatch(host)
        if found is None:
            return False
        name = (found[1] or found[2]).lower().rstrip(".")
        try:
            return name in self._hosts or bool(ipaddress.ip_address(name))
        except ValueError:
            return False


class _Exchange:
    """A request and its response: limits the one and adds headers to the other."""

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        max_bytes: int,
        login: Callable[[RefusedError, str], str] | None,
    ) -> None:
        self._receive, self._send, self._max_bytes, self._login = receive, send, max_bytes, login
        self._is_head, self._wants_page = scope["method"] == "HEAD", wants_page(scope)
        path, query = scope.get("raw_path") or b"/", scope["query_string"]
        self._url = (path + b"?" + query if query else path).decode("latin-1")
        self._received = 0  # bytes of the body
        self._complete = False  # whether all of the request was received
        self._started = False  # whether the response was started

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._received += len(message.get("body", b""))
            self._complete = not message.get("more_body", False)
            if self._received > self._max_bytes:
                raise _too_large(self._max_bytes)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._started = True
            message = {**message, "headers": [*message.get("headers", []), *HEADERS]}
        elif self._is_head:
            message = {**message, "body": b""}
        await self._send(message)

    def timed_out(self, seconds: float) -> RefusedError:
        if not self._complete and self._received:
            return RefusedError(408, f"The request was not complete within {seconds:g} seconds.")
        return RefusedError(503, f"This takes longer than {seconds:g} seconds; try again later.", retry_after=5)

    def _body(self, refusal: RefusedError) -> tuple[str, bytes]:
        """Return the type and content of an error: JSON, or for a browser that can retry, a page to do so."""
        if refusal.status == 401 and self._wants_page and self._login is not None:
            return "text/html; charset=utf-8", self._login(refusal, self._url).encode()
        if refusal.status != 503 or not self._wants_page:
            return "application/json", error_body(refusal.status, refusal.error)
        text = escape(refusal.error)
        refresh = '<meta http-equiv="refresh" content="5">'
        page = f'<!doctype html><html lang="en"><head>{refresh}<title>{text}</title></head><body>{text}</body></html>'
        return "text/html; charset=utf-8", page.encode()

    async def refuse(self, refusal: RefusedError) -> None:
        """Send an error, unless a response was started: then the server closes the connection."""
        if self._started:
            return
        kind, body = self._body(refusal)
        headers = {"Content-Type": kind, "Content-Length": str(len(body)), **refusal.headers()}
        if not self._complete:
            headers["Connection"] = "close"  # the rest of the request is not read
        start = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        with suppress(TimeoutError):  # a client that does not read
            async with asyncio.timeout(ERROR_SECONDS):
                await self.send({"type": "http.response.start", "status": refusal.status, "headers": start})
                await self.send({"type": "http.response.body", "body": body})


def wants_page(scope: Scope) -> bool:
    """Return True if a browser requests a page rather than JSON or an image."""
    accepted = b",".join(value for name, value in scope["headers"] if name == b"accept")
    return b"text/html" in accepted and not scope["path"].endswith(".json")


def _netloc(origin: str) -> str | None:
    """Return the host and port of an Origin header, or None."""
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


def _too_large(max_bytes: int) -> RefusedError:
    return RefusedError(413, f"A request may be at most {max_bytes // 1_000_000 or max_bytes / 1e6:g} megabytes.")
