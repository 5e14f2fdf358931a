"""How much a client may ask for, and the errors that say so."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What the server allows.

    Attributes
    ----------
    body_bytes : int
        Of a request, uploads included.
    pixels : int
        Of a picture, checked before it is unpacked.
    seconds : float
        From the first line of a request to the end of its answer.
    header_seconds : float
        From the first byte of a request to the end of its headers.
    header_bytes : int
        Of a request: its first line and its headers.
    answer_seconds : float
        From the first byte of an answer that the client does not take at once to the last that it takes.
    searches : int
        That wait or are worked on; more are told to come again.
    uploads : int
        Pictures that come in or are decoded; more are told to come again.
    connections : int
        That are open at a time.
    """

    body_bytes: int = 10_000_000
    pixels: int = 25_000_000
    seconds: float = 15.0
    header_seconds: float = 10.0
    header_bytes: int = 32_768
    answer_seconds: float = 30.0
    searches: int = 64
    uploads: int = 8
    connections: int = 512


class RefusedError(Exception):
    """A request that is not answered as asked.

    Attributes
    ----------
    status : int
    error : str
        A sentence.
    retry_after : int or None
        In how many seconds to try again.
    """

    def __init__(self, status: int, error: str, *, retry_after: int | None = None) -> None:
        super().__init__(error)
        self.status, self.error, self.retry_after = status, error, retry_after

    def headers(self) -> dict[str, str]:
        """Return the headers that belong to it."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


def error_body(status: int, error: str) -> bytes:
    """Return the one shape of errors.

    Examples
    --------
    >>> error_body(404, "There is no item 9.")
    b'{"ok": false, "error": "There is no item 9.", "status": 404}'
    """
    return json.dumps({"ok": False, "error": error, "status": status}, ensure_ascii=False).encode(
        "utf-8", "backslashreplace"
    )
