"""A cache of whole responses: what the server answers changes only with its documents."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

from cachetools import LRUCache

from rankloom.web.middleware import App, Message, Receive, Scope, Send

MAX_URL_BYTES = 2_000  # our own links are shorter
MAX_RESPONSE_BYTES = 1_000_000
OVERHEAD = MAX_URL_BYTES + 1_000  # of a response besides its body: URL and headers
#: Responses that depend on more than the URL (uploads expire), or that are in memory anyway.
UNCACHED = ("/upload", "/health", "/ready", "/metrics", "/version", "/image", "/static")
#: The route of the current request, the only element of a list, since inner tasks have contexts of their own.
ROUTE: ContextVar[list[str]] = ContextVar("route")

Response = list[Message]


class ResponseCache:
    """ASGI middleware that caches the latest responses by URL.

    The responses of `app` to GET must depend on the URL and the version alone.
    """

    def __init__(self, app: App, version: Callable[[], int], max_bytes: int) -> None:
        self._app, self._version = app, version
        self._cached_version = version()
        # Used on the event loop only, so it needs no lock.
        self._responses: LRUCache[tuple[str, bytes], tuple[str, Response]] = LRUCache(
            max_bytes, getsizeof=lambda routed: _size(routed[1])
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if not _is_cacheable(scope):
            await self._answered(scope, receive, send)
            return
        version = self._current()
        key = (scope["path"], scope["query_string"])
        found = self._responses.get(key)
        if found is None:
            response: Response = []
            route = await self._answered(scope, receive, _recording(send, response))
            succeeded = response and response[0]["status"] == 200
            if succeeded and _size(response) <= MAX_RESPONSE_BYTES and self._current() == version:
                self._responses[key] = route, response
            return
        _set_route(found[0])
        for message in found[1]:
            await send(message)

    async def _answered(self, scope: Scope, receive: Receive, send: Send) -> str:
        """Answer a request, and return the path of its route."""
        try:
            await self._app(scope, receive, send)
        finally:
            path = getattr(scope.get("route"), "path", "/search" if "endpoint" in scope else "other")
            _set_route(path)
        return path

    def _current(self) -> int:
        """Return the version; if it changed, forget all responses."""
        version = self._version()
        if version != self._cached_version:
            self._responses.clear()
            self._cached_version = version
        return version


def _is_cacheable(scope: Scope) -> bool:
    """Return True if the response to a request may be cached."""
    if scope["type"] != "http" or scope["method"] != "GET" or scope["path"].startswith(UNCACHED):
        return False
    return len(scope["path"]) + len(scope["query_string"]) <= MAX_URL_BYTES


def _recording(send: Send, response: Response) -> Send:
    async def record(message: Message) -> None:
        response.append(message)
        await send(message)

    return record


def _size(response: Response) -> int:
    return OVERHEAD + sum(len(message.get("body", b"")) for message in response)


def _set_route(path: str) -> None:
    ROUTE.get([""])[0] = path
