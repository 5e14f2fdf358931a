"""A cache of whole responses: what the server answers does not change while it runs."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from cachetools import LRUCache

from rankloom.web.middleware import App, Message, Receive, Send

MAX_URL_BYTES = 2_000  # our own links are shorter
MAX_BYTES = 96_000_000
MAX_RESPONSE_BYTES = 1_000_000
OVERHEAD = MAX_URL_BYTES + 1_000  # of a response besides its body: URL and headers
#: Responses that depend on more than the URL (uploads expire), or that are already in memory.
UNCACHED = ("/upload", "/health", "/image", "/static")

Response = list[Message]


class ResponseCache:
    """ASGI middleware that caches the latest responses by URL.

    Parameters
    ----------
    app : ASGI application
        Its responses to GET must depend on the URL alone.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        # Used on the event loop only, so it needs no lock.
        self._responses: LRUCache[tuple[str, bytes], Response] = LRUCache(MAX_BYTES, getsizeof=_size)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        if not _is_cacheable(scope):
            await self._app(scope, receive, send)
            return
        key = (scope["path"], scope["query_string"])
        response = self._responses.get(key)
        if response is None:
            response = []
            await self._app(scope, receive, _recording(send, response))
            if response and response[0]["status"] == 200 and _size(response) <= MAX_RESPONSE_BYTES:
                self._responses[key] = response
            return
        for message in response:
            await send(message)


def _is_cacheable(scope: MutableMapping[str, Any]) -> bool:
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
