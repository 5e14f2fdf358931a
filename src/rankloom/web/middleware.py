"""What stands before every request: whom it is for, how large and how long it may be; and headers of every answer."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from contextlib import suppress
from html import escape
from typing import Any
from urllib.parse import urlsplit

from rankloom.web.limits import Limits, RefusedError, error_body

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

REFUSING = 5  # seconds that a client may take to read why it is refused
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


class Guard:
    """An application that checks each request before another one answers it.

    A name that leads here by trickery of DNS is refused: only addresses, ``localhost`` and the names given are
    answered for. A form of another site can't send pictures.

    Parameters
    ----------
    app : ASGI application
    limits : Limits
    names : collection of str
        Host names to answer for, besides addresses and ``localhost``.
    """

    def __init__(self, app: App, limits: Limits, names: Collection[str] = ()) -> None:
        self._app, self._limits = app, limits
        self._names = {"localhost", *(name.lower().rstrip(".") for name in names)}

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(
            receive, send, self._limits.body_bytes, bodiless=scope["method"] == "HEAD", for_page=_for_page(scope)
        )
        if scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}  # the same answer, without its body
        try:
            async with asyncio.timeout(self._limits.seconds):
                self._check(scope)
                await self._app(scope, exchange.receive, exchange.send)
        except RefusedError as refusal:
            await exchange.refuse(refusal)
        except TimeoutError:
            await exchange.refuse(exchange.too_late(self._limits.seconds))
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            await exchange.refuse(RefusedError(500, "Something went wrong here; the log of the server says what."))

    def _check(self, scope: MutableMapping[str, Any]) -> None:
        self._check_size(scope)
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if not self._ours(host) or sum(name == b"host" for name, _ in scope["headers"]) > 1:
            raise RefusedError(400, f"This server does not answer for the host {host[:100]!r}; open it by its address.")
        origin = headers.get(b"origin", b"").decode("latin-1")
        if scope["method"] not in ("GET", "HEAD") and origin and _site_of(origin) != host.lower():
            raise RefusedError(403, f"Pages of {origin[:100]} may not send anything here.")
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._limits.body_bytes:
            raise _too_large(self._limits.body_bytes)

    def _check_size(self, scope: MutableMapping[str, Any]) -> None:
        """Refuse headers that are too many; the server counts only those that come in pieces."""
        first = len(scope["path"]) + len(scope["query_string"])
        if first + sum(len(name) + len(value) + 4 for name, value in scope["headers"]) > self._limits.header_bytes:
            raise RefusedError(431, f"The headers of a request may have {self._limits.header_bytes} bytes at most.")

    def _ours(self, host: str) -> bool:
        found = HOST.fullmatch(host)
        if found is None:
            return False
        name = (found[1] or found[2]).lower().rstrip(".")
        try:
            return name in self._names or bool(ipaddress.ip_address(name))
        except ValueError:
            return False


class _Exchange:
    """A request and its answer: counts what comes in, and adds headers to what goes out."""

    def __init__(self, receive: Receive, send: Send, most: int, *, bodiless: bool, for_page: bool) -> None:
        self._receive, self._send, self._most, self._bodiless = receive, send, most, bodiless
        self._for_page = for_page  # whether a browser waits for a page to show
        self._got = 0
        self._whole = False  # whether the request has come in to its end
        self._begun = False  # whether the answer has

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._got += len(message.get("body", b""))
            self._whole = not message.get("more_body", False)
            if self._got > self._most:
                raise _too_large(self._most)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._begun = True
            message = {**message, "headers": [*message.get("headers", []), *HEADERS]}
        elif self._bodiless:
            message = {**message, "body": b""}
        await self._send(message)

    def too_late(self, seconds: float) -> RefusedError:
        if not self._whole and self._got:
            return RefusedError(408, f"The request did not come in to its end within {seconds:g} seconds.")
        return RefusedError(503, f"This takes longer than {seconds:g} seconds; try again in a while.", retry_after=5)

    def _told(self, refusal: RefusedError) -> tuple[str, bytes]:
        """Return an error as a browser shows it where it waits for a page, and asks again; else in the one shape."""
        if refusal.status != 503 or not self._for_page:
            return "application/json", error_body(refusal.status, refusal.error)
        words = escape(refusal.error)
        again = '<meta http-equiv="refresh" content="5">'
        page = f'<!doctype html><html lang="en"><head>{again}<title>{words}</title></head><body>{words}</body></html>'
        return "text/html; charset=utf-8", page.encode()

    async def refuse(self, refusal: RefusedError) -> None:
        """Send an error, unless an answer is under way: then the connection is closed in its middle."""
        if self._begun:
            return
        kind, body = self._told(refusal)
        headers = {"Content-Type": kind, "Content-Length": str(len(body)), **refusal.headers()}
        if not self._whole:
            headers["Connection"] = "close"  # what is left of the request is not read
        start = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        with suppress(TimeoutError):  # a client that reads nothing
            async with asyncio.timeout(REFUSING):
                await self.send({"type": "http.response.start", "status": refusal.status, "headers": start})
                await self.send({"type": "http.response.body", "body": body})


def _for_page(scope: MutableMapping[str, Any]) -> bool:
    """Tell whether a browser waits for a page."""
    accepted = b",".join(value for name, value in scope["headers"] if name == b"accept")
    return b"text/html" in accepted and not scope["path"].endswith(".json")


def _site_of(origin: str) -> str | None:
    """Return the host and port of a page; None where it has none."""
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


def _too_large(most: int) -> RefusedError:
    return RefusedError(413, f"A request may have {most // 1_000_000 or most / 1e6:g} megabytes at most.")
