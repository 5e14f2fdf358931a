"""Answers that were given before are given again as they were: nothing here changes while the server runs."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from rankloom.web.lru import Kept
from rankloom.web.middleware import App, Message, Receive, Send

LONGEST = 2_000  # bytes of an address; those of our own links are shorter
MAX_BYTES = 96_000_000
OVERHEAD = LONGEST + 1_000  # what an answer takes besides its body: address and headers
LARGEST = 1_000_000  # an answer of more is made anew each time
#: What does not depend on the address alone (pictures sent are let go of after a while), or is in memory anyway.
PASSED = ("/picture", "/health", "/image", "/static")

Answer = list[Message]


class Remembering:
    """An application that keeps the last answers of another one, by their addresses.

    Parameters
    ----------
    app : ASGI application
        What it answers to GET depends on the address alone.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._kept: Kept[Answer] = Kept(10_000, most_bytes=MAX_BYTES, size=_size)

    @staticmethod
    def _keeps(scope: MutableMapping[str, Any]) -> bool:
        """Tell whether the answer to a request may be kept."""
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"].startswith(PASSED):
            return False
        return len(scope["path"]) + len(scope["query_string"]) <= LONGEST

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        if not self._keeps(scope):
            await self._app(scope, receive, send)
            return
        key = (scope["path"], scope["query_string"])
        answer = self._kept.find(key)
        if answer is None:
            answer = []
            await self._app(scope, receive, _recording(send, answer))
            if answer and answer[0]["status"] == 200 and _size(answer) <= LARGEST:
                self._kept.get(key, lambda: answer)
            return
        for message in answer:
            await send(message)


def _recording(send: Send, answer: Answer) -> Send:
    async def record(message: Message) -> None:
        answer.append(message)
        await send(message)

    return record


def _size(answer: Answer) -> int:
    return OVERHEAD + sum(len(message.get("body", b"")) for message in answer)
