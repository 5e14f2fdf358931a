"""A web page over a collection: search it by item, text or image, and see why an item was found.

Importing this package is cheap; serving needs the extra ``serve``.
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

#: Modules that the extra needs, and the packages that provide them.
REQUIRED = {"cachetools": "cachetools", "fastapi": "fastapi", "uvicorn": "uvicorn", "httptools": "httptools"}
REQUIRED |= {"jinja2": "jinja2", "python_multipart": "python-multipart", "PIL": "Pillow"}


def check_extra() -> None:
    """Raise `MissingExtraError` if a package of the extra is not installed."""
    from importlib.util import find_spec

    for module, package in REQUIRED.items():
        if find_spec(module) is None:
            raise MissingExtraError("The page", package, "serve")


def make_app(library: Library, *, limits: Limits | None = None, allowed_hosts: Collection[str] = ()) -> App:
    """Return the ASGI application of a library.

    Parameters
    ----------
    library : Library
    limits : Limits, optional
    allowed_hosts : collection of str
        Host names to answer for, besides IP addresses and ``localhost``.
    """
    check_extra()
    from rankloom.web.app import make_app as make

    return make(library, limits=limits, allowed_hosts=allowed_hosts)


def listen(host: str = "127.0.0.1", port: int = 0) -> socket.socket:
    """Return a listening socket for `serve`; port 0 takes any free one."""
    check_extra()
    from rankloom.web.server import listen as listen_on

    return listen_on(host, port)


def serve(
    library: Library,
    sock: socket.socket,
    *,
    limits: Limits | None = None,
    allowed_hosts: Collection[str] = (),
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve a library until SIGTERM or SIGINT; pending requests are finished first.

    Parameters
    ----------
    sock : socket
        From `listen`.
    limits, allowed_hosts
        As in `make_app`.
    ready : callable
        Called with the URL once the server answers requests.
    """
    from rankloom.web.server import run, url_of

    limits = limits or Limits()
    app = make_app(library, limits=limits, allowed_hosts=allowed_hosts)
    run(app, sock, limits=limits, ready=lambda: ready(url_of(sock)))
