"""Limits on what a client may send, and the error that says so."""

from __future__ import annotations

import json
from dataclasses import dataclass

INTERNAL_ERROR = "Internal error; see the log of the server."


@dataclass(frozen=True, slots=True)
class Limits:
    """What the server accepts.

    Attributes
    ----------
    body_bytes : int
        Size of a request body, uploads included.
    pixels : int
        Size of an image, checked before it is decompressed.
    seconds : float
        Time from the first line of a request to the end of its response.
    decode_seconds : float
        Time to decode an uploaded image; the process that decodes it is then killed.
    header_seconds : float
        Time from the first byte of a request to the end of its headers.
    header_bytes : int
        Size of the request line and the headers.
    answer_seconds : float
        Time that a client may take to read a response.
    searches : int
        Searches waiting or running; beyond it, requests get 503 with Retry-After.
    uploads : int
        Images being received or decoded; beyond it, requests get 503 with Retry-After.
    connections : int
        Open connections.
    json_bytes : int
        Size of the JSON of a search.
    batch : int
        Queries in a request.
    results : int
        Hits for a query, counting those that an offset skips.
    """

    body_bytes: int = 10_000_000
    pixels: int = 25_000_000
    seconds: float = 15.0
    decode_seconds: float = 5.0
    header_seconds: float = 10.0
    header_bytes: int = 32_768
    answer_seconds: float = 30.0
    searches: int = 64
    uploads: int = 8
    connections: int = 512
    json_bytes: int = 1_000_000
    batch: int = 100
    results: int = 1000


class RefusedError(Exception):
    """A request that is answered with an error.

    Attributes
    ----------
    status : int
    error : str
        A sentence.
    retry_after : int or None
        Seconds after which to try again.
    """

    def __init__(self, status: int, error: str, *, retry_after: int | None = None) -> None:
        super().__init__(error)
        self.status, self.error, self.retry_after = status, error, retry_after

    def headers(self) -> dict[str, str]:
        """Return the response headers that go with it."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


def error_body(status: int, error: str) -> bytes:
    """Return the JSON of an error, which always has this shape.

    Examples
    --------
    >>> error_body(404, "There is no item 9.")
    b'{"ok": false, "error": "There is no item 9.", "status": 404}'
    """
    return json.dumps({"ok": False, "error": error, "status": status}, ensure_ascii=False).encode(
        "utf-8", "backslashreplace"
    )
