"""A web service over a searcher: a page to search, compare and explain, and a JSON API.

Importing this package is cheap; serving needs the extra ``serve``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rankloom.errors import InputError, MissingExtraError
from rankloom.web.access import Access
from rankloom.web.limits import Limits
from rankloom.web.tour import NO_TOUR, Tour

if TYPE_CHECKING:
    import socket

    from rankloom.datasets import Collection as Items
    from rankloom.searcher import Searcher
    from rankloom.web.telemetry import Telemetry

__all__ = ["Limits", "Tour", "listen", "make_app", "serve", "serve_folder"]

#: Modules of the extra, and the packages that bring them.
REQUIRED = {"fastapi": "fastapi", "uvicorn": "uvicorn", "httptools": "httptools"}
REQUIRED |= {
    "prometheus_client": "prometheus-client",
    "jinja2": "jinja2",
    "python_multipart": "python-multipart",
    "PIL": "Pillow",
}


def check_extra() -> None:
    """Raise `MissingExtraError` if a package of the extra is not installed."""
    for module, package in REQUIRED.items():
        if find_spec(module) is None:
            raise MissingExtraError("The page", package, "serve")


def make_app(
    searcher: Searcher,
    *,
    collection: Items | None = None,
    limits: Limits | None = None,
    allowed_hosts: Collection[str] = (),
    api_key: str | None = None,
    cors_origins: Collection[str] = (),
    tour: Tour = NO_TOUR,
) -> Telemetry:
    """Return the ASGI application of a searcher; updates of the searcher take effect with the next request.

    Parameters
    ----------
    searcher : Searcher
    collection : Collection, optional
        What the searcher was built from: has the images that are not files, and a description.
    limits : Limits, optional
    allowed_hosts : collection of str
        Host names to answer for, besides IP addresses and ``localhost``.
    api_key : str, optional
        What requests must show, as ``Authorization: Bearer KEY`` or ``X-API-Key: KEY``; the page asks for it once.
    cors_origins : collection of str
        Origins, such as ``https://shop.example``, whose pages may call the service.
    tour : Tour
        What the first page tells: a name, a heading, plain names of the rankers, and queries to explain.
    """
    check_extra()
    from rankloom.web.app import make_app as make
    from rankloom.web.site import Site

    access = access_of(allowed_hosts, api_key, cors_origins)
    return make(Site(searcher, limits, collection=collection, tour=tour, access=access))


def access_of(hosts: Collection[str], api_key: str | None, origins: Collection[str]) -> Access:
    """Return who may use a service; raise InputError for an empty key or an invalid origin."""
    if api_key is not None and not api_key.strip():
        raise InputError("The key is empty; give one that cannot be guessed, or leave it out.")
    return Access(tuple(hosts), tuple(origins), api_key or "")


def listen(host: str = "127.0.0.1", port: int = 0) -> socket.socket:
    """Return a listening socket for `serve`; port 0 takes any free one."""
    check_extra()
    from rankloom.web.server import listen as listen_on

    return listen_on(host, port)


def serve(app: Telemetry, sock: socket.socket, *, ready: Callable[[str], None] = lambda url: None) -> None:
    """Serve an application until SIGTERM or SIGINT; pending requests are finished first.

    Parameters
    ----------
    app
        From `make_app`.
    sock : socket
        From `listen`.
    ready : callable
        Called with the URL once the server answers requests.
    """
    from rankloom.web.server import run, url_of

    run(app, sock, limits=app.site.limits, ready=lambda: ready(url_of(sock)), on_stop=app.site.stop)


def serve_folder(
    path: str | Path,
    sock: socket.socket,
    *,
    watch: bool = False,
    workers: int = 1,
    plugins: Collection[str | Path] = (),
    limits: Limits | None = None,
    allowed_hosts: Collection[str] = (),
    api_key: str | None = None,
    cors_origins: Collection[str] = (),
    log_format: str = "text",
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve a folder written by `Searcher.save` until SIGTERM or SIGINT, and each new version of it.

    A new version is opened on SIGHUP; pending requests finish on the old one, which stays if the new one cannot be
    opened.

    Parameters
    ----------
    path : str or Path
    watch : bool
        Look for a new version every second.
    workers : int
        Number of processes, which share the port and the mapped files.
    plugins : collection of paths
        Plug-in files that each process loads, for rankers that are not built in.
    log_format : {"text", "json"}
        "json" also logs each request.
    sock, limits, allowed_hosts, api_key, cors_origins, ready
        As in `make_app` and `serve`.
    """
    check_extra()
    from rankloom.web.server import starting, url_of
    from rankloom.web.workers import Job, serve_job, supervise

    access = access_of(allowed_hosts, api_key, cors_origins)
    job = Job(Path(path), limits or Limits(), access, watch, tuple(map(str, plugins)), log_format)
    if workers > 1:
        supervise(job, sock, workers, ready=lambda: ready(url_of(sock)))
    else:
        serve_job(job, sock, ready=lambda: ready(url_of(sock)), opening=starting(sock))
