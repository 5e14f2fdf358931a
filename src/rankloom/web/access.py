"""Who may use the service: for which hosts it answers, whose pages may call it, and the key that requests must show."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256

from rankloom.errors import InputError

COOKIE = "rankloom_key"
PUBLIC = re.compile(r"/(health|ready|login|static/.*)", re.DOTALL)  # paths that need no key
ORIGIN = re.compile(r"https?://[a-z0-9.\-\[\]:]+", re.ASCII)

Headers = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Access:
    """Hosts besides IP addresses and localhost, origins of other sites' pages, and a key; without one, none is needed.

    Examples
    --------
    >>> access = Access(api_key="secret")
    >>> access.admits([(b"x-api-key", b"secret")]), access.admits([(b"authorization", b"Bearer guess")])
    (True, False)
    """

    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    api_key: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        for origin in self.origins:
            if not ORIGIN.fullmatch(origin):
                raise InputError(f"An origin is like https://shop.example or http://localhost:3000; got {origin!r}.")

    @property
    def cookie(self) -> str:
        """What the page stores in place of the key."""
        return hmac.new(self.api_key.encode(), b"rankloom page", sha256).hexdigest()

    def fits(self, key: bytes) -> bool:
        """Return True if a key is the right one, in a time that does not depend on how much of it is right."""
        return hmac.compare_digest(sha256(key).digest(), sha256(self.api_key.encode()).digest())

    def admits(self, headers: Headers) -> bool:
        """Return True if the headers of a request show the key, or none is needed."""
        return not self.api_key or any(self._shows(name, value) for name, value in headers)

    def _shows(self, name: bytes, value: bytes) -> bool:
        if name == b"x-api-key":
            return self.fits(value)
        if name == b"authorization":
            scheme, _, key = value.partition(b" ")
            return scheme.lower() == b"bearer" and self.fits(key.strip())
        cookies = value.split(b";") if name == b"cookie" else ()
        pairs = (cookie.strip().partition(b"=") for cookie in cookies)
        return any(key == COOKIE.encode() and hmac.compare_digest(mark, self.cookie.encode()) for key, _, mark in pairs)
