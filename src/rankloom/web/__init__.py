"""The page over a collection: search it by item, by words or by picture, and see why an item came first.

Importing this is light; `make_app` and `serve` need the extra ``serve``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from rankloom.errors import MissingExtraError
from rankloom.web.library import Library
from rankloom.web.limits import Limits

if TYPE_CHECKING:
    import socket

    from rankloom.web.middleware import App

__all__ = ["Library", "Limits", "listen", "make_app", "serve"]

NEEDED = {"fastapi": "fastapi", "uvicorn": "uvicorn", "httptools": "httptools", "jinja2": "jinja2"}
NEEDED |= {"python_multipart": "python-multipart", "PIL": "Pillow"}


def check_extra() -> None:
    """Raise where a package of the extra is not installed."""
    from importlib.util import find_spec

    for module, package in NEEDED.items():
        if find_spec(module) is None:
            raise MissingExtraError("The page", package, "serve")


def make_app(library: Library, *, limits: Limits | None = None, names: Collection[str] = ()) -> App:
    """Return the application of a library, for any ASGI server.

    Parameters
    ----------
    library : Library
    limits : Limits, optional
    names : collection of str
        Host names to answer for, besides addresses and ``localhost``.
    """
    check_extra()
    from rankloom.web.app import make_app as make

    return make(library, limits=limits, names=names)


def listen(host: str = "127.0.0.1", port: int = 0) -> socket.socket:
    """Return a socket that listens, for `serve`; port 0 takes any that is free."""
    check_extra()
    from rankloom.web.server import bound

    return bound(host, port)


def serve(
    library: Library,
    listening: socket.socket,
    *,
    limits: Limits | None = None,
    names: Collection[str] = (),
    ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve a library until SIGTERM or SIGINT; what is under way then is finished.

    Parameters
    ----------
    listening : socket
        Of `listen`.
    limits, names
        As in `make_app`.
    ready : callable
        Told the address when requests are answered.
    """
    from rankloom.web.server import address, run

    limits = limits or Limits()
    app = make_app(library, limits=limits, names=names)
    run(app, listening, limits=limits, ready=lambda: ready(address(listening)))
