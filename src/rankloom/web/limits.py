"""Limits on what a client may send, and the error that says so."""

from __future__ import annotations

import json
from contextvars import ContextVar
from dataclasses import dataclass

#: The id of the request that is answered.
REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
INTERNAL_ERROR = "Internal error; see the log of the server."
#: Of the bytes of all caches: one that is full does not empty another.
SHARES = {"indexes": 1 / 2, "responses": 1 / 4, "uploads": 1 / 8, "images": 1 / 16, "documents": 1 / 16}


@dataclass(frozen=True, slots=True)
class Limits:
    """What the server accepts."""

    body_bytes: int = 10_000_000  #: of a request body, uploads included
    pixels: int = 25_000_000  #: of an image, checked before it is decompressed
    seconds: float = 15.0  #: from the first line of a request to the end of its response
    decode_seconds: float = 5.0  #: to decode an uploaded image; the process that decodes it is then killed
    header_seconds: float = 10.0  #: from the first byte of a request to the end of its headers
    header_bytes: int = 32_768  #: of the request line and the headers
    answer_seconds: float = 30.0  #: that a client may take to read a response
    cache_bytes: int = 256_000_000  #: of all caches together: indexes, responses, images, uploads
    searches: int = 64  #: waiting or running; beyond it, requests get 503 with Retry-After
    uploads: int = 8  #: images being received or decoded; beyond it, requests get 503 with Retry-After
    connections: int = 512  #: open at the same time
    json_bytes: int = 1_000_000  #: of the body of a search
    batch: int = 100  #: queries in a request
    results: int = 1000  #: hits for a query, counting those that an offset skips

    def share(self, cache: str) -> int:
        """Return how many bytes a cache may have."""
        return int(self.cache_bytes * SHARES[cache])


class RefusedError(Exception):
    """A request that is answered with an error, a sentence; `retry_after` is in seconds."""

    def __init__(self, status: int, error: str, *, retry_after: int | None = None) -> None:
        super().__init__(error)
        self.status, self.error, self.retry_after = status, error, retry_after

    def headers(self) -> dict[str, str]:
        """Return the response headers that go with it."""
        if self.status == 401:
            return {"WWW-Authenticate": "Bearer"}
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


def error_body(status: int, error: str) -> bytes:
    """Return the JSON of an error, which always has this shape."""
    id = REQUEST_ID.get()
    values = {"ok": False, "error": error, "status": status, **({"request_id": id} if id else {})}
    return json.dumps(values, ensure_ascii=False).encode("utf-8", "backslashreplace")
